"""The DaemonSet controller: looks at a set where its nodes or pods changed, and replaces its pods when its template
did.

An update replaces old pods on as many nodes at a time as may be without one (*maxUnavailable*), or puts new pods beside
the old ones on as many as may have two (*maxSurge*).
"""

from __future__ import annotations

from ghostfleet.controllers.daemonsets.placement import daemon_tolerations, tied_to
from ghostfleet.controllers.daemonsets.records import DaemonRecord
from ghostfleet.controllers.deployments.amounts import resolve_percent
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import PodCreator, controller_of, is_available, owner_reference, ready_since, removal
from ghostfleet.controllers.repairing import wake_when_overwritten
from ghostfleet.controllers.requests import Request, Steps, slow_start, update_status
from ghostfleet.controllers.revisions import HASH, current_revision, revision_hash, revisions_of, trim_history
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.ratelimit import ItemExponentialBackoff
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription

__all__ = ["DAEMONSETS", "DaemonSetController"]

DAEMONSETS = "daemonsets.apps"
_BACKOFF, _LONGEST_BACKOFF = SECOND, 15 * 60 * SECOND

Key = tuple[str, str]


class DaemonSetController:
    """Keeps the DaemonSets of one store."""

    def __init__(self, store: Store, routes: PodRoutes, creator: PodCreator, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "DaemonSet controller")
        self._store: Reader = store
        self._creator = creator
        self._recorder = EventRecorder(store, "daemonset-controller", profile, client)
        self._most = profile.number("daemonset.pods-per-sync")
        self._first_batch = profile.number("creation.first-batch")
        self._records: dict[str, DaemonRecord] = {}
        self._backoff = ItemExponentialBackoff(_BACKOFF, _LONGEST_BACKOFF)
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("daemonset.workers"), client=client
        )
        self._nodes = Subscription(lambda: store.listen("nodes", self._notice_node, status=False))
        for owner in store.list(DAEMONSETS):
            self._begin(owner)
        store.listen(DAEMONSETS, self._notice)
        wake_when_overwritten(store, DAEMONSETS, self._workers.add)
        routes.to("apps/v1", "DaemonSet", self._take)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _begin(self, owner: Object) -> None:
        metadata = owner["metadata"]
        record = DaemonRecord((metadata["namespace"], metadata["name"]))
        self._records[metadata["uid"]] = record
        self._nodes.subscribe_if(self._records)
        for node in self._store.list("nodes"):
            record.note_node(node["metadata"]["name"], owner, node)
        for _, pod in self._store.owned_by(metadata["uid"], "pods"):
            controller = controller_of(pod)
            if controller is not None and controller["uid"] == metadata["uid"]:
                record.note_pod(None, pod)
        self._workers.add(record.key)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            assert old is not None
            self._records.pop(old["metadata"]["uid"], None)
            self._nodes.subscribe_if(self._records)
        elif old is None or new["metadata"].get("generation") != old["metadata"].get("generation"):
            self._begin(new)

    def _notice_node(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is not None and old is not None and new["spec"] is old["spec"]:
            same = new["metadata"].get("labels") == old["metadata"].get("labels")
            if same:
                return
        for record in self._records.values():
            owner = self._store.get(DAEMONSETS, *record.key)
            if record.note_node(change.name, owner, new):
                self._workers.add(record.key)

    def _take(self, owner: Object, old: Object | None, new: Object | None) -> None:
        record = self._records.get(owner["uid"])
        if record is not None:
            record.note_pod(old, new)
            self._workers.add(record.key)

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        owner = self._store.find(DAEMONSETS, *key)
        record = self._records.get(owner["metadata"]["uid"]) if owner is not None else None
        if owner is None or record is None:
            return
        revision = yield from current_revision(owner, revisions_of(self._store, owner))
        mark = revision_hash(revision)
        failure: ApiError | None = None
        dirty, record.dirty = record.dirty, {}
        seconds = owner["spec"].get("minReadySeconds", 0)
        if "deletionTimestamp" not in owner["metadata"]:
            try:
                yield from self._manage(owner, record, mark, dirty)
                if owner["spec"]["updateStrategy"].get("type") == "RollingUpdate":
                    yield from self._roll(owner, record, mark)
            except ApiError as error:
                failure = error
                record.dirty |= dirty
        for node in dirty | record.dirty:
            record.count(node, mark, seconds, self._store.clock.now())
        yield from self._write_status(owner, record)
        used = [revision["metadata"]["name"]]
        yield from trim_history(self._store, owner, used)
        if failure is not None:
            raise failure
        self._look_again(record, seconds)

    def _manage(self, owner: Object, record: DaemonRecord, mark: str, dirty: dict[str, None]) -> Steps:
        needed, surplus = [], []
        for node in dirty:
            run, stay = record.fits.get(node, (False, False))
            pods = record.active(node)
            if run and not record.pods.get(node):
                needed.append(node)
            elif not stay:
                surplus += pods
            else:
                surplus += self._ended(owner, record, node, pods)
                alive = [pod for pod in pods if pod["status"].get("phase") not in ("Failed", "Succeeded")]
                surplus += alive[2:] if self._surge(owner, record) else alive[1:]
        for pod in surplus[: self._most]:
            yield removal(owner, pod, self._recorder)
        yield from self._create(owner, needed[: self._most], mark)
        if len(needed) > self._most:
            record.dirty |= dict.fromkeys(needed[self._most :])
            self._workers.add(record.key)

    def _ended(self, owner: Object, record: DaemonRecord, node: str, pods: list[Object]) -> list[Object]:
        """Pods on a node that have ended, which no daemon should, and are to make room for new ones."""
        ended = []
        for pod in pods:
            place = f"{pod['metadata']['namespace']}/{pod['metadata']['name']} on node {node}"
            if pod["status"].get("phase") == "Failed":
                if self._must_wait(record, node):
                    continue
                self._recorder.warning(
                    owner, "FailedDaemonPod", f"Found failed daemon pod {place}, will try to kill it"
                )
                ended.append(pod)
            elif pod["status"].get("phase") == "Succeeded":
                message = f"Found succeeded daemon pod {place}, will try to delete it"
                self._recorder.normal(owner, "SucceededDaemonPod", message)
                ended.append(pod)
        return ended

    def _must_wait(self, record: DaemonRecord, node: str) -> bool:
        """Whether it is too early to replace a failed pod of a node; each time it takes longer."""
        now = self._store.clock.now()
        until = record.not_before.get(node, 0)
        if now < until:
            record.dirty[node] = None
            self._workers.add_after(record.key, until - now)
            return True
        record.not_before[node] = now + self._backoff.when((record.key, node))
        return False

    def _create(self, owner: Object, nodes: list[str], mark: str) -> Steps:
        template = owner["spec"]["template"]
        template = {**template, "spec": {**template["spec"], "tolerations": daemon_tolerations(template["spec"])}}
        generation = str(owner["metadata"].get("generation", 1))
        labels = {HASH: mark, "pod-template-generation": generation}
        reference = [owner_reference(owner)]

        def create(store: Store, node: str) -> None:
            spec = tied_to(template["spec"], node)
            self._creator.create(
                store, owner, template, reference=reference, labels=labels, spec=spec, recorder=self._recorder
            )

        yield from slow_start([Request("create", "pods", create, node) for node in nodes], self._first_batch)

    # -- updates -----------------------------------------------------------------------------------------------------

    def _surge(self, owner: Object, record: DaemonRecord) -> int:
        limits = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
        desired = sum(run for run, _ in record.fits.values()) if limits.get("maxSurge") else 0
        return resolve_percent(limits.get("maxSurge"), desired, up=True)

    def _roll(self, owner: Object, record: DaemonRecord, mark: str) -> Steps:
        """Replace pods of older revisions, as far as the limits allow."""
        nodes = [node for node, (run, _) in record.fits.items() if run]
        outdated = {
            node: old
            for node in nodes
            if (old := [pod for pod in record.active(node) if pod["metadata"]["labels"].get(HASH) != mark])
        }
        if not outdated:
            return
        if self._surge(owner, record):
            yield from self._roll_beside(owner, record, mark, outdated)
            return
        limits = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
        allowed = resolve_percent(limits.get("maxUnavailable"), len(nodes), up=True)
        missing = sum(not self._has_available(owner, record, node) for node in nodes)
        for node, old in outdated.items():
            useless = not self._has_available(owner, record, node)
            if useless or missing < allowed:
                missing += not useless
                for pod in old:
                    yield removal(owner, pod, self._recorder)

    def _roll_beside(self, owner: Object, record: DaemonRecord, mark: str, outdated: dict[str, list[Object]]) -> Steps:
        seconds, now = owner["spec"].get("minReadySeconds", 0), self._store.clock.now()
        doubled, fresh = 0, []
        for node, old in outdated.items():
            new = [pod for pod in record.active(node) if pod["metadata"]["labels"].get(HASH) == mark]
            if not new:
                fresh.append(node)
            elif is_available(new[0], seconds, now):
                for pod in old:
                    yield removal(owner, pod, self._recorder)
            else:
                doubled += 1
        yield from self._create(owner, fresh[: max(self._surge(owner, record) - doubled, 0)], mark)

    def _has_available(self, owner: Object, record: DaemonRecord, node: str) -> bool:
        seconds, now = owner["spec"].get("minReadySeconds", 0), self._store.clock.now()
        return any(is_available(pod, seconds, now) for pod in record.active(node))

    # -- status ------------------------------------------------------------------------------------------------------

    def _look_again(self, record: DaemonRecord, seconds: int) -> None:
        """Look at nodes again whose pods have not been ready for long enough yet."""
        if not seconds or record.sums.ready == record.sums.available:
            return
        now, waits = self._store.clock.now(), []
        for node, pods in record.pods.items():
            for pod in pods.values():
                since = ready_since(pod)
                if since is not None and since + seconds * SECOND > now:
                    waits.append(since + seconds * SECOND - now)
                    record.dirty[node] = None
        if waits:
            self._workers.add_after(record.key, min(waits))

    def _write_status(self, owner: Object, record: DaemonRecord) -> Steps:
        sums = record.sums
        status: Object = {
            "currentNumberScheduled": sums.current,
            "numberMisscheduled": sums.misplaced,
            "desiredNumberScheduled": sums.desired,
            "numberReady": sums.ready,
            "observedGeneration": owner["metadata"].get("generation", 1),
        }
        more = {
            "updatedNumberScheduled": sums.updated,
            "numberAvailable": sums.available,
            "numberUnavailable": sums.desired - sums.available,
        }
        status |= {key: value for key, value in more.items() if value}
        if status != owner.get("status"):
            yield update_status(DAEMONSETS, owner, status)
