"""`ghostfleet plot`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ghostfleet.cli.main import app


@pytest.fixture
def shell():
    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == code, done.output
        return done.output

    return run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """What a submit and a sample leave: three workloads, one of them erroneous, and one refused submission."""
    path = tmp_path / "out"
    path.mkdir()
    submitted = [
        {
            "jobName": f"j-{at}",
            "projectName": "p",
            "jobNamespace": "runai-p",
            "submitTimestamp": f"2026-11-16T00:00:0{at}.5Z",
        }
        for at in range(4)
    ]
    submitted[3]["error"] = "quota exceeded"
    (path / "submitted.json").write_text(json.dumps(submitted))
    sampled = [
        {
            "jobName": f"j-{at}",
            "projectName": "p",
            "jobNamespace": "runai-p",
            "workloadCreatedTimestamp": f"2026-11-16T00:00:0{at}Z",
            "jobCreatedTimestamp": f"2026-11-16T00:00:0{at + 1}Z",
            "firstPodCreatedTimestamp": f"2026-11-16T00:00:0{at + 1}Z",
            "lastPodCreatedTimestamp": f"2026-11-16T00:00:0{at + 2}Z",
            "podGroupCreatedTimestamp": f"2026-11-16T00:00:0{at + (2 if at else 0)}Z",
            "podSchedulingDecisionTimestamp": f"2026-11-16T00:00:0{at + 4}Z",
        }
        for at in range(3)
    ]
    (path / "sampled.json").write_text(json.dumps(sampled))
    return path


def test_a_run_becomes_a_table_and_files(shell, out):
    said = shell("plot", "-o", str(out))
    assert "PHASE (seconds)" in said
    assert "Total Pod Scheduling Decision Workload Submission 2 4.000" in " ".join(said.split())
    assert "3 workloads submitted, 2 measured (0 failed, 1 erroneous, 0 incomplete)" in said
    assert "1 submission refused" in said
    assert sorted(path.name for path in out.iterdir()) == [
        ".ghostfleet-files.json",
        "general.png",
        "report.html",
        "sampled.json",
        "submitted.json",
        "times.csv",
    ]
    assert len((out / "times.csv").read_text().splitlines()) == 3


def test_options_choose_what_is_plotted(shell, out):
    said = shell(
        "plot", "-o", str(out), "--plot", "detailed", "--no-skip-errors", "--head", "2", "--tail", "1", "--json"
    )
    summary = json.loads(said)
    assert summary["counts"]["measured"] == 1
    assert summary["counts"]["erroneous"] == 1
    assert summary["counts"]["skipped"] == 0
    assert [Path(file).name for file in summary["files"]] == ["times.csv", "detailed.png", "report.html"]
    assert shell("plot", "-o", str(out), "--quiet") == ""


def test_without_matplotlib_the_rest_is_written_and_a_line_says_how_to_get_pictures(out):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'matplotlib' else found(name, *more)\n"
        f"sys.argv = ['ghostfleet', 'plot', '-o', {str(out)!r}]\n"
        "from ghostfleet.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install 'ghostfleet[plots]'" in done.stdout
    assert (out / "report.html").exists()
    assert (out / "times.csv").exists()
    assert not (out / "general.png").exists()


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("submitted.json", None, "nothing has been submitted"),
        ("submitted.json", '[{"jobName": "j-0", "proj', "submitted.json: line 1"),
        ("sampled.json", None, "there are no samples"),
        ("sampled.json", "{}", "is not a list of samples"),
        ("sampled.json", '[{"jobName": "j-0", "projectName": "p", "jobCreatedTimestamp": "now"}]', "expected a time"),
    ],
)
def test_files_that_cannot_be_used_are_one_line(shell, out, file, content, said):
    if content is None:
        (out / file).unlink()
    else:
        (out / file).write_text(content)
    answer = shell("plot", "-o", str(out), code=2)
    assert said in answer
    assert len(answer.splitlines()) == 1
    assert not (out / "report.html").exists()


def test_a_directory_that_is_not_there_is_one_line(shell, tmp_path):
    answer = shell("plot", "-o", str(tmp_path / "nowhere"), code=2)
    assert "there is no output directory" in answer
    assert len(answer.splitlines()) == 1
