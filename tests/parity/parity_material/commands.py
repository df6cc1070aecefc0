"""Commands: kubectl run on a cluster, and what it printed in a form that two clusters can agree on."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from parity_material.normal import Normaliser

__all__ = ["VERSION", "Command", "load_commands", "run_commands"]

#: The kubectl whose output is recorded; others word some of it differently.
VERSION = "1.37"
_HERE = Path(__file__).parents[1]
_AGE = re.compile(r"(?<![\w.:/-])(\d+[dhms]){1,2}(?![\w.:/-])|<invalid>")
_DATE = re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_STAMP = re.compile(r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ")
_RESTARTED = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d([+-]\d\d:\d\d|Z)")
_TEMPORARY = re.compile(r"/tmp/(LIVE|MERGED)-\d+|\t20\d\d-.*$", re.MULTILINE)
_REVISION = re.compile(r'(resourceVersion"?: ?)"\d+"')
_DESCRIBED = re.compile(r"(Resource Version: +)\d+")
_PORT = re.compile(r"\b3[0-2]\d{3}\b")
_SERVER = re.compile(r"https?://127\.0\.0\.1:\d+")
_BLANKS = re.compile(r" {2,}")


@dataclass(frozen=True)
class Command:
    """One command line and what comes with it."""

    run: str
    stdin: str | None = None
    editor: str = ""
    lines: str = ""


def load_commands() -> list[Command]:
    return [Command(**entry) for entry in yaml.safe_load((_HERE / "commands.yaml").read_text())]


def run_commands(kubectl: Path, kubeconfig: Path, home: Path) -> list[dict[str, Any]]:
    """Run all commands; what each printed, and its exit code."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "KUBECONFIG": str(kubeconfig),
        "KUBECTL_EXTERNAL_DIFF": "diff -u",
        "TZ": "UTC",
    }
    return [_run(kubectl, command, environment) for command in load_commands()]


def _run(kubectl: Path, command: Command, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [kubectl, "--namespace", "parity", *shlex.split(command.run)],
        input=command.stdin or "",
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment, "KUBE_EDITOR": command.editor},
        check=False,
    )
    normaliser = Normaliser()
    said = [_plain(each, normaliser).splitlines() for each in (done.stdout, done.stderr)]
    if command.lines == "sorted":
        said = [sorted(each) for each in said]
    return {"run": command.run, "code": done.returncode, "stdout": said[0], "stderr": said[1]}


def _plain(text: str, normaliser: Normaliser) -> str:
    for pattern, word in (
        (_STAMP, ""),
        (_TEMPORARY, "FILE"),
        (_DATE, "DATE"),
        (_RESTARTED, "TIME"),
        (_REVISION, r"\1REVISION"),
        (_DESCRIBED, r"\1REVISION"),
        (_AGE, "AGE"),
        (_PORT, "PORT"),
        (_SERVER, "SERVER"),
    ):
        text = pattern.sub(word, text)
    return "\n".join(_BLANKS.sub("  ", str(normaliser.value(line))).rstrip() for line in text.splitlines())
