"""Pod management (manageJob of the Job controller): how many pods a Job should have now, and making it so.

No more than its parallelism, and no more than it has completions left. Pods too many are deleted, unbound and unready
ones first; of an index only one may run. New pods come in batches of 1, 2, 4 and so on, so that what fails is not
tried a thousand times, and not before the back-off after the last failure is over.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.jobs.indexes import INDEX, index_of, intervals, pending
from ghostfleet.controllers.jobs.limits import JobLimits
from ghostfleet.controllers.jobs.policies import judge_failure
from ghostfleet.controllers.jobs.records import (
    FAILURE_COUNT,
    FINALIZER,
    IGNORED_COUNT,
    failure_count,
    finished_at,
    remaining,
)
from ghostfleet.controllers.jobs.synccontext import SyncContext
from ghostfleet.controllers.pods import PodCreator, deletion_order, owner_reference, removal
from ghostfleet.controllers.requests import Request, Steps, slow_start
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["PodManager", "finalizers_of", "release"]

_FINALIZERS = [FINALIZER]
_LONGEST_PREFIX = 58
_INDEX_VARIABLE: Object = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}},
}


class PodManager:
    """Makes and removes the pods of one Job in one sync."""

    __slots__ = ("_context", "_creator", "_limits", "_recorder", "removed", "wait")

    def __init__(self, creator: PodCreator, recorder: EventRecorder, limits: JobLimits, context: SyncContext) -> None:
        self._creator = creator
        self._recorder = recorder
        self._limits = limits
        self._context = context
        #: How many pods were deleted.
        self.removed = 0
        #: Microseconds until pods may be made that may not yet; None when nothing waits.
        self.wait: int | None = None

    def manage(self) -> Steps:
        """Bring the number of pods to what it should be."""
        context = self._context
        record, spec = context.record, context.spec
        if spec.get("suspend"):
            yield from self._remove(record.active_pods())
            return
        wanted = self._wanted()
        doubles = record.indexed and record.active > len(record.active_indexes)
        if record.active > wanted or doubles:
            yield from self._remove(self._surplus(record.active - wanted)[: self._limits.pods_per_sync])
            return
        on_their_way = record.terminating if spec.get("podReplacementPolicy") == "Failed" else 0
        missing = wanted - on_their_way - record.active
        if missing > 0:
            yield from self._add(min(missing, self._limits.pods_per_sync))
            if missing > self._limits.pods_per_sync:
                self.wait = self.wait or 0

    def _wanted(self) -> int:
        context = self._context
        parallelism: int = context.spec["parallelism"]
        completions = context.spec.get("completions")
        if completions is None:
            # Once one has succeeded the others are left to end, and no new ones begin.
            return context.record.active if context.succeeded else parallelism
        wanted: int = max(min(completions - context.succeeded, parallelism), 0)
        return wanted

    # -- pods too many -----------------------------------------------------------------------------------------------

    def _surplus(self, count: int) -> list[Object]:
        """At least `count` active pods to go: those whose index is not theirs to have, then the least missed."""
        pods = sorted(self._context.record.active_pods(), key=deletion_order)
        if not self._context.record.indexed:
            return pods[:count]
        kept: dict[int, Object] = {}
        surplus = []
        for pod in pods:
            index = index_of(pod)
            if index is None or index >= self._context.spec["completions"]:
                surplus.append(pod)
                continue
            # The last of an index is the one that is furthest on.
            if index in kept:
                surplus.append(kept[index])
            kept[index] = pod
        left = sorted(kept.values(), key=deletion_order)
        return surplus + left[: max(count - len(surplus), 0)]

    def _remove(self, pods: list[Object]) -> Steps:
        """Delete pods that nobody is to count."""
        for pod in pods:
            yield Request("patch", "pods", release, pod)
            yield removal(self._context.job, pod, self._recorder)
            self.removed += 1

    # -- pods too few ------------------------------------------------------------------------------------------------

    def _add(self, count: int) -> Steps:
        context = self._context
        per_index = context.failed_indexes is not None
        if not per_index and context.failures.number:
            wait = self._wait(context.failures.number, context.failures.last)
            if wait:
                self.wait = wait
                return
        reference = [owner_reference(context.job)]
        if context.record.indexed:
            indexes = self._free_indexes(count)
            if per_index:
                indexes = self._ready_indexes(indexes)
            requests = [Request("create", "pods", self._create, reference, index) for index in indexes]
        else:
            requests = [Request("create", "pods", self._create, reference, None)] * count
        yield from slow_start(requests, self._limits.first_batch)

    def _wait(self, failures: int, last: int) -> int:
        return remaining(failures, last, self._context.now, self._limits.backoff, self._limits.longest_backoff)

    def _free_indexes(self, count: int) -> list[int]:
        context = self._context
        active = ((index, index) for index in context.record.active_indexes)
        leaving = []
        if context.spec.get("podReplacementPolicy") == "Failed":
            leaving = [(at, at) for pod in context.record.terminating_pods() if (at := index_of(pod)) is not None]
        taken = intervals(context.succeeded_indexes, active, leaving, context.failed_indexes or ())
        return pending(taken, count, context.spec["completions"])

    def _ready_indexes(self, indexes: list[int]) -> list[int]:
        """Those that need not wait; the shortest wait of the others is the one to wait for."""
        waits = {}
        for index in indexes:
            last = self._context.replaces.get(index)
            waits[index] = 0
            if last is not None:
                failures = failure_count(last) + failure_count(last, IGNORED_COUNT) + 1
                waits[index] = self._wait(failures, finished_at(last))
        self.wait = min((wait for wait in waits.values() if wait), default=None)
        return [index for index in indexes if not waits[index]]

    def _create(self, store: Store, reference: list[Object], index: int | None) -> None:
        context = self._context
        job, template = context.job, context.spec["template"]
        # A pod that takes over from a failed one lets that one go: this has to be looked at again.
        context.record.own_write = index not in context.replaces
        try:
            if index is None:
                self._creator.create(
                    store,
                    job,
                    template,
                    reference=reference,
                    finalizers=finalizers_of(template),
                    recorder=self._recorder,
                )
            else:
                self._create_indexed(store, reference, index)
        finally:
            context.record.own_write = False

    def _create_indexed(self, store: Store, reference: list[Object], index: int) -> None:
        context = self._context
        job, template = context.job, context.spec["template"]
        name = job["metadata"]["name"]
        annotations = {INDEX: str(index)}
        if context.failed_indexes is not None:
            annotations |= _failure_counts(context.spec.get("podFailurePolicy"), context.replaces.get(index))
        end = f"-{index}-"
        self._creator.create(
            store,
            job,
            {**template, "spec": _with_index_variable(template["spec"])},
            reference=reference,
            prefix=name[: _LONGEST_PREFIX - len(end)] + end,
            labels={INDEX: str(index)},
            annotations=annotations,
            finalizers=finalizers_of(template),
            spec={"hostname": f"{name}-{index}"},
            recorder=self._recorder,
        )


def finalizers_of(template: Object) -> list[str]:
    """The finalizers of a Job's pods: those of the template, and the one that holds them until they are counted."""
    given = (template.get("metadata") or {}).get("finalizers") or ()
    return [*given, FINALIZER] if given and FINALIZER not in given else _FINALIZERS


def _with_index_variable(spec: Object) -> Object:
    def with_index(container: Object) -> Object:
        variables = container.get("env") or ()
        if any(each["name"] == _INDEX_VARIABLE["name"] for each in variables):
            return container
        return {**container, "env": [*variables, _INDEX_VARIABLE]}

    return {
        **spec,
        **{key: list(map(with_index, spec[key])) for key in ("initContainers", "containers") if spec.get(key)},
    }


def _failure_counts(policy: Object | None, replaced: Object | None) -> dict[str, str]:
    """What a new pod of an index carries on from the one it replaces."""
    if replaced is None:
        return {FAILURE_COUNT: "0"}
    counts = judge_failure(policy, replaced).counts
    failed, ignored = failure_count(replaced) + counts, failure_count(replaced, IGNORED_COUNT) + (not counts)
    return {FAILURE_COUNT: str(failed)} | ({IGNORED_COUNT: str(ignored)} if ignored else {})


def release(store: Store, pod: Object) -> None:
    """Take the tracking finalizer off a pod, if it is there and has it."""
    current = store.current("pods", pod)
    held = current["metadata"].get("finalizers", ()) if current is not None else ()
    if current is None or FINALIZER not in held:
        return
    left = dict(current["metadata"])
    if len(held) == 1:
        del left["finalizers"]
    else:
        left["finalizers"] = [each for each in held if each != FINALIZER]
    if "deletionTimestamp" in left:
        store.update("pods", {**current, "metadata": left})
    else:
        store.replace("pods", current, {**current, "metadata": left})
