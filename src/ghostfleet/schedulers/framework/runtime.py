"""The framework of one profile, as kube-scheduler calls it: its plugins at work on one snapshot.

Pods that nothing tells apart have one *scheduling signature*: the profile, what matters of their spec, and what
plugins add to it (their labels, say, where some plugin looks at them). The framework keeps one CycleState for each
signature, so that what is worked out for one pod serves the next.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.plugin import Plugin
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.profile import REGISTRY, Profile
from ghostfleet.schedulers.framework.snapshot import Snapshot

if TYPE_CHECKING:
    from ghostfleet.schedulers.framework.diagnosis import Diagnosis
    from ghostfleet.schedulers.framework.plugin import PostFilterResult

__all__ = ["Framework", "Signature"]

Signature = tuple[object, ...]
_CYCLE_STATES = 4096
#: So many signatures have values of all nodes at a time, which take much room when nodes are many.
_WARM = 256


class Framework:
    """The plugins of one profile."""

    def __init__(self, profile: Profile, snapshot: Snapshot, rng: Random) -> None:
        self.profile = profile
        self.snapshot = snapshot
        self.rng = rng
        self.plugins: dict[str, Plugin] = {
            name: plugin(snapshot, profile.arguments.get(name, plugin.default_arguments()))
            for name, plugin in REGISTRY.items()
            if plugin is not None and any(name in on for on in profile.points.values())
        }
        self.filters = self._at("filter")
        self.scores = [
            (weight, plugin) for name, plugin in self.plugins.items() if (weight := profile.weights.get(name))
        ]
        self.post_filters = self._at("postFilter")
        self._gates = [(plugin.pre_enqueue, plugin.asked_with) for plugin in self._at("preEnqueue")]
        self.reservers = self._at("reserve")
        self.permits = self._at("permit")
        self.pre_binds = self._at("preBind")
        #: All that take part when a pod is bound.
        self.binders = list(dict.fromkeys((*self.reservers, *self.permits, *self.pre_binds)))
        used = {plugin.name: plugin for plugin in (*self.filters, *(plugin for _, plugin in self.scores))}
        self._signers = [
            (plugin.sign, plugin.signs_labels, plugin.asked_with)
            for plugin in used.values()
            if type(plugin).sign is not Plugin.sign
        ]
        self._cycle_states: dict[Signature, CycleState] = {}
        self._warm: dict[CycleState, None] = {}

    def _at(self, point: str) -> list[Plugin]:
        return [
            plugin
            for name, plugin in self.plugins.items()
            if self.profile.is_on(name, point) and plugin.implements(point)
        ]

    # -- cycle states ------------------------------------------------------------------------------------------------

    def cycle_state(self, pod: Object) -> CycleState:
        """The CycleState of pods like this one."""
        info = self.snapshot.specs.of(pod["spec"])
        signature: Signature = (self.profile.name, info.key)
        plain = True
        for sign, by_labels, fields in self._signers:
            if fields and fields.isdisjoint(info.fields):
                continue
            part = sign(pod, info)
            if part is not None:
                if plain and by_labels:
                    plain = False
                    metadata = pod["metadata"]
                    labels = tuple(sorted((metadata.get("labels") or {}).items()))
                    signature = (*signature, metadata["namespace"], labels)
                signature = (*signature, *part)
        known = self._cycle_states
        found = known.get(signature)
        if found is None:
            while len(known) >= _CYCLE_STATES:
                del known[next(iter(known))]
            found = known[signature] = CycleState(self, PodInfo(pod, info), signature)
        elif found.uses & 63 == 63:
            # Those in use move to the end now and then, so that those dropped are those nobody uses.
            del known[signature]
            known[signature] = found
        found.uses += 1
        return found

    def keep_warm(self, cycle: CycleState) -> None:
        """Values of all nodes are kept for a signature; the one that kept them longest lets go when there are many."""
        self._warm.pop(cycle, None)
        self._warm[cycle] = None
        if len(self._warm) > _WARM:
            oldest = next(iter(self._warm))
            del self._warm[oldest]
            oldest.cool_down()

    # -- extension points around the search --------------------------------------------------------------------------

    def is_gated(self, pod: Object) -> bool:
        """Whether a plugin keeps a pod out of the queue."""
        spec = pod["spec"]
        return not all(admits(pod) for admits, fields in self._gates if not fields or any(map(spec.get, fields)))

    def post_filter(self, cycle: CycleState, pod: Object, found: Diagnosis, now: int) -> list[PostFilterResult]:
        """What plugins make of a pod that fits nowhere, until one of them has the last word."""
        results: list[PostFilterResult] = []
        for plugin in self.post_filters:
            results.append(plugin.post_filter(cycle, pod, found, now))
            if results[-1].final or results[-1].victims:
                break
        return results

    def reserve(self, cycle: CycleState, pod: Object, node: str) -> bool | None:
        """A pod gets a node; answers whether it can be bound at once, None when it cannot have the node."""
        ready = True
        for plugin in cycle.concerned(self.reservers):
            reserved = plugin.reserve(pod, cycle.info, node)
            if reserved is None:
                return None
            ready = ready and reserved
        for plugin in cycle.concerned(self.permits):
            answer = plugin.permit(pod, cycle.info, node)
            if answer is None:
                return None
            ready = ready and answer
        return ready

    def unreserve(self, cycle: CycleState, pod: Object, node: str) -> None:
        """A pod does not get its node after all."""
        for plugin in reversed(cycle.concerned(self.reservers)):
            plugin.unreserve(pod, cycle.info, node)

    def next_look(self, cycle: CycleState, pod: Object) -> int | None:
        """When to ask again whether a pod that waits can be bound; None when only events matter."""
        looks = [plugin.next_look(pod) for plugin in cycle.concerned(self.pre_binds)]
        return min((look for look in looks if look is not None), default=None)

    def may_bind(self, cycle: CycleState, pod: Object, node: str) -> bool | None:
        """Whether a pod that was waited for can be bound now; None when it has to give its node up."""
        ready = True
        for hold in (
            *(plugin.permit for plugin in cycle.concerned(self.permits)),
            *(plugin.pre_bind for plugin in cycle.concerned(self.pre_binds)),
        ):
            answer = hold(pod, cycle.info, node)
            if answer is None:
                return None
            ready = ready and answer
        return ready
