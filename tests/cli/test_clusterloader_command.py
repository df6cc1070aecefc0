"""`ghostfleet clusterloader`, as users run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest
from tests.cli.conftest import Shell
from tests.support.clusterloader import CONFIGS

from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection

pytestmark = pytest.mark.fleet

Here = Callable[..., str]

EXAMPLE = Path(__file__).parents[2] / "examples/07-clusterloader2"
KWOK = EXAMPLE / "pkg/dependency/kwok/examples/test-config.yaml"


def test_a_test_leaves_reports_and_says_what_came_of_it(here: Here, tmp_path: Path) -> None:
    said = here(
        "clusterloader", "--testconfig", str(KWOK), "--nodes", "3", "--report-dir", "out", "--provider", "skeleton"
    )
    assert "Test      kwok-dra-test: passed, 5 steps" in said
    assert "10 created, 10 ran" in said
    out = tmp_path / "out"
    suite = ElementTree.parse(out / "junit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("9", "0")
    names = {path.name.split("_")[0] for path in out.iterdir()}
    assert {"PodStartupLatency", "generatedConfig", "cl2-metadata.json", "report.html"} <= names
    assert orjson.loads((out / "cl2-metadata.json").read_bytes())["nodes"] == 3
    assert "kwok-gpu-job" in (out / "report.html").read_text()


def test_flags_of_clusterloader2_that_have_nothing_to_do_are_taken_and_others_are_not(here: Here) -> None:
    sleep = ("cl2", "--testconfig", "t.yaml", "-q")
    Path("t.yaml").write_text(
        "name: t\nsteps: [{measurements: [{method: Sleep, identifier: s, params: {duration: 1h}}]}]\n"
    )
    here(
        *sleep,
        "--enable-prometheus-server=false",
        "--prometheus-scrape-etcd",
        "--k8s-clients-number",
        "3",
        "--alsologtostderr",
    )
    assert "--nonsense: no such option" in here(*sleep, "--nonsense", code=2)
    assert "expected one of aks, autopilot" in here(*sleep, "--provider", "moon", code=2)
    assert Path("junit.xml").exists()


def test_what_is_wrong_is_told_line_by_line_with_warnings_before_it(here: Here) -> None:
    Path("t.yaml").write_text("name: t\nstep: []\nsteps: [{name: a}, {name: b}]\n")
    lines = here("cl2", "--testconfig", "t.yaml", code=2).splitlines()
    assert lines[0].startswith("warning: t.yaml: line 2: step: unknown key")
    assert len(lines) == 3
    assert "Traceback" not in "".join(lines)
    assert "cannot read config missing.yaml" in here("cl2", "--testconfig", "missing.yaml", code=2)
    assert "expected either --testconfig or --testsuite" in here("cl2", code=2)


def test_a_dry_run_prints_the_config_and_runs_nothing(here: Here) -> None:
    said = here("cl2", "--testconfig", str(CONFIGS / "batch/config.yaml"), "--nodes", "3", "--dry-run", code=1)
    assert "replicaspernamespace: 9" in said
    assert not Path("junit.xml").exists()


def test_a_test_that_fails_exits_with_1_and_says_why(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CL2_NO_TOLERATION", "true")
    said = here("cl2", "--testconfig", str(CONFIGS / "readme/config.yaml"), "--v", "1", code=1)
    assert "FAILED, 1 of 4 steps with errors" in said
    assert "untolerated taint" in said


def test_a_named_cluster_is_left_as_it_was(ghostfleet: Shell, tmp_path: Path) -> None:
    ghostfleet("up", "cl2", "-d", "-q", "--nodes", "2", "--stages", "clusterloader")
    ghostfleet.environment["CL2_JOB_RUNNING_TIME_MS"] = "1000"
    ghostfleet("cl2", "--cluster", "cl2", "--testconfig", str(KWOK), "--report-dir", str(tmp_path / "out"), "-q")
    suite = ElementTree.parse(tmp_path / "out/junit.xml").getroot()
    assert suite.attrib["failures"] == "0"
    connection = Connection(Access(ghostfleet.directory("cl2") / "kubeconfig"))
    nodes = [each["metadata"]["name"] for each in connection.items("/api/v1/nodes")]
    connection.close()
    assert nodes == ["kwok-node-0", "kwok-node-1"]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_script_knows_its_tools(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**{key: value for key, value in os.environ.items() if key != "KUBECONFIG"}, "PATH": path}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", str(EXAMPLE / "run-e2e.sh"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)

    tools = run("--help")
    assert tools.returncode == 0
    for tool in ("cluster-loader2", "network-performance", "kube-dns", "core-dns", "node-local-dns"):
        assert tool in tools.stdout
    assert run("core-dns").returncode == 2
    assert "needs a real network" in run("core-dns").stderr
    config = "--testconfig=clusterloader2/pkg/dependency/kwok/examples/test-config.yaml"
    done = run("cluster-loader2", config, "--provider=kind", "--nodes=3", f"--report-dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "kwok-dra-test: passed" in done.stdout
