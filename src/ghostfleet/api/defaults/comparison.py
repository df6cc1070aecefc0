"""Comparison: whether two versions of an object ask for the same.

An empty list says no more than an absent one, and so does null. Objects and the strings in them must be the same.
"""

from __future__ import annotations

from typing import Any

__all__ = ["same"]


def same(left: Any, right: Any) -> bool:
    """Whether both mean the same."""
    if left is right or left == right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return all(same(left.get(key), right.get(key)) for key in left.keys() | right.keys())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left in (None, []) and right in (None, [])
