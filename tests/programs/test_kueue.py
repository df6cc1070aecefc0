"""Kueue on our cluster: Jobs wait in a queue for their quota, are admitted, and make room when they are done.

The API server does not call Kueue's webhooks, so a Job has to say itself that it is suspended.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghostfleet.core.clock import SECOND, WallClock
from ghostfleet.core.manifests import load_documents
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection
from ghostfleet.kube.processes import Processes, Program
from programs.built import free_port

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.xdist_group("kueue")]

NAMESPACE = "kueue-system"
CERTIFICATES = "kueue-webhook-server-cert"
PLACES = {
    "ClusterQueue": "/apis/kueue.x-k8s.io/v1beta1/clusterqueues",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "LocalQueue": "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "Namespace": "/api/v1/namespaces",
    "ResourceFlavor": "/apis/kueue.x-k8s.io/v1beta1/resourceflavors",
    "Secret": f"/api/v1/namespaces/{NAMESPACE}/secrets",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}
#: What an installation brings along, without a webhook in it.
INSTALLED = f"""
{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}
---
{{apiVersion: v1, kind: Secret, metadata: {{name: {CERTIFICATES}}}}}
---
{{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {{name: kueue-mutating-webhook-configuration}}}}
---
{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {{name: kueue-validating-webhook-configuration}}}}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: h100}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpus}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{name: nvidia.com/gpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: gpus}
"""


class Kueue:
    """A cluster of ours with Kueue's manager."""

    def __init__(self, manager: Path, home: Path) -> None:
        self._manager = manager
        self._home = home
        self.parts = Processes(home / "logs", WallClock())
        self.connection: Connection | None = None

    def start(self) -> None:
        state = {"XDG_STATE_HOME": str(self._home / "state")}
        command = [sys.executable, "-m", "ghostfleet", "up", "kueue", "--nodes", "2", "--gpus", "8"]
        self.parts.start(Program("cluster", command, state))
        self.until(lambda: b"is ready at" in self.parts.log("cluster").read_bytes())
        config = next((self._home / "state").rglob("kubeconfig"))
        self.connection = Connection(Access(config))
        for path in sorted((self._manager.parent / "crds").glob("*.yaml")):
            self.create(path.read_text(encoding="utf-8"))
        self.create(INSTALLED)
        self.parts.start(Program("kueue", [self._manager, f"--config={self._settings()}"], {"KUBECONFIG": str(config)}))
        # The kubelet would mount the certificates that Kueue makes for its webhooks.
        self.until(lambda: self.get("Secret", CERTIFICATES).get("data"))
        for name, content in self.get("Secret", CERTIFICATES)["data"].items():
            (self._home / "certificates" / name).write_bytes(base64.b64decode(content))

    def stop(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.parts.stop()

    def _settings(self) -> Path:
        (self._home / "certificates").mkdir()
        settings = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta1",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": free_port(), "certDir": str(self._home / "certificates")},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": "kueue-webhook-service",
                "webhookSecretName": CERTIFICATES,
            },
            "integrations": {"frameworks": ["batch/job"]},
            "featureGates": {"VisibilityOnDemand": False},
        }
        path = self._home / "settings.yaml"
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")
        return path

    def create(self, manifests: str) -> None:
        for document in load_documents(manifests):
            self.connection.create(PLACES[document.object["kind"]], document.object)

    def get(self, kind: str, name: str) -> dict[str, Any]:
        return self.connection.get(f"{PLACES[kind]}/{name}")

    def until(self, holds: Callable[[], Any]) -> None:
        assert self.parts.wait(lambda: bool(holds()), 60 * SECOND)


@pytest.fixture(scope="module")
def kueue(program, tmp_path_factory):
    made = Kueue(program("kueue", "manager") / "manager", tmp_path_factory.mktemp("kueue"))
    try:
        made.start()
        yield made
        made.parts.check()
    finally:
        made.stop()


def job(name: str, pods: int, duration: str) -> str:
    container = {"name": "main", "image": "training", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {
        "metadata": {"annotations": {"ghostfleet.dev/duration": duration}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    spec = {"suspend": True, "parallelism": pods, "completions": pods, "template": template}
    metadata = {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    return yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


def test_jobs_are_admitted_within_their_quota(kueue: Kueue) -> None:
    kueue.create(QUEUES)
    kueue.create(job("first", 4, "10000h"))
    kueue.until(lambda: kueue.get("Job", "first")["status"].get("active") == 4)
    kueue.create(job("second", 2, "1s"))
    kueue.until(lambda: kueue.get("ClusterQueue", "gpus")["status"].get("pendingWorkloads") == 1)
    assert kueue.get("Job", "second")["spec"]["suspend"] is True, "the quota is used up"

    kueue.connection.delete(f"{PLACES['Job']}/first")
    kueue.until(lambda: kueue.get("Job", "second")["status"].get("succeeded") == 2)
    kueue.until(lambda: kueue.get("ClusterQueue", "gpus")["status"].get("admittedWorkloads") == 0)
