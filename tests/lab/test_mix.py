"""What is drawn for the workloads of a mix."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.lab.arrivals import ArrivalSchedule, parse_rate
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import MOST_PODS, Mix, WorkloadClass, always, one_of, uniform_in_words
from ghostfleet.lab.types import workload_type
from ghostfleet.stages.distributions import LONGEST, parse_distribution

JOB = workload_type("job")


def of(name="a", **more):
    given = {"gpus": always(1), "workers": always(1), "namespaces": always("here")}
    return WorkloadClass(name, JOB, **{**given, **more})


VARIED = Mix(
    (
        of("small", weight=3, gpus=one_of([1, 2]), duration=parse_distribution("lognormal(5m, 0.8)")),
        of("large", workers=uniform_in_words("uniform(2, 9)"), queues=one_of(["p", "q"], [1, 9])),
    ),
    parse_rate("poisson:1/s"),
)


@given(seed=st.integers(), count=st.integers(1, 40))
def test_the_same_seed_gives_the_same_workloads_and_a_shorter_run_is_the_start_of_a_longer_one(seed, count):
    longer = VARIED.workloads(40, seed)
    assert VARIED.workloads(count, seed) == longer[:count]


def test_another_seed_gives_other_workloads():
    assert VARIED.workloads(40, 1) != VARIED.workloads(40, 2)


def test_draws_do_not_depend_on_the_hash_seed():
    code = "from tests.lab.test_mix import VARIED; print([(w.of.name, *w[1:]) for w in VARIED.workloads(50, 7)])"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1


def test_classes_are_as_frequent_as_their_weights():
    counts = Counter(each.of.name for each in VARIED.workloads(4000, 0))
    assert counts["small"] == pytest.approx(3000, rel=0.05)


def test_what_is_drawn_is_what_the_class_says():
    for each in VARIED.workloads(500, 3):
        if each.of.name == "small":
            assert (each.gpus in (1, 2), each.workers, each.queue) == (True, 1, "")
            assert 0 < each.duration < LONGEST
        else:
            assert (each.gpus, 2 <= each.workers <= 9, each.queue in ("p", "q")) == (1, True, True)
            assert each.duration is None
            assert each.pods == each.workers


def test_another_size_of_one_class_leaves_the_others_as_they_are():
    changed = Mix((of("small", weight=3, gpus=always(8)), VARIED.classes[1]), VARIED.arrivals)
    before = [each[1:] for each in VARIED.workloads(200, 5) if each.of.name == "large"]
    assert [each[1:] for each in changed.workloads(200, 5) if each.of.name == "large"] == before


def test_without_arrivals_the_run_says_when():
    assert {each.time for each in Mix((of(),)).workloads(5, 0)} == {None}


def test_each_class_may_arrive_at_a_rate_of_its_own():
    mix = Mix((of("often", arrivals=parse_rate("10/s")), of("rarely", arrivals=parse_rate("1/s"))))
    made = mix.workloads(110, 0)
    assert Counter(each.of.name for each in made) == {"often": 100, "rarely": 10}
    assert all(earlier.time <= later.time for earlier, later in pairwise(made))


def test_classes_with_the_same_random_rate_arrive_at_times_of_their_own():
    rate = parse_rate("poisson:1/s")
    made = Mix((of("a", arrivals=rate), of("b", arrivals=rate))).workloads(40, 0)
    times = {name: [each.time for each in made if each.of.name == name] for name in "ab"}
    assert times["a"][1:9] != times["b"][1:9]


def test_times_may_be_said_one_by_one_and_must_be_enough():
    mix = Mix((of(),), ArrivalSchedule((0, SECOND, 60 * SECOND)))
    assert [each.time for each in mix.workloads(3, 0)] == [0, SECOND, 60 * SECOND]
    with pytest.raises(LabError, match="the mix has 3 arrivals, but 4 workloads .* --num-workloads 3"):
        mix.workloads(4, 0)


def test_a_mix_that_asks_for_too_many_pods_is_refused():
    with pytest.raises(LabError, match=f"have 100,100,000 pods; a run has at most {MOST_PODS:,}"):
        Mix((of(workers=always(100_000)),)).workloads(1001, 0)


@given(
    st.lists(st.tuples(st.integers(), st.floats(1e-3, 1e3)), min_size=1, max_size=5),
    st.floats(0, 1, exclude_max=True),
)
def test_one_of_several_is_always_one_of_them(pairs, point):
    values, weights = zip(*pairs, strict=True)
    assert one_of(values, weights)(point) in values
    assert one_of(values)(point) in values


@given(st.integers(0, 99), st.integers(0, 99), st.floats(0, 1, exclude_max=True))
def test_a_uniform_number_lies_between_its_ends_which_are_among_them(one, other, point):
    least, most = sorted((one, other))
    drawn = uniform_in_words(f"uniform({least}, {most})")
    assert least <= drawn(point) <= most
    assert (drawn(0.0), drawn(1 - 2**-53)) == (least, most)


@pytest.mark.parametrize("text", ["lognormal(1h, 1e300)", "pareto(1h, 0.000001)", "lognormal(1h, 200)"])
def test_the_longest_draws_are_cut_at_ten_years(text):
    assert parse_distribution(text)(1 - 2**-53) == LONGEST
