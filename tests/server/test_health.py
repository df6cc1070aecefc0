"""Readiness: a clock that lags and components that have failed are told by `/readyz`, `/metrics` and `status`."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

from ghostfleet.cluster import BARE, Cluster
from ghostfleet.core.clock import WallClock, pause
from ghostfleet.core.watchdog import SLOW_AFTER
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.pump import Pump
from ghostfleet.server.survey import _state
from support.asgi import Reply, call


class Served:
    """A cluster on a wall clock that runs when the test says so."""

    def __init__(self) -> None:
        self.clock = WallClock()
        self.app = App(Cluster(self.clock, BARE).api, Authenticator("t"))
        self.clock.run_due()

    def get(self, path: str) -> Reply:
        return asyncio.run(call(self.app, "GET", path, [("authorization", "Bearer t")], b""))

    def text(self, path: str) -> str:
        return self.get(path).body.decode()


@pytest.fixture
def served() -> Served:
    return Served()


def fail() -> None:
    raise MemoryError("no more")


def test_a_cluster_that_is_well_is_ready_in_all_its_checks(served: Served) -> None:
    assert served.text("/readyz") == "ok"
    assert served.text("/readyz?verbose").splitlines() == [
        "[+]ping ok",
        "[+]log ok",
        "[+]etcd ok",
        "[+]clock ok",
        "[+]components ok",
        "readyz check passed",
    ]
    assert served.get("/readyz/components").status == 200
    assert served.get("/livez/components").status == 404
    assert _state("ok") == "ready"


def test_a_component_that_failed_is_named_and_the_server_lives_on(served: Served) -> None:
    served.clock.call_soon(fail)
    served.clock.run_due()
    for path in ("/readyz", "/readyz?verbose"):
        reply = served.get(path)
        assert reply.status == 500
        assert f"[-]components failed: {__name__}\n" in reply.body.decode()
        assert reply.body.endswith(b"readyz check failed\n")
    assert served.get("/readyz/components").status == 500
    assert served.text("/livez") == served.text("/healthz") == served.text("/readyz/clock") == "ok"
    assert _state(served.text("/readyz")) == f"failed: {__name__}"
    assert f'ghostfleet_component_failures_total{{component="{__name__}"}} 1\n' in served.text("/metrics")


def test_a_clock_that_nobody_drives_lags_until_it_has_caught_up(served: Served) -> None:
    served.clock.call_soon(lambda: None)
    while served.get("/readyz").status == 200:
        pause(0.1)
    said = served.text("/readyz")
    (lagging,) = re.findall(r"^\[-\]clock failed: (lagging \(\d+ s behind, in server\.requests\))$", said, re.MULTILINE)
    assert _state(said) == lagging
    both = said.replace("[+]components ok", "[-]components failed: a.b, c.d")
    assert _state(both) == f"failed: a.b, c.d; {lagging}"
    served.clock.run_due()
    assert served.text("/readyz") == "ok"


def test_what_is_wrong_with_another_server_is_its_own_matter() -> None:
    assert _state("[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n") == "not ready"


def test_a_slow_component_is_in_the_metrics(served: Served) -> None:
    assert "ghostfleet_clock_lag_seconds 0." in served.text("/metrics")
    served.clock.call_soon(pause, SLOW_AFTER)
    served.clock.run_due()
    metrics = served.text("/metrics")
    assert 'ghostfleet_slow_callbacks_total{component="core.clock"} 1\n' in metrics
    assert 'ghostfleet_slowest_callback_seconds{component="core.clock"} 1.' in metrics


def test_the_log_shows_what_stands_still_while_it_does(caplog: pytest.LogCaptureFixture) -> None:
    clock = WallClock()

    def stand_still() -> None:
        while "clock lags" not in caplog.text:
            pause(0.05)

    async def run() -> None:
        pump = Pump(clock, asyncio.get_running_loop())
        done = asyncio.Event()
        clock.call_soon(stand_still)
        clock.call_soon(done.set)
        pump.start()
        await asyncio.wait_for(done.wait(), 60)
        pump.stop()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert f"behind, in {__name__}; at work:" in caplog.text
    assert "in stand_still" in caplog.text
