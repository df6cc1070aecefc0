"""Which resources are served, from Kubernetes' discovery documents.

A resource of several versions is one entry with one *storage* version; its names and verbs are the same in all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["read_resources"]

#: Group versions to serve; the first version of a group that has a resource is the one it is stored in.
SERVED = (
    ("", "v1"),
    ("apps", "v1"),
    ("events.k8s.io", "v1"),
    ("authentication.k8s.io", "v1"),
    ("authorization.k8s.io", "v1"),
    ("autoscaling", "v2"),
    ("batch", "v1"),
    ("networking.k8s.io", "v1"),
    ("policy", "v1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("storage.k8s.io", "v1"),
    ("admissionregistration.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1"),
    ("coordination.k8s.io", "v1"),
    ("node.k8s.io", "v1"),
    ("discovery.k8s.io", "v1"),
    ("resource.k8s.io", "v1"),
    ("resource.k8s.io", "v1beta2"),
    ("resource.k8s.io", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1"),
)
NOT_SERVED = {"componentstatuses"}
#: Subresources that speak to a kubelet or a container.
NOT_SERVED_PARTS = {"attach", "exec", "portforward", "proxy"}

#: What metrics-server adds to a cluster; no part of Kubernetes' own documents.
METRICS: list[dict[str, Any]] = [
    {
        "group": "metrics.k8s.io",
        "versions": ["v1beta1"],
        "plural": plural,
        "singular": "",
        "kind": kind,
        "namespaced": namespaced,
        "verbs": ["get", "list"],
    }
    for plural, kind, namespaced in (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
]


def read_resources(folder: Path, returned: set[str]) -> list[dict[str, Any]]:
    """All served resources, in the order Kubernetes lists its groups; `returned` are paths as `/apis/batch/v1/jobs`."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for group, version in SERVED:
        name = f"apis__{group}__{version}.json" if group else f"api__{version}.json"
        entries = json.loads((folder / name).read_text())["resources"]
        for entry in sorted(entries, key=lambda entry: "/" in entry["name"]):
            _add(found, group, version, entry)
    for (group, plural), resource in found.items():
        version = resource["versions"][0]
        if (f"/apis/{group}/{version}/{plural}" if group else f"/api/{version}/{plural}") in returned:
            resource["returnsDeleted"] = True
    return [*found.values(), *METRICS]


def _add(found: dict[tuple[str, str], dict[str, Any]], group: str, version: str, entry: dict[str, Any]) -> None:
    plural, _, part = entry["name"].partition("/")
    if plural in NOT_SERVED or part in NOT_SERVED_PARTS:
        return
    if part:
        shown = [entry.get("group", group), entry.get("version", version), entry["kind"], sorted(entry["verbs"])]
        found[group, plural].setdefault("subresources", {}).setdefault(part, shown)
    elif (group, plural) in found:
        found[group, plural]["versions"].append(version)
    else:
        found[group, plural] = _resource(group, version, entry)


def _resource(group: str, version: str, entry: dict[str, Any]) -> dict[str, Any]:
    resource = {
        "group": group,
        "versions": [version],
        "plural": entry["name"],
        "singular": entry["singularName"],
        "kind": entry["kind"],
        "namespaced": entry["namespaced"],
        "verbs": entry["verbs"],
    }
    if "shortNames" in entry:
        resource["shortNames"] = entry["shortNames"]
    if "categories" in entry:
        resource["categories"] = entry["categories"]
    return resource
