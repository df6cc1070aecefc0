"""Latency: distributions and curves, and clients that draw from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.latency import Client, parse_curve, parse_distribution
from ghostfleet.core.profile import load_profile
from ghostfleet.core.randomness import Streams
from ghostfleet.core.ratelimit import Meters, TokenBucket

RECORDED = json.loads((Path(__file__).parent / "latency.json").read_text())


def test_one_duration_is_always_taken():
    assert parse_distribution("4ms") == (4000,)
    assert Client(requests={"create": (4000,)}).latency("create", "pods") == 4000


def test_a_distribution_has_the_quantiles_that_it_is_told_by():
    drawn = sorted(parse_distribution("p10 1ms p50 3ms p99 10ms"))
    assert drawn[0] == 1000
    assert drawn[len(drawn) // 2] == pytest.approx(3000, abs=5)
    assert drawn[-1] == 10_000
    below = sum(each <= 1000 for each in drawn) / len(drawn)
    assert below == pytest.approx(0.1, abs=0.01)


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=6).map(sorted))
def test_what_is_drawn_lies_between_the_outermost_quantiles(spans):
    text = " ".join(f"p{10 * place + 10} {span}us" for place, span in enumerate(spans))
    drawn = parse_distribution(text)
    assert list(drawn) == sorted(drawn)
    assert (drawn[0], drawn[-1]) == (spans[0], spans[-1])


@pytest.mark.parametrize("text", ["p50 4", "p50", "p50 4ms, p99 5ms", "p90 4ms p50 5ms", "p50 5ms p90 4ms", "p101 1s"])
def test_a_distribution_that_cannot_be_read_is_named(text):
    with pytest.raises(ValueError, match="4|p50|p101"):
        parse_distribution(text)


def test_a_curve_goes_in_straight_lines_through_its_points_and_on_beyond_the_last():
    curve = parse_curve("1ms at 10, 2ms at 110, 4ms at 210")
    assert [curve(size) for size in (0, 10, 60, 110, 210, 310)] == [1000, 1000, 1500, 2000, 4000, 6000]
    assert parse_curve("3ms")(7) == 3000
    assert not parse_curve("0s")
    assert parse_curve("0s at 10, 1ms at 20")


@pytest.mark.parametrize("text", ["1ms at 10 2ms at 20", "1ms at 20, 2ms at 10", "1ms at some"])
def test_a_curve_that_cannot_be_read_is_named(text):
    with pytest.raises(ValueError, match="1ms at"):
        parse_curve(text)


def test_the_most_particular_distribution_of_a_request_counts():
    client = Client(requests={"update": (1,), "update status": (2,), "create binding": (3,)})
    assert client.latency("update", "jobs.batch") == 1
    assert client.latency("update", "jobs.batch/status") == 2
    assert client.latency("update", "deployments.apps/scale") == 1
    assert client.latency("create", "pods/binding") == 3
    assert client.latency("create", "pods") == 0


def test_a_client_has_a_rate_limit_if_any():
    assert Client().reserve(0) == 0
    limited = Client(TokenBucket(1, 1))
    assert [limited.reserve(0), limited.reserve(0)] == [0, 1_000_000]


def draws(seed, user):
    client = load_profile("kubernetes").metered(Meters(), Streams(seed)).api_client("kube-controller-manager", user)
    return [client.latency("create", "pods") for _ in range(20)]


def test_the_same_seed_draws_the_same_and_each_component_has_a_stream_of_its_own():
    assert draws(1, "Job controller") == draws(1, "Job controller")
    assert draws(1, "Job controller") != draws(2, "Job controller")
    assert draws(1, "Job controller") != draws(1, "Deployment controller")


def test_clients_of_an_instant_profile_are_none_and_those_of_kubernetes_take_their_time():
    assert load_profile("instant").api_client("kube-scheduler") is None
    client = load_profile("kubernetes").api_client("kube-scheduler")
    for verb, resource in (("create", "pods"), ("create", "pods/binding"), ("update", "jobs.batch/status")):
        assert client.latency(verb, resource) > 0


def test_a_client_without_a_rate_limit_may_have_a_latency():
    client = load_profile("instant").replaced(request__create="5ms").api_client("kube-scheduler")
    assert (client.reserve(0), client.latency("create", "pods")) == (0, 5000)


def told(recorded):
    return " ".join(f"{key} {max(0.0, value):.2f}ms" for key, value in recorded.items() if key != "count")


def test_the_profile_has_what_was_recorded():
    profile = load_profile("kubernetes")
    figures = {f"request.{verb.replace(' ', '-')}": told(times) for verb, times in RECORDED["requests"].items()}
    figures["informer.delay"] = told(RECORDED["informer delay"])
    figures["scheduler.cycle-cost"] = ", ".join(
        f"{cost:.2f}ms at {nodes}" for nodes, cost in RECORDED["scheduler"].items()
    )
    for name, value in figures.items():
        figure = profile.figures()[name]
        assert figure.value == value
        assert figure.origin == "measured"
        assert RECORDED["recorded"]["kube-apiserver"] in figure.source
        assert RECORDED["recorded"]["date"] in figure.source


def test_a_figure_that_cannot_be_read_is_named_with_its_profile():
    wrong = load_profile("kubernetes").replaced(request__create="p50 4", scheduler__cycle_cost="1ms at some")
    with pytest.raises(ValueError, match=r"profile 'kubernetes', figure request\.create: .*missing unit"):
        wrong.api_client("kube-scheduler")
    with pytest.raises(ValueError, match=r"figure scheduler\.cycle-cost: '1ms at some': expected"):
        wrong.curve("scheduler.cycle-cost")


def test_a_profile_that_belongs_to_no_run_draws_the_same_for_everyone():
    def drawn() -> list[int]:
        client = load_profile("kubernetes").api_client("kube-controller-manager")
        assert client is not None
        return [client.latency("create", "pods") for _ in range(20)]

    assert drawn() == drawn()
