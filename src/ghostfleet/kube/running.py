"""Running: a coroutine on a loop of its own until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any

__all__ = ["run_until_signal"]


def run_until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it ends, or SIGINT or SIGTERM comes; what it raises is raised."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            runner.run(_until_signal(work))
        except BaseExceptionGroup as group:
            # A task group wraps what one of its tasks raised.
            raise _first(group) from None


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
