"""The pods of a snapshot: on which node each is, and counts of them by node and by topology value.

A *counter* counts, for each slot of the table of nodes, the pods that a question is true of. A *domain count* adds a
counter up over the values of one node label (zone, hostname ...), over all nodes or over the *eligible* ones only.
The *pod table* holds all pods that are on nodes, all counters that somebody asked for, and tells each counter of each
pod that comes, goes or changes its labels; so nobody ever has to walk over the pods of the cluster twice for the same
question.

Counters of the terms that pods on nodes have themselves (`existing_terms`) answer the reverse question: which of them
mean a new pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray, NodeTable
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.terms import AffinityTerm, PodTerms

__all__ = ["Counter", "DomainCount", "ExistingTerm", "PodTable"]

_KEPT = 2048

#: Namespace, labels, whether the pod is being deleted.
Question = Callable[[str, Mapping[str, str], bool], bool]


class DomainCount:
    """A counter, added up by the values of one label."""

    __slots__ = ("codes", "eligible", "present", "sums", "version")

    def __init__(self, table: NodeTable, counts: IntArray, key: str, eligible: BoolArray | None) -> None:
        column = table.labels(key)
        #: The topology value of each slot, -1 where it has none.
        self.codes = column.codes
        self.eligible = table.present if eligible is None else eligible & table.present
        self.version = table.version
        chosen = self.eligible & (self.codes >= 0)
        size = len(column.values) + 1
        codes = self.codes[chosen]
        self.sums: IntArray = np.bincount(codes, weights=counts[: len(chosen)][chosen], minlength=size).astype(np.int64)
        #: Values that some eligible node has.
        self.present: BoolArray = np.bincount(codes, minlength=size) > 0

    def add(self, slot: int, change: int) -> None:
        code = self.codes[slot]
        if code >= 0 and self.eligible[slot]:
            self.sums[code] += change

    def least(self) -> int | None:
        """The smallest count of all values there are; None when there are none."""
        there = self.sums[self.present]
        return int(there.min()) if len(there) else None


class Counter:
    """Pods by slot."""

    __slots__ = ("_domains", "_table", "asks", "counts", "total")

    def __init__(self, table: NodeTable, asks: Question) -> None:
        self._table = table
        self.asks = asks
        self.counts: IntArray = np.zeros(table.capacity, np.int64)
        self.total = 0
        self._domains: dict[tuple[str, bytes], DomainCount] = {}

    def add(self, slot: int, change: int) -> None:
        if slot >= len(self.counts):
            self.counts = np.pad(self.counts, (0, self._table.capacity - len(self.counts)))
        self.counts[slot] += change
        self.total += change
        for domain in self._domains.values():
            if domain.version == self._table.version:
                domain.add(slot, change)

    def at(self, slots: Any) -> IntArray:
        """The counts of some slots."""
        if len(self.counts) < self._table.capacity:
            self.counts = np.pad(self.counts, (0, self._table.capacity - len(self.counts)))
        answer: IntArray = self.counts[slots]
        return answer

    def by(self, key: str, eligible: BoolArray | None = None, name: bytes = b"") -> DomainCount:
        """The counts by the values of a label, over eligible nodes; `name` tells sets of eligible nodes apart."""
        found = self._domains.get((key, name))
        if found is None or found.version != self._table.version:
            if len(self._domains) > _KEPT:
                self._domains.clear()
            counts = self.at(slice(None))
            found = self._domains[key, name] = DomainCount(self._table, counts, key, eligible)
        return found


class ExistingTerm:
    """A term that pods on nodes have, and where they are."""

    __slots__ = ("counter", "kind", "term")

    def __init__(self, table: NodeTable, kind: str, term: AffinityTerm) -> None:
        #: Which of the PodTerms it is among.
        self.kind = kind
        self.term = term
        self.counter = Counter(table, lambda *_: False)


class PodTable:
    """All pods on nodes, and all that is counted of them."""

    def __init__(self, table: NodeTable, namespace_labels: Callable[[str], Mapping[str, str] | None]) -> None:
        self._table = table
        self.namespace_labels = namespace_labels
        self.by_uid: dict[str, PodInfo] = {}
        self.by_slot: dict[int, dict[str, PodInfo]] = {}
        self.priorities: dict[int, int] = {}
        self._counters: dict[Any, tuple[Counter, tuple[str, str] | None]] = {}
        #: Counters that only count pods with a certain label, by that label; under None those that may count any.
        self._by_label: dict[tuple[str, str] | None, dict[Any, Counter]] = {}
        #: Pods on nodes by the values of labels that counters were asked for, so that a new one need not see them all.
        self._labelled: dict[str, dict[str, dict[str, PodInfo]]] = {}
        self.existing_terms: dict[Any, ExistingTerm] = {}
        #: Counts changes of which terms are existing at all.
        self.terms_version = 0

    def counter(self, key: Any, asks: Question, labels: Mapping[str, str]) -> Counter:
        """The counter of a question; the same key is the same question. All that it counts have these labels."""
        known = self._counters.get(key)
        if known is not None:
            return known[0]
        if len(self._counters) >= _KEPT:
            oldest = next(iter(self._counters))
            del self._by_label[self._counters.pop(oldest)[1]][oldest]
        counter = Counter(self._table, asks)
        label = next(iter(sorted(labels.items())), None)
        self._counters[key] = (counter, label)
        self._by_label.setdefault(label, {})[key] = counter
        for each in self._having(label):
            if asks(each.namespace, each.labels, each.terminating):
                counter.add(each.slot, 1)
        return counter

    def _having(self, label: tuple[str, str] | None) -> Iterable[PodInfo]:
        """Pods on nodes that have a label, or all."""
        if label is None:
            return self.by_uid.values()
        name, value = label
        if name not in self._labelled:
            self._labelled[name] = {}
            for each in self.by_uid.values():
                self._put_labelled(name, each)
        return self._labelled[name].get(value, {}).values()

    def _put_labelled(self, name: str, pod: PodInfo) -> None:
        value = pod.labels.get(name)
        if value is not None:
            self._labelled[name].setdefault(value, {})[pod.uid] = pod

    def _drop_labelled(self, name: str, pod: PodInfo) -> None:
        value = pod.labels.get(name)
        if value is not None:
            existing = self._labelled[name][value]
            del existing[pod.uid]
            if not existing:
                del self._labelled[name][value]

    def forget_counters(self) -> None:
        """Count everything anew when asked again: labels of namespaces changed."""
        self._counters.clear()
        self._by_label.clear()
        self.terms_version += 1

    def lowest_priority(self) -> int | None:
        """The lowest priority of any pod on a node."""
        return min(self.priorities, default=None)

    def add(self, pod: PodInfo) -> None:
        uid, slot = pod.uid, pod.slot
        self.by_uid[uid] = pod
        here = self.by_slot.get(slot)
        if here is None:
            self.by_slot[slot] = {uid: pod}
        else:
            here[uid] = pod
        for name in self._labelled:
            self._put_labelled(name, pod)
        priority = pod.info.priority
        self.priorities[priority] = self.priorities.get(priority, 0) + 1
        if self._counters:
            self._count(pod, 1)
        if pod.terms is not None:
            self._count_terms(pod, pod.terms, 1)

    def remove(self, pod: PodInfo) -> None:
        del self.by_uid[pod.uid]
        for name in self._labelled:
            self._drop_labelled(name, pod)
        here = self.by_slot[pod.slot]
        del here[pod.uid]
        if not here:
            del self.by_slot[pod.slot]
        priority = pod.info.priority
        self.priorities[priority] -= 1
        if not self.priorities[priority]:
            del self.priorities[priority]
        self._count(pod, -1)
        if pod.terms is not None:
            self._count_terms(pod, pod.terms, -1)

    def update(self, known: PodInfo, pod: Object) -> bool:
        """A pod on a node changed; true when that may change what is counted."""
        terminating = "deletionTimestamp" in pod["metadata"]
        same_labels = pod["metadata"].get("labels") == known.pod["metadata"].get("labels")
        if terminating == known.terminating and same_labels:
            known.pod = pod
            return False
        self._count(known, -1)
        for name in self._labelled:
            self._drop_labelled(name, known)
        known.pod, known.terminating = pod, terminating
        for name in self._labelled:
            self._put_labelled(name, known)
        self._count(known, 1)
        return True

    def _count(self, pod: PodInfo, change: int) -> None:
        if not self._counters:
            return
        namespace, labels, terminating = pod.namespace, pod.labels, pod.terminating
        for label in (None, *labels.items()):
            for counter in self._by_label.get(label, {}).values():
                if counter.asks(namespace, labels, terminating):
                    counter.add(pod.slot, change)

    def _count_terms(self, pod: PodInfo, terms: PodTerms, change: int) -> None:
        for kind, listed in zip(PodTerms._fields, terms, strict=True):
            for term in listed:
                key = (kind, term.key, term.topology_key, term.weight)
                existing = self.existing_terms.get(key)
                if existing is None:
                    existing = self.existing_terms[key] = ExistingTerm(self._table, kind, term)
                    self.terms_version += 1
                existing.counter.add(pod.slot, change)
                if not existing.counter.total:
                    del self.existing_terms[key]
                    self.terms_version += 1

    def existing_terms_for(self, namespace: str, labels: Mapping[str, str], kinds: Iterable[str]) -> list[ExistingTerm]:
        """Terms of pods on nodes, of some kinds, that mean a pod of this namespace and these labels."""
        if not self.existing_terms:
            return []
        own = self.namespace_labels(namespace)
        return [
            each
            for each in self.existing_terms.values()
            if each.kind in kinds and each.term.matches(namespace, own, labels)
        ]
