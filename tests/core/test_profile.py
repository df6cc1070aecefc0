"""Profiles: figures with their sources."""

from __future__ import annotations

import pytest

from ghostfleet.core.profile import load_profile, profile_names


def test_both_profiles_are_there():
    assert {"instant", "kubernetes"} <= set(profile_names())


def test_every_figure_and_limit_says_where_it_comes_from():
    for name in profile_names():
        profile = load_profile(name)
        for figure in profile.figures():
            assert profile.source(figure), figure
        for component, limit in profile.clients().items():
            assert limit.source, component
    assert "defaults.go" in load_profile("kubernetes").client("kube-controller-manager").source


def test_the_clients_of_a_real_cluster_are_limited_and_those_of_an_instant_one_are_not():
    limit = load_profile("kubernetes").client("kube-controller-manager")
    assert (limit.qps, limit.burst) == (20, 30)
    assert load_profile("kubernetes").limiter("kube-scheduler").burst == 100
    for component in load_profile("kubernetes").clients():
        assert load_profile("instant").client(component) is None
        assert load_profile("instant").limiter(component) is None


def test_each_client_has_a_bucket_of_its_own():
    profile = load_profile("kubernetes")
    assert profile.limiter("kube-controller-manager") is not profile.limiter("kube-controller-manager")


def test_figures_are_read_as_what_they_are():
    profile = load_profile("kubernetes")
    assert profile.duration("job.batch-period") == 1_000_000
    assert profile.number("job.workers") == 5
    assert profile.switch("job.interim-status") is True
    assert profile.ratio("node.unhealthy-zone") == 0.55
    assert profile.figure("node.grace-period") == "50s"


def test_a_profile_has_the_figures_of_the_one_it_is_based_on():
    instant, kubernetes = load_profile("instant"), load_profile("kubernetes")
    assert set(instant.figures()) == set(kubernetes.figures())
    assert instant.duration("job.batch-period") == 0
    assert instant.duration("job.pod-failure-backoff") == kubernetes.duration("job.pod-failure-backoff")


def test_a_profile_has_the_client_limits_of_the_one_it_is_based_on(tmp_path):
    path = tmp_path / "faster.yaml"
    path.write_text("basedOn: kubernetes\nclients:\n  kube-scheduler: {qps: 500, burst: 900, source: a test}\n")
    faster, kubernetes = load_profile(str(path)), load_profile("kubernetes")
    assert faster.client("kube-scheduler").qps == 500
    assert faster.client("kube-controller-manager") == kubernetes.client("kube-controller-manager")
    assert load_profile("kind").clients() == kubernetes.clients()


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="known are instant, kind, kubernetes, and files"):
        load_profile("warp")
    with pytest.raises(KeyError, match="job.workers"):
        load_profile("instant").figure("job.wrokers")
