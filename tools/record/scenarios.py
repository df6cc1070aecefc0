"""What a real kube-scheduler does in the scenarios of `tests/schedulers/golden/scenarios.json`.

A scenario is a small cluster and one pod; kube-scheduler runs with `configuration.yaml` beside it. What is asked stays
as the file has it; the answers are the node or the message, the scores, the nomination, the victims and the events.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from controlplane import program_version, running
from realcluster import MERGE, RealCluster, write_cases
from scheduling import Verdicts

__all__ = ["record"]

GOLDEN = Path(__file__).parents[2] / "tests" / "schedulers" / "golden"
_GIVEN = ("uid", "resourceVersion", "creationTimestamp", "generation")
_EVENT = ("action", "message", "reason", "type")
_MOMENT = 0.3

Object = dict[str, Any]


def record(kubeconfig: Path, binaries: Path) -> None:
    cluster = RealCluster(kubeconfig)
    cluster.must("POST", "/api/v1/namespaces", {"metadata": {"name": "other", "labels": {"team": "o"}}})
    path = GOLDEN / "scenarios.json"
    configuration = yaml.safe_load((GOLDEN / "configuration.yaml").read_text())
    configuration["clientConnection"]["kubeconfig"] = str(kubeconfig)
    with tempfile.TemporaryDirectory() as directory:
        config, log = Path(directory) / "config.yaml", Path(directory) / "scheduler.log"
        config.write_text(yaml.safe_dump(configuration))
        arguments = (f"--config={config}", "--secure-port=0", "-v=10")
        with running(binaries / "kube-scheduler", log, *arguments):
            verdicts = Verdicts(kubeconfig, log)
            time.sleep(3)
            cases = [_played(cluster, verdicts, each) for each in json.loads(path.read_text())["cases"]]
    recorded = {"kube-scheduler": program_version(binaries / "kube-scheduler"), **cluster.recorded()}
    write_cases(path, recorded, cases)


def _played(cluster: RealCluster, verdicts: Verdicts, scenario: Object) -> Object:
    made = [_make(cluster, obj) for obj in scenario["objects"]]
    time.sleep(_MOMENT)
    pod = _fresh(scenario["pod"])
    name = pod["metadata"]["name"]
    verdict = verdicts.of(pod)
    time.sleep(_MOMENT)
    events = cluster.must("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")["items"]
    told = [{field: event.get(field) for field in _EVENT} for event in events]
    for path in (f"/api/v1/namespaces/default/pods/{name}", *reversed(made)):
        cluster.remove(path)
    cluster.must("DELETE", "/api/v1/namespaces/default/events")
    time.sleep(_MOMENT)
    return {**scenario, **verdict, "events": told}


def _fresh(obj: Object) -> Object:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _GIVEN}
    return {**obj, "metadata": metadata}


def _make(cluster: RealCluster, obj: Object) -> str:
    """Store an object with its status; where it is."""
    namespace = obj["metadata"].get("namespace", "default")
    collection = cluster.collection(obj["apiVersion"], obj["kind"], namespace)
    path = f"{collection}/{obj['metadata']['name']}"
    cluster.must("POST", collection, _fresh(obj))
    if obj["kind"] == "Node":
        # A new node is tainted until somebody says that it is ready.
        cluster.must("PATCH", path, {"spec": {"taints": obj["spec"].get("taints")}}, MERGE)
    elif obj.get("status"):
        cluster.must("PATCH", f"{path}/status", {"status": obj["status"]}, MERGE)
    return path
