"""The commands after `submit` go back to the cluster that the run's record names, and to no other."""

from __future__ import annotations

import pytest

from ghostfleet.drive.interface import ClusterInfo
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run
from ghostfleet.lab.whereabouts import access_of, check_is_there

KUBECONFIG = """
current-context: other
contexts: [{name: c7, context: {cluster: c7, user: me}}, {name: other, context: {cluster: other, user: me}}]
clusters: [{name: c7, cluster: {server: "http://127.0.0.1:1"}}, {name: other, cluster: {server: "http://127.0.0.1:2"}}]
users: [{name: me, user: {token: t}}]
"""


def run_on(**cluster):
    return Run(1, "job", run="r1", project="p", cluster={"address": "http://127.0.0.1:1", **cluster})


def facts(uid):
    return ClusterInfo("http://127.0.0.1:2", "wall", "v1.36.3", True, uid=uid)


def test_the_recorded_context_is_used_whatever_the_current_one_is_now(tmp_path):
    (tmp_path / "config").write_text(KUBECONFIG)
    access = access_of(run_on(kubeconfig=str(tmp_path / "config"), context="c7"))
    assert access.url == "http://127.0.0.1:1"


def test_a_cluster_that_is_gone_is_told_with_its_address(tmp_path):
    with pytest.raises(LabError, match=r"run r1 is on http://127.0.0.1:1 \(context c7\), which cannot be reached"):
        access_of(run_on(kubeconfig=str(tmp_path / "gone"), context="c7"))


def test_a_run_in_virtual_time_has_no_cluster_to_go_back_to():
    with pytest.raises(LabError, match="virtual time"):
        access_of(run_on(address="embedded"))


def test_a_record_that_does_not_say_leaves_the_choice_to_others():
    assert access_of(run_on()) is None


def test_another_cluster_is_refused_and_the_same_one_at_another_address_is_not():
    with pytest.raises(LabError, match="another cluster"):
        check_is_there(run_on(uid="a"), facts("b"))
    check_is_there(run_on(uid="a"), facts("a"))
    check_is_there(run_on(uid="a"), facts(""))
    check_is_there(run_on(), facts("b"))
