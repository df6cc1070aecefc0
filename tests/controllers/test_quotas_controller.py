"""Quotas: what is used, and what does not fit any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.quotas import QUOTAS, charge_quotas, check_quota
from ghostfleet.controllers.jobs import JOBS, JobController
from ghostfleet.controllers.quotas import QuotaController
from ghostfleet.core.errors import ApiError


def with_controllers(world):
    QuotaController(world.store, world.profile)
    JobController(world.store, world.routes, world.creator, world.profile)
    return world


@pytest.fixture
def limited(world):
    return with_controllers(world)


def quota(world, name="q", scopes=(), **hard):
    spec = {"hard": {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}}
    if scopes:
        spec["scopes"] = list(scopes)
    return world.create(QUOTAS, name, spec=spec)


def used(world, name="q"):
    return world.get(QUOTAS, name)["status"]["used"]


def new_pod(name="pod", **requests):
    requests = {key.replace("__", "/").replace("_", "."): value for key, value in requests.items()}
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"metadata": metadata, "spec": {"containers": [container]}, "status": {"phase": "Pending"}}


def test_a_new_quota_counts_what_is_there(limited):
    limited.store.create("pods", {"apiVersion": "v1", "kind": "Pod", **new_pod(cpu="500m")})
    quota(limited, pods="5", requests_cpu="2", requests_memory="1Gi")
    assert used(limited) == {"pods": "1", "requests.cpu": "500m", "requests.memory": "0"}


def test_what_does_not_fit_is_refused_in_kubernetes_words(limited):
    quota(limited, pods="1")
    charge_quotas(limited.store, "pods", new_pod())
    limited.store.create("pods", {"apiVersion": "v1", "kind": "Pod", **new_pod()})
    with pytest.raises(ApiError) as refusal:
        check_quota(limited.store, "pods", new_pod("next"))
    assert refusal.value.code == 403
    assert refusal.value.message == (
        'pods "next" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )


def test_containers_must_say_what_they_take_where_it_is_limited(limited):
    quota(limited, requests_cpu="1", limits_memory="1Gi")
    with pytest.raises(ApiError) as refusal:
        check_quota(limited.store, "pods", new_pod(cpu="1"))
    assert refusal.value.message == 'pods "pod" is forbidden: failed quota: q: must specify limits.memory for: main'


def test_gpus_are_counted_as_requests(limited):
    quota(limited, **{"requests_nvidia.com__gpu": "8"})
    charge_quotas(limited.store, "pods", new_pod("first", **{"nvidia.com__gpu": "6"}))
    with pytest.raises(ApiError, match=r"requested: requests.nvidia.com/gpu=3, used: requests.nvidia.com/gpu=6"):
        check_quota(limited.store, "pods", new_pod("second", **{"nvidia.com__gpu": "3"}))


def test_a_job_beyond_the_quota_runs_as_room_comes_free(limited, pod_template):
    quota(limited, pods="2", count__jobs_batch="1")
    limited.create(
        JOBS, "job", spec={"parallelism": 4, "completions": 4, "template": pod_template(restartPolicy="Never")}
    )
    assert len(limited.pods()) == 2
    assert used(limited) == {"pods": "2", "count/jobs.batch": "1"}
    reason, message = limited.events("job")[-1]
    assert reason == "FailedCreate"
    assert "is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in message
    limited.run()
    limited.finish()
    limited.advance(61)
    assert used(limited)["pods"] == "2"
    limited.run()
    limited.finish()
    assert limited.get(JOBS, "job")["status"]["conditions"][-1]["type"] == "Complete"
    assert used(limited)["pods"] == "0"


def test_scopes_say_whose_pods_count(limited):
    quota(limited, "besteffort", ("BestEffort",), pods="1")
    quota(limited, "others", ("NotBestEffort",), pods="5")
    best = {**new_pod("a"), "status": {"qosClass": "BestEffort"}}
    charge_quotas(limited.store, "pods", best)
    assert (used(limited, "besteffort")["pods"], used(limited, "others")["pods"]) == ("1", "0")


def test_other_kinds_are_counted_too(limited):
    quota(
        limited,
        services="5",
        services_nodeports="5",
        persistentvolumeclaims="5",
        requests_storage="10Gi",
        configmaps="1",
    )
    ports = [{"port": 80}, {"port": 81}]
    limited.create("services", "s", spec={"type": "NodePort", "ports": ports})
    limited.create("persistentvolumeclaims", "c", spec={"resources": {"requests": {"storage": "3Gi"}}})
    assert used(limited) == {
        "services": "1",
        "services.nodeports": "2",
        "persistentvolumeclaims": "1",
        "requests.storage": "3Gi",
        "configmaps": "0",
    }
    limited.delete("services", "s")
    assert used(limited)["services"] == "0"


@given(steps=st.lists(st.tuples(st.sampled_from(["create", "end", "delete"]), st.integers(0, 9)), max_size=30))
def test_what_is_used_is_what_a_count_from_scratch_would_find(new_world, steps):
    world = with_controllers(new_world())
    quota(world, pods="5", requests_cpu="3", count__pods="50")
    for number, (action, pick) in enumerate(steps):
        pods = world.pods()
        if action == "create":
            pod = {"apiVersion": "v1", "kind": "Pod", **new_pod(f"p{number}", cpu=f"{100 * (pick + 1)}m")}
            try:
                charge_quotas(world.store, "pods", pod)
            except ApiError:
                continue
            world.store.create("pods", pod)
        elif pods and action == "end":
            world.set_phase(pods[pick % len(pods)], "Succeeded")
        elif pods:
            world.delete("pods", pods[pick % len(pods)]["metadata"]["name"])
        world.clock.settle()
        before = used(world)
        quota(world, "fresh", pods="5", requests_cpu="3", count__pods="50")
        assert used(world, "fresh") == before
        world.delete(QUOTAS, "fresh")
