"""Bootstrap: the objects that every cluster has from its first moment on.

The API server looks after its namespaces every minute and after its own service every ten seconds; one that somebody
has deleted comes again.
"""

from __future__ import annotations

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store

__all__ = ["SYSTEM_NAMESPACES", "announce", "bootstrap", "ensure_namespace"]

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_SERVICE_ADDRESS = "10.96.0.1"
_SERVICE_PLACE = ("default", "kubernetes")
#: Published: the intervals of kube-apiserver's controllers for both.
_LOOK_AT_NAMESPACES, _LOOK_AT_SERVICE = 60 * SECOND, 10 * SECOND


def bootstrap(store: Store) -> None:
    """Create the system's namespaces, priority classes and its own service, unless they are there."""
    for name in SYSTEM_NAMESPACES:
        _ensure(store, "namespaces", _namespace(name))
    for name, value, text in (
        ("system-cluster-critical", 2_000_000_000, "For pods that the cluster cannot do without, on any node."),
        ("system-node-critical", 2_000_001_000, "For pods that their own node cannot do without."),
    ):
        _ensure(store, "priorityclasses.scheduling.k8s.io", _priority_class(name, value, text))
    _ensure(store, "services", _service())
    _keep(store)


def announce(store: Store, address: str, port: int) -> None:
    """Say in the endpoints of the cluster's own service where it is served."""
    _ensure(store, "endpoints", _endpoints(address, port))
    _ensure(store, "endpointslices.discovery.k8s.io", _endpoint_slice(address, port))


def _keep(store: Store) -> None:
    """Make again what somebody deletes."""

    def notice_namespace(change: Change) -> None:
        if change.new is None and change.name in SYSTEM_NAMESPACES:
            store.clock.call_later(_LOOK_AT_NAMESPACES, _ensure, store, "namespaces", _namespace(change.name))

    def notice_service(change: Change) -> None:
        if change.new is None and (change.namespace, change.name) == _SERVICE_PLACE:
            store.clock.call_later(_LOOK_AT_SERVICE, _ensure, store, "services", _service())

    store.listen("namespaces", notice_namespace, status=False)
    store.listen("services", notice_service, status=False)


def _ensure(store: Store, resource: str, obj: Object) -> None:
    metadata = obj["metadata"]
    if store.find(resource, metadata.get("namespace", ""), metadata["name"]) is None:
        store.create(resource, obj)


def ensure_namespace(store: Store, name: str, **labels: str) -> None:
    """Create a namespace, unless it is there."""
    _ensure(store, "namespaces", _namespace(name, **labels))


def _namespace(name: str, **labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _priority_class(name: str, value: int, description: str) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "generation": 1},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _service() -> Object:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "clusterIP": _SERVICE_ADDRESS,
            "clusterIPs": [_SERVICE_ADDRESS],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }


def _endpoints(address: str, port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{"addresses": [{"ip": address}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}],
    }


def _endpoint_slice(address: str, port: int) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
