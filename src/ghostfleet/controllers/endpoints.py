"""Endpoints: which pods are behind a service, for those who look it up.

For a service with a selector, its ready pods and their ports are listed twice: in one Endpoints object, as it was
always done, and in EndpointSlices of up to a hundred pods each. Pods count once they have an address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ghostfleet.controllers.pods import is_ready, is_terminal, owner_reference
from ghostfleet.controllers.requests import Request, Steps
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.labelindex import ObjectsByLabel, SelectorIndex
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription

__all__ = ["ENDPOINTS", "SLICES", "EndpointsController"]

ENDPOINTS = "endpoints"
SLICES = "endpointslices.discovery.k8s.io"
_SERVICE = "kubernetes.io/service-name"
_MANAGER = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}

Key = tuple[str, str]


class EndpointsController:
    """Keeps the endpoints of the services of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._size = profile.number("endpointslices.size")
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("endpoints.workers"),
            client=profile.api_client("kube-controller-manager", "Endpoints controller"),
        )
        #: Selectors of services by namespace, and the pods they select.
        self._services: dict[str, SelectorIndex] = {}
        self._by_label = ObjectsByLabel(store, "pods")
        self._pods: dict[Key, dict[str, Object]] = {}
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_pod))
        for service in store.list("services"):
            self._begin(service)
        store.listen("services", self._notice)
        #: An object is being written by this controller itself.
        self._writing = False
        store.listen(ENDPOINTS, self._notice_endpoints)
        store.listen(SLICES, self._notice_slice)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _begin(self, service: Object) -> None:
        namespace, name = service["metadata"]["namespace"], service["metadata"]["name"]
        wanted = service["spec"].get("selector")
        if not wanted:
            return
        label, value = self._services.setdefault(namespace, SelectorIndex()).add(name, wanted)
        self._subscription.subscribe_if(self._services)
        pods = (self._store.find("pods", namespace, each) for each in self._by_label.names(namespace, label, value))
        self._pods[namespace, name] = {
            pod["metadata"]["name"]: pod
            for pod in pods
            if pod is not None and wanted.items() <= pod["metadata"]["labels"].items()
        }
        self._workers.add((namespace, name))

    def _end(self, key: Key) -> None:
        if self._pods.pop(key, None) is not None:
            self._services[key[0]].remove(key[1])
            if not self._services[key[0]]:
                del self._services[key[0]]
                self._subscription.subscribe_if(self._services)
                if not self._services:
                    self._by_label.forget()
        self._workers.add(key)

    def _notice(self, change: Change) -> None:
        key = (change.namespace, change.name)
        if change.new is None:
            self._end(key)
        elif change.old is None or change.old["spec"] != change.new["spec"]:
            if key in self._pods:
                self._end(key)
            self._begin(change.new)

    def _notice_pod(self, change: Change) -> None:
        services = self._services.get(change.namespace)
        before = change.old["metadata"].get("labels") if change.old is not None else None
        after = change.new["metadata"].get("labels") if change.new is not None else None
        if before is not after:
            self._by_label.note(change)
        if services is None:
            return
        chosen = services.matching(after)
        if change.new is not None:
            for name, _ in chosen:
                self._pods[change.namespace, name][change.name] = change.new
                self._workers.add((change.namespace, name))
        if before is not after:
            kept = {name for name, _ in chosen}
            for name, _ in services.matching(before):
                if name not in kept:
                    self._pods[change.namespace, name].pop(change.name, None)
                    self._workers.add((change.namespace, name))

    def _notice_endpoints(self, change: Change) -> None:
        """Endpoints that somebody else has deleted are made again."""
        if change.new is None and not self._writing:
            self._wake(change.namespace, change.name)

    def _notice_slice(self, change: Change) -> None:
        """A slice that somebody else has deleted or changed is put right."""
        if not self._writing and change.old is not None:
            self._wake(change.namespace, (change.old["metadata"].get("labels") or {}).get(_SERVICE, ""))

    def _wake(self, namespace: str, service: str) -> None:
        if (namespace, service) in self._pods:
            self._workers.add((namespace, service))

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        service, space = self._store.find("services", *key), self._store.find("namespaces", "", key[0])
        if space is not None and "deletionTimestamp" in space["metadata"]:
            # All that is there goes with it.
            return
        if service is None or key not in self._pods:
            if service is None and self._store.find(ENDPOINTS, *key) is not None:
                yield Request("delete", ENDPOINTS, self._write, Store.delete, ENDPOINTS, *key)
            return
        pods = sorted(
            (pod for pod in self._pods[key].values() if pod["status"].get("podIP") and not is_terminal(pod)),
            key=lambda pod: pod["metadata"]["name"],
        )
        yield from self._write_endpoints(service, pods)
        yield from self._write_slices(service, pods)

    def _write(self, store: Store, verb: Callable[..., object], *what: object) -> None:
        self._writing = True
        try:
            verb(store, *what)
        finally:
            self._writing = False

    def _write_endpoints(self, service: Object, pods: list[Object]) -> Steps:
        own = service["metadata"]
        wide = service["spec"].get("publishNotReadyAddresses")
        listed = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        ready = [_address(pod) for pod in listed if wide or is_ready(pod)]
        others = [_address(pod) for pod in listed if not wide and not is_ready(pod)]
        subset: Object = {}
        if ready:
            subset["addresses"] = ready
        if others:
            subset["notReadyAddresses"] = others
        if subset:
            subset["ports"] = _ports(service, listed)
        old = self._store.find(ENDPOINTS, own["namespace"], own["name"])
        fresh: Object = {"apiVersion": "v1", "kind": "Endpoints"}
        labels = {**(own.get("labels") or {}), "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        fresh["metadata"] = {"name": own["name"], "namespace": own["namespace"], "labels": labels}
        if subset:
            fresh["subsets"] = [subset]
        if old is None:
            yield Request("create", ENDPOINTS, self._write, Store.create, ENDPOINTS, fresh)
        elif old.get("subsets") != fresh.get("subsets"):
            rest = {field: value for field, value in old.items() if field != "subsets"}
            changed = {**rest, **({"subsets": [subset]} if subset else {})}
            yield Request("update", ENDPOINTS, self._write, Store.update, ENDPOINTS, changed)

    def _write_slices(self, service: Object, pods: list[Object]) -> Steps:
        own = service["metadata"]
        owned = [each for _, each in self._store.owned_by(own["uid"], SLICES)]
        ports = _ports(service, pods) if pods else None
        parts = [pods[start : start + self._size] for start in range(0, len(pods), self._size)] or [[]]
        for number, part in enumerate(parts):
            listed = [_endpoint(service, pod) for pod in part] or None
            if number < len(owned):
                if owned[number].get("endpoints") != listed or owned[number].get("ports") != ports:
                    metadata = owned[number]["metadata"]
                    metadata = {**metadata, "generation": metadata.get("generation", 0) + 1}
                    changed = {**owned[number], "metadata": metadata, "endpoints": listed, "ports": ports}
                    yield Request("update", SLICES, self._write, Store.update, SLICES, changed)
                continue
            metadata = {
                "generateName": f"{own['name']}-",
                "namespace": own["namespace"],
                "labels": {**(own.get("labels") or {}), **_MANAGER, _SERVICE: own["name"]},
                "ownerReferences": [owner_reference(service)],
                "generation": 1,
            }
            fresh: Object = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}
            fresh |= {"addressType": "IPv4", "endpoints": listed, "ports": ports}
            yield Request("create", SLICES, self._write, Store.create, SLICES, fresh)
        for each in owned[len(parts) :]:
            place = (own["namespace"], each["metadata"]["name"])
            yield Request("delete", SLICES, self._write, Store.delete, SLICES, *place)


def _target(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}


def _address(pod: Object) -> Object:
    address = {"ip": pod["status"]["podIP"], "targetRef": _target(pod)}
    if pod["spec"].get("nodeName"):
        address["nodeName"] = pod["spec"]["nodeName"]
    return address


def _endpoint(service: Object, pod: Object) -> Object:
    leaving = "deletionTimestamp" in pod["metadata"]
    serving = is_ready(pod) or bool(service["spec"].get("publishNotReadyAddresses"))
    conditions = {"ready": serving and not leaving, "serving": serving, "terminating": leaving}
    endpoint: Object = {"addresses": [pod["status"]["podIP"]], "conditions": conditions, "targetRef": _target(pod)}
    if pod["spec"].get("nodeName"):
        endpoint["nodeName"] = pod["spec"]["nodeName"]
    return endpoint


def _ports(service: Object, pods: Iterable[Object]) -> list[Object]:
    """The ports at which the pods listen; names of ports are looked up in the first pod that has them."""
    ports = []
    for port in service["spec"].get("ports") or ():
        target = port.get("targetPort", port["port"])
        if isinstance(target, str):
            target = _named_port(target, pods)
        if target:
            ports.append({"name": port.get("name", ""), "port": target, "protocol": port.get("protocol", "TCP")})
    return ports


def _named_port(name: str, pods: Iterable[Object]) -> int | None:
    for pod in pods:
        for container in pod["spec"].get("containers") or ():
            for port in container.get("ports") or ():
                if port.get("name") == name:
                    number: int = port["containerPort"]
                    return number
    return None
