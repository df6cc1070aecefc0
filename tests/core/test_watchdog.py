"""The watchdog: whose callback failed, who is slow, and in whom the clock lags."""

from __future__ import annotations

from functools import partial

import pytest

from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.controllers.requests import Request
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change
from ghostfleet.core.clock import SECOND, WallClock, pause
from ghostfleet.core.store import Store
from ghostfleet.core.watchdog import LAGGING_AFTER, SLOW_AFTER, Watchdog, component_of
from ghostfleet.dispatchers.mcad.threads import Ticker
from ghostfleet.stages.leases import Leases


def test_a_component_is_named_by_its_layer_and_module() -> None:
    leases = Leases(Store(WallClock()))
    assert component_of(leases.write_all) == "stages.leases"
    assert component_of(partial(partial(leases.renewed, name="x"))) == "stages.leases"
    assert component_of(pause) == "core.clock"
    assert component_of(lambda: None) == __name__
    assert component_of([].append) == "unknown"


def test_who_calls_back_for_another_is_named_as_the_other() -> None:
    clock = WallClock()
    leases = Leases(Store(clock))
    helpers = [
        WorkQueue(clock, leases.fail)._run,
        Workers(Store(clock), leases.fail)._run,
        Ticker(clock, SECOND, leases.write_all, bool)._run,
        WorkQueue(clock, partial(Workers(Store(clock), leases.fail).add))._run,
    ]
    assert [component_of(each) for each in helpers] == ["stages.leases"] * 4


@pytest.mark.parametrize("error", [MemoryError(), KeyError("x"), RecursionError("deep")])
def test_a_callback_that_fails_is_told_once_with_its_name_and_the_others_go_on(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    clock, ran = WallClock(), []

    def fail() -> None:
        raise error

    for index in range(3):
        clock.call_soon(fail)
        clock.call_soon(ran.append, index)
    clock.run_due()
    assert ran == [0, 1, 2]
    assert clock.watchdog.failures == {__name__: 3}
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("ERROR", f"component {__name__} failed; the others go on")
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_one_who_listens_and_fails_keeps_neither_the_write_nor_the_others_from_it() -> None:
    clock, heard = WallClock(), []
    store = Store(clock)

    def fail(change: Change) -> None:
        raise MemoryError

    store.listen("things", fail)
    store.listen("things", lambda change: heard.append(change.name))
    made = store.create("things", {"metadata": {"name": "a"}})
    store.set_status("things", made, {"phase": "Good"})
    store.delete("things", "", "a")
    assert heard == ["a", "a", "a"]
    assert clock.watchdog.failures == {__name__: 3}


def test_work_behind_what_fails_is_done() -> None:
    clock, done = WallClock(), []

    def work(key: int) -> None:
        if key == 1:
            raise RuntimeError("no")
        done.append(key)

    def sync(key: int):
        yield Request("create", "things", lambda store: work(key + 10 if key != 1 else 1))

    queue, workers = WorkQueue(clock, work), Workers(Store(clock), sync)
    for key in range(3):
        queue.add(key)
        workers.add(key)
    for _ in range(10):
        clock.run_due()
    assert sorted(done) == [0, 2, 10, 12]
    assert clock.watchdog.failures == {__name__: 2}


def test_a_slow_callback_is_named_in_the_log_until_it_is_known(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog()
    for seconds in (SLOW_AFTER / 2, SLOW_AFTER, 1.5 * SLOW_AFTER, 4 * SLOW_AFTER):
        watchdog.took(pause, seconds)
    assert watchdog.slow == {"core.clock": (3, 4 * SLOW_AFTER)}
    assert [each.getMessage() for each in caplog.records] == [
        f"component core.clock held the cluster's clock for {seconds:.1f} s" for seconds in (SLOW_AFTER, 4 * SLOW_AFTER)
    ]


def test_the_time_went_to_whom_most_of_it_was_taken_by_since_the_clock_was_on_time() -> None:
    watchdog, leases = Watchdog(), Leases(Store(WallClock()))
    watchdog.took(pause, 0.2)
    watchdog.took(leases.write_all, 3.0)
    watchdog.took(leases.write_all, 3.0)
    assert watchdog.culprit(7.0) == "stages.leases"
    assert watchdog.culprit(7.0, pause) == "core.clock"
    assert watchdog.culprit(60.0) == "server.requests"
    watchdog.on_time()
    assert watchdog.culprit(1.0) == "server.requests"


def test_lagging_is_told_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog()
    for behind in (0.0, LAGGING_AFTER, 3 * LAGGING_AFTER, LAGGING_AFTER * 0.6, 0.0, 0.0):
        watchdog.look(behind, "stages.leases", lambda: "a stack")
    assert [each.getMessage() for each in caplog.records] == [
        f"the cluster's clock lags {LAGGING_AFTER:.1f} s behind, in stages.leases; at work:\na stack",
        "the cluster's clock is on time again; it lagged in stages.leases",
    ]


def test_a_clock_is_behind_by_what_has_been_due_for_long_and_knows_in_whom() -> None:
    clock = WallClock(scale=1000.0)
    assert clock.lag()[0] == 0.0
    clock.call_soon(pause, 0.3)
    clock.call_soon(lambda: None)
    clock.run_due(limit=1)
    behind, component = clock.lag()
    assert behind >= 0.3
    assert component == "core.clock"
    clock.run_due()
    assert clock.lag()[0] == 0.0


def test_a_callback_that_has_not_ended_is_known_from_outside() -> None:
    clock, seen = WallClock(), []
    queue: WorkQueue[str] = WorkQueue(clock, lambda _: seen.append(clock.lag()[1]))
    queue.add("x")
    clock.run_due()
    assert seen == [__name__]
    assert clock.lag() == (0.0, "server.requests")
