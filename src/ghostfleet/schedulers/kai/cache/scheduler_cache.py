"""The scheduler cache: the snapshot of one store, kept by events.

A pod is a task when it has a node or a pod group. How far it is follows from itself and from its bind request, so a
change of either has it looked at again; what does not matter for scheduling (conditions, heartbeats) is not even told
on. Pods that cannot be scheduled as they are have a *problem* and are kept out of the snapshot while they have no node.
Nodes, queues and pod groups of another node pool are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ghostfleet.api.podclaims import CLAIMS, CLASSES, SLICES
from ghostfleet.controllers.kai.bindrequests import is_failed
from ghostfleet.controllers.kai.constants import BIND_REQUESTS, POD_GROUPS, QUEUES, TOPOLOGIES
from ghostfleet.controllers.kai.reservation import groups_of
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kai.cache.devices import DeviceBook
from ghostfleet.schedulers.kai.cache.nodes import WORKER_LABELS, node_facts, node_info
from ghostfleet.schedulers.kai.cache.podgroups import job_key, pod_group_info
from ghostfleet.schedulers.kai.cache.pods import PodReader, pod_problem, pod_state
from ghostfleet.schedulers.kai.cache.queues import queue_info, topology_of
from ghostfleet.schedulers.kai.cache.volumes import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES, Volumes, claims_of
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.pod_info import Pod, PodInfo
from ghostfleet.schedulers.kai.pod_status import PENDING

__all__ = ["SchedulerCache"]

_CLASSES = "priorityclasses.scheduling.k8s.io"
Key = tuple[str, str]


class _Seen(NamedTuple):
    """A pod as it is in the snapshot, and what it was read from."""

    key: Key
    pod: Pod
    status: int
    node: str
    gpu_groups: tuple[str, ...]
    labels: object
    annotations: object


class SchedulerCache:
    """The snapshot; `changed` is told when it is not what it was."""

    def __init__(self, store: Store, config: SchedulerConfiguration, changed: Callable[[], None]) -> None:
        self._store = store
        self.config = config
        self._scheduler_name = config.scheduler_name
        self._changed = changed
        self.book = DeviceBook(store)
        self._volumes = Volumes(store)
        self._reader = PodReader(self.book, self._volumes)
        #: Pods without a node that use a volume claim, by the claim.
        self._claiming: dict[Key, dict[Key, None]] = {}
        self.info = ClusterInfo()
        #: By uid: pods that are none of KAI's to schedule as they are, and why.
        self.problems: dict[str, tuple[Key, str]] = {}
        self._seen: dict[str, _Seen] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._requests: dict[Key, Object] = {}
        self._facts: dict[str, tuple[object, ...]] = {}
        self._stops = [
            store.listen("nodes", self._notice_node),
            store.listen(BIND_REQUESTS, self._notice_request),
            store.listen(POD_GROUPS, self._notice_group, status=False),
            store.listen("pods", self._notice_pod),
            store.listen(QUEUES, self._notice_queue, status=False),
            store.listen(TOPOLOGIES, self._notice_topology),
            store.listen(_CLASSES, self._notice_class),
            store.listen(CLAIMS, self._notice_claim),
            store.listen(SLICES, self._notice_slice),
            store.listen(CLASSES, self._notice_device_class),
            store.listen(VOLUME_CLAIMS, self._notice_volume_claim),
            store.listen(VOLUMES, self._notice_volumes),
            store.listen(STORAGE_CLASSES, self._notice_volumes),
        ]
        self.rebuild()

    def stop(self) -> None:
        """Take no more notice of the store."""
        for stop in self._stops:
            stop()

    def rebuild(self) -> None:
        """Read everything anew."""
        store = self._store
        self.info = ClusterInfo(gpu_groups_made=self.info.gpu_groups_made, usage=self.info.usage)
        for known in (self.problems, self._seen, self._members, self._requests, self._facts, self._claiming):
            known.clear()
        self._read_queues()
        self._read_topologies()
        self.book.read()
        self.info.claims, self.info.devices = self.book.claims, self.book.devices
        for node in store.list("nodes"):
            if self._takes_node(node):
                self._set_node(node)
        for request in store.list(BIND_REQUESTS):
            self._requests[request["metadata"]["namespace"], request["spec"].get("podName", "")] = request
        for group in store.list(POD_GROUPS):
            if self._is_of_pool(group):
                self.info.set_pod_group(pod_group_info(store, group))
        for pod in store.list("pods"):
            self._see(pod)
        self._changed()

    def find_pod(self, uid: str) -> Object | None:
        """A pod of the snapshot as it is stored, if it is still the same pod."""
        seen = self._seen.get(uid)
        found = self._store.find("pods", *seen.key) if seen is not None else None
        return found if found is not None and found["metadata"]["uid"] == uid else None

    def remove_hopeless_requests(self) -> None:
        """Remove bind requests that failed, or whose node is gone: their pods are decided on anew."""
        for key, request in list(self._requests.items()):
            if not self._is_of_pool(request):
                continue
            pod = self._store.find("pods", *key)
            lost = request["spec"].get("selectedNode", "") not in self.info.nodes
            if is_failed(request) or (lost and pod is not None and not pod["spec"].get("nodeName")):
                try:
                    self._store.delete(BIND_REQUESTS, key[0], request["metadata"]["name"])
                except ApiError:
                    # It went by itself in the meantime.
                    continue

    # -- node pools --------------------------------------------------------------------------------------------------

    def _is_of_pool(self, obj: Object) -> bool:
        label = (obj["metadata"].get("labels") or {}).get(self.config.node_pool_label)
        return label == self.config.node_pool if self.config.node_pool else label is None

    def _takes_node(self, node: Object) -> bool:
        labels = node["metadata"].get("labels") or {}
        marked = not self.config.restrict_node_scheduling or any(each in labels for each in WORKER_LABELS)
        return marked and self._is_of_pool(node)

    # -- what happens ------------------------------------------------------------------------------------------------

    def _notice_node(self, change: Change) -> None:
        if change.new is None or not self._takes_node(change.new):
            if self._facts.pop(change.name, None) is not None:
                self.info.remove_node(change.name)
                self._changed()
        elif node_facts(change.new) != self._facts.get(change.name):
            self._set_node(change.new)
            self._changed()

    def _set_node(self, node: Object) -> None:
        name = node["metadata"]["name"]
        is_new = name not in self._facts
        self._facts[name] = node_facts(node)
        self.info.set_node(node_info(node, self.book.gpus_of(name)))
        if is_new:
            for seen in [each for each in self._seen.values() if each.node == name]:
                self.info.set_task(_task(seen))

    def _notice_request(self, change: Change) -> None:
        request = change.new if change.new is not None else change.old
        assert request is not None
        key = (change.namespace, request["spec"].get("podName", ""))
        if change.new is None:
            self._requests.pop(key, None)
        else:
            self._requests[key] = change.new
            if is_failed(change.new):
                self._changed()
        pod = self._store.find("pods", *key)
        if pod is not None and self._see(pod):
            self._changed()

    def _notice_group(self, change: Change) -> None:
        key = job_key(change.namespace, change.name)
        if change.new is None or not self._is_of_pool(change.new):
            self.info.remove_pod_group(key)
        else:
            self._set_group(change.new)
        self._changed()

    def _set_group(self, group: Object) -> None:
        """Take in a group with all its pods, some of which may have found no place in its old form."""
        key = job_key(group["metadata"]["namespace"], group["metadata"]["name"])
        self.info.set_pod_group(pod_group_info(self._store, group))
        job = self.info.pod_groups[key]
        for uid in self._members.get(key, ()):
            if job.find_task(uid) is None:
                self.info.set_task(_task(self._seen[uid]))

    def _notice_pod(self, change: Change) -> None:
        if change.new is None:
            assert change.old is not None
            uid = change.old["metadata"]["uid"]
            self._note_claims(change.old, (change.namespace, change.name), waits=False)
            if self.problems.pop(uid, None) is not None or self._forget(uid):
                self._changed()
        elif self._see(change.new):
            self._changed()

    def _notice_queue(self, _change: Change) -> None:
        self._read_queues()
        self._changed()

    def _notice_topology(self, _change: Change) -> None:
        self._read_topologies()
        self._changed()

    def _notice_class(self, _change: Change) -> None:
        for group in self._store.list(POD_GROUPS):
            if self._is_of_pool(group):
                self._set_group(group)
        self._changed()

    def _notice_claim(self, change: Change) -> None:
        if change.new is None:
            self.book.forget_claim((change.namespace, change.name))
        else:
            self.book.set_claim(change.new)
        for key, _problem in [each for each in self.problems.values() if each[0][0] == change.namespace]:
            pod = self._store.find("pods", *key)
            if pod is not None:
                self._see(pod)
        self._changed()

    def _notice_slice(self, change: Change) -> None:
        name = self.book.set_slice(change.name, change.new)
        node = self._store.find("nodes", "", name)
        if node is not None and name in self._facts:
            self._set_node(node)
        self._changed()

    def _notice_device_class(self, _change: Change) -> None:
        self.rebuild()

    def _notice_volume_claim(self, change: Change) -> None:
        self._look_at_volumes([(change.namespace, change.name)])

    def _notice_volumes(self, _change: Change) -> None:
        self._look_at_volumes(list(self._claiming))

    def _look_at_volumes(self, claims: Iterable[Key]) -> None:
        """Read pods anew that use claims of which something changed, if they wait."""
        for key in {pod: None for claim in claims for pod in self._claiming.get(claim, ())}:
            pod = self._store.find("pods", *key)
            if pod is not None and not pod["spec"].get("nodeName"):
                self._forget(pod["metadata"]["uid"])
                self._see(pod)
                self._changed()

    def _read_queues(self) -> None:
        self.info.set_queues(queue_info(each) for each in self._store.list(QUEUES) if self._is_of_pool(each))

    def _read_topologies(self) -> None:
        found = [topology_of(each) for each in self._store.list(TOPOLOGIES)]
        self.info.topologies = {each.name: each for each in found}

    # -- pods --------------------------------------------------------------------------------------------------------

    def _see(self, pod: Object) -> bool:
        """Take in a pod as it is now; false when nothing changed that matters."""
        metadata = pod["metadata"]
        uid, key = metadata["uid"], (metadata["namespace"], metadata["name"])
        request = self._requests.get(key)
        if request is not None and (is_failed(request) or not _is_for(request, uid)):
            request = None
        status, node = pod_state(pod, request)
        ours = pod["spec"].get("schedulerName") == self._scheduler_name
        if not node and not ours:
            return False
        if "volumes" in pod["spec"]:
            self._note_claims(pod, key, waits=not pod["spec"].get("nodeName"))
        problem = ""
        if ours and status == PENDING and self._is_of_pool(pod):
            problem = pod_problem(pod, self.book, self._volumes)
        if problem:
            self._forget(uid)
            return self._set_problem(uid, key, problem)
        was_bad = self.problems.pop(uid, None) is not None
        if request is not None and not pod["spec"].get("nodeName"):
            groups = tuple(request["spec"].get("selectedGPUGroups") or ())
        else:
            groups = tuple(groups_of(pod))
        old = self._seen.get(uid)
        labels, annotations = metadata.get("labels"), metadata.get("annotations")
        if old is not None and (old.labels, old.annotations) == (labels, annotations):
            if (old.status, old.node, old.gpu_groups) == (status, node, groups):
                return was_bad
            read = old.pod
        else:
            read = self._reader.read(pod)
        self._forget(uid)
        seen = self._seen[uid] = _Seen(key, read, status, node, groups, labels, annotations)
        if read.job:
            self._members.setdefault(read.job, {})[uid] = None
        self.info.set_task(_task(seen))
        return True

    def _note_claims(self, pod: Object, key: Key, *, waits: bool) -> None:
        """Remember who waits with which claims."""
        for name in claims_of(pod):
            users = self._claiming.setdefault((key[0], name), {})
            if waits:
                users[key] = None
            else:
                users.pop(key, None)
            if not users:
                del self._claiming[key[0], name]

    def _set_problem(self, uid: str, key: Key, problem: str) -> bool:
        known = self.problems.get(uid)
        self.problems[uid] = (key, problem)
        return known != (key, problem)

    def _forget(self, uid: str) -> bool:
        """Take a pod out of the snapshot; false when it is not in it."""
        seen = self._seen.pop(uid, None)
        if seen is None:
            return False
        job = self.info.pod_groups.get(seen.pod.job)
        # A cycle may have put a copy in the place of the task that was put in.
        present = job.find_task(uid) if job is not None else None
        self.info.remove_task(present if present is not None else _task(seen))
        members = self._members.get(seen.pod.job)
        if members is not None:
            members.pop(uid, None)
            if not members:
                del self._members[seen.pod.job]
        return True


def _task(seen: _Seen) -> PodInfo:
    return PodInfo(seen.pod, seen.status, seen.node, seen.gpu_groups)


def _is_for(request: Object, uid: str) -> bool:
    """Whether a bind request is for this very pod, not for one of the same name before it."""
    owners = request["metadata"].get("ownerReferences") or ()
    return all(owner.get("uid") == uid for owner in owners)
