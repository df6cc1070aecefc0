"""Patches of all four sorts, and the bookkeeping of who owns which field. All of them copy only what they change."""

from __future__ import annotations

from ghostfleet.core.patch.apply import server_side_apply
from ghostfleet.core.patch.jsonpatch import apply_json_patch
from ghostfleet.core.patch.managed import reset_fields, same_but_for_times, track_update
from ghostfleet.core.patch.merge import apply_merge_patch, apply_strategic_merge

__all__ = [
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_merge",
    "reset_fields",
    "same_but_for_times",
    "server_side_apply",
    "track_update",
]
