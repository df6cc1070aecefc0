"""Mutated configs and templates of ClusterLoader2: an error that names its place, never a traceback, never a hang.

`GHOSTFLEET_TESTS_FUZZ_CL2=5000` says how many are tried; a few in all other runs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random

import pytest
from tests.support.clusterloader import CONFIGS, compiled

from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.clusterloader.templates import TemplateProvider

_COUNT = int(os.environ.get("GHOSTFLEET_TESTS_FUZZ_CL2", "150"))
pytestmark = pytest.mark.timeout(max(120, _COUNT))

_FILES = sorted(path for path in CONFIGS.glob("*/config.yaml"))
_TEMPLATES = sorted(path for path in CONFIGS.glob("*/*.yaml") if path.name not in ("config.yaml", "suite.yaml"))
_PIECES = [
    "{{",
    "}}",
    "{{end}}",
    "{{else}}",
    "{{if .X}}",
    "{{range $i := Loop 100000}}",
    "{{range Loop 1000000}}x{{end}}",
    "{{$x := 1}}",
    "{{$x}}",
    "{{AddInt}}",
    "{{DivideInt 1 0}}",
    "{{Loop -1}}",
    "{{RandData 9999999999}}",
    '{{IncludeFile "/etc/hostname"}}',
    "{{DefaultParam .A | DefaultParam}}",
    '{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}',
    "{{MultiplyInt 1e308 1e308}}",
    '{{printf "%999999d" 1}}',
    "{{Mod 1 0}}",
    "{{index .Nodes 1}}",
    "{{.Nodes.x}}",
    "{{/* ",
    "{{- ",
    " -}}",
    "{{Ceil nil}}",
    "*a",
    "&a",
    "<<: *a",
    "- ",
    ": ",
    "[",
    "]",
    "{",
    "}",
    "!!binary x",
    "\t",
    "\ufeff",
    "\u2028",
    "%YAML 9",
    "---\n",
    "...\n",
    "|\n",
    ">\n",
    "null",
    "~",
    "1e999",
    "-1",
    "0x10",
    ".inf",
    "9999999999999999999999",
    "true",
    "5m",
    "'",
    '"',
    "#",
    "steps:",
    "name:",
    "phases:",
    "module: {path: config.yaml}",
    "tuningSets: 1",
    "qpsLoad: {qps: .nan}",
    "replicasPerNamespace: 2147483648",
    "namespace: []",
]
#: Every line of an error begins with a file, or names the flag or value that is wrong.
_PLACED = re.compile(r"(.*\.yaml: |cannot read |and \d+ more|--)")


def _mutated(text: str, random: Random) -> str:
    for _ in range(random.randint(1, 4)):
        at, upto = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
        upto = min(upto, at + 40)
        match random.randrange(5):
            case 0:
                text = text[:at] + random.choice(_PIECES) + text[at:]
            case 1:
                text = text[:at] + text[upto:]
            case 2:
                text = text[:at] + text[at:upto] * 2 + text[upto:]
            case 3:
                lines = text.split("\n")
                random.shuffle(lines[:5])
                first, second = random.randrange(len(lines)), random.randrange(len(lines))
                lines[first], lines[second] = lines[second], lines[first]
                text = "\n".join(lines)
            case _:
                text = text[:at] + chr(random.choice((0, 9, 10, 34, 58, 123, 125, 160, 0x1F600))) + text[at + 1 :]
    return text


def _tried(number: int, tmp_path: Path) -> None:
    """One mutated file: compiled if it is a config, rendered if it is a template."""
    random = Random(number)
    source = random.choice(_FILES if number % 3 else _TEMPLATES)
    text = _mutated(source.read_text(), random)
    for file in source.parent.rglob("*.yaml"):
        if file != source:
            copy = tmp_path / file.relative_to(source.parent)
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(file.read_text())
    path = tmp_path / source.name
    path.write_text(text)
    try:
        if source in _FILES:
            compiled(path, nodes=3)
        else:
            templates = TemplateProvider(tmp_path, random)
            templates.objects(source.name, {"Name": "n-1", "Index": 1, "Nodes": 3})
            templates.kinds(source.name)
    except ConfigError as error:
        for line in str(error).split("\n"):
            assert _PLACED.match(line), f"{number}: {line}"


@pytest.mark.parametrize("part", range(5))
def test_a_mutated_file_ends_with_an_error_that_names_its_place(part: int, tmp_path: Path) -> None:
    for number in range(part, _COUNT, 5):
        try:
            _tried(number, tmp_path)
        except Exception as error:
            error.add_note(f"mutation {number}")
            raise
