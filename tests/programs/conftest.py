"""Programs that people run on Kubernetes, as `make programs` builds them; what is not built is skipped.

As all tests with real programs they run with GHOSTFLEET_TESTS_REAL=1 only, as `make e2e` sets it: they take minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from programs.built import NotBuilt, built


@pytest.fixture(scope="session")
def program() -> Callable[[str, str], Path]:
    """Finds the directory that a project's program is in."""

    def find(project: str, name: str) -> Path:
        if os.environ.get("GHOSTFLEET_TESTS_REAL") != "1":
            pytest.skip("needs real programs; `make programs` builds and `make e2e` uses them")
        try:
            return built(project, name)
        except NotBuilt as error:
            pytest.skip(str(error))

    return find
