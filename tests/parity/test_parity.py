"""Our cluster against the recorded answers of real Kubernetes.

What is asked and what was answered is described in docs/parity.md; `differences.yaml` holds what stays different, with
the reason. A new difference is either a mistake of ours or needs an entry there.
"""

from __future__ import annotations

import os

import pytest
from parity_material.commands import VERSION
from parity_material.comparison import Comparison
from parity_material.served import find_kubectl, kubectl_comparison
from parity_material.verdicts import compare_api, compare_devices, compare_scheduler


def judge(comparison: Comparison, counts: list[str]) -> None:
    counts.append(str(comparison))
    shown = "\n".join(map(str, comparison.different[:20]))
    assert not comparison.different, f"{comparison}\n{shown}"
    assert not comparison.unused, f"differences.yaml explains what is no longer different: {comparison.unused}"


def test_the_api_answers_as_the_real_one(counts):
    comparison = compare_api()
    judge(comparison, counts)
    assert comparison.total >= 400


def test_the_scheduler_decides_as_the_real_one(counts):
    comparison = compare_scheduler()
    judge(comparison, counts)
    assert comparison.total >= 300


def test_pods_get_the_devices_that_the_real_scheduler_gives_them(counts):
    comparison = compare_devices()
    judge(comparison, counts)
    assert comparison.total >= 200


@pytest.mark.kubectl
@pytest.mark.slow
def test_kubectl_prints_what_it_prints_on_a_real_cluster(counts):
    if os.environ.get("GHOSTFLEET_TESTS_KUBECTL") != "all":
        pytest.skip("two hundred commands take long; `make e2e` runs them")
    kubectl = find_kubectl()
    if kubectl is None:
        pytest.skip(f"no kubectl {VERSION}, which is the one that was recorded")
    comparison = kubectl_comparison(kubectl)
    judge(comparison, counts)
    assert comparison.total >= 100
