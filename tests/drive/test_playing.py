import asyncio
import os
import signal

import pytest

from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.drive.embedded import Joined, Sleep, play


def test_hours_of_sleep_take_no_real_time():
    clock = VirtualClock()
    begin = clock.now()

    async def tool():
        for _ in range(10):
            await Sleep(clock, 3600 * SECOND)
        return clock.now() - begin

    assert play(clock, tool()) == 36_000 * SECOND


def test_an_interrupt_is_seen_by_the_tool_where_it_waits():
    clock = VirtualClock()
    saved = []

    async def part(number):
        try:
            await Sleep(clock, SECOND * 1000)
        except asyncio.CancelledError:
            saved.append(number)
            raise

    async def tool():
        clock.call_later(SECOND, lambda: os.kill(os.getpid(), signal.SIGINT))
        try:
            await Joined(clock, [part(0), part(1)])
        finally:
            saved.append("tool")

    with pytest.raises(KeyboardInterrupt):
        play(clock, tool())
    assert saved == [0, 1, "tool"]


def test_an_error_of_the_tool_is_raised():
    async def tool():
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        play(VirtualClock(), tool())


def test_nothing_at_once_is_done_at_once():
    clock = VirtualClock()

    async def tool():
        return await Joined(clock, [])

    assert play(clock, tool()) == []


def test_what_waits_for_nothing_lets_no_time_pass():
    clock = VirtualClock()
    begin = clock.now()
    clock.call_later(3600 * SECOND, lambda: None)

    async def tool():
        return clock.now()

    assert play(clock, tool()) == begin
    assert clock.now() == begin
