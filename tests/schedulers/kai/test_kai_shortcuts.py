"""What is remembered to save time changes no decision: clusters are decided with and without it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ghostfleet.schedulers.kai import allocating
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.cycle import run_once
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.node_order import NodeOrder
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import BINDING, PENDING, RUNNING
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.solvers import by_pod_solver
from ghostfleet.schedulers.kai.victims import Victims
from support.kai import CONFIG, NOW, cluster, job, node, queue, request


def crowded(seed: int) -> ClusterInfo:
    """A cluster that is nearly full, and jobs of all kinds that want in."""
    random = Random(seed)
    nodes = [node(f"n{index}", random.choice([2, 4, 8])) for index in range(random.randint(2, 8))]
    queues = [queue("all", quota=-1)]
    queues += [
        queue(
            f"q{index}",
            "all",
            quota=random.choice([0, 1, 2, 4, 8]),
            limit=random.choice([-1, -1, -1, 6]),
            weight=random.choice([0, 1, 1, 3]),
            priority=random.choice([100, 100, 200]),
            created=float(index),
        )
        for index in range(random.randint(2, 5))
    ]
    free = {each.name: each.gpu_count for each in nodes}
    jobs = []
    for index in range(random.randint(4, 25)):
        asked = request(random.choice([1, 1, 1, 2, 4, 0.5, 0.25, 0.7]))
        places: list[str] = []
        for _ in range(random.choice([1, 1, 1, 2, 3, 5])):
            there = [name for name, left in free.items() if left >= max(asked.gpus, 1)]
            place = random.choice(there) if there and random.random() < 0.75 else ""
            if place:
                free[place] -= max(int(asked.gpus), 1)
            places.append(place)
        made = job(
            f"j{index:02}",
            random.choice(queues[1:]).uid,
            places,
            asked,
            least=random.choice([1, len(places)]),
            priority=random.choice([50, 50, 60, 75, 100]),
            age=float(random.randint(0, 99)),
        )
        for task in made.tasks():
            if task.node and task.pod.is_shared_request:
                task.gpu_groups = (f"g-{task.uid}",)
        jobs.append(made)
    return cluster(nodes, queues, jobs)


def lived(snapshot: ClusterInfo) -> list[Any]:
    """The decisions of three cycles, each on what the last one led to."""
    decided = []
    for number in range(3):
        found = run_once(snapshot, CONFIG, NOW + number)
        decided.append([(type(each).__name__, each.pod, each.node) for each in found.log])
        for each in found.evictions:
            set_status(snapshot, each.pod, each.job, PENDING, "", ())
        for bind in found.binds:
            set_status(snapshot, bind.pod, bind.job, RUNNING, bind.node, bind.gpu_groups)
    return decided


def set_status(snapshot: ClusterInfo, uid: str, owner: str, status: int, place: str, groups: tuple[str, ...]) -> None:
    task = snapshot.pod_groups[owner].find_task(uid)
    assert task is not None
    assert task.status != BINDING
    snapshot.set_task(PodInfo(task.pod, status, place, groups))


@pytest.mark.replaces
def test_shortcuts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(40)
    quick = {seed: lived(crowded(seed)) for seed in seeds}
    assert sum(len(cycle) for cycles in quick.values() for cycle in cycles) > 100

    def sorted_anew(order: NodeOrder, task: PodInfo, nodes: list[NodeInfo]) -> list[NodeInfo]:
        scores = order.scores(task, nodes)
        return sorted((each for each in nodes if each.name in scores), key=lambda each: (-scores[each.name], each.name))

    monkeypatch.setattr(NodeOrder, "ordered", sorted_anew)
    monkeypatch.setattr(Session, "is_hopeless", lambda *_: False)
    monkeypatch.setattr(by_pod_solver, "is_hopeless", lambda *_: False)
    monkeypatch.setattr(allocating, "is_hopeless", lambda *_: False)
    monkeypatch.setattr(Victims, "replay", lambda victims, _go_back: _Anew(victims))
    monkeypatch.setattr(Victims, "look_ahead", lambda _victims: False)
    for seed in seeds:
        assert lived(crowded(seed)) == quick[seed], seed


class _Anew:
    """Victims from an order built anew each time."""

    def __init__(self, victims: Victims) -> None:
        self._order = victims.fork(0)

    def pop(self) -> Any:
        return self._order.pop() if self._order else None

    def push(self, owner: Any) -> None:
        self._order.push(owner)
