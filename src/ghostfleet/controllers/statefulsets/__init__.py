"""StatefulSets: pods with a number, a name that stays, and storage of their own."""

from __future__ import annotations

from ghostfleet.controllers.statefulsets.controller import STATEFULSETS, StatefulSetController

__all__ = ["STATEFULSETS", "StatefulSetController"]
