"""The actions by name, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ghostfleet.schedulers.kai.actions.allocate import allocate
from ghostfleet.schedulers.kai.actions.consolidation import consolidation
from ghostfleet.schedulers.kai.actions.preempt import preempt
from ghostfleet.schedulers.kai.actions.reclaim import reclaim
from ghostfleet.schedulers.kai.actions.stalegangeviction import stalegangeviction
from ghostfleet.schedulers.kai.session import Session

__all__ = ["ACTIONS"]

ACTIONS: Mapping[str, Callable[[Session], None]] = {
    "allocate": allocate,
    "consolidation": consolidation,
    "reclaim": reclaim,
    "preempt": preempt,
    "stalegangeviction": stalegangeviction,
}
