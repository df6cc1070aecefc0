"""A small cluster for tests of ClusterLoader2, and files for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from tests.support.clusterloader import Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes the files of a test; answers the path of the first."""

    def write(config: str, **files: str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_text(dedent(config))
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(dedent(text))
        return path

    return write
