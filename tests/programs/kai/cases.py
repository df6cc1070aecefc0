"""The cases on which the real KAI and ours are compared.

A case has nodes and *steps*. In a step KAI's scheduler stands still while objects are created, each in a second of its
own, and others deleted; then it goes on until nothing changes any more. So both schedulers see the same at once, and
nothing hangs on which of two objects of one second has the smaller UID.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ghostfleet.core.manifests import load_documents

from .manifests import (
    BLOCK,
    COMPANY,
    RACK,
    Object,
    gang,
    job,
    near,
    nodes,
    pod,
    queue,
    replicas,
    share,
    shared,
    template,
    topology,
)

_DEMO = Path(__file__).parents[3] / "examples" / "06-kai"


@dataclass(frozen=True)
class Step:
    create: Sequence[Object] = ()
    #: Names of objects of earlier steps.
    delete: Sequence[str] = ()


@dataclass(frozen=True)
class Case:
    name: str
    nodes: Sequence[Object]
    steps: Sequence[Step]


def _demo(*names: str) -> list[Object]:
    return [each.object for name in names for each in load_documents((_DEMO / name).read_bytes(), name)]


def _case(name: str, nodes: Sequence[Object], *steps: Sequence[Object] | Step) -> Case:
    first, *others = [each if isinstance(each, Step) else Step(each) for each in steps]
    if any((each.get("spec") or {}).get("parentQueue") == COMPANY for each in first.create):
        first = Step([queue(COMPANY, -1, parent=""), *first.create])
    return Case(name, nodes, [first, *others])


_FOUR_NODES = _demo("0-nodes.yaml")
_QUEUES, _INITIAL, _NEW = "1-queues.yaml", "2-initial-state.yaml", "3-new-workloads.yaml"
_TEAMS = [queue("left", 4), queue("right", 4)]
_RACKS = [
    node
    for first, rack in enumerate(("r1", "r2", "r3"))
    for node in nodes(2, 4, first=2 * first, labels={RACK: rack, BLOCK: "b1" if first < 2 else "b2"})
]
_HIGH = {"priorityClassName": "build-preemptible"}
_BUILD = {"priorityClassName": "build"}


def _pinned(name: str) -> Object:
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def _apart(app: str) -> Object:
    """No two pods of an app on one node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _together(app: str) -> Object:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


CASES = (
    # -- the example
    _case("demo, file by file", _FOUR_NODES, _demo(_QUEUES), _demo(_INITIAL), _demo(_NEW)),
    _case("demo, all at once", _FOUR_NODES, _demo(_QUEUES, _INITIAL, _NEW)),
    _case("demo, job by job", _FOUR_NODES, _demo(_QUEUES), *([each] for each in _demo(_INITIAL)), _demo(_NEW)),
    _case(
        "demo on three nodes: a job must go to make room", _FOUR_NODES[:3],
        _demo(_QUEUES), *([each] for each in _demo(_INITIAL)), _demo(_NEW),
    ),
    # -- where pods go
    _case(
        "pods are packed on the fullest node that has room", nodes(3, 4),
        [queue("team", 12), pod("a", "team", 3), pod("b", "team", 2), pod("c", "team", 1), pod("d", "team", 2)],
    ),
    _case(
        "a pod without GPUs goes where there are none",
        [*nodes(2, 4), *nodes(1, 0, prefix="cpu-")],
        [queue("team", 8), pod("plain", "team", 0), pod("trainer", "team", 1)],
    ),
    _case("a pod that asks for more than a node has waits", nodes(2, 4), [queue("team", 8), pod("big", "team", 8), pod("small", "team", 4)]),
    _case(
        "taints and selectors",
        [*nodes(1, 4), *nodes(1, 4, first=1, taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])],
        [
            queue("team", 8), pod("any", "team", 4), pod("kept-out", "team", 1),
            pod("tolerant", "team", 1, tolerations=[{"key": "dedicated", "operator": "Exists"}]),
            pod("elsewhere", "team", 1, nodeSelector={"disk": "fast"}),
        ],
    ),
    _case(
        "pods that must be apart, and one that must be near", nodes(3, 4),
        [queue("team", 12), replicas("web", "team", 4, 1, **_apart("web"))],
        [pod("friend", "team", 3, **_together("web")), pod("lonely", "team", 1, **_together("nobody"))],
    ),
    _case(
        "a port is taken once on a node", nodes(2, 4),
        [queue("team", 8), *(pod(name, "team", 1, ports=[{"containerPort": 80, "hostPort": 8080}]) for name in "abc")],
    ),
    _case(
        "pods of other schedulers take their room", nodes(1, 4),
        [
            queue("team", 4),
            {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign"},
                "spec": {**template(3), "schedulerName": "default-scheduler", "nodeName": "kwok-node-0"},
            },
        ],
        [pod("fits", "team", 1), pod("waits", "team", 1)],
    ),
    _case("gated pods are not looked at", nodes(1, 4), [queue("team", 4), pod("gated", "team", 4, schedulingGates=[{"name": "wait"}]), pod("open", "team", 4)]),
    # -- gangs and elastic jobs
    _case("a gang runs as a whole", nodes(2, 4), [queue("team", 8), gang("train", "team", 3, 2)]),
    _case("a gang that does not fit waits as a whole", nodes(1, 4), [queue("team", 8), gang("train", "team", 2, 2), pod("small", "team", 2)]),
    _case(
        "a gang starts when room is made", nodes(1, 4),
        [queue("team", 4), pod("first", "team", 2)], [gang("train", "team", 2, 1), pod("later", "team", 1)], Step(delete=["first"]),
    ),
    _case("an elastic gang starts with its least members and grows", nodes(1, 4), [queue("team", 8), gang("train", "team", 5, 1, least=2)]),
    _case("an elastic gang below its least members waits", nodes(1, 4), [queue("team", 8), pod("first", "team", 3)], [gang("train", "team", 3, 1, least=2)]),
    _case("elastic jobs share what is there", nodes(1, 6), [queue("team", 6), replicas("one", "team", 6), replicas("two", "team", 6)]),
    _case("a Job's pods start one by one", nodes(1, 4), [queue("team", 4), job("batch", "team", 6)]),
    _case("a StatefulSet is one group, a Deployment one a pod", nodes(2, 4), [queue("team", 8), replicas("db", "team", 2, kind="StatefulSet"), replicas("api", "team", 2, kind="Deployment")]),
    # -- quotas, limits, priorities
    _case("a limit is never passed", nodes(1, 8), [queue("team", 2, limit=3), replicas("work", "team", 5)]),
    _case("the limit of a department binds its projects", nodes(1, 8), [queue("dept", 2, limit=4, parent=""), queue("a", 1, parent="dept"), queue("b", 1, parent="dept"), replicas("wa", "a", 4), replicas("wb", "b", 4)]),
    _case("an unset limit is a limit of nothing", nodes(1, 8), [queue("team", 4, cpu={"quota": 1000}), pod("a", "team", 1)]),
    _case("a limit on cores", nodes(1, 8), [queue("team", 8, cpu=share(2000, 3000)), replicas("work", "team", 5)]),
    _case("non-preemptible work stays in its quota", nodes(1, 8), [queue("team", 2), replicas("build", "team", 4, **_BUILD)]),
    _case("non-preemptible work by its label", nodes(1, 8), [queue("team", 2), replicas("kept", "team", 3, labels={"kai.scheduler/preemptibility": "non-preemptible"})]),
    _case("preemptible work goes past its quota", nodes(1, 8), [queue("team", 2), replicas("train", "team", 6)]),
    _case("the higher priority first", nodes(1, 4), [queue("team", 4), pod("low", "team", 3), pod("high", "team", 3, **_HIGH)]),
    _case("the queue with the higher priority first", nodes(1, 4), [queue("low", 0), queue("high", 0, priority=200), pod("l", "low", 3), pod("h", "high", 3)]),
    _case("who is below the quota first", nodes(1, 8), [queue("poor", 0), queue("rich", 4), replicas("p", "poor", 8), replicas("r", "rich", 4)]),
    _case("over-quota by weight", nodes(1, 8), [queue("one", 0, weight=1), queue("three", 0, weight=3), replicas("o", "one", 8), replicas("t", "three", 8)]),
    _case("departments share first, then their projects", nodes(1, 8), [queue("d1", 4, parent=""), queue("d2", 4, parent=""), queue("a", 4, parent="d1"), queue("b", 2, parent="d2"), queue("c", 2, parent="d2"), *(replicas(f"w{name}", name, 8) for name in "abc")]),
    _case("three levels of queues", nodes(1, 8), [queue("root", 8, parent=""), queue("dept", 4, parent="root"), queue("team", 4, parent="dept"), replicas("work", "team", 6)]),
    _case("a queue without a parent", nodes(1, 8), [queue("team", 4, parent=""), pod("a", "team", 2)]),
    # -- reclaim
    _case("a queue below its quota takes back what another has too much", nodes(1, 8), [*_TEAMS, replicas("greedy", "left", 8)], [replicas("due", "right", 4)]),
    _case("a gang below its quota takes back its place", nodes(2, 4), [*_TEAMS, replicas("greedy", "left", 8)], [gang("due", "right", 3, 1)]),
    _case("nothing is taken from who is in the quota", nodes(1, 8), [queue("left", 8), queue("right", 0), replicas("work", "left", 8)], [pod("wish", "right", 1)]),
    _case("non-preemptible work is not taken back", nodes(1, 8), [queue("left", 8), queue("right", 4), replicas("kept", "left", 8, **_BUILD)], [replicas("due", "right", 4)]),
    _case("a gang is taken back as a whole", nodes(1, 8), [*_TEAMS, gang("greedy", "left", 7)], [pod("due", "right", 2)]),
    _case("an elastic gang gives what is above its least members", nodes(1, 8), [*_TEAMS, gang("greedy", "left", 7, least=3)], [replicas("due", "right", 4)]),
    _case("a bare pod that is taken back is lost", nodes(1, 8), [*_TEAMS, pod("greedy", "left", 8)], [pod("due", "right", 4)]),
    _case("fair shares are taken back by weight", nodes(1, 8), [queue("one", 0, weight=1), queue("three", 0, weight=3), replicas("o", "one", 8)], [replicas("t", "three", 8)]),
    _case("departments take back from each other", nodes(1, 8), [queue("d1", 4, parent=""), queue("d2", 4, parent=""), queue("a", 4, parent="d1"), queue("b", 4, parent="d2"), replicas("wa", "a", 8)], [replicas("wb", "b", 4)]),
    _case("a gang young enough is not taken back", nodes(1, 8), [queue("left", 4, reclaimMinRuntime="240h"), queue("right", 4), gang("greedy", "left", 3, 2)], [pod("due", "right", 4)]),
    _case("of young elastic work what is above its least members is taken back", nodes(1, 8), [queue("left", 4, reclaimMinRuntime="240h"), queue("right", 4), replicas("greedy", "left", 4, 2)], [pod("due", "right", 4)]),
    # -- preempt
    _case("the higher priority takes the place of the lower", nodes(1, 4), [queue("team", 4), replicas("low", "team", 1, 4)], [replicas("high", "team", 1, 2, **_HIGH)]),
    _case("an equal priority takes nothing", nodes(1, 4), [queue("team", 4), replicas("first", "team", 1, 4)], [replicas("second", "team", 1, 2)]),
    _case("non-preemptible work is not preempted", nodes(1, 4), [queue("team", 4), replicas("kept", "team", 1, 4, **_BUILD)], [replicas("higher", "team", 1, 2, priorityClassName="inference")]),
    _case("a build in its quota preempts training", nodes(1, 4), [queue("team", 4), replicas("train", "team", 4)], [replicas("build", "team", 1, 2, **_BUILD)]),
    _case("the least members are taken that make room", nodes(2, 4), [queue("team", 8), replicas("a", "team", 1, 4), replicas("b", "team", 4, 1)], [replicas("high", "team", 1, 3, **_HIGH)]),
    _case("a gang preempts as a whole", nodes(2, 4), [queue("team", 8), replicas("low", "team", 8)], [gang("high", "team", 2, 2, **_HIGH)]),
    _case("work young enough is not preempted", nodes(1, 4), [queue("team", 4, preemptMinRuntime="240h"), replicas("low", "team", 1, 4)], [replicas("high", "team", 1, 2, **_HIGH)]),
    # -- consolidation
    _case(
        "two halves of nodes become a whole one", nodes(2, 4),
        [queue("team", 8), replicas("filler", "team", 1, 2, **_pinned("kwok-node-0")), replicas("a", "team", 1, 2, **_pinned("kwok-node-0"))],
        [replicas("b", "team", 1, 2)], Step(delete=["filler", "a"]), [replicas("c", "team", 1, 2, **_pinned("kwok-node-0"))], [replicas("whole", "team", 1, 4)],
    ),
    _case(
        "a small job moves for a large one", nodes(2, 4),
        [queue("team", 8), replicas("a", "team", 1, 3)], [replicas("b", "team", 1, 3)], [replicas("c", "team", 1, 1)], Step(delete=["a"]), [replicas("whole", "team", 1, 4)],
    ),
    _case(
        "non-preemptible work does not move", nodes(2, 4),
        [queue("team", 8), replicas("a", "team", 1, 3)], [replicas("b", "team", 1, 3)], [replicas("c", "team", 1, 1, **_BUILD)], Step(delete=["a"]), [replicas("whole", "team", 1, 4)],
    ),
    # -- parts of GPUs
    _case("two halves share a GPU", nodes(1, 2), [queue("team", 2), shared("a", "team", gpu_fraction="0.5"), shared("b", "team", gpu_fraction="0.5")]),
    _case("two large parts need two GPUs", nodes(1, 2), [queue("team", 2), shared("a", "team", gpu_fraction="0.6"), shared("b", "team", gpu_fraction="0.6")]),
    _case("a part goes where a GPU is shared already", nodes(2, 2), [queue("team", 4), shared("a", "team", gpu_fraction="0.3")], [shared("b", "team", gpu_fraction="0.5")], [pod("whole", "team", 1)], [pod("two", "team", 2)]),
    _case("parts of a GPU that is full wait", nodes(1, 1), [queue("team", 1), shared("a", "team", gpu_fraction="0.7")], [shared("b", "team", gpu_fraction="0.5")], Step(delete=["a"])),
    _case("memory of a GPU", nodes(1, 2), [queue("team", -1), shared("a", "team", gpu_memory="40000")], [shared("b", "team", gpu_memory="20000")]),
    _case("parts of several GPUs", nodes(1, 4), [queue("team", 4), shared("a", "team", gpu_fraction="0.5", gpu_fraction_num_devices="2")], [pod("whole", "team", 2)], [shared("b", "team", gpu_fraction="0.5", gpu_fraction_num_devices="2")]),
    _case("parts beyond a quota are taken back", nodes(1, 1), [queue("left", 0), queue("right", 1), shared("a", "left", gpu_fraction="0.5")], [pod("due", "right", 1)]),
    # -- topology
    _case("a gang in one rack", _RACKS, [topology("dc", BLOCK, RACK), queue("team", 24), pod("first", "team", 1)], [gang("train", "team", 3, 2, notes=near("dc", required=RACK))]),
    _case("a gang that no rack can hold waits", _RACKS, [topology("dc", BLOCK, RACK), queue("team", 24), gang("train", "team", 3, 4, notes=near("dc", required=RACK))]),
    _case("a gang in one block", _RACKS, [topology("dc", BLOCK, RACK), queue("team", 24), gang("train", "team", 3, 4, notes=near("dc", required=BLOCK))]),
    _case("a gang in one rack if there is one", _RACKS, [topology("dc", BLOCK, RACK), queue("team", 24), pod("first", "team", 4, **_pinned("kwok-node-0"))], [gang("train", "team", 1, 4, notes=near("dc", preferred=RACK))]),
    _case("a gang near in preference, wide in need", _RACKS, [topology("dc", BLOCK, RACK), queue("team", 24), gang("train", "team", 3, 4, notes=near("dc", preferred=RACK))]),
    # -- what is wrong
    _case("a queue that is not there", nodes(1, 4), [pod("lost", "nowhere", 1)]),
    _case("a queue with queues below it", nodes(1, 4), [queue("dept", 4, parent=""), queue("team", 4, parent="dept"), pod("above", "dept", 1), pod("below", "team", 1)]),
    _case("a queue without its parent", nodes(1, 4), [queue("orphan", 4, parent="nobody"), queue("team", 4), pod("lost", "orphan", 1), pod("found", "team", 1)]),
    _case("a queue by default", nodes(1, 4), [pod("unlabelled", "", 1)]),
    _case("a priority that is not there", nodes(1, 4), [queue("team", 4), replicas("odd", "team", 1, labels={"priorityClassName": "unheard-of"})]),
    _case("MIG slices", nodes(1, 0, resources={"nvidia.com/mig-1g.10gb": "2"}, labels={"nvidia.com/mig.strategy": "mixed", "node-role.kubernetes.io/mig-enabled": "true", "nvidia.com/gpu.count": "1"}), [queue("team", 4), replicas("slice", "team", 3, 0, resources={"nvidia.com/mig-1g.10gb": "1"})]),
)  # fmt: skip
