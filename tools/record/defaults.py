"""What a real API server makes of new manifests: `tests/api/defaults/*.output.yaml`, one for each input beside it.

Left out is what differs from run to run and what comes from elsewhere: addresses and ports of services, the taint of a
new node, the volume with a service account's token, the user who asks for a certificate.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from realcluster import RealCluster

__all__ = ["record"]

DEFAULTS = Path(__file__).parents[2] / "tests" / "api" / "defaults"
_UID, _TIME = "11111111-2222-4333-8444-555555555555", "2026-01-01T00:00:00Z"
_DRAWN = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "nodePort", "healthCheckNodePort"}
_TOKEN = "kube-api-access-"

Object = dict[str, Any]


def record(kubeconfig: Path) -> None:
    cluster = RealCluster(kubeconfig)
    head = f"# Recorded from kube-apiserver {cluster.recorded()['kube-apiserver']}\n"
    for path in sorted(DEFAULTS.glob("*.input.yaml")):
        manifest = yaml.safe_load(path.read_text())
        namespace = manifest["metadata"].get("namespace", "default")
        collection = cluster.collection(manifest["apiVersion"], manifest["kind"], namespace)
        made = _stable(cluster.must("POST", f"{collection}?dryRun=All", manifest), manifest)
        path.with_name(path.name.replace(".input.", ".output.")).write_text(head + yaml.safe_dump(made, sort_keys=True))


def _stable(obj: Object, manifest: Object) -> Object:
    text = json.dumps(obj)
    metadata = obj["metadata"]
    obj = json.loads(text.replace(metadata["uid"], _UID).replace(metadata["creationTimestamp"], _TIME))
    for name in ("managedFields", "resourceVersion"):
        obj["metadata"].pop(name, None)
    if "namespace" not in manifest["metadata"]:
        obj["metadata"].pop("namespace", None)
    if obj["kind"] == "Service":
        asked = json.dumps(manifest)
        _drop(obj["spec"], {name for name in _DRAWN if name not in asked})
    elif obj["kind"] == "Node":
        obj["spec"].pop("taints", None)
    elif obj["kind"] == "CertificateSigningRequest":
        for name in ("username", "uid", "groups"):
            obj["spec"].pop(name)
    elif obj["kind"] == "Pod":
        _without_token(obj["spec"])
    return obj


def _drop(spec: Object, names: set[str]) -> None:
    for part in (spec, *spec.get("ports", ())):
        for name in names:
            part.pop(name, None)


def _without_token(spec: Object) -> None:
    _keep_others(spec, "volumes")
    for each in (*spec.get("initContainers", ()), *spec["containers"]):
        _keep_others(each, "volumeMounts")


def _keep_others(holder: Object, field: str) -> None:
    kept = [each for each in holder.pop(field, ()) if not each["name"].startswith(_TOKEN)]
    if kept:
        holder[field] = kept
