"""DRA drivers that users install: the pods of a driver's DaemonSet, and the devices they would publish.

Nothing runs in the pods of a fake node. So for a *kubelet plugin* that is known, the one of kubernetes-sigs'
dra-example-driver, the slices of a node are published when a pod of it gets that node, and withdrawn when it goes. The
number of devices is that of its variable NUM_DEVICES. Slices that the node has of the same names are left alone.
"""

from __future__ import annotations

from ghostfleet.api.podclaims import SLICES
from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.stages.dradrivers import find_profile

__all__ = ["DraPlugins"]

_DAEMON_SETS = "daemonsets.apps"
#: What the plugin's DaemonSet and its pods are labelled with.
_LABEL, _EXAMPLE = "app.kubernetes.io/name", "dra-example-driver"
_COUNT = "NUM_DEVICES"
#: Published: what the driver publishes where its variable does not say.
_DEVICES = 8


class DraPlugins:
    """Publishes what the plugins of one cluster would."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._daemon_sets: set[tuple[str, str]] = set()
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_pod, status=False))
        store.listen(_DAEMON_SETS, self._notice_daemon_set, status=False)

    def _notice_daemon_set(self, change: Change) -> None:
        key = (change.namespace, change.name)
        if change.new is not None and _is_plugin(change.new):
            self._daemon_sets.add(key)
            self._subscription.subscribe_if(self._daemon_sets)
        elif change.new is None and key in self._daemon_sets:
            # Its pods go after it, and with them the slices.
            self._daemon_sets.discard(key)

    def _notice_pod(self, change: Change) -> None:
        pod = change.new or change.old
        assert pod is not None
        if not _is_plugin(pod) or not pod["spec"].get("nodeName"):
            return
        if change.new is None:
            self._store.clock.call_soon(self._withdraw, pod)
        elif change.old is None or not change.old["spec"].get("nodeName"):
            self._store.clock.call_soon(self._publish, pod)

    def _publish(self, pod: Object) -> None:
        node = self._store.find("nodes", "", pod["spec"]["nodeName"])
        if node is None:
            return
        for each in find_profile("example").slices(node, _devices(pod)):
            if self._store.find(SLICES, "", each["metadata"]["name"]) is None:
                self._store.create(SLICES, prepare_for_create(SLICES, apply_defaults(SLICES, each)))

    def _withdraw(self, pod: Object) -> None:
        node = self._store.find("nodes", "", pod["spec"]["nodeName"])
        for each in find_profile("example").slices(node, 0) if node is not None else ():
            if self._store.find(SLICES, "", each["metadata"]["name"]) is not None:
                self._store.delete(SLICES, "", each["metadata"]["name"])


def _is_plugin(obj: Object) -> bool:
    return (obj["metadata"].get("labels") or {}).get(_LABEL) == _EXAMPLE


def _devices(pod: Object) -> int:
    for container in pod["spec"]["containers"]:
        for variable in container.get("env") or ():
            if variable["name"] == _COUNT and str(variable.get("value", "")).isdecimal():
                return int(variable["value"])
    return _DEVICES
