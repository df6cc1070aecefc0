"""Workers: syncs, their requests, and the limits they run into."""

from __future__ import annotations

from ghostfleet.controllers.workers import Workers, together
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.errors import not_found
from ghostfleet.core.ratelimit import ItemExponentialBackoff, TokenBucket


def test_without_a_limit_a_sync_runs_through_after_whatever_runs_now():
    clock, done = VirtualClock(), []

    def sync(key):
        for step in range(3):
            yield 1
            done.append((key, step))

    workers = Workers(clock, sync)
    workers.add("a")
    workers.add("a")
    workers.add("b")
    assert done == []
    clock.settle()
    assert done == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]


def test_a_limited_client_spaces_requests_out_and_workers_share_it():
    clock, done = VirtualClock(), []
    start = clock.now()

    def sync(key):
        for _ in range(2):
            yield 1
            done.append((key, (clock.now() - start) / SECOND))

    workers = Workers(clock, sync, count=2, client=TokenBucket(1, 2))
    for key in "abc":
        workers.add(key)
    clock.run()
    assert done == [("a", 0.0), ("a", 0.0), ("b", 1.0), ("c", 2.0), ("b", 3.0), ("c", 4.0)]


def test_requests_made_together_take_their_turns_at_once():
    clock, done = VirtualClock(), []
    start = clock.now()

    def sync(key):
        for turn in together(3 if key == "many" else 1):
            yield turn
            done.append((key, (clock.now() - start) / SECOND))

    workers = Workers(clock, sync, count=2, client=TokenBucket(1, 1))
    workers.add("many")
    workers.add("one")
    clock.run()
    assert done == [("many", 0.0), ("many", 1.0), ("many", 2.0), ("one", 3.0)]


def test_a_key_added_while_it_is_worked_on_is_worked_on_again_afterwards():
    clock, done = VirtualClock(), []

    def sync(key):
        yield 1
        yield 1
        done.append(clock.now())

    workers = Workers(clock, sync, count=5, client=TokenBucket(1, 1))
    workers.add("a")
    clock.advance(SECOND // 2)
    workers.add("a")
    workers.add("a")
    clock.run()
    assert len(done) == 2


def test_of_several_delays_for_a_key_the_shortest_counts():
    clock, done = VirtualClock(), []
    start = clock.now()

    def sync(key):
        done.append((clock.now() - start) // SECOND)
        return iter(())

    workers = Workers(clock, sync)
    for delay in (5, 3, 8):
        workers.add_after("a", delay * SECOND)
    clock.run()
    assert done == [3]


def test_what_fails_is_tried_again_later_each_time():
    clock, tried = VirtualClock(), []
    start = clock.now()

    def sync(key):
        tried.append((clock.now() - start) // SECOND)
        yield 1
        if len(tried) < 4:
            raise not_found("pods", key)

    workers = Workers(clock, sync, retry=ItemExponentialBackoff(SECOND, 60 * SECOND))
    workers.add("a")
    clock.run()
    assert tried == [0, 1, 3, 7]
    workers.add("a")
    clock.settle()
    assert len(workers) == 0
