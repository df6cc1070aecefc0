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
    assert "failed; the others go on" in caplog.text
    assert "ZeroDivisionError" in caplog.text


class SteppedLoop:
    """What a pump needs of a loop, with a time that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback) -> Timer:
        timer = Timer(self.timers, callback)
        self.timers.append(timer)
        return timer


class Timer:
    def __init__(self, timers: list[Timer], callback) -> None:
        self.timers = timers
        self.run = callback

    def cancel(self) -> None:
        if self in self.timers:
            self.timers.remove(self)


def turns(callbacks: int, seconds_each: float) -> list[int]:
    """How many callbacks run in each turn of a loop, when so many are due at once."""
    clock, loop, ran = WallClock(), SteppedLoop(), []

    def work() -> None:
        loop.now += seconds_each
        ran.append(loop.now)

    for _ in range(callbacks):
        clock.call_soon(work)
    pump = Pump(clock, loop)
    pump.start()
    counts = []
    while loop.timers:
        before = len(ran)
        loop.timers.pop(0).run()
        counts.append(len(ran) - before)
    pump.stop()
    assert len(ran) == callbacks
    return counts


def test_the_loop_is_served_while_much_is_due():
    counts = turns(200, seconds_each=0.001)
    assert len(counts) > 10
    assert max(counts) <= 20


def test_what_takes_no_time_is_done_in_one_turn():
    assert turns(200, seconds_each=0.0)[0] == 200
