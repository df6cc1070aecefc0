"""What kubectl shows of KAI's kinds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import install_kinds
from ghostfleet.controllers.kai.bindrequests import bind_request
from ghostfleet.controllers.kai.part import KaiPart
from ghostfleet.core.clock import WallClock
from ghostfleet.core.profile import load_profile
from ghostfleet.server import kubeconfig
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.serve import HttpServer
from ghostfleet.server.tls import make_certificates

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")

TOKEN = "a-token-for-tests"
DEPARTMENT = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: department-1}
spec: {priority: 200, displayName: research, resources: {cpu: {quota: -1, limit: -1}, gpu: {quota: 8, limit: -1}}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: project-a}
spec: {parentQueue: department-1, resources: {cpu: {quota: -1, limit: -1}, gpu: {quota: 4, limit: -1}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: training, labels: {kai.scheduler/queue: project-a}}
spec:
  schedulerName: kai-scheduler
  containers: [{name: main, image: app, resources: {limits: {nvidia.com/gpu: 2}}}]
"""

Kubectl = Callable[..., str]


@pytest.fixture
def cluster() -> Cluster:
    parts = frozenset(("scheduler", "runai", "kubeflow"))
    cluster = Cluster(WallClock(), ClusterConfig(nodes=1, gpus=8, without=parts))
    install_kinds(cluster.store)
    # What comes first must be there first: the clock runs when the server does.
    cluster.clock.call_soon(KaiPart, cluster.api, load_profile("instant"))
    return cluster


@pytest.fixture
def kubectl(cluster, tmp_path) -> Iterator[Kubectl]:
    # Without TLS kubectl would not send its token.
    certificates = make_certificates(tmp_path, ["127.0.0.1"], cluster.clock.now())
    tls = (certificates.certificate, certificates.key)
    server = HttpServer(App(cluster.api, Authenticator(TOKEN)), clock=cluster.clock, tls=tls)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(lambda _url: ready.set(),))
    thread.start()
    config = tmp_path / "kubeconfig"

    def run(*arguments: str, stdin: str = "", code: int = 0) -> str:
        environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)}
        done = subprocess.run(
            ["kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    try:
        assert ready.wait(10)
        kubeconfig.write(config, kubeconfig.render("kai", server.url, TOKEN, certificates.authority.read_bytes()))
        yield run
    finally:
        server.stop()
        thread.join(10)


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_queues_pod_groups_and_bind_requests_look_as_kais_do(kubectl):
    kubectl("apply", "-f", "-", stdin=DEPARTMENT)
    kubectl("wait", "--for=jsonpath={.status.childQueues[0]}=project-a", "queue/department-1", "--timeout=30s")
    assert rows(kubectl("get", "queues")) == [
        ["NAME", "PRIORITY", "PARENT", "CHILDREN", "DISPLAYNAME"],
        ["default-parent-queue", '["default-queue"]'],
        ["default-queue", "default-parent-queue"],
        ["department-1", "200", '["project-a"]', "research"],
        ["project-a", "department-1"],
    ]
    kubectl("apply", "-f", "-", stdin=POD)
    group = r"{.metadata.annotations.pod-group-name}"
    kubectl("wait", "--for=jsonpath={.status.requested.nvidia\\.com/gpu}=2", "queue/project-a", "--timeout=30s")
    name = kubectl("get", "pod", "training", "-o", f"jsonpath={group}")
    header, shown = rows(kubectl("get", "pg"))
    assert (header, shown[0]) == (["NAME", "AGE"], name)
    assert "Min Member:" in kubectl("describe", "pg", name)

    pod = json.loads(kubectl("get", "pod", "training", "-o", "json"))
    kubectl("create", "-f", "-", stdin=json.dumps(bind_request(pod, "kwok-node-0")))
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "bindrequest/training", "--timeout=30s")
    assert rows(kubectl("get", "bindrequests"))[0] == ["NAME", "AGE"]
    told = kubectl("describe", "bindrequest", "training")
    assert ["Selected", "Node:", "kwok-node-0"] in rows(told)
    kubectl("wait", "--for=condition=PodBound", "pod/training", "--timeout=30s")
    assert "Pod bound successfully to node kwok-node-0" in kubectl("describe", "pod", "training")
    kubectl("wait", "--for=jsonpath={.status.allocated.nvidia\\.com/gpu}=2", "queue/department-1", "--timeout=30s")
    told = kubectl("describe", "queue", "department-1")
    assert [line.split() for line in told.splitlines() if "nvidia.com/gpu" in line] == [["nvidia.com/gpu:", "2"]] * 2


def test_refusals_are_told_in_kais_words(kubectl):
    bare = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: bare}\nspec: {priority: 1}\n"
    said = kubectl("apply", "-f", "-", stdin=bare, code=1)
    assert 'admission webhook "queue-validation.kai.scheduler" denied the request: resources must be specified' in said
    assert "Error from server (Forbidden)" in said
    share = POD.replace("metadata: {", 'metadata: {annotations: {gpu-fraction: "1.5"}, ').replace(
        "nvidia.com/gpu: 2", "cpu: 1"
    )
    assert "gpu-fraction annotation value must be a positive number" in kubectl("apply", "-f", "-", stdin=share, code=1)
