"""podaffinity: preferred pod affinity as a score of nodes, stronger than all but a nomination (not on by default)."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.scores import K8S_PLUGINS
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["PodAffinity"]


class PodAffinity:
    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._sums: dict[str, int] = {}
        session.node_order.add_packing(self._prepare, self._score)

    def _prepare(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        terms = task.pod.affinity.preferred_pods
        self._sums = {node.name: self._weight(task, node) for node in nodes} if terms else {}

    def _weight(self, task: PodInfo, node: NodeInfo) -> int:
        total = 0
        for weight, term in task.pod.affinity.preferred_pods:
            domain = node.labels.get(term.topology_key)
            if domain is None:
                continue
            namespaces = term.namespaces or (task.pod.namespace,)
            for other_node in self._session.nodes.values():
                if other_node.labels.get(term.topology_key) != domain:
                    continue
                total += weight * sum(
                    1
                    for other in other_node.tasks.values()
                    if other.uid != task.uid and other.pod.namespace in namespaces and term.selects(other.pod.labels)
                )
        return total

    def _score(self, _task: PodInfo, node: NodeInfo) -> float:
        return K8S_PLUGINS * float(self._sums.get(node.name, 0))
