"""The pump that drives a wall clock from asyncio."""

from __future__ import annotations

import asyncio
import logging

from ghostfleet.core.clock import SECOND, WallClock
from ghostfleet.server.pump import Pump


def pumped(play, scale: float = 1000.0):
    """Run a coroutine function of a clock while a pump drives it."""

    async def run() -> None:
        clock = WallClock(scale=scale)
        pump = Pump(clock, asyncio.get_running_loop())
        pump.start()
        try:
            await asyncio.wait_for(play(clock), 10)
        finally:
            pump.stop()
        assert clock.on_change is None

    asyncio.run(run())


def test_callbacks_run_in_the_order_of_their_times():
    async def play(clock):
        done = asyncio.Event()
        ran = []
        clock.call_later(3 * SECOND, done.set)
        clock.call_later(2 * SECOND, ran.append, "second")
        clock.call_later(1 * SECOND, ran.append, "first")
        await done.wait()
        assert ran == ["first", "second"]

    pumped(play)


def test_a_callback_may_ask_for_the_next():
    async def play(clock):
        done = asyncio.Event()

        def step(count: int) -> None:
            if count:
                clock.call_later(SECOND, step, count - 1)
            else:
                done.set()

        step(20)
        await done.wait()

    pumped(play)


def test_an_earlier_deadline_outruns_a_later_one():
    async def play(clock):
        done = asyncio.Event()
        clock.call_later(3600 * SECOND, lambda: None)
        clock.call_later(0, done.set)
        await done.wait()

    pumped(play, scale=1.0)


def test_a_callback_that_fails_does_not_stop_the_clock(caplog):
    async def play(clock):
        done = asyncio.Event()
        clock.call_later(0, lambda: 1 // 0)
        clock.call_later(1, done.set)
        await done.wait()

    with caplog.at_level(logging.ERROR):
        pumped(play)
    assert "a callback of the clock failed" in caplog.text


def test_the_loop_is_served_while_much_is_due():
    async def play(clock):
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def work() -> None:
            until = loop.time() + 0.0005
            while loop.time() < until:
                pass

        for _ in range(200):
            clock.call_soon(work)
        clock.call_soon(done.set)
        longest, before = 0.0, loop.time()
        while not done.is_set():
            await asyncio.sleep(0)
            longest, before = max(longest, loop.time() - before), loop.time()
        assert longest < 0.09

    pumped(play)
