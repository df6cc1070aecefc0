"""Behaviour of single pods, beyond what stages say: how long they start and run, and whether they fail.

Pods ask for it by annotations of their own, or of the Job they belong to: `ghostfleet.dev/duration` is how long the pod
runs, `ghostfleet.dev/startup` how long it takes to come up, `ghostfleet.dev/failure-probability` how likely it fails
when it ends. Spans are durations or distributions (`90s`, `exponential(2s)`). These replace the delay of the stage that
brings a pod to the phase Running or Succeeded; a pod that states how long it runs, but that no stage ends, is ended
here. Where a pod does not say so itself, its commands may (see commands). What is drawn for a pod depends on the seed
and its uid only, so that it is the same after each change of the pod.
"""

from __future__ import annotations

from pathlib import Path

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.stages.catalogue import load_stages
from ghostfleet.stages.commands import ENDLESS, Commands, time_of, times_of
from ghostfleet.stages.distributions import chance, parse_distribution
from ghostfleet.stages.lifecycle import Transition
from ghostfleet.stages.stage import Stage
from ghostfleet.stages.values import Warn

__all__ = ["DURATION", "FAILURE", "STARTUP", "Behaviour"]

DURATION = "ghostfleet.dev/duration"
STARTUP = "ghostfleet.dev/startup"
FAILURE = "ghostfleet.dev/failure-probability"
_KNOWN = (DURATION, STARTUP, FAILURE)
_ENDINGS = Path(__file__).parent / "data" / "endings"


class Behaviour:
    """Startup time, run time and failure of pods, as their annotations or those of their Job say."""

    def __init__(self, store: Store, seed: int | str, warn: Warn, *, commands: Commands = "ignored") -> None:
        self._jobs = store.bucket("jobs.batch").find
        self._seed = seed
        self._warn = warn
        self._heeds = commands != "ignored"
        self._plays = commands == "played"
        self._ends: dict[str, Stage] = {stage.phase: stage for stage in load_stages(_ENDINGS).stages}
        self._read: dict[int, tuple[list[Object], int | None]] = {}

    def adjusted(self, pod: Object, transition: Transition | None, now: int) -> Transition | None:
        """What comes next for a pod, after what its stages say."""
        if transition is None:
            if not _runs(pod):
                return None
        elif transition.stage.phase not in ("Running", "Succeeded"):
            return transition
        annotations = self._annotations(pod) or {}
        if not annotations and not self._heeds:
            return transition
        if transition is not None and transition.stage.phase == "Running":
            span = self._span(pod, annotations, STARTUP)
            if span is None and self._plays:
                span = self._preparing(pod, transition)
            return transition if span is None else Transition(transition.stage, span)
        span = self._span(pod, annotations, DURATION)
        if span is None and self._heeds:
            span = self._time_of(pod)
            if span == ENDLESS:
                return None
            if not self._plays or (transition is None and pod["spec"].get("restartPolicy", "Always") == "Always"):
                span = None
        if transition is None and span is None:
            return None
        stage = transition.stage if transition is not None else self._ends["Succeeded"]
        if self._fails(pod, annotations):
            stage = self._ends["Failed"]
        if span is None:
            assert transition is not None
            return Transition(stage, transition.delay)
        return Transition(stage, span - _running_for(pod, now))

    def _annotations(self, pod: Object) -> dict[str, str] | None:
        """The annotations that matter, of the pod and of its Job; those of the pod count more."""
        found: dict[str, str] | None = None
        metadata = pod["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if owner["kind"] == "Job":
                job = self._jobs(metadata["namespace"], owner["name"])
                if job is not None and "annotations" in job["metadata"]:
                    found = _chosen(job["metadata"]["annotations"])
        if "annotations" in metadata:
            own = _chosen(metadata["annotations"])
            return {**found, **own} if found else own
        return found

    def _span(self, pod: Object, annotations: dict[str, str], annotation: str) -> int | None:
        text = annotations.get(annotation)
        if text is None:
            return None
        try:
            distribution = parse_distribution(text)
        except ValueError as error:
            self._warn(f"annotation {annotation}: {error}")
            return None
        return distribution(chance(self._seed, annotation, pod["metadata"]["uid"]))

    def _fails(self, pod: Object, annotations: dict[str, str]) -> bool:
        text = annotations.get(FAILURE)
        if text is None:
            return False
        try:
            probability = float(text)
        except ValueError:
            probability = -1.0
        if not 0 <= probability <= 1:
            self._warn(f"annotation {FAILURE}: expected a number from 0 to 1, found {text!r}")
            return False
        return chance(self._seed, FAILURE, pod["metadata"]["uid"]) < probability

    def _time_of(self, pod: Object) -> int | None:
        """How long a pod runs by its commands; pods of one template share their containers, which are read once."""
        containers = pod["spec"]["containers"]
        known = self._read.get(id(containers))
        if known is None or known[0] is not containers:
            known = (containers, times_of(containers))
            if len(self._read) > 1024:
                self._read.clear()
            self._read[id(containers)] = known
        return known[1]

    @staticmethod
    def _preparing(pod: Object, transition: Transition) -> int | None:
        """How long a pod takes to come up, if its init containers say how long each of them takes."""
        spans = [time_of(container) or 0 for container in pod["spec"].get("initContainers") or ()]
        return transition.delay + sum(spans) if any(spans) else None


def _chosen(annotations: dict[str, str] | None) -> dict[str, str]:
    return {key: annotations[key] for key in _KNOWN if key in annotations} if annotations else {}


def _runs(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _running_for(pod: Object, now: int) -> int:
    """Whole seconds for which the first container has been running; statuses know no finer times."""
    for status in pod.get("status", {}).get("containerStatuses") or ():
        started = ((status.get("state") or {}).get("running") or {}).get("startedAt")
        if started:
            return max(0, now - now % SECOND - parse_rfc3339(started))
    return 0
