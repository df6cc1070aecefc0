"""Statements: everything can be taken back, and what is committed is what still holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.schedulers.kai.cycle import open_session
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import ALLOCATED, BINDING, PENDING, PIPELINED, RELEASING, RUNNING
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.statement import Eviction, Statement
from support.kai import CONFIG, NOW, cluster, job, node, queue, request


def opened() -> Session:
    queues = [queue("all", quota=-1), queue("a", "all", quota=4), queue("b", "all", quota=4)]
    jobs = [
        job("runs", "a", ["n1", "n2"]),
        job("shares", "a", ["n1"], request(0.5), groups=["g"]),
        job("waits", "b", ["", ""]),
        job("part", "b", [""], request(0.5)),
    ]
    return open_session(cluster([node("n1", 4), node("n2", 4)], queues, jobs), CONFIG, NOW)


def task(session: Session, name: str) -> PodInfo:
    found = session.jobs[name.rsplit("-", 1)[0]].find_task(name)
    assert found is not None
    return found


def picture(session: Session) -> object:
    tasks = {
        each.uid: (each.status, each.node, each.gpu_groups, each.virtual)
        for one in session.jobs.values()
        for each in one.tasks()
    }
    nodes = {
        name: (each.idle.gpus, each.releasing.gpus, each.used.gpus, each.idle.memory, sorted(each.tasks))
        for name, each in session.nodes.items()
    }
    shared = {name: {g: m for g, m in each.shared.used.items() if m} for name, each in session.nodes.items()}
    jobs = {name: (one.allocated.gpus, one.active_allocated_count) for name, one in session.jobs.items()}
    return tasks, nodes, shared, jobs


def act(session: Session, statement: Statement, step: int) -> None:
    """One of a few things that actions do, if it makes sense now."""
    eviction = Eviction("reclaim", session.jobs["waits"])
    names = ["runs-0", "runs-1", "shares-0", "waits-0", "waits-1", "part-0"]
    each = task(session, names[step % 6])
    place = f"n{step // 6 % 2 + 1}"
    if each.status == RUNNING:
        statement.evict(each, eviction)
    elif each.status == RELEASING:
        statement.pipeline(each, place, update_if_there=False)
    elif each.status == PENDING:
        if each.pod.is_shared_request:
            each.gpu_groups = ("g",)
            place = "n1"
        if step % 3:
            statement.allocate(each, place)
        else:
            statement.pipeline(each, place, update_if_there=True)


@given(st.lists(st.integers(0, 11), max_size=12), st.integers(0, 12))
def test_rollback_and_discard_restore_what_was(steps: list[int], middle: int) -> None:
    session = opened()
    before = picture(session)
    statement = session.statement()
    for step in steps[:middle]:
        act(session, statement, step)
    checkpoint, then = statement.checkpoint(), picture(session)
    for step in steps[middle:]:
        act(session, statement, step)
    statement.rollback(checkpoint)
    assert _without_groups(picture(session)) == _without_groups(then)
    statement.discard()
    assert _without_groups(picture(session)) == _without_groups(before)


def _without_groups(seen: object) -> object:
    """GPU groups that a pending task was offered stay with it until it is offered others."""
    tasks, *rest = seen  # type: ignore[misc]
    return {uid: (status, place) for uid, (status, place, _groups, _virtual) in tasks.items()}, rest


def test_a_commit_tells_what_still_holds() -> None:
    session = opened()
    statement = session.statement()
    eviction = Eviction("reclaim", session.jobs["waits"])
    statement.evict(task(session, "runs-0"), eviction)
    statement.evict(task(session, "runs-1"), eviction)
    statement.pipeline(task(session, "runs-1"), "n2", update_if_there=False)
    statement.allocate(task(session, "waits-0"), "n1")
    statement.pipeline(task(session, "waits-1"), "n1", update_if_there=True)
    assert task(session, "waits-0").status == ALLOCATED
    statement.commit()
    decided = session.decisions
    assert [each.pod for each in decided.evictions] == ["runs-0"]
    assert [(each.pod, each.node) for each in decided.binds] == [("waits-0", "n1")]
    assert [(each.pod, each.node) for each in decided.pipelines] == [("waits-1", "n1")]
    assert task(session, "runs-1").status == RUNNING
    assert task(session, "waits-0").status == BINDING
    assert task(session, "waits-1").status == PIPELINED


def test_a_task_that_moves_to_another_node_is_evicted_and_pipelined() -> None:
    session = opened()
    statement = session.statement()
    moved = task(session, "runs-0")
    statement.evict(moved, Eviction("consolidation", session.jobs["waits"]))
    statement.pipeline(moved, "n2", update_if_there=False)
    statement.commit()
    assert [each.pod for each in session.decisions.evictions] == ["runs-0"]
    assert [(each.pod, each.node) for each in session.decisions.pipelines] == [("runs-0", "n2")]


def test_a_job_that_waits_with_one_task_waits_with_all() -> None:
    session = opened()
    statement = session.statement()
    statement.allocate(task(session, "waits-0"), "n1")
    statement.pipeline(task(session, "waits-1"), "n1", update_if_there=True)
    assert session.jobs["waits"].should_pipeline
    statement.convert_all_allocated_to_pipelined("waits")
    statement.commit()
    assert not session.decisions.binds
    assert {each.pod for each in session.decisions.pipelines} == {"waits-0", "waits-1"}
