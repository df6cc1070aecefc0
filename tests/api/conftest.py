"""Golden files: expected results, kept beside their inputs; `UPDATE_GOLDEN=1` writes them from what the code does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def golden() -> Callable[[Path, Any], None]:
    """Compares a JSON value with the golden file at a path, or writes that file when asked to."""

    def check(path: Path, actual: Any) -> None:
        # Through JSON and back, since parts that objects share would be written as YAML aliases.
        plain = json.loads(json.dumps(actual))
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(yaml.safe_dump(plain, sort_keys=True))
        assert path.exists(), f"{path.name} is missing; make it with UPDATE_GOLDEN=1"
        assert plain == yaml.safe_load(path.read_text())

    return check
