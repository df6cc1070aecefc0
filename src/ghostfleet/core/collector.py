"""Python's garbage collector, set for a process that holds very many objects.

A cluster's store is hundreds of thousands of dicts that live long and hardly ever form cycles. Python's default looks
at a good part of them every few thousand allocations; that costs half of the speed and finds nothing.
"""

from __future__ import annotations

import gc

__all__ = ["relax_collector"]

#: New objects until the youngest are looked at, and how many such looks until older ones are.
_THRESHOLDS = (50_000, 20, 100)


def relax_collector() -> None:
    """Leave all that exists now out of every collection, and collect less often. For a process that has just started.

    Memory that is not part of a cycle, which is nearly all, is freed at once as ever.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
