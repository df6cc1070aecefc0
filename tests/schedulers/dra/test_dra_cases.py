"""The allocator against answers of the real one, kube-scheduler 1.36's.

`cases.jsonl` was drawn by `scenarios` and judged by the real allocator (`tools/record allocator`); more cases lie beside
the checkout.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases.dra import answers, read

_OWN = Path(__file__).parent / "cases.jsonl"
_ROOT = Path(__file__).resolve().parents[3]
_GIVEN = _ROOT.parent / "shared" / "fixtures" / "dra"


@pytest.mark.parametrize(("name", "case"), list(read(_OWN)), ids=lambda value: value if isinstance(value, str) else "")
def test_a_scenario_has_the_answers_of_the_real_allocator(name, case):
    for answer in answers(case, name):
        assert answer.passed, f"{answer.name}: expected {answer.expected}, found {answer.found}"


@pytest.mark.parametrize("file", ["table.jsonl", "random.jsonl"])
def test_all_given_cases_have_the_answers_of_the_real_allocator(file, capsys):
    if not (_GIVEN / file).exists():
        pytest.skip(f"no {file} beside the checkout")
    judged = [(name, list(answers(case, name))) for name, case in read(_GIVEN / file)]
    right = sum(all(answer.passed for answer in found) for _, found in judged)
    total = sum(len(found) for _, found in judged)
    with capsys.disabled():
        print(f"\n{file}: {right} of {len(judged)} cases, {total} answers")
    assert right == len(judged)


def _cases(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.cases", *map(str, arguments)]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)


def test_cases_can_be_run_from_files(tmp_path):
    lines = _OWN.read_text().splitlines()
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(lines[:3]))
    assert _cases("dra", file).stdout == "2 passed, 0 failed\n"
    case = json.loads(lines[1])
    case["expected"] = {name: {"error": "not at all"} for name in case["expected"]}
    file.write_text(json.dumps({**case, "deterministic": {}}))
    found = _cases("dra", file)
    assert found.returncode == 1
    assert found.stdout.startswith("0 passed, 1 failed\n")
    assert case["id"] in found.stdout


def test_a_file_that_holds_no_cases_is_refused_in_one_line(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text("not json\n")
    for arguments in (("dra", file), ("dra", tmp_path / "absent"), ("nope", file), ("dra",)):
        found = _cases(*arguments)
        assert found.returncode == 2
        assert len(found.stderr.splitlines()) == 1
