"""Resource metrics: what nodes and pods use, as `kubectl top` asks `metrics.k8s.io` for it.

Nothing really runs here, so usage is what a pod's annotations say (`kwok.x-k8s.io/usage-cpu` and `usage-memory`, for
each of its containers, as KWOK reads them), or else a token amount. A node uses what the running pods on it use
together. Selectors work on the labels of the nodes and pods themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.options import ListOptions, Page
from ghostfleet.api.verbs import Api
from ghostfleet.core import quantity
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import not_found
from ghostfleet.core.timestamps import rfc3339

__all__ = ["GROUP", "ResourceMetrics"]

GROUP = "metrics.k8s.io"
_WINDOW = "10s"
_CPU, _MEMORY = "kwok.x-k8s.io/usage-cpu", "kwok.x-k8s.io/usage-memory"
_DEFAULTS = {_CPU: "1m", _MEMORY: "1Mi"}

#: millicores and bytes
Usage = tuple[int, int]


class ResourceMetrics:
    """Serves `nodes` and `pods` of metrics.k8s.io."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, resource: Resource, version: Version, namespace: str, name: str) -> Object:
        store = self._api.store
        obj = store.find(resource.plural, namespace, name)
        if obj is None or (resource.plural == "pods" and not _runs(obj)):
            raise not_found(resource.key, name)
        if resource.plural == "pods":
            return self._pod(resource, version, obj)
        used = _sum(_pod_usage(pod) for pod in store.having("pods", "node", name) if _runs(pod))
        return self._node(resource, version, obj, used)

    def list(self, resource: Resource, version: Version, namespace: str, options: ListOptions) -> Page:
        core, core_version = self._core(resource.plural)
        page = self._api.list(core, core_version, namespace, options)
        if core.key == "pods":
            page.items = [self._pod(resource, version, pod) for pod in page.items if _runs(pod)]
        else:
            used = self._usage_by_node()
            page.items = [
                self._node(resource, version, node, used.get(node["metadata"]["name"], (0, 0))) for node in page.items
            ]
        return page

    def _core(self, plural: str) -> tuple[Resource, Version]:
        """The resource whose objects are measured."""
        found = self._api.registry.at("", "v1", plural)
        if found is None:
            raise not_found(plural, "")
        return found

    def _usage_by_node(self) -> dict[str, Usage]:
        used: dict[str, Usage] = {}
        for pod in self._api.store.list("pods"):
            if _runs(pod):
                node = pod["spec"].get("nodeName", "")
                used[node] = _sum((used.get(node, (0, 0)), _pod_usage(pod)))
        return used

    def _node(self, resource: Resource, version: Version, node: Object, used: Usage) -> Object:
        return {**self._measured(resource, version, node), "usage": _rendered(used)}

    def _pod(self, resource: Resource, version: Version, pod: Object) -> Object:
        usage = _rendered(_container_usage(pod))
        containers = [{"name": each["name"], "usage": usage} for each in pod["spec"].get("containers", [])]
        return {**self._measured(resource, version, pod), "containers": containers}

    def _measured(self, resource: Resource, version: Version, obj: Object) -> Object:
        now = rfc3339(self._api.clock.now())
        kept = {key: obj["metadata"][key] for key in ("name", "namespace", "labels") if key in obj["metadata"]}
        return {
            "kind": resource.kind,
            "apiVersion": resource.api_version(version.name),
            "metadata": {**kept, "creationTimestamp": now},
            "timestamp": now,
            "window": _WINDOW,
        }


def _runs(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) and pod.get("status", {}).get("phase") == "Running"


def _container_usage(pod: Object) -> Usage:
    """What each container of a pod uses."""
    return quantity.milli(_annotated(pod, _CPU)), quantity.value(_annotated(pod, _MEMORY))


def _annotated(pod: Object, annotation: str) -> str:
    text = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return text if quantity.is_valid(text) else _DEFAULTS[annotation]


def _pod_usage(pod: Object) -> Usage:
    cpu, memory = _container_usage(pod)
    count = len(pod["spec"].get("containers", []))
    return cpu * count, memory * count


def _sum(usages: Iterable[Usage]) -> Usage:
    cpu = memory = 0
    for more_cpu, more_memory in usages:
        cpu += more_cpu
        memory += more_memory
    return cpu, memory


def _rendered(used: Usage) -> Object:
    cpu, memory = used
    return {"cpu": str(quantity.from_milli(cpu)), "memory": str(quantity.from_value(memory, "BinarySI"))}
