"""Workers: syncs, their requests, and the limits they run into."""

from __future__ import annotations

from ghostfleet.controllers.requests import Request, slow_start
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.errors import ApiError, not_found
from ghostfleet.core.latency import Client
from ghostfleet.core.ratelimit import ItemExponentialBackoff, TokenBucket
from ghostfleet.core.store import Store


class Done(list):
    """What requests did, each with the seconds since the beginning if it is asked for."""

    def __init__(self) -> None:
        self.store = Store(VirtualClock())
        self.clock = self.store.clock
        self.start = self.clock.now()

    def seconds(self) -> float:
        return (self.clock.now() - self.start) / SECOND

    def request(self, *what: object) -> Request:
        return Request("create", "things", self._note, *what)

    def timed(self, *what: object) -> Request:
        return Request("create", "things", lambda store: self.append((*what, self.seconds())))

    def failing(self, name: str) -> Request:
        return Request("delete", "things", self._fail, name)

    def _note(self, store: Store, *what: object) -> object:
        assert store is self.store
        self.append(what)
        return what

    def _fail(self, store: Store, name: str) -> None:
        self.append(name)
        raise not_found("things", name)


def test_without_a_limit_a_sync_runs_through_after_whatever_runs_now():
    done = Done()

    def sync(key):
        for step in range(3):
            yield done.request(key, step)

    workers = Workers(done.store, sync)
    workers.add("a")
    workers.add("a")
    workers.add("b")
    assert done == []
    done.clock.settle()
    assert done == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]


def test_a_limited_client_spaces_requests_out_and_workers_share_it():
    done = Done()

    def sync(key):
        for _ in range(2):
            yield done.timed(key)

    workers = Workers(done.store, sync, count=2, client=Client(TokenBucket(1, 2)))
    for key in "abc":
        workers.add(key)
    done.clock.run()
    assert done == [("a", 0.0), ("a", 0.0), ("b", 1.0), ("c", 2.0), ("b", 3.0), ("c", 4.0)]


def test_requests_made_together_take_their_turns_at_once():
    done = Done()

    def sync(key):
        yield [done.timed(key)] * (3 if key == "many" else 1)

    workers = Workers(done.store, sync, count=2, client=Client(TokenBucket(1, 1)))
    workers.add("many")
    workers.add("one")
    done.clock.run()
    assert done == [("many", 0.0), ("many", 1.0), ("many", 2.0), ("one", 3.0)]


def test_a_request_takes_its_time_and_meanwhile_others_work():
    done = Done()

    def sync(key):
        for _ in range(2):
            yield done.timed(key)

    workers = Workers(done.store, sync, count=2, client=Client(requests={"create": (SECOND,)}))
    for key in "abc":
        workers.add(key)
    done.clock.run()
    assert done == [("a", 1.0), ("b", 1.0), ("a", 2.0), ("b", 2.0), ("c", 3.0), ("c", 4.0)]


def test_a_request_takes_its_time_after_its_turn_has_come():
    done = Done()

    def sync(key):
        yield [done.timed(key)] * 2

    client = Client(TokenBucket(1, 1), {"create": (SECOND // 2,)})
    Workers(done.store, sync, client=client).add("a")
    done.clock.run()
    assert done == [("a", 0.5), ("a", 1.5)]


def test_what_happens_is_worked_on_when_the_informer_tells_of_it():
    done = Done()

    def sync(key):
        yield done.timed(key)

    workers = Workers(done.store, sync, client=Client(informer=(SECOND,)))
    workers.add("now")
    workers.add_after("later", 3 * SECOND)
    done.clock.run()
    assert done == [("now", 1.0), ("later", 3.0)]


def test_a_sync_gets_what_its_requests_answer_limited_or_not():
    for client in (None, Client(TokenBucket(1, 1))):
        done, answers = Done(), []

        def sync(key, done=done, answers=answers):
            answers.append((yield done.request(key)))
            answers.append((yield [done.request(key, each) for each in range(2)]))
            answers.append((yield []))

        Workers(done.store, sync, client=client).add("a")
        done.clock.run()
        assert answers == [("a",), [("a", 0), ("a", 1)], []]


def test_a_request_that_fails_fails_in_the_sync_once_all_beside_it_were_made():
    for client in (None, Client(TokenBucket(1, 1))):
        done, caught = Done(), []

        def sync(key, done=done, caught=caught):
            try:
                yield [done.request(1), done.failing("x"), done.request(2)]
            except ApiError as error:
                caught.append(error.reason)
            yield done.request(3)

        workers = Workers(done.store, sync, client=client)
        workers.add("a")
        done.clock.run()
        assert done == [(1,), "x", (2,), (3,)]
        assert caught == ["NotFound"]
        assert len(workers) == 0


def test_batches_double_until_a_request_fails():
    done = Done()

    def sync(key):
        good = [done.request()] * 5
        try:
            yield from slow_start([*good, done.failing("x"), *good], 1)
        except ApiError:
            yield done.request("failed")

    Workers(done.store, sync).add("a")
    done.clock.run()
    assert done == [(), (), (), (), (), "x", (), ("failed",)]


def test_a_key_added_while_it_is_worked_on_is_worked_on_again_afterwards():
    done = Done()

    def sync(key):
        yield done.request("first")
        yield done.request("second")

    workers = Workers(done.store, sync, count=5, client=Client(TokenBucket(1, 1)))
    workers.add("a")
    done.clock.advance(SECOND // 2)
    workers.add("a")
    workers.add("a")
    done.clock.run()
    assert done == [("first",), ("second",)] * 2


def test_of_several_delays_for_a_key_the_shortest_counts():
    done = Done()

    def sync(key):
        done.append(done.seconds())

    workers = Workers(done.store, sync)
    for delay in (5, 3, 8):
        workers.add_after("a", delay * SECOND)
    done.clock.run()
    assert done == [3]


def test_what_fails_is_tried_again_later_each_time():
    done = Done()

    def sync(key):
        yield done.timed(key)
        if len(done) < 4:
            raise not_found("pods", key)

    workers = Workers(done.store, sync, retry=ItemExponentialBackoff(SECOND, 60 * SECOND))
    workers.add("a")
    done.clock.run()
    assert done == [("a", 0), ("a", 1), ("a", 3), ("a", 7)]
    workers.add("a")
    done.clock.settle()
    assert len(workers) == 0
