"""Cycles: who gets what, what is told to those who get nothing, and what versions of KAI do differently."""

from __future__ import annotations

from dataclasses import replace

from ghostfleet.schedulers.kai.actions import ACTIONS
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import PREFER_CONSOLIDATION, PROFILES, PluginOption, default_plugins
from ghostfleet.schedulers.kai.cycle import open_session, run_once
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import Pod, PodInfo
from ghostfleet.schedulers.kai.pod_status import PENDING, RUNNING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.pods import Affinity, PodAffinityTerm
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.resources import Resource
from ghostfleet.schedulers.kai.session import Session
from support.kai import CONFIG, NOW, cluster, job, node, queue, request


def teams() -> list[QueueInfo]:
    return [queue("all", quota=-1), queue("a", "all", quota=2), queue("b", "all", quota=2, created=1)]


def told(nodes: list[NodeInfo], waiting: PodGroupInfo, *others: PodGroupInfo) -> str:
    """What a job is told that found no place."""
    session = open_session(cluster(nodes, teams(), [waiting, *others]), CONFIG, NOW)
    ACTIONS["allocate"](session)
    return session.jobs[waiting.uid].fit_errors[-1].detailed_message


def test_a_refused_pod_is_told_how_many_nodes_lack_what() -> None:
    message = told([node("n1", 1), node("n2", 2)], job("new", "a", [""], request(2)), job("held", "b", ["n2"]))
    assert message == (
        "Resources were not found for pod default/new-0 due to: no nodes with enough resources were found: "
        "2 node(s) didn't have enough resources: GPUs."
    )


def test_a_gang_is_told_how_far_it_came() -> None:
    message = told([node("n1", 2)], job("new", "a", [""] * 3))
    assert message.startswith("Resources were found for 2 pods while 3 are required for gang scheduling.")


def test_a_pod_larger_than_every_node_is_told_the_largest() -> None:
    message = told([node("n1", 2)], job("new", "a", [""], request(3)))
    assert "Max GPU resources available in a single node in the default node-pool is topped at 2." in message


def test_a_job_over_quota_is_told_the_quota() -> None:
    message = told([node("n1", 8)], job("new", "a", [""], request(3), priority=100))
    assert message == (
        "Non-preemptible workload is over quota. Workload requested 3 GPUs, but a quota is 2 GPUs, while 0 GPUs are "
        "already allocated for non-preemptible pods. Use a preemptible workload to go over quota."
    )


def test_evicted_pods_are_told_for_whom() -> None:
    snapshot = cluster([node("n1", 4)], teams(), [job("held", "a", ["n1"] * 4, least=1), job("new", "b", [""])])
    (eviction,) = run_once(snapshot, CONFIG, NOW).evictions
    assert eviction.action == "reclaim"
    assert eviction.message.splitlines()[0] == "Pod default/held-3 was preempted by workload /new."
    assert "a uses <GPU: 4, CPU: 4 (cores), memory: 4 (GB)> with a quota of <GPU: 2," in eviction.message


def test_tainted_and_cordoned_nodes_take_only_those_who_may() -> None:
    def tainted(name: str) -> NodeInfo:
        taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
        return NodeInfo(name, Resource(64_000, 20e9, 4, 110), {"nvidia.com/gpu.count": "4"}, taints=[taint])

    cordoned = NodeInfo("n2", Resource(64_000, 20e9, 4, 110), {}, not_ready=["node is unschedulable"])
    new = job("new", "a", [""])
    snapshot = cluster([tainted("n1"), cordoned], teams(), [new])
    assert not run_once(snapshot, CONFIG, NOW).binds
    pod = next(new.tasks()).pod
    pod.affinity = Affinity(tolerations=({"key": "team", "operator": "Exists"},))
    assert [each.node for each in run_once(snapshot, CONFIG, NOW).binds] == ["n1"]


def test_host_ports_are_given_once_a_node() -> None:
    jobs = [job(f"j{number}", "a", [""], age=-number) for number in range(3)]
    for each in jobs:
        next(each.tasks()).pod.affinity = Affinity(host_ports=(("TCP", "0.0.0.0", 80),))
    decided = run_once(cluster([node("n1", 4), node("n2", 4)], teams(), jobs), CONFIG, NOW)
    assert sorted((each.job, each.node) for each in decided.binds) == [("j0", "n1"), ("j1", "n2")]


def test_pods_that_do_not_want_each_other_go_apart_and_friends_together() -> None:
    apart = [job(f"j{number}", "a", [""], age=-number) for number in range(2)]
    for each in apart:
        pod = next(each.tasks()).pod
        pod.labels = {"app": "x"}
        pod.affinity = Affinity(pod_anti_affinity=(PodAffinityTerm((("app", "x"),), "host"),))
    friend = job("friend", "a", [""], age=-5)
    next(friend.tasks()).pod.affinity = Affinity(pod_affinity=(PodAffinityTerm((("app", "x"),), "zone"),))
    nodes = [node(f"n{number}", 4, labels={"host": f"n{number}", "zone": f"z{number // 2}"}) for number in range(4)]
    decided = {each.job: each.node for each in run_once(cluster(nodes, teams(), [*apart, friend]), CONFIG, NOW).binds}
    assert decided["j0"] != decided["j1"]
    assert decided["friend"] in ("n0", "n1")


def test_the_queue_depth_limits_the_jobs_of_an_action() -> None:
    jobs = [job(f"j{number}", "a", [""], age=-number) for number in range(4)]
    config = replace(CONFIG, queue_depth_per_action={"allocate": 2})
    assert len(run_once(cluster([node("n1", 8)], teams(), jobs), config, NOW).binds) == 2


def test_consolidation_can_be_turned_off() -> None:
    def snapshot() -> object:
        jobs = [job("x", "a", ["n1"], age=9), job("y", "b", ["n2"], age=8), job("new", "a", [""], request(4))]
        return cluster([node("n1", 4), node("n2", 4)], teams(), jobs)

    only = replace(CONFIG, actions=("allocate", "consolidation"))
    assert run_once(snapshot(), only, NOW).pipelines
    assert not run_once(snapshot(), replace(only, max_consolidation_preemptees=0), NOW).pipelines


def test_alike_jobs_are_not_tried_again_after_one_failed() -> None:
    jobs = [
        job("held", "a", ["n1"] * 4, priority=100),
        *[job(f"j{number}", "b", [""], age=-number) for number in range(3)],
    ]
    config = replace(CONFIG, use_scheduling_signatures=True)
    assert not run_once(cluster([node("n1", 4)], teams(), jobs), config, NOW)


def test_gpu_memory_counts_against_the_smallest_gpu_in_later_versions() -> None:
    """v0.13 counts 500 MiB as five GPUs whatever the GPUs have, so that the queue seems to ask for more than it may."""

    def fair_share(profile: str) -> float:
        snapshot = cluster(
            [node("n1", 8)],
            teams(),
            [job("m", "a", [""], request(gpu_memory=500)), job("w", "b", [""] * 8, least=1)],
        )
        session = open_session(snapshot, replace(CONFIG, profile=PROFILES[profile]), NOW)
        return fair_shares(session)["a"]

    assert fair_share("v0.13") > fair_share("latest")


def fair_shares(session: Session) -> dict[str, float]:
    assert session.queue_figures is not None
    figures = {uid: session.queue_figures(uid) for uid in session.queues}
    return {uid: float(text.split("fair-share of <GPU: ")[1].split(",")[0]) for uid, text in figures.items()}


def test_plugins_are_named_and_unknown_names_add_nothing() -> None:
    config = replace(CONFIG, plugins=(*default_plugins(), PluginOption("snapshot")))
    assert run_once(cluster([node("n1", 1)], teams(), [job("j", "a", [""])]), config, NOW).binds


def test_a_snapshot_is_kept_up_to_date_by_events() -> None:
    snapshot = cluster([node("n1", 2)], teams(), [job("j", "a", ["", ""])])
    first = run_once(snapshot, CONFIG, NOW)
    for bind in first.binds:
        task = snapshot.pod_groups["j"].find_task(bind.pod)
        assert task is not None
        snapshot.set_task(PodInfo(task.pod, RUNNING, bind.node))
    assert snapshot.nodes["n1"].idle.gpus == 0
    late = job("late", "a", [])
    snapshot.set_pod_group(late)
    snapshot.set_task(PodInfo(Pod("late-0", "late-0", "default", "late", request=request()), PENDING))
    assert not run_once(snapshot, CONFIG, NOW).binds
    gone = snapshot.pod_groups["j"].find_task("j-0")
    assert gone is not None
    snapshot.remove_task(gone)
    second = run_once(snapshot, CONFIG, NOW)
    assert [(each.job, each.node) for each in second.binds] == [("late", "n1")]
    assert [(each.pod, each.action) for each in second.evictions] == [("j-1", "stalegangeviction")]
    snapshot.set_node(node("n0", 1))
    assert [each.node for each in run_once(snapshot, CONFIG, NOW).binds] == ["n0"]
    snapshot.remove_node("n0")
    snapshot.set_queues([queue("all", quota=-1), queue("a", "all", quota=2, limit=0)])
    assert not run_once(snapshot, CONFIG, NOW).binds
    snapshot.set_queues(teams())
    assert run_once(snapshot, CONFIG, NOW).binds
    snapshot.remove_pod_group("late")
    assert not run_once(snapshot, CONFIG, NOW).binds


def test_pods_of_other_schedulers_count_on_their_nodes_but_not_in_queues() -> None:
    snapshot = cluster([node("n1", 2)], teams(), [job("j", "a", ["", ""], least=1)])
    other = Pod("x", "x", "default", request=request(), scheduler_name="default-scheduler")
    snapshot.set_task(PodInfo(other, RUNNING, "n1"))
    assert len(run_once(snapshot, CONFIG, NOW).binds) == 1


def test_searches_for_victims_tell_what_ruled_them_out() -> None:
    jobs = [job("held", "a", ["n1"] * 2), job("own", "b", ["n1"] * 2), job("new", "b", [""])]
    session = open_session(cluster([node("n1", 4)], teams(), jobs), CONFIG, NOW)
    for action in ACTIONS.values():
        action(session)
    assert {each.action: each.not_begun for each in session.searches if each.job == "new"} == {
        "consolidation": "there are too few GPUs left in all",
        "reclaim": "its queue would be over its fair share",
        "preempt": "",
    }
    three = request(3)
    spread = [job("x", "a", ["n1"], three), job("y", "b", ["n2"], three), job("large", "a", [""], request(2))]
    session = open_session(cluster([node("n1", 4), node("n2", 4)], teams(), spread), CONFIG, NOW)
    ACTIONS["consolidation"](session)
    (search,) = session.searches
    assert (search.tasks, search.tasks_solved) == (1, 0)
    assert search.outcomes["AccumulatedIdleGpus"]
    assert search.outcomes["all victims placed"] + search.outcomes["no place"] == 2


def two_departments() -> ClusterInfo:
    """Four nodes of eight GPUs, three in use; a job of four and one of three GPUs come."""
    queues = [queue("department-1", quota=16, priority=200), queue("department-2", quota=16, created=1)]
    for name, department, priority in (("a", 1, 150), ("b", 1, 100), ("c", 2, 150), ("d", 2, 100)):
        queues.append(queue(f"project-{name}", f"department-{department}", quota=8, priority=priority))
    jobs = [
        job("training-job-1", "project-a", ["node-1"], request(4), age=9),
        job("training-job-2", "project-c", ["node-1"], request(2), age=8),
        job("training-job-3", "project-b", ["node-2"] * 3, request(2), age=7),
        job("interactive-job", "project-d", ["node-3"], request(5), priority=100, age=6),
        job("training-job-a", "project-c", [""], request(4), age=2),
        job("training-job-b", "project-a", [""], request(3), age=1),
    ]
    return cluster([node(f"node-{number}", 8) for number in range(1, 5)], queues, jobs)


def test_kai_puts_a_job_on_an_empty_node_rather_than_moving_others() -> None:
    decided = run_once(two_departments(), CONFIG, NOW)
    assert [(each.job, each.node) for each in decided.binds] == [
        ("training-job-b", "node-3"),
        ("training-job-a", "node-4"),
    ]
    assert not decided.evictions


def test_with_prefer_consolidation_jobs_are_moved_before_an_empty_node_is_opened() -> None:
    config = replace(CONFIG, policy=PREFER_CONSOLIDATION)
    snapshot = two_departments()
    decided = run_once(snapshot, config, NOW)
    assert [(each.job, each.node) for each in decided.binds] == [("training-job-b", "node-3")]
    assert [each.job for each in decided.evictions] == ["training-job-2"]
    assert {(each.job, each.node) for each in decided.pipelines} == {
        ("training-job-2", "node-2"),
        ("training-job-a", "node-1"),
    }
    for each in decided.evictions:
        move(snapshot, each.pod, each.job, PENDING, "")
    for bind in decided.binds:
        move(snapshot, bind.pod, bind.job, RUNNING, bind.node)
    then = run_once(snapshot, config, NOW + 1)
    assert {(each.job, each.node) for each in then.binds} == {
        ("training-job-2", "node-2"),
        ("training-job-a", "node-1"),
    }


def test_with_prefer_consolidation_an_empty_node_is_opened_when_nobody_can_be_moved() -> None:
    snapshot = cluster(
        [node("n1", 4), node("n2", 4)], teams(), [job("held", "a", ["n1"] * 2), job("new", "b", [""] * 3)]
    )
    decided = run_once(snapshot, replace(CONFIG, policy=PREFER_CONSOLIDATION), NOW)
    assert [each.node for each in decided.binds] == ["n1", "n1", "n2"]


def move(snapshot: ClusterInfo, uid: str, owner: str, status: int, place: str) -> None:
    task = snapshot.pod_groups[owner].find_task(uid)
    assert task is not None
    snapshot.set_task(PodInfo(task.pod, status, place))
