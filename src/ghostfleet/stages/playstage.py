"""Playing a stage (playStage of KWOK's stage controller): carrying out its steps on an object, when its time has come.

A stage is played on the object as it was when it was chosen, the *snapshot*: everything is rendered from that, while
patches fall on what is *live*. A patch that would not change the snapshot is left out. Patches, deletions and applied
objects go the way of any client's, through the API and its checks; only the status patches of built-in kinds take the
short way wherever their outcome is in the status cache.

Many jobs fall due at the same moment, so `Timers` have one entry in the clock for each moment, not for each job. A job
that is cancelled stays where it is and is passed over. Where jobs take as much evaluation as one may, the others of
their moment come after whatever else is due.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.options import DeleteOptions, PatchType, WriteOptions
from ghostfleet.api.validation import normalise
from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import ApiError, shortened, shown
from ghostfleet.core.patch import apply_json_patch, apply_merge_patch, apply_strategic_merge
from ghostfleet.core.schema import Type
from ghostfleet.languages.budget import BUDGET, STEPS
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.stages.funcmap import FuncMap
from ghostfleet.stages.stage import Stage
from ghostfleet.stages.statuscache import StatusCache
from ghostfleet.stages.steps import ApplyAction, DeleteAction, PatchAction, StageEvent, Step, actions

__all__ = ["EventSink", "StageJob", "StageKind", "StageRunner", "Timers"]

_MANAGER = "kwok"
_TYPED = frozenset(("pods", "nodes"))


class EventSink(Protocol):
    """Who writes events; controllers have client-go's recorder for it."""

    def normal(self, obj: Object, reason: str, message: str) -> None: ...

    def warning(self, obj: Object, reason: str, message: str) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class StageKind:
    """A kind that has stages."""

    resource: Resource
    version: Version
    #: the store's name for its objects
    key: str
    #: how it is patched by default
    patch_type: PatchType
    #: whether stages see objects just as they are stored
    stored: bool
    #: type of the status, if its patches may be cached
    status: Type | None

    @classmethod
    def of(cls, resource: Resource, version: Version, key: str) -> StageKind:
        stored = version.name == resource.storage_version and key == resource.key
        cacheable = stored and not resource.custom and resource.has_status
        return cls(
            resource,
            version,
            key,
            patch_type="strategic" if key in _TYPED else "merge",
            stored=stored,
            status=version.schema.child("status") if cacheable else None,
        )


class StageJob:
    """A stage that waits to be played on an object."""

    __slots__ = ("cancelled", "kind", "live", "name", "namespace", "result", "retries", "snapshot", "stage", "step")

    def __init__(self, kind: StageKind, namespace: str, name: str, snapshot: Object, stage: Stage) -> None:
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.snapshot = snapshot
        self.stage = stage
        #: the step to go on with
        self.step = 0
        self.retries = 0
        self.cancelled = False
        #: whether the snapshot is known to be what is stored now
        self.live = False
        #: what came out of it, where that is known
        self.result: Object | None = None


class StageRunner:
    """Carries out the steps of stages, by the API or from the status cache."""

    def __init__(self, api: Api, funcmap: FuncMap, recorder: EventSink | None = None) -> None:
        self._api = api
        self._store = api.store
        self._funcmap = funcmap
        self._recorder = recorder
        self._status_cache = StatusCache(api.clock, funcmap)

    def play(self, job: StageJob) -> None:
        """Do all steps that are left; after an error `job.step` is the one that failed."""
        self._funcmap.turn_to(job.snapshot)
        steps = job.stage.steps
        if len(steps) == 1 and self._patch_from_cache(job, steps[0]):
            return
        deleted = any(step.delete for step in steps[: job.step])
        for step in steps[job.step :]:
            if deleted:
                if step.event is not None:
                    self._tell(job.snapshot, step.event)
            else:
                self._do(job, step)
                deleted = step.delete
            job.step += 1

    def _do(self, job: StageJob, step: Step) -> None:
        if self._patch_from_cache(job, step):
            return
        for action in actions((step,), job.snapshot, self._funcmap.functions, default_type=job.kind.patch_type):
            match action:
                case StageEvent():
                    self._tell(job.snapshot, action)
                case DeleteAction():
                    kind = job.kind
                    self._api.delete(
                        kind.resource, kind.version, job.namespace, job.name, DeleteOptions(grace_seconds=0)
                    )
                case PatchAction():
                    if self._changes(job, action):
                        self._patch(job, action.type, action.subresource, action.data)
                case ApplyAction():
                    self._apply(job, action)

    def tell_failure(self, obj: Object, why: str) -> None:
        """Tell those who look at an object that no stage can be played on it."""
        if self._recorder is not None:
            self._recorder.warning(obj, "StageOverBudget", shortened(why))

    def _tell(self, obj: Object, event: StageEvent) -> None:
        if self._recorder is not None:
            tell = self._recorder.warning if event.type == "Warning" else self._recorder.normal
            tell(obj, event.reason, event.message)

    # -- patches -------------------------------------------------------------------------------------------------------

    def _patch_from_cache(self, job: StageJob, step: Step) -> bool:
        """Patch a status by what is known of its outcome; false if this is not a step for that."""
        kind, patch = job.kind, step.patch
        if patch is None or not step.patches_status or kind.status is None:
            return False
        if job.live:
            # The first change ends that.
            job.live = False
        elif not self._store.is_current(kind.key, job.namespace, job.name, job.snapshot):
            return False
        status = self._status_cache.status(patch, job.snapshot)
        if status is None:
            type_ = patch.type or kind.patch_type
            merge = partial(self._patch, job, type_, "status")
            self._status_cache.fill(patch, job.snapshot, kind.status, merge, strategic=type_ == "strategic")
        elif status == job.snapshot.get("status"):
            job.result = job.snapshot
        else:
            job.result = self._store.set_status(kind.key, job.snapshot, status)
        return True

    def _patch(self, job: StageJob, type_: PatchType, subresource: str, data: Any, dry_run: bool = False) -> Object:
        kind = job.kind
        options = WriteOptions(dry_run=dry_run, validation="Ignore")
        return self._api.patch(kind.resource, kind.version, job.namespace, job.name, type_, data, options, subresource)[
            0
        ]

    def _changes(self, job: StageJob, action: PatchAction) -> bool:
        """Whether a patch changes the snapshot."""
        kind, snapshot = job.kind, job.snapshot
        try:
            if action.type == "json":
                patched = apply_json_patch(snapshot, action.data)
            elif action.type == "strategic":
                patched = apply_strategic_merge(snapshot, action.data, kind.version.schema)
            else:
                patched = apply_merge_patch(snapshot, action.data)
            if not kind.resource.custom:
                patched, _ = normalise(patched, kind.version.schema, kind=kind.resource.kind, version=kind.version.name)
        except ApiError as error:
            raise EvaluationError(f"the patch does not go together with the object: {error.message}") from None
        return patched is not snapshot and patched != snapshot

    # -- other objects -------------------------------------------------------------------------------------------------

    def _apply(self, job: StageJob, action: ApplyAction) -> None:
        obj = action.data
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
            raise EvaluationError(f"expected an object to apply, found {shown(obj)}")
        if not obj.get("apiVersion") or not obj.get("kind"):
            raise EvaluationError("template must include apiVersion and kind")
        found = self._api.registry.of_kind(str(obj["apiVersion"]), str(obj["kind"]))
        if found is None:
            raise EvaluationError(f"there is no kind {obj['kind']} in {obj['apiVersion']}")
        resource, version = found
        metadata = obj.get("metadata") or {}
        namespace, name = "", str(metadata.get("name") or "")
        if resource.namespaced:
            namespace = str(metadata.get("namespace") or job.namespace)
            obj = {**obj, "metadata": {**metadata, "namespace": namespace}}
        options = WriteOptions(manager=_MANAGER, force=action.type == "apply", validation="Ignore")
        if not action.subresource:
            try:
                self._api.create(resource, version, namespace, obj, WriteOptions(manager=_MANAGER, validation="Ignore"))
            except ApiError as error:
                if error.reason != "AlreadyExists" or not name:
                    raise
            else:
                return
        self._api.patch(resource, version, namespace, name, action.type, obj, options, action.subresource)


Waiting = TypeVar("Waiting", bound=StageJob)


class Timers(Generic[Waiting]):
    """Jobs by the time at which they are due."""

    def __init__(self, clock: Clock, fire: Callable[[Waiting], None]) -> None:
        self._clock = clock
        #: Whose jobs they are, for the watchdog.
        self.acts_for = self._fire = fire
        self._moments: dict[int, list[Waiting]] = {}

    def __len__(self) -> int:
        """How many jobs wait."""
        return sum(not job.cancelled for jobs in self._moments.values() for job in jobs)

    def add(self, when: int, job: Waiting) -> None:
        jobs = self._moments.get(when)
        if jobs is None:
            self._moments[when] = [job]
            self._clock.call_at(when, self._run, when)
        else:
            jobs.append(job)

    def _run(self, when: int) -> None:
        jobs = iter(self._moments.pop(when))
        most = BUDGET.steps + STEPS
        try:
            for job in jobs:
                if not job.cancelled:
                    self._fire(job)
                    if BUDGET.steps > most:
                        break
        finally:
            # A job that failed, or took long, must not take along what waits behind it.
            for job in jobs:
                self.add(when, job)
