"""The README's commands run from top to bottom as they are written, in one shell, in a copy of what it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Commands that build for minutes or need what was built; other tests run them.
NOT_RUN = re.compile(r"^(make|git|pip) |--runtime kubernetes")


def commands(text: str) -> list[str]:
    """The commands of all blocks without a language: behind `$ ` where a block shows output, else every line."""
    found = []
    for block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, lines = block[0], block[1].splitlines()
        shown = [line[2:] for line in lines if line.startswith("$ ")]
        if not language:
            found += shown or [line for line in lines if line and not line.startswith("#")]
    return [each for each in found if not NOT_RUN.search(each)]


def test_every_block_of_the_readme_is_of_commands_or_names_its_language():
    found = commands((ROOT / "README.md").read_text())
    assert len(found) > 20
    unknown = [each for each in found if each.split()[0] not in ("ghostfleet", "kubectl", "export")]
    assert unknown == []


@pytest.mark.kubectl
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_readme_runs_from_top_to_bottom(tmp_path):
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    # `make demo` installs here; the README puts this directory on the path itself.
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("ghostfleet", "gf"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ghostfleet "$@"\n')
        program.chmod(0o755)
    script = "set -eu -o pipefail\n" + "".join(
        f"echo '+' {_quoted(each)}\n{each} 2>&1 | cat\n" if "export " not in each else f"{each}\n"
        for each in commands((ROOT / "README.md").read_text())
    )
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    try:
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
        assert "Traceback" not in done.stdout
        assert "ended" in done.stdout.rsplit("ghostfleet down --all", 1)[1]
    finally:
        subprocess.run([str(programs / "ghostfleet"), "down", "--all", "-q"], env={**os.environ, **home}, check=False)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
