"""Golden files: what real programs answered, one JSON document a line, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

__all__ = ["GOLDEN", "read_golden", "write_golden"]

GOLDEN = Path(__file__).parents[1] / "golden"


def read_golden(path: Path) -> list[Any]:
    return [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write_golden(path: Path, lines: Iterable[Any]) -> None:
    """The same lines make the same bytes."""
    text = b"\n".join(orjson.dumps(line, option=orjson.OPT_SORT_KEYS) for line in lines)
    path.write_bytes(gzip.compress(text, 9, mtime=0))
