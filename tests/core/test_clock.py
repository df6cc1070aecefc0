"""The clock: order, cancelling, and its three gaits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import EPOCH, SECOND, Clock, VirtualClock, WallClock, parse_clock


def test_callbacks_run_in_the_order_of_their_times_and_then_of_asking() -> None:
    clock, ran = VirtualClock(), []
    clock.call_later(2 * SECOND, ran.append, "later")
    clock.call_later(SECOND, ran.append, "first of two")
    clock.call_later(SECOND, ran.append, "second of two")
    clock.run()
    assert ran == ["first of two", "second of two", "later"]
    assert clock.now() == EPOCH + 2 * SECOND


def test_a_cancelled_callback_never_runs() -> None:
    clock, ran = VirtualClock(), []
    handle = clock.call_later(SECOND, ran.append, "no")
    clock.call_later(SECOND, ran.append, "yes")
    handle.cancel()
    assert clock.pending == 1
    clock.run()
    assert ran == ["yes"]


def test_cancelling_after_the_run_is_harmless() -> None:
    clock = VirtualClock()
    handle = clock.call_soon(lambda: None)
    clock.run()
    handle.cancel()
    assert handle.cancelled


def test_running_until_a_time_leaves_later_callbacks_and_stands_at_that_time() -> None:
    clock, ran = VirtualClock(), []
    clock.call_later(SECOND, ran.append, "in")
    clock.call_later(3 * SECOND, ran.append, "out")
    clock.advance(2 * SECOND)
    assert (ran, clock.now()) == (["in"], EPOCH + 2 * SECOND)


def test_a_callback_asked_for_in_the_past_runs_now_and_time_never_goes_back() -> None:
    clock, seen = VirtualClock(), []
    clock.advance(10 * SECOND)
    clock.call_at(EPOCH, lambda: seen.append(clock.now()))
    clock.settle()
    assert seen == [EPOCH + 10 * SECOND]


def test_settling_runs_chains_of_callbacks_due_now_without_letting_time_pass() -> None:
    clock, ran = VirtualClock(), []
    clock.call_soon(lambda: clock.call_soon(ran.append, "chained"))
    clock.call_later(1, ran.append, "later")
    clock.settle()
    assert (ran, clock.now()) == (["chained"], EPOCH)


def test_a_run_can_be_stopped_by_a_condition() -> None:
    clock, ran = VirtualClock(), []
    for second in range(5):
        clock.call_later(second * SECOND, ran.append, second)
    clock.run(stop=lambda: len(ran) == 3)
    assert ran == [0, 1, 2]


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans())))
def test_any_mix_of_delays_and_cancels_runs_in_stable_order(asked: list[tuple[int, bool]]) -> None:
    clock, ran = VirtualClock(), []
    handles = [clock.call_later(delay, ran.append, (delay, index)) for index, (delay, _) in enumerate(asked)]
    for handle, (_, cancel) in zip(handles, asked, strict=True):
        if cancel:
            handle.cancel()
    clock.run()
    kept = [(delay, index) for index, (delay, cancel) in enumerate(asked) if not cancel]
    assert ran == sorted(kept)


def test_a_wall_clock_runs_what_is_due_and_says_when_the_next_is() -> None:
    clock, ran = WallClock(), []
    clock.call_soon(ran.append, "now")
    clock.call_later(3600 * SECOND, ran.append, "in an hour")
    assert clock.run_due() is False
    assert ran == ["now"]
    deadline = clock.next_deadline()
    assert deadline is not None
    assert 3500 < clock.wall_delay(deadline) <= 3600


def test_a_wall_clock_can_be_run_in_bounded_steps() -> None:
    clock, ran = WallClock(), []
    for index in range(5):
        clock.call_soon(ran.append, index)
    assert clock.run_due(limit=3) is True
    assert clock.run_due(limit=3) is False
    assert ran == [0, 1, 2, 3, 4]


def test_a_scaled_clock_waits_a_fraction_of_cluster_time() -> None:
    clock = WallClock(scale=100)
    assert clock.wall_delay(clock.now() + 100 * SECOND) <= 1.0
    ran: list[str] = []
    clock.call_later(SECOND, ran.append, "a second of cluster time, a hundredth of ours")
    clock.run()
    assert len(ran) == 1


def test_whoever_drives_a_clock_is_told_of_an_earlier_deadline_only() -> None:
    clock, told = WallClock(), []
    clock.on_change = lambda: told.append(True)
    clock.call_later(2 * SECOND, lambda: None)
    clock.call_later(3 * SECOND, lambda: None)
    clock.call_later(1 * SECOND, lambda: None)
    assert len(told) == 2


class Hostile:
    """Arms itself in the past, for ever."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.runs = 0

    def run(self) -> None:
        self.runs += 1
        self.clock.call_at(EPOCH - 3600 * SECOND, self.run)


@pytest.mark.parametrize("text", ["wall", "scaled:60", "scaled:1000000"])
def test_who_arms_in_the_past_keeps_nobody_from_their_turn(text: str) -> None:
    clock, ran = parse_clock(text), []
    assert isinstance(clock, WallClock)
    hostile = Hostile(clock)
    hostile.run()
    for name in "abc":
        clock.call_soon(ran.append, name)
    clock.call_later(1000, ran.append, "a millisecond later")
    for _ in range(100_000):
        clock.run_due(limit=4)
        if len(ran) == 4:
            break
    assert ran == ["a", "b", "c", "a millisecond later"]
    assert hostile.runs > 1


def test_who_arms_in_the_past_comes_after_all_that_is_due_on_a_virtual_clock_too() -> None:
    clock, ran = VirtualClock(), []
    hostile = Hostile(clock)
    hostile.run()
    for name in "abc":
        clock.call_soon(ran.append, name)
    clock.run(stop=lambda: len(ran) == 3)
    assert (ran, hostile.runs) == (["a", "b", "c"], 2)


def test_a_circle_in_which_virtual_time_would_never_go_on_is_an_error_that_names_the_component() -> None:
    clock = VirtualClock(circle=1000)
    clock.call_later(SECOND, Hostile(clock).run)
    with pytest.raises(RuntimeError, match="time stands still: 1,000 callbacks") as caught:
        clock.run()
    assert caught.value.__notes__ == [f"in component {__name__}"]


def test_a_virtual_clock_fails_with_the_callback_that_fails_and_says_whose_it_was() -> None:
    clock, ran = VirtualClock(), []
    clock.call_soon(lambda: 1 // 0)
    clock.call_soon(ran.append, "next")
    with pytest.raises(ZeroDivisionError) as caught:
        clock.run()
    assert caught.value.__notes__ == [f"in component {__name__}"]
    assert ran == []


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), max_size=20))
def test_whatever_callbacks_ask_for_time_never_goes_back_and_who_was_due_is_not_overtaken(
    asked: list[tuple[int, int]],
) -> None:
    clock, ran = VirtualClock(EPOCH), []

    def again(index: int, delay: int) -> None:
        ran.append((clock.now(), index))
        clock.call_at(EPOCH + delay, ran.append, (max(clock.now(), EPOCH + delay), len(asked) + index))

    for index, (delay, more) in enumerate(asked):
        clock.call_at(EPOCH + delay, again, index, more)
    clock.run()
    times = [when for when, _ in ran]
    assert times == sorted(times)
    # Who was there from the beginning comes before who came later for the same moment or an earlier one.
    for moment in set(times):
        indexes = [index for when, index in ran if when == moment]
        first = [index for index in indexes if index < len(asked)]
        assert (first, indexes[: len(first)]) == (sorted(first), first)
    assert len(ran) == 2 * len(asked)


@pytest.mark.parametrize(("text", "scale"), [("wall", 1.0), ("scaled:10", 10.0), ("scaled:0.5", 0.5)])
def test_clocks_are_named_as_users_write_them(text: str, scale: float) -> None:
    clock = parse_clock(text)
    assert isinstance(clock, WallClock)
    assert clock.scale == scale


@pytest.mark.parametrize("text", ["", "fast", "scaled", "scaled:", "scaled:x", "scaled:0", "scaled:-1", "scaled:inf"])
def test_an_unknown_clock_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match="scaled"):
        parse_clock(text)
