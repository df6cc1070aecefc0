"""Plugins: kube-scheduler's extension points, and what a plugin answers at each of them.

A plugin is made once for a profile and a snapshot. For pods that nothing tells apart, those of one *scheduling
signature*, its `pre_filter` and `pre_score` are asked once and answer a `Filter` and a `Score`, or None to be skipped.
These are asked about nodes ever after: when a pod is placed, when preemption tries what would be if pods left, for the
message of a pod that fits nowhere, and by explain. So a plugin says in one place which nodes it rules out, why, and
whether pods that leave could change that.

A *slot* is the index of a node in all columns of the snapshot. Filters and scores have a form for many slots, which is
all that a plugin must have, and one for a single slot, which is worth writing where it is asked after every bind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ghostfleet.core.changes import Change, Object
from ghostfleet.schedulers.framework.arguments import ConfigError
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot

if TYPE_CHECKING:
    from ghostfleet.schedulers.framework.cyclestate import CycleState
    from ghostfleet.schedulers.framework.diagnosis import Diagnosis

__all__ = [
    "EXTENSION_POINTS",
    "MAX_SCORE",
    "Aborted",
    "Filter",
    "Objection",
    "Plugin",
    "PostFilterResult",
    "Rejected",
    "Scope",
    "Score",
    "Slots",
]

MAX_SCORE = 100
#: Nodes by their slots: an array of them, or all.
Slots = Any

#: The extension points of a configuration, and the methods that are asked there.
EXTENSION_POINTS = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "",
    "preFilter": "pre_filter",
    "filter": "pre_filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "pre_score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "",
    "postBind": "",
}


class Scope(Enum):
    """How far a filter looks, and so when its answer may change."""

    #: At nodes alone: asked again when nodes change.
    NODE = "node"
    #: At a node and the pods on it: asked again for nodes that pods came to or left.
    PODS = "pods"
    #: At pods on other nodes, too: asked every time.
    CLUSTER = "cluster"


class Objection(NamedTuple):
    """Why a filter rules nodes out."""

    reason: str
    #: Which of the nodes it was asked about.
    nodes: BoolArray
    #: Whether the reason may go away when pods leave the node.
    resolvable: bool


class Rejected(Exception):
    """A pod cannot be placed whatever the nodes are; says why."""


class Aborted(Rejected):
    """Something is wrong, so that a pod cannot be scheduled at all; says what, in the words for the pod."""


class Filter:
    """Which nodes are ruled out for pods of one signature."""

    scope: ClassVar[Scope] = Scope.NODE
    #: Whether it looks at nothing on a node but amounts of resources, which makes what-if cheap.
    by_amounts: ClassVar[bool] = False
    #: Whether a pod has to be tried alone, because it depends on what is written for those before it.
    sequential: bool = False

    def errors(self) -> Mapping[int, str]:
        """What is wrong with the pods, in the words for them, by the slot of the node that showed it."""
        return {}

    @property
    def active(self) -> bool:
        """Whether any node can be ruled out as things are; asked of filters that look at the whole cluster."""
        return True

    def node_names(self) -> frozenset[str] | None:
        """The only nodes to look at at all, by name; None for all nodes."""
        return None

    def objections(self, slots: Slots) -> Sequence[Objection]:
        """All that there is to object to these nodes."""
        raise NotImplementedError

    def allowed(self, slots: Slots) -> BoolArray:
        """Which of these nodes are not ruled out."""
        mask: BoolArray = np.ones(len(slots), np.bool_)
        for objection in self.objections(slots):
            mask &= ~objection.nodes
        return mask

    def allows(self, slot: int) -> bool:
        """Whether one node is not ruled out."""
        return bool(self.allowed(np.array((slot,)))[0])


class Score:
    """How well nodes suit pods of one signature."""

    #: Whether a node's score depends on the node and the pods on it alone, and is from 0 to 100 as it is.
    local: ClassVar[bool] = True

    @property
    def active(self) -> bool:
        """Whether nodes can get different scores as things are; asked of scores that are not local."""
        return True

    def refresh(self) -> bool:
        """Nodes have changed; answers whether they can get different scores."""
        return True

    def many(self, slots: Slots) -> IntArray:
        """The scores of these nodes."""
        raise NotImplementedError

    def one(self, slot: int) -> int:
        """The score of one node."""
        return int(self.many(np.array((slot,)))[0])

    def normalise(self, scores: IntArray) -> IntArray:
        """Scores of all nodes to choose from, made to be from 0 to 100."""
        return scores


class PostFilterResult(NamedTuple):
    """What a plugin makes of a pod that fits nowhere."""

    message: str = ""
    #: The node to make room on, "" to take an earlier nomination back, None to leave it as it is.
    nominate: str | None = ""
    #: Pods to evict there.
    victims: Sequence[PodInfo] = ()
    #: Whether something went wrong, so that this is all that is said, and plugins after it are not asked any more.
    final: bool = False
    #: What is to be written, if the decision comes true.
    write: Callable[[], None] | None = None


class Plugin:
    """What all plugins have; each overrides what it takes part in."""

    name: ClassVar[str]
    #: How much its score counts.
    weight: ClassVar[int] = 0
    #: What may help a pod that it has ruled nodes out for, apart from nodes that fit now: "nodes", "pods" on nodes, or
    #: objects of a kind by its key in the store.
    events: ClassVar[frozenset[str]] = frozenset()
    #: Kinds of objects, by their keys in the store, whose changes it is told of.
    kinds: ClassVar[tuple[str, ...]] = ()
    #: What it is about in the spec of a pod, among podinfo.FIELDS; pods without any of it are skipped, from pre_enqueue
    #: to pre_bind, as where PreFilter of kube-scheduler answers Skip. Without fields it is about all pods, and so it is
    #: where a configuration gives it arguments.
    fields: ClassVar[frozenset[str]] = frozenset()
    #: Whether its signs are about labels, so that pods with other labels, or in other namespaces, are never alike.
    signs_labels: ClassVar[bool] = True

    def __init__(self, snapshot: Snapshot, arguments: Any = None) -> None:
        self.snapshot = snapshot
        self.arguments = arguments

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> Any:  # noqa: ARG003
        """Understand the plugin's arguments in a configuration."""
        raise ConfigError(f"{path.removesuffix('.args')}: the plugin {cls.name} takes no arguments")

    @classmethod
    def default_arguments(cls) -> Any:
        """The arguments where the configuration has none."""
        return None

    @classmethod
    def implements(cls, point: str) -> bool:
        """Whether the plugin does something at an extension point."""
        method = EXTENSION_POINTS[point]
        return bool(method) and getattr(cls, method) is not getattr(Plugin, method)

    @property
    def asked_with(self) -> frozenset[str]:
        """The fields of which a pod must have one for it to be asked; empty when it is about all pods."""
        return frozenset() if self.arguments else self.fields

    def skips(self, info: SpecInfo) -> bool:
        """Whether pods of this spec have nothing to do with it."""
        fields = self.asked_with
        return bool(fields) and fields.isdisjoint(info.fields)

    def notice(self, change: Change) -> None:
        """An object of one of its kinds changed."""

    def helps(self, change: Change) -> bool:  # noqa: ARG002
        """Whether a change of a kind among its events may help any pod: a queueing hint."""
        return True

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:  # noqa: ARG002
        """What tells pods of the same spec apart: this, and labels and namespaces, too; None for none of it."""
        return None

    def pre_enqueue(self, pod: Object) -> bool:  # noqa: ARG002
        """Whether a pod may be tried at all."""
        return True

    def pre_filter(self, pod: PodInfo) -> Filter | None:  # noqa: ARG002
        """The filter for pods like this one; None when it rules nothing out, Rejected when no node will do."""
        return None

    def post_filter(self, cycle: CycleState, pod: Object, found: Diagnosis, now: int) -> PostFilterResult:
        """What to do for a pod that fits nowhere."""
        raise NotImplementedError

    def pre_score(self, pod: PodInfo) -> Score | None:  # noqa: ARG002
        """The score for pods like this one; None when all nodes suit them alike."""
        return None

    def concerns(self, info: SpecInfo) -> bool:  # noqa: ARG002
        """Whether it takes part in the binding of pods of this spec, by reserve, permit or pre_bind."""
        return True

    def reserve(self, pod: Object, info: SpecInfo, node: str) -> bool | None:  # noqa: ARG002
        """A pod gets a node: take what it needs there. True when nothing has to be waited for, None to give it up."""
        return True

    def unreserve(self, pod: Object, info: SpecInfo, node: str) -> None:
        """A pod does not get its node after all."""

    def permit(self, pod: Object, info: SpecInfo, node: str) -> bool | None:  # noqa: ARG002
        """Whether a pod may be bound now; asked again after the plugin's events. None gives the node up."""
        return True

    def requests(self, info: SpecInfo) -> int:  # noqa: ARG002
        """How many requests to the API its pre_bind makes for such a pod; with any it is asked without an event."""
        return 0

    def pre_bind(self, pod: Object, info: SpecInfo, node: str) -> bool | None:  # noqa: ARG002
        """Whether all is ready for a pod on its node; asked again after the plugin's events. None gives it up, and
        Aborted does so with words for the pod."""
        return True

    def next_look(self, pod: Object) -> int | None:  # noqa: ARG002
        """When pre_bind is to be asked again about a pod that waits, if no event comes first; None for never."""
        return None
