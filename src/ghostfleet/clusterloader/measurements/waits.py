"""Waits for pods, nodes, volumes and objects of any kind, each in one action.

They follow what there is by a watch for as long as they wait. What they wait for must be the case at one moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.clusterloader.measurements.measurement import DONE, Context, MeasurementError, Outcome
from ghostfleet.clusterloader.measurements.pending import explained
from ghostfleet.clusterloader.measurements.selecting import ObjectSelector
from ghostfleet.clusterloader.measurements.waiting import until
from ghostfleet.clusterloader.params import Params
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import format_duration
from ghostfleet.drive.interface import NODES, PERSISTENT_VOLUME_CLAIMS, PODS, Kind

__all__ = ["WaitForAvailablePVs", "WaitForBoundPVCs", "WaitForGenericK8sObjects", "WaitForNodes", "WaitForRunningPods"]

_MINUTE = 60 * SECOND
_PERSISTENT_VOLUMES = Kind("", "v1", "persistentvolumes", namespaced=False)
_SHOWN = 20
#: Taints with which a node is not ready for pods, whatever its conditions say.
_BUILT_IN = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


class _Tally:
    """The objects that a selector finds, each with a verdict that is taken when it changes."""

    def __init__(self, context: Context, selector: ObjectSelector, kind: Kind, judge: Callable[[Object], Any]) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self._verdicts: dict[tuple[str, str], Any] = {}
        self._counts: dict[Any, int] = {}
        self._judge = judge
        self.stop = selector.watch(context.cluster, kind, self._seen)

    def count(self, verdict: Any) -> int:
        return self._counts.get(verdict, 0)

    def lacking(self, verdict: Any) -> list[Object]:
        """Objects that have another verdict."""
        return [obj for key, obj in self.objects.items() if self._verdicts[key] != verdict]

    def _seen(self, _time: int, event: str, obj: Object) -> None:
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if key in self._verdicts:
            self._counts[self._verdicts.pop(key)] -= 1
            del self.objects[key]
        if event != "DELETED":
            verdict = self._verdicts[key] = self._judge(obj)
            self._counts[verdict] = self._counts.get(verdict, 0) + 1
            self.objects[key] = obj


class _Waiting:
    """What the waits share: nothing is left of them when their action is over."""

    def dispose(self) -> None:
        """Nothing goes on between actions."""


class WaitForRunningPods(_Waiting):
    """So many pods run."""

    async def execute(self, context: Context, params: Params) -> Outcome:
        wanted = params.integer("desiredPodCount")
        timeout = params.duration("timeout", _MINUTE)
        fatal = params.boolean("isFatal", False)
        tally = _Tally(context, ObjectSelector.read(params), PODS, _runs)

        def done() -> bool:
            running = tally.count(True)
            context.advance("pods running", running, wanted)
            return running == wanted and len(tally.objects) == wanted

        try:
            if await until(context.cluster, done, context.cluster.now() + timeout):
                return DONE
            running = tally.count(True)
            message = f"timeout while waiting for {wanted} pods: {running} run, {len(tally.objects)} are there"
            uids = {pod["metadata"]["uid"] for pod in tally.lacking(True)}
            message = await explained(context, message, lambda pod: pod["metadata"]["uid"] in uids)
            return Outcome(errors=[message], fatal=fatal)
        finally:
            tally.stop()


class WaitForNodes(_Waiting):
    """The number of nodes that are ready lies between two."""

    async def execute(self, context: Context, params: Params) -> Outcome:
        least, most = params.integer("minDesiredNodeCount"), params.integer("maxDesiredNodeCount")
        timeout = params.duration("timeout", 30 * _MINUTE)
        tally = _Tally(context, ObjectSelector.read(params), NODES, _is_ready)
        try:
            if await until(
                context.cluster, lambda: least <= tally.count(True) <= most, context.cluster.now() + timeout
            ):
                return DONE
            missing = [obj["metadata"]["name"] for obj in tally.lacking(True)]
            text = f"timeout while waiting for {least} to {most} nodes to be ready: {tally.count(True)} are"
            return Outcome(errors=[text + (f"; not ready: {_some(missing)}" if missing else "")])
        finally:
            tally.stop()


class _WaitForVolumes(_Waiting):
    """The number of volumes, or claims, in a phase is what is wanted."""

    def __init__(self, kind: Kind, phase: str, count: str) -> None:
        self._kind = kind
        self._phase = phase
        self._count = count

    async def execute(self, context: Context, params: Params) -> Outcome:
        wanted = params.integer(self._count)
        timeout = params.duration("timeout", _MINUTE)
        tally = _Tally(context, ObjectSelector.read(params), self._kind, lambda obj: _phase(obj) == self._phase)
        try:
            if await until(
                context.cluster,
                lambda: tally.count(True) == wanted and len(tally.objects) == wanted,
                context.cluster.now() + timeout,
            ):
                return DONE
            there, good = len(tally.objects), tally.count(True)
            names = [f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}" for obj in tally.lacking(True)]
            others = f"; others: {_some(names)}" if names else ""
            text = f"{wanted} {self._kind.plural} were to be {self._phase}: {good} are, of {there}{others}"
            return Outcome(errors=[text])
        finally:
            tally.stop()


class WaitForBoundPVCs(_WaitForVolumes):
    """So many claims of volumes are bound."""

    def __init__(self) -> None:
        super().__init__(PERSISTENT_VOLUME_CLAIMS, "Bound", "desiredPVCCount")


class WaitForAvailablePVs(_WaitForVolumes):
    """So many volumes are available."""

    def __init__(self) -> None:
        super().__init__(_PERSISTENT_VOLUMES, "Available", "desiredPVCount")


class WaitForGenericK8sObjects(_Waiting):
    """So many objects of any kind meet conditions, and not too many have failed."""

    async def execute(self, context: Context, params: Params) -> Outcome:
        group, version = params.text("objectGroup", ""), params.text("objectVersion")
        kind = Kind(group, version, params.text("objectResource"))
        good = _conditions(params.texts("successfulConditions"))
        bad = _conditions(params.texts("failedConditions", []))
        wanted = params.integer("minDesiredObjectCount")
        bearable = params.integer("maxFailedObjectCount", 0)
        timeout = params.duration("timeout", 30 * _MINUTE)
        tally = _Tally(context, ObjectSelector(), kind, _judge(good, bad, _namespaces(context, params)))

        def done() -> bool:
            context.advance(f"{kind.plural} that meet their conditions", tally.count("good"), wanted)
            return tally.count("good") >= wanted or tally.count("bad") > bearable

        try:
            met = await until(context.cluster, done, context.cluster.now() + timeout)
            failed = tally.count("bad")
            if failed > bearable:
                return Outcome(errors=[f"{failed} {kind.plural} have failed, {bearable} may"])
            if met:
                return DONE
            text = f"{tally.count('good')} of {wanted} {kind.plural} met their conditions in {format_duration(timeout)}"
            return Outcome(errors=[text])
        finally:
            tally.stop()


def _namespaces(context: Context, params: Params) -> set[str] | None:
    """The namespaces of a range, or None for all."""
    spaces = params.inner("namespaceRange")
    if spaces.boolean("allNamespaces", not params.value("namespaceRange", {})):
        return None
    prefix = spaces.text("prefix", context.prefix)
    return {f"{prefix}-{number}" for number in range(spaces.integer("min"), spaces.integer("max") + 1)}


def _conditions(texts: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        kind, equals, status = text.partition("=")
        if not equals:
            raise MeasurementError(f"condition {text!r}: expected Type=Status")
        pairs.append((kind, status))
    return pairs


def _judge(
    good: list[tuple[str, str]], bad: list[tuple[str, str]], namespaces: set[str] | None
) -> Callable[[Object], str]:
    def judge(obj: Object) -> str:
        if namespaces is not None and obj["metadata"].get("namespace") not in namespaces:
            return "elsewhere"
        held = {(each.get("type"), each.get("status")) for each in (obj.get("status") or {}).get("conditions") or ()}
        if any(each in held for each in bad):
            return "bad"
        return "good" if all(each in held for each in good) else "waiting"

    return judge


def _phase(obj: Object) -> str:
    return str((obj.get("status") or {}).get("phase", ""))


def _runs(pod: Object) -> bool:
    return _phase(pod) == "Running" and "deletionTimestamp" not in pod["metadata"]


def _is_ready(node: Object) -> bool:
    if node["spec"].get("unschedulable"):
        return False
    if any(taint["key"].startswith(_BUILT_IN) for taint in node["spec"].get("taints") or ()):
        return False
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
