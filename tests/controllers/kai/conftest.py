"""Clusters with KAI but for its scheduler."""

from __future__ import annotations

import pytest

from support.kai_lab import KaiLab


@pytest.fixture
def kai() -> KaiLab:
    return KaiLab()


@pytest.fixture
def still() -> KaiLab:
    """Nobody runs pods there, and nobody makes any of Jobs."""
    return KaiLab("stages", "controllers")
