"""Objects and requests that special cases are made of."""

from __future__ import annotations

from typing import Any

from parity_material.cases import PATCHES, Step

__all__ = [
    "GONE",
    "config",
    "definition",
    "delete",
    "evict",
    "job",
    "limits",
    "merge",
    "namespaced",
    "owned",
    "pod",
    "post",
    "service",
    "spec_of",
]

Object = dict[str, Any]
#: The status of what is not there any more.
GONE = 404


def namespaced(namespace: str, rest: str) -> str:
    return f"/api/v1/namespaces/{namespace}/{rest}"


def post(namespace: str, plural: str, obj: Object) -> Step:
    return Step("POST", f"{namespaced(namespace, plural)}?fieldManager=creator", obj)


def merge(namespace: str, item: str, patch: Object) -> Step:
    return Step("PATCH", f"{namespaced(namespace, item)}?fieldManager=patcher", patch, PATCHES["merge"])


def delete(namespace: str, item: str, **options: Any) -> Step:
    return Step("DELETE", namespaced(namespace, item), options or None)


def evict(namespace: str, name: str, **options: Any) -> Step:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return Step(
        "POST", namespaced(namespace, f"pods/{name}/eviction"), {**body, "deleteOptions": options} if options else body
    )


def spec_of(**fields: Any) -> Object:
    return {"spec": fields}


def pod(name: str, *, labels: Object | None = None, **spec: Any) -> Object:
    """A pod; without the token of its service account, which ours do not get."""
    plain = {"automountServiceAccountToken": False, "containers": [{"name": "main", "image": "busybox:1"}]}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {**plain, **spec}}


def config(name: str, **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}}


def owned(obj: Object, step: int, **more: Any) -> Object:
    """The object, owned by the one that an earlier step answered."""
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": f"<{step}.metadata.name>",
        "uid": f"<{step}.metadata.uid>",
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [{**owner, **more}]}}


def service(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}], **spec}}


def limits(name: str, *entries: Object) -> Object:
    return {"metadata": {"name": name}, "spec": {"limits": list(entries)}}


def job(name: str, **spec: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def definition(group: str, plural: str = "things", kind: str = "Thing", version: str = "v1") -> Object:
    size = {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}
    schema = {"type": "object", "properties": {"spec": size}}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
