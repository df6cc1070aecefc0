"""Golden files: what real programs answered, one JSON document a line, compressed.

The first line says which versions of which programs these were.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

__all__ = ["GOLDEN", "read_golden", "write_golden"]

GOLDEN = Path(__file__).parents[1] / "golden"


def read_golden(path: Path) -> list[Any]:
    _recorded, *lines = (orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
    return lines


def write_golden(path: Path, recorded: dict[str, str], lines: Iterable[Any]) -> None:
    """The same lines make the same bytes."""
    told = ({"recorded": recorded}, *lines)
    text = b"\n".join(orjson.dumps(line, option=orjson.OPT_SORT_KEYS) for line in told)
    path.write_bytes(gzip.compress(text, 9, mtime=0))
