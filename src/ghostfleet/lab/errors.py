"""Errors of the lab: what the user can put right, in one line."""

from __future__ import annotations

__all__ = ["LabError"]


class LabError(Exception):
    """Something was asked that cannot be done; the message says what is wrong and what to do."""
