"""What kube-apiserver says of bad claims, templates, classes and slices: `tests/api/devicevalidation.jsonl`.

The first line says which version answered, each of the others has an object and what was said of it, nothing if it was
taken. Recording asks the same again; a question is added by a line without `said`.
"""

from __future__ import annotations

import json
from pathlib import Path

from realcluster import RealCluster

__all__ = ["record"]

FACTS = Path(__file__).parents[2] / "tests" / "api" / "devicevalidation.jsonl"
_API = "resource.k8s.io/v1"


def record(kubeconfig: Path) -> None:
    cluster = RealCluster(kubeconfig)
    _, *facts = (json.loads(line) for line in FACTS.read_text().splitlines())
    told = [{"recorded": cluster.recorded()}]
    for fact in facts:
        obj = {"apiVersion": _API, "kind": fact["kind"], "metadata": {"name": fact["name"]}, "spec": fact["spec"]}
        reply = cluster.ask("POST", cluster.collection(_API, fact["kind"]), obj)
        told.append({**fact, "said": reply.value["message"] if reply.status >= 400 else ""})
    FACTS.write_text("".join(f"{json.dumps(line)}\n" for line in told))
