"""The heap: Go's layout, KAI's limit, and repair at the top alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.schedulers.kai.priority_queue import PriorityQueue


def numbers(items: list[int], max_size: int = -1) -> PriorityQueue[int]:
    queue: PriorityQueue[int] = PriorityQueue(lambda left, right: left < right, max_size)
    for item in items:
        queue.push(item)
    return queue


@given(st.lists(st.integers()))
def test_items_come_out_in_order(items: list[int]) -> None:
    queue = numbers(items)
    assert [queue.pop() for _ in items] == sorted(items)


def test_the_layout_is_that_of_container_heap() -> None:
    # Worked out by hand from heap.Push and heap.Pop.
    queue = numbers([5, 3, 8, 1, 9, 2])
    assert queue.items == [1, 3, 2, 5, 9, 8]
    assert queue.pop() == 1
    assert queue.items == [2, 3, 8, 5, 9]


def test_equal_items_come_out_as_the_layout_has_them() -> None:
    queue: PriorityQueue[str] = PriorityQueue(lambda left, right: left[0] < right[0])
    for item in ("a1", "a2", "a3", "a4"):
        queue.push(item)
    assert [queue.pop() for _ in range(4)] == ["a1", "a4", "a3", "a2"]


def test_a_full_queue_drops_what_comes_to_lie_in_its_last_slot() -> None:
    queue = numbers([1, 5, 2, 3], max_size=3)
    # 3 rises above 5, which is then in the last slot and goes; had 4 come instead of 5 the result would differ.
    assert sorted(queue.items) == [1, 2, 3]
    assert sorted(numbers([1, 2, 5, 3], max_size=3).items) == [1, 2, 5]


def test_fix_repairs_the_top_and_nothing_else() -> None:
    ranks = {"a": 1, "b": 2, "c": 3, "d": 4}
    queue: PriorityQueue[str] = PriorityQueue(lambda left, right: ranks[left] < ranks[right])
    for item in "abcd":
        queue.push(item)
    ranks["a"], ranks["c"] = 5, 0
    queue.fix(0)
    assert queue.items == ["c", "b", "a", "d"]
    ranks["d"] = -1
    assert queue.peek() == "c"
