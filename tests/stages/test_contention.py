from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.stages.contention import Contention
from ghostfleet.stages.stage import StageError, Work, parse_stage

# Stand-ins for jobs.
pytestmark = pytest.mark.replaces


class Play:
    """Notes when each job was done."""

    def __init__(self):
        self.clock = VirtualClock()
        self.done = {}
        self.contention = Contention(self.clock, lambda job: self.done.setdefault(job.name, self.clock.now()))
        self.begin = self.clock.now()

    def add(self, name, *, at=0.0, work=1.0, concurrency=1, node="n"):
        job = SimpleNamespace(name=name, cancelled=False)
        when = self.begin + int(at * SECOND)
        self.clock.call_at(when, self.contention.add, node, Work(int(work * SECOND), concurrency), job)
        return job

    def times(self):
        self.clock.run()
        return {name: (when - self.begin) / SECOND for name, when in self.done.items()}


def test_one_pod_alone_takes_its_own_time():
    play = Play()
    play.add("a")
    assert play.times() == {"a": 1.0}


def test_pods_that_start_together_share_the_node():
    play = Play()
    for name in "abcd":
        play.add(name)
    assert play.times() == pytest.approx(dict.fromkeys("abcd", 4.0), abs=0.001)


def test_one_that_joins_slows_the_first_from_then_on():
    play = Play()
    play.add("a")
    play.add("b", at=0.5)
    assert play.times() == pytest.approx({"a": 1.5, "b": 2.0}, abs=0.001)


def test_nodes_do_not_disturb_each_other():
    play = Play()
    play.add("a", node="x")
    play.add("b", node="y")
    assert play.times() == {"a": 1.0, "b": 1.0}


def test_with_several_hands_only_more_pods_than_hands_slow_down():
    play = Play()
    for name in "ab":
        play.add(name, concurrency=2, node="x")
    for name in "cdef":
        play.add(name, concurrency=2, node="y")
    times = play.times()
    assert [times[name] for name in "ab"] == [1.0, 1.0]
    assert [times[name] for name in "cdef"] == pytest.approx([2.0] * 4, abs=0.001)


def test_a_job_that_was_cancelled_is_not_done():
    play = Play()
    play.add("a").cancelled = True
    play.add("b")
    assert list(play.times()) == ["b"]


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.1, 3)), min_size=1, max_size=12), st.integers(1, 4))
def test_a_node_never_does_more_work_at_once_than_its_concurrency(arrivals, concurrency):
    play = Play()
    for number, (at, work) in enumerate(arrivals):
        play.add(str(number), at=at, work=work, concurrency=concurrency)
    times = play.times()
    assert len(times) == len(arrivals)
    for number, (at, work) in enumerate(arrivals):
        assert times[str(number)] >= at + work - 0.001
    first = min(at for at, _ in arrivals)
    assert max(times.values()) >= first + sum(work for _, work in arrivals) / concurrency - 0.01


@pytest.mark.parametrize(("key", "value"), [("contended-work", "soon"), ("contended-concurrency", "0")])
def test_work_that_is_no_duration_and_hands_that_are_no_number_are_refused_with_the_stages_name(key, value):
    annotations = {"ghostfleet.dev/contended-work": "1s", f"ghostfleet.dev/{key}": value}
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "slow", "annotations": annotations},
        "spec": {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": {}, "next": {"delete": True}},
    }
    with pytest.raises(StageError, match=f"stage 'slow'.*{key}"):
        parse_stage(stage)
