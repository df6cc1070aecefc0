"""The cluster as one scheduler sees it, with the plans it has made.

On top of the surroundings the state keeps the *nominations* (pods that are promised room on a node, which preemption
is making for them; nobody of the same or lower priority may take it meanwhile), the volumes, and a plan for each kind
of pods it has met. It is a picture kept by events: `put_node`, `put_pod` and so on say what happened, and a state
that was told everything equals one built from scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ghostfleet.core.changes import Object
from ghostfleet.core.labelindex import SelectorIndex
from ghostfleet.core.selectors import LabelSelector, Requirement, selector_from_object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kube.counting import Resident
from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.plan import Plan
from ghostfleet.schedulers.kube.profile import Profile
from ghostfleet.schedulers.kube.surroundings import Surroundings
from ghostfleet.schedulers.kube.terms import SpreadConstraint, spread_constraints
from ghostfleet.schedulers.kube.volumes import Volumes

__all__ = ["ClusterState", "is_over"]

_OWNERS = {
    ("v1", "ReplicationController"): "replicationcontrollers",
    ("apps/v1", "ReplicaSet"): "replicasets.apps",
    ("apps/v1", "StatefulSet"): "statefulsets.apps",
}
_PLANS = 4096


def is_over(pod: Object) -> bool:
    """Whether a pod has ended, and so takes nothing any more."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


class ClusterState(Surroundings):
    """Nodes, pods, nominations, volumes and plans."""

    def __init__(self, store: Store, rng: Random) -> None:
        super().__init__(self._labels_of_namespace)
        self.store = store
        self.rng = rng
        self.volumes = Volumes(store, self.table, self.matcher, self.claim_in_use)
        #: Pods with a promise, by slot and uid.
        self.nominated: dict[int, dict[str, Resident]] = {}
        self._nominations: dict[str, int] = {}
        #: Where the next search over nodes starts.
        self.start = 0
        self._plans: dict[tuple[object, ...], Plan] = {}
        #: Selectors of services, by namespace.
        self._services: dict[str, SelectorIndex] = {}

    @classmethod
    def from_store(cls, store: Store, rng: Random) -> ClusterState:
        """The state of everything that is in a store now."""
        state = cls(store, rng)
        for node in store.list("nodes"):
            state.put_node(node)
        for pod in store.list("pods"):
            state.put_pod(pod)
        for service in store.list("services"):
            state.put_service(service["metadata"]["namespace"], service["metadata"]["name"], service)
        return state

    def _labels_of_namespace(self, namespace: str) -> Mapping[str, str] | None:
        found = self.store.find("namespaces", "", namespace)
        return None if found is None else found["metadata"].get("labels") or {}

    # -- events ------------------------------------------------------------------------------------------------------

    def put_node(self, node: Object) -> int:
        """A node came or changed; its slot."""
        self.version += 1
        return self.table.put(node)

    def drop_node(self, name: str) -> None:
        """A node went."""
        self.version += 1
        self.table.remove(name)

    def put_pod(self, pod: Object) -> None:
        """A pod is as it is now, wherever that is."""
        uid = pod["metadata"]["uid"]
        resident = self.census.residents.get(uid)
        node = pod["spec"].get("nodeName")
        if not node or is_over(pod):
            if resident is not None and (node or not resident.assumed):
                self.leave(resident)
            self.renominate(pod, "" if node or is_over(pod) else None)
        elif resident is None:
            self.renominate(pod, "")
            self.settle(pod, node)
        else:
            self._refresh(resident, pod, node)

    def confirm(self, resident: Resident, pod: Object) -> bool:
        """Whether a pod is where it was assumed to be, unchanged; then it is assumed no longer."""
        known = resident.pod["metadata"]
        if self.table.names[resident.slot] != pod["spec"]["nodeName"] or is_over(pod):
            return False
        if known.get("labels") is not pod["metadata"].get("labels"):
            return False
        resident.pod, resident.assumed = pod, False
        return True

    def _refresh(self, resident: Resident, pod: Object, node: str) -> None:
        """A pod on a node was written again."""
        resident.assumed = False
        moved = self.table.names[resident.slot] != node
        if moved or self._grew(resident, pod):
            self.leave(resident)
            self.settle(pod, node)
        elif self.census.update(resident, pod):
            self.version += 1

    def _grew(self, resident: Resident, pod: Object) -> bool:
        """Whether the requests of a pod on a node changed."""
        old, new = resident.pod["spec"], pod["spec"]
        if old is new or old.get("containers") is new.get("containers"):
            return False
        return self.facts.of(new).requests != resident.facts.requests

    def drop_pod(self, pod: Object) -> None:
        """A pod is gone."""
        resident = self.census.residents.get(pod["metadata"]["uid"])
        if resident is not None:
            self.leave(resident)
        self.renominate(pod, "")

    def renominate(self, pod: Object, node: str | None = None) -> None:
        """A pod is promised room on a node: on this one ("" for none), or on the one that its status names."""
        uid = pod["metadata"]["uid"]
        if node is None:
            node = (pod.get("status") or {}).get("nominatedNodeName") or ""
        known = self._nominations.get(uid)
        slot = self.table.slots.get(node) if node else None
        if known == slot:
            if slot is not None:
                self.nominated[slot][uid].pod = pod
            return
        self.version += 1
        if known is not None:
            del self._nominations[uid]
            del self.nominated[known][uid]
            if not self.nominated[known]:
                del self.nominated[known]
        if slot is not None:
            self._nominations[uid] = slot
            self.nominated.setdefault(slot, {})[uid] = Resident(pod, self.facts.of(pod["spec"]), slot)

    def put_service(self, namespace: str, name: str, service: Object | None) -> None:
        """A service came, changed or, without one, went."""
        selector = ((service or {}).get("spec") or {}).get("selector")
        here = self._services.setdefault(namespace, SelectorIndex())
        if selector:
            here.add(name, selector)
        else:
            here.remove(name)
        if not here:
            del self._services[namespace]

    def forget_counters(self) -> None:
        """Labels of namespaces changed."""
        self.version += 1
        self.census.forget_counters()

    def touch_volumes(self) -> None:
        """A claim, a volume or a class changed."""
        self.version += 1
        self.volumes.version += 1

    # -- plans -------------------------------------------------------------------------------------------------------

    def plan(self, profile: Profile, pod: Object) -> Plan:
        """The plan for pods like this one."""
        facts = self.facts.of(pod["spec"])
        metadata = pod["metadata"]
        selector = None if facts.spread else self._default_selector(profile, metadata)
        if facts.is_plain and selector is None and not self.census.held:
            key: tuple[object, ...] = (profile.name, facts.key)
        else:
            claims = bool(facts.claims or facts.ephemeral)
            labels = tuple(sorted((metadata.get("labels") or {}).items()))
            key = (profile.name, facts.key, metadata["namespace"], labels, str(selector or ""))
            if claims:
                key = (*key, self.volumes.version, self.table.version, metadata["name"] if facts.ephemeral else "")
        plan = self._plans.get(key)
        if plan is None:
            while len(self._plans) >= _PLANS:
                del self._plans[next(iter(self._plans))]
            plan = self._plans[key] = self._make_plan(profile, pod, facts, selector)
            plan.key = key
        elif plan.uses & 63 == 63:
            # Plans in use move to the end now and then, so that those dropped are those nobody uses.
            del self._plans[key]
            self._plans[key] = plan
        plan.uses += 1
        return plan

    def _make_plan(self, profile: Profile, pod: Object, facts: Facts, selector: LabelSelector | None) -> Plan:
        metadata = pod["metadata"]
        labels = metadata.get("labels") or {}
        hard = spread_constraints(facts.spread, labels, "DoNotSchedule")
        soft = spread_constraints(facts.spread, labels, "ScheduleAnyway")
        if selector is not None:
            hard = _with_selector(profile, labels, "DoNotSchedule", selector)
            soft = _with_selector(profile, labels, "ScheduleAnyway", selector)
        return Plan(
            self,
            profile,
            facts,
            metadata["namespace"],
            labels,
            hard,
            soft,
            own_spread=bool(facts.spread),
            volumes=self.volumes.verdict(pod, facts),
        )

    def _default_selector(self, profile: Profile, metadata: Object) -> LabelSelector | None:
        """What pods belong together with this one, by services and controllers; None when nothing says so."""
        if not profile.default_constraints:
            return None
        namespace = metadata["namespace"]
        if namespace not in self._services and "ownerReferences" not in metadata:
            return None
        labels = metadata.get("labels") or {}
        merged: dict[str, str] = {}
        services = self._services.get(namespace)
        for _, chosen in services.matching(labels) if services is not None else ():
            merged.update(chosen)
        requirements = [Requirement(key, "=", (value,)) for key, value in merged.items()]
        if "ownerReferences" in metadata:
            requirements.extend(self._of_owner(metadata, merged))
        return LabelSelector(requirements) if requirements else None

    def _of_owner(self, metadata: Object, merged: dict[str, str]) -> tuple[Requirement, ...]:
        owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
        resource = _OWNERS.get((owner.get("apiVersion", ""), owner.get("kind", ""))) if owner is not None else None
        if owner is None or resource is None:
            return ()
        found = self.store.find(resource, metadata["namespace"], owner["name"])
        chosen = (found.get("spec") or {}).get("selector") if found is not None else None
        if not chosen:
            return ()
        if resource == "replicationcontrollers":
            return tuple(Requirement(key, "=", (value,)) for key, value in chosen.items() if key not in merged)
        return selector_from_object(chosen).requirements


def _with_selector(
    profile: Profile, labels: Mapping[str, str], action: str, selector: LabelSelector
) -> list[SpreadConstraint]:
    constraints = spread_constraints(profile.default_constraints, labels, action)
    return [each._replace(selector=selector) for each in constraints]
