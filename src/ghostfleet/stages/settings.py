"""Settings of a fleet: how stages are played, beyond what they say themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.core.selectors import parse_label_selector
from ghostfleet.stages.commands import Commands
from ghostfleet.stages.leases import Mode
from ghostfleet.stages.stage import Compatibility

__all__ = ["StageSettings", "label_matcher"]


@dataclass(frozen=True, slots=True)
class StageSettings:
    """See the fields."""

    #: which KWOK the stages are read for
    compatibility: Compatibility = "0.8"
    #: pods that do not fit on their node fail, as a kubelet would have it
    admission: bool = True
    #: how nodes keep their leases; None: live on a wall clock, lazy on a virtual one
    leases: Mode | None = None
    #: whether stages that are called node-heartbeat... are played
    heartbeats: bool = True
    #: what is made of commands such as `sleep 10` and `sleep infinity`
    commands: Commands = "ignored"
    #: stages that are added later act on objects at once, not only when these change
    reevaluate: bool = False
    #: only nodes with these labels or annotations are played, and the pods on them; "" stands for all nodes
    node_labels: str = ""
    node_annotations: str = ""
    #: objects with these annotations or labels are left alone; "" stands for none
    disregard_annotations: str = "kwok.x-k8s.io/status=custom"
    disregard_labels: str = ""
    #: addresses of pods on nodes that have no range of their own
    pod_range: str = "10.0.0.0/24"

    def manages(self) -> Callable[[Object], bool]:
        """Whether a node is one of the fleet's."""
        labels, annotations = label_matcher(self.node_labels), label_matcher(self.node_annotations)

        def managed(node: Object) -> bool:
            metadata = node["metadata"]
            return (labels is None or labels(metadata.get("labels") or {})) and (
                annotations is None or annotations(metadata.get("annotations") or {})
            )

        return managed


def label_matcher(text: str) -> Callable[[dict[str, str]], bool] | None:
    """What tells whether this selector selects labels or annotations; None for an empty one."""
    if not text:
        return None
    selector = parse_label_selector(text)
    return selector.matches
