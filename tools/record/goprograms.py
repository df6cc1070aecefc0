"""Programs in Go that answer questions: each line of their input is one, each line of their output its answer."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["ask_program"]

_HERE = Path(__file__).parent


def ask_program(name: str, questions: Iterable[str]) -> tuple[dict[str, str], list[Any]]:
    """Build the program in the directory `name` and ask it; versions of what answers, and the answers."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / name
        build = ["go", "build", "-buildvcs=false", "-o", str(program), "."]
        subprocess.run(build, cwd=_HERE / name, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
        asked = "".join(f"{question}\n" for question in questions)
        said = subprocess.run([program], input=asked, stdout=subprocess.PIPE, text=True, check=True).stdout
    versions, *answers = (json.loads(line, object_hook=_double) for line in said.split("\n") if line)
    return versions, answers


def _double(value: dict[str, Any]) -> Any:
    """Go writes a float of whole value as an integer does, so it is told apart."""
    return float(value["$double"]) if "$double" in value else value
