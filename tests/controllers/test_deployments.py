"""Deployments: from one revision to the next, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.controllers.deployments import DEPLOYMENTS, DeploymentController
from ghostfleet.controllers.replicasets import REPLICASETS, ReplicaController

LABELS = {"app": "web"}
REVISION = "deployment.kubernetes.io/revision"


def with_controllers(world):
    ReplicaController(world.store, world.routes, world.creator, world.profile)
    DeploymentController(world.store, world.profile)
    return world


@pytest.fixture
def cluster(world):
    return with_controllers(world)


def start(world, pod_template, replicas=3, **spec):
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": pod_template(LABELS), **spec}
    return world.create(DEPLOYMENTS, "web", spec=spec)


def change(world, pod_template, version):
    world.update(DEPLOYMENTS, "web", template=pod_template(LABELS, hostname=version))


def sizes(world):
    """Replicas asked of each set, by revision."""
    sets = world.store.list(REPLICASETS)
    return {int(each["metadata"]["annotations"][REVISION]): each["spec"]["replicas"] for each in sets}


def condition(world, kind):
    conditions = world.get(DEPLOYMENTS, "web")["status"]["conditions"]
    return next((each["status"], each["reason"], each["message"]) for each in conditions if each["type"] == kind)


def test_a_deployment_makes_a_replica_set_that_makes_pods(cluster, pod_template):
    start(cluster, pod_template)
    (replica_set,) = cluster.store.list(REPLICASETS)
    mark = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{mark}"
    assert replica_set["spec"]["selector"]["matchLabels"] == {**LABELS, "pod-template-hash": mark}
    assert all(pod["metadata"]["labels"]["pod-template-hash"] == mark for pod in cluster.pods())
    assert cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"] == {REVISION: "1"}
    assert condition(cluster, "Available")[:2] == ("False", "MinimumReplicasUnavailable")
    cluster.run()
    assert condition(cluster, "Available")[:2] == ("True", "MinimumReplicasAvailable")
    name = replica_set["metadata"]["name"]
    assert condition(cluster, "Progressing") == (
        "True",
        "NewReplicaSetAvailable",
        f'ReplicaSet "{name}" has successfully progressed.',
    )
    assert cluster.get(DEPLOYMENTS, "web")["status"]["readyReplicas"] == 3


def test_a_rolling_update_stays_within_its_limits_and_ends_with_new_pods_only(cluster, pod_template):
    start(cluster, pod_template, 4)
    cluster.run_until_steady()
    change(cluster, pod_template, "v2")
    for _ in range(20):
        pods = [pod for pod in cluster.pods() if "deletionTimestamp" not in pod["metadata"]]
        assert len(pods) <= 5
        assert len([pod for pod in pods if pod["status"]["phase"] == "Running"]) >= 3
        cluster.run()
        cluster.advance(2)
    assert sizes(cluster) == {1: 0, 2: 4}
    assert {pod["spec"]["hostname"] for pod in cluster.pods()} == {"v2"}


def test_going_back_uses_the_old_set_under_a_new_number(cluster, pod_template):
    start(cluster, pod_template)
    cluster.run_until_steady()
    change(cluster, pod_template, "v2")
    cluster.run_until_steady()
    cluster.update(DEPLOYMENTS, "web", template=pod_template(LABELS))
    cluster.run_until_steady()
    assert sizes(cluster) == {2: 0, 3: 3}
    assert cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"][REVISION] == "3"
    back = next(each for each in cluster.store.list(REPLICASETS) if each["spec"]["replicas"])
    assert back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


def test_recreate_waits_until_the_old_pods_have_gone(cluster, pod_template):
    start(cluster, pod_template, strategy={"type": "Recreate"})
    cluster.run_until_steady()
    change(cluster, pod_template, "v2")
    assert all("deletionTimestamp" in pod["metadata"] for pod in cluster.pods())
    cluster.run_until_steady()
    assert sizes(cluster) == {1: 0, 2: 3}


def test_a_paused_deployment_is_scaled_but_not_rolled_out(cluster, pod_template):
    start(cluster, pod_template, 2)
    cluster.run_until_steady()
    cluster.update(DEPLOYMENTS, "web", paused=True)
    assert condition(cluster, "Progressing")[:2] == ("Unknown", "DeploymentPaused")
    change(cluster, pod_template, "v2")
    cluster.update(DEPLOYMENTS, "web", replicas=5)
    assert sizes(cluster) == {1: 5}
    cluster.update(DEPLOYMENTS, "web", paused=False)
    cluster.run_until_steady()
    assert sizes(cluster) == {1: 0, 2: 5}


def test_scaling_in_the_middle_of_a_rollout_is_shared_out_in_proportion(cluster, pod_template):
    start(cluster, pod_template, 10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    cluster.run_until_steady()
    change(cluster, pod_template, "stuck")
    assert sizes(cluster) == {1: 8, 2: 5}
    cluster.update(DEPLOYMENTS, "web", replicas=15)
    assert sizes(cluster) == {1: 11, 2: 7}


def test_a_rollout_that_does_not_move_is_called_stuck(cluster, pod_template):
    start(cluster, pod_template, progressDeadlineSeconds=60)
    cluster.advance(59)
    assert condition(cluster, "Progressing")[1] in ("NewReplicaSetCreated", "ReplicaSetUpdated")
    cluster.advance(5)
    assert condition(cluster, "Progressing")[:2] == ("False", "ProgressDeadlineExceeded")
    cluster.run()
    assert condition(cluster, "Progressing")[:2] == ("True", "NewReplicaSetAvailable")


def test_old_sets_beyond_the_history_go(cluster, pod_template):
    start(cluster, pod_template, 1, revisionHistoryLimit=2)
    for version in range(5):
        cluster.run_until_steady()
        change(cluster, pod_template, f"v{version}")
    cluster.run_until_steady()
    assert sorted(sizes(cluster)) == [4, 5, 6]


def test_pods_go_with_their_deployment(cluster, pod_template):
    start(cluster, pod_template)
    cluster.run_until_steady()
    cluster.delete(DEPLOYMENTS, "web")
    cluster.run_until_steady()
    assert cluster.pods() == []
    assert cluster.store.list(REPLICASETS) == []


@given(
    replicas=st.integers(1, 6),
    surge=st.sampled_from([0, 1, 2, "50%"]),
    unavailable=st.sampled_from([0, 1, 2, "50%"]),
    changes=st.lists(st.sampled_from(["v1", "v2", "v3", "grow", "shrink", "run"]), max_size=8),
)
def test_every_rollout_ends_with_the_right_pods(new_world, pod_template, replicas, surge, unavailable, changes):
    if (surge, unavailable) == (0, 0):
        unavailable = 1
    world = with_controllers(new_world())
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    start(world, pod_template, replicas, strategy={"type": "RollingUpdate", "rollingUpdate": limits})
    version = None
    for each in changes:
        if each == "run":
            world.run()
        elif each in ("grow", "shrink"):
            replicas = max(replicas + (1 if each == "grow" else -1), 0)
            world.update(DEPLOYMENTS, "web", replicas=replicas)
        else:
            version = each
            change(world, pod_template, each)
    world.run_until_steady()
    assert [pod["spec"].get("hostname") for pod in world.pods()] == [version] * replicas
    status = world.get(DEPLOYMENTS, "web")["status"]
    assert status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == replicas
