"""Compilation: the package runs as it is, and faster with its busiest modules compiled.

Which modules these are stands in pyproject.toml; `make fast` compiles them. Both do the same, so nothing but a version
or a benchmark needs to know which is running.
"""

from __future__ import annotations

from ghostfleet.core import store

__all__ = ["is_compiled"]


def is_compiled() -> bool:
    """Whether the busiest modules are compiled."""
    return not str(store.__file__).endswith(".py")
