"""The small parts: queues, threads, costs, profiles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.dispatchers.mcad import dispatcher_names, load_dispatcher_profile
from ghostfleet.dispatchers.mcad.costs import Costs
from ghostfleet.dispatchers.mcad.queue import ActiveQueue, EventQueue, Gate, Seen
from ghostfleet.dispatchers.mcad.threads import HELD, Thread, Ticker
from ghostfleet.dispatchers.mcad.waiting import WaitingLines

SEEN = Seen({}, "1")


def key(name: object) -> tuple[str, str]:
    return "ns", str(name)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(-3, 3)), max_size=40), st.lists(st.integers(0, 20)))
def test_the_active_queue_gives_out_the_highest_priority(added, removed):
    queue, known = ActiveQueue(), {}
    for name, priority in added:
        queue.add(key(name), priority)
        known.setdefault(key(name), priority)
    for name in removed:
        queue.remove(key(name))
        known.pop(key(name), None)
    given_out = []
    while (found := queue.pop()) is not None:
        given_out.append(found)
    assert sorted(given_out) == sorted(known)
    assert [known[each] for each in given_out] == sorted(known.values(), reverse=True)


def test_the_event_queue_keeps_the_place_of_what_is_added_again():
    queue = EventQueue()
    for name in "aba":
        queue.add(key(name), Seen({}, name))
    assert [queue.pop(), queue.pop(), queue.pop()] == [(key("a"), Seen({}, "a")), (key("b"), Seen({}, "b")), None]


def test_everyone_at_the_gate_is_let_in_once_between_two_pieces_of_work():
    gate, done = Gate(), []
    gate.enter("events", lambda: done.append("at once"))
    gate.shut = True
    for who, what in (("events", "e1"), ("events", "e2"), ("heart", "h1")):
        gate.enter(who, lambda what=what: done.append(what))
    assert done == ["at once"]
    gate.let_in()
    assert done == ["at once", "e1", "h1"]
    assert gate.let_in()
    assert done[-1] == "e2"
    assert not gate.let_in()


def test_a_thread_does_one_thing_after_the_other_and_is_not_woken_before_its_time():
    clock, work, done = VirtualClock(), ["a", "b"], []

    def piece(name):
        yield clock.now() + SECOND
        thread.wake()
        done.append((name, clock.now()))

    thread = Thread(clock, lambda: piece(work.pop(0)) if work else None)
    start = clock.now()
    thread.wake()
    clock.settle()
    thread.wake()
    clock.run()
    assert done == [("a", start + SECOND), ("b", start + 2 * SECOND)]


def test_a_thread_that_is_held_goes_on_when_it_is_let_go():
    clock, done = VirtualClock(), []

    def piece():
        yield HELD
        done.append(clock.now())

    pieces = [piece()]
    thread = Thread(clock, lambda: pieces.pop() if pieces else None)
    thread.wake()
    clock.advance(SECOND)
    thread.wake()
    clock.advance(SECOND)
    assert done == []
    thread.let_go()
    clock.settle()
    assert done == [clock.now()]


def test_a_ticker_ticks_at_fixed_times_while_it_is_needed():
    clock, ticks = VirtualClock(), []
    start = clock.now()
    ticker = Ticker(clock, 5 * SECOND, lambda: ticks.append(clock.now() - start), lambda: len(ticks) < 2)
    clock.advance(7 * SECOND)
    ticker.wake()
    clock.run()
    assert ticks == [10 * SECOND, 15 * SECOND]


def test_discovery_is_throttled_once_the_burst_is_used_up():
    clock = VirtualClock()
    costs = Costs(clock, load_dispatcher_profile("mcad-1.32:discovery.group-versions=98"))
    latency = 8_000
    # A hundred requests for each check: two of them are in the burst, the third waits a second.
    assert [costs.check() - clock.now() for _ in range(3)] == [2 * latency, 2 * latency, SECOND + 2 * latency]


def test_the_last_version_lists_the_pods_of_each_node_one_after_the_other():
    clock = VirtualClock()
    costs = Costs(clock, load_dispatcher_profile("mcad-1.40"))
    assert costs.lists(1_000) - clock.now() == pytest.approx(16 * SECOND, rel=0.01)


def test_lines_serve_by_priority_and_arrival_and_skip_what_is_blocked():
    lines = WaitingLines()
    for name, signature, priority in (("a", 1, 0), ("b", 2, 0), ("c", 1, 0), ("d", 3, 5)):
        lines.add(key(name), (signature,), priority)
    served = []
    for head in lines.heads():
        if head == key("b"):
            lines.block(head)
        else:
            lines.remove(head)
            served.append(head[1])
    assert served == ["d", "a", "c"]
    assert lines.oldest_blocked() == key("b")
    assert list(lines.heads()) == []
    lines.unblock()
    assert lines.waiting() == [key("b")]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2), st.booleans()), max_size=40))
def test_everyone_who_waits_is_served_once(steps):
    lines, waiting = WaitingLines(), {}
    for name, signature, joins in steps:
        if joins and key(name) not in lines:
            lines.add(key(name), (signature,), signature)
            waiting[key(name)] = signature
        elif not joins:
            lines.remove(key(name))
            waiting.pop(key(name), None)
    assert len(lines) == len(waiting)
    served = []
    for head in lines.heads():
        lines.remove(head)
        served.append(head)
    assert sorted(served) == sorted(waiting)
    assert [waiting[each] for each in served] == sorted(waiting.values(), reverse=True)


def test_every_figure_of_every_profile_has_a_source():
    assert dispatcher_names() == ["better", "mcad-1.32", "mcad-1.40"]
    figures = {name: load_dispatcher_profile(name).figures() for name in dispatcher_names()}
    assert all(figure.source for each in figures.values() for figure in each.values())
    defects = {name for name in figures["mcad-1.32"] if name.startswith("defect.")}
    assert len(defects) == 11
    assert not any(figures["better"][name].value for name in defects if name not in ("defect.hold-completion-final",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mcad-2", "known are better, mcad-1.32, mcad-1.40"),
        ("better:speed=9", "cannot set 'speed=9'"),
        ("better:preemption=perhaps", "expected true or false"),
        ("better:quota", "expected figure=value"),
        ("better:discovery.group-versions=x", "expected a value like"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_a_hint(text, problem):
    with pytest.raises(ValueError, match="dispatcher") as caught:
        load_dispatcher_profile(text)
    assert problem in str(caught.value)
