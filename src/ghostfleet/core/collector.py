"""Python's garbage collector, set for a process that holds very many objects.

A cluster's store is hundreds of thousands of dicts that live long and hardly ever form cycles. Python's default looks
at a good part of them every few thousand allocations; that costs half of the speed and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["pause_collector", "relax_collector", "sparing_collector"]

#: New objects until the youngest are looked at, and how many such looks until older ones are.
_THRESHOLDS = (50_000, 20, 100)
#: The same in a run: not before there are so many that something must be wrong.
_RUN_THRESHOLDS = (20_000_000, 20, 100)


def pause_collector() -> None:
    """Collect nothing until `relax_collector`. For a process that starts: what imports make stays anyway."""
    gc.disable()


def relax_collector() -> None:
    """Leave all that exists now out of every collection, and collect less often. For a process that has just started.

    Memory that is not part of a cycle, which is nearly all, is freed at once as ever.
    """
    if gc.isenabled():
        gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()


@contextmanager
def sparing_collector() -> Iterator[None]:
    """Collect nothing while a run on a virtual clock lasts, unless it makes many millions of objects.

    Even one look at each object costs a run of a hundred thousand Jobs a tenth of its time; what it finds are some
    hundred objects.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_RUN_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
