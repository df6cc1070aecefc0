"""The corpus: all cases of the API."""

from __future__ import annotations

from parity_material.cases import Case
from parity_material.situations import general_cases
from parity_material.specials import special_cases

__all__ = ["all_cases"]


def all_cases() -> list[Case]:
    """Every case, in the order in which they are played."""
    return [*special_cases(), *general_cases()]
