"""Helm on our cluster: a chart with hooks and a test is installed, changed, taken back and removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.xdist_group("helm")]

CHART = Path(__file__).parent / "chart"


class Helm:
    """Helm with a home of its own, on a cluster of ours."""

    def __init__(self, program: Path, home: Path) -> None:
        self._program = program
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(home / "state"),
            "KUBECONFIG": str(home / "config"),
            **{f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")},
        }

    def __call__(self, *arguments: str) -> str:
        return self.run([str(self._program), *arguments])

    def get(self, *arguments: str) -> dict:
        return json.loads(self.run(["kubectl", "get", *arguments, "-o", "json"]))

    def run(self, command: list[str]) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=self.environment, check=False)
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def helm(program, tmp_path_factory):
    home = tmp_path_factory.mktemp("helm")
    made = Helm(program("helm", "helm") / "helm", home)
    ghostfleet = [sys.executable, "-m", "ghostfleet"]
    made.run([*ghostfleet, "up", "helm", "--detach", "--nodes", "2"])
    try:
        config = made.run([*ghostfleet, "kubeconfig", "helm", "--path"]).strip()
        made.environment["KUBECONFIG"] = config
        yield made
    finally:
        made.run([*ghostfleet, "down", "helm"])


def test_a_chart_lives_through_all_that_helm_does(helm: Helm) -> None:
    helm("install", "web", str(CHART), "--wait", "--timeout", "60s")
    assert helm.get("deployment", "web")["status"]["readyReplicas"] == 2
    assert helm.get("job", "web-migrate")["status"]["succeeded"] == 1
    assert "web" in helm("list")

    helm("upgrade", "web", str(CHART), "--set", "replicas=3,greeting=good day", "--wait", "--timeout", "60s")
    assert helm.get("deployment", "web")["status"]["readyReplicas"] == 3
    assert helm.get("configmap", "web")["data"] == {"greeting": "good day"}
    said = helm("test", "web", "--timeout", "60s")
    assert "Succeeded" in said

    helm("rollback", "web", "1", "--wait", "--timeout", "60s")
    assert helm.get("deployment", "web")["status"]["readyReplicas"] == 2
    assert helm.get("configmap", "web")["data"] == {"greeting": "hello"}
    revisions = json.loads(helm("history", "web", "-o", "json"))
    assert [each["status"] for each in revisions] == ["superseded", "superseded", "deployed"]

    helm("uninstall", "web", "--wait", "--timeout", "60s")
    # Helm leaves what its hooks made; all else is gone, the records of the release too.
    left = [
        each["metadata"]["name"] for each in helm.get("deployments,replicasets,services,configmaps,secrets")["items"]
    ]
    assert not [name for name in left if name.startswith("web") or "helm.release" in name]
