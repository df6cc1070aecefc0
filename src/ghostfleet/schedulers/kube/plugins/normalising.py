"""Normalising scores, as kube-scheduler's DefaultNormalizeScore does."""

from __future__ import annotations

from ghostfleet.schedulers.framework.nodetable import IntArray
from ghostfleet.schedulers.framework.plugin import MAX_SCORE

__all__ = ["as_share"]


def as_share(scores: IntArray) -> IntArray:
    """Scores as percent of the largest."""
    most = int(scores.max())
    return scores * MAX_SCORE // most if most else scores
