"""Limit ranges, and what pods ask for in all."""

from __future__ import annotations

import pytest

from ghostfleet.api.limitranges import ANNOTATION, apply_limit_ranges, check_claim_limits
from ghostfleet.api.podresources import pod_resources
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store


def container(name="main", **resources):
    return {"name": name, "resources": resources}


def pod(*containers, **spec):
    metadata = {"name": "p", "namespace": "default"}
    spec = {"containers": list(containers) or [container()], **spec}
    return {"metadata": metadata, "spec": spec, "status": {"qosClass": "BestEffort"}}


def store_with(*limits):
    store = Store(VirtualClock())
    store.create("limitranges", {"metadata": {"name": "r", "namespace": "default"}, "spec": {"limits": list(limits)}})
    return store


def refusal(store, obj):
    with pytest.raises(ApiError) as error:
        apply_limit_ranges(store, obj)
    assert error.value.code == 403
    return error.value.message


def test_defaults_are_put_into_containers_that_ask_for_nothing_and_noted():
    limit = {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}}
    given = container("given", requests={"cpu": "2"}, limits={"cpu": "2"})
    filled = apply_limit_ranges(store_with(limit), pod(container(), given))
    assert filled["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    assert filled["spec"]["containers"][1]["resources"] == {
        "requests": {"cpu": "2"},
        "limits": {"cpu": "2", "memory": "1Gi"},
    }
    assert filled["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: cpu request for container main; cpu, memory limit for container main; "
        "memory limit for container given"
    )
    assert filled["status"]["qosClass"] == "Burstable"


def test_a_pod_of_a_namespace_without_ranges_is_left_as_it_is():
    store, obj = Store(VirtualClock()), pod()
    assert apply_limit_ranges(store, obj) is obj


def test_too_little_too_much_and_too_large_a_ratio_are_refused():
    limit = {
        "type": "Container",
        "min": {"cpu": "200m"},
        "max": {"memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "2"},
    }
    store = store_with(limit)
    asked = container(requests={"cpu": "100m", "memory": "1Gi"}, limits={"cpu": "1", "memory": "2Gi"})
    assert refusal(store, pod(asked)) == (
        'pods "p" is forbidden: [minimum cpu usage per Container is 200m, but request is 100m, '
        "maximum memory usage per Container is 1Gi, but limit is 2Gi, "
        "cpu max limit to request ratio per Container is 2, but provided ratio is 10.000000]"
    )
    assert "No request is specified" in refusal(store, pod(container(limits={"memory": "1Gi"})))


def test_ranges_of_pods_hold_for_the_sum_of_their_containers():
    store = store_with({"type": "Pod", "max": {"cpu": "1"}})
    half = container(limits={"cpu": "600m"}, requests={"cpu": "600m"})
    message = refusal(store, pod(half, half))
    assert message == 'pods "p" is forbidden: maximum cpu usage per Pod is 1, but limit is 1200m'


def test_claims_have_ranges_too():
    store = store_with({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}})
    claim = {"metadata": {"name": "c", "namespace": "default"}}
    check_claim_limits(store, {**claim, "spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    with pytest.raises(ApiError, match="maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 9Gi"):
        check_claim_limits(store, {**claim, "spec": {"resources": {"requests": {"storage": "9Gi"}}}})


def amounts(obj, which="requests"):
    return {name: str(amount) for name, amount in pod_resources(obj, which).items()}


def test_containers_add_up_and_the_largest_init_container_counts():
    obj = pod(
        container("a", requests={"cpu": "1"}),
        container("b", requests={"cpu": "500m", "memory": "1Gi"}),
        initContainers=[container("init", requests={"cpu": "3", "memory": "512Mi"})],
    )
    assert amounts(obj) == {"cpu": "3", "memory": "1Gi"}


def test_sidecars_run_beside_all_that_comes_after_them():
    sidecar = {**container("side", requests={"cpu": "1"}), "restartPolicy": "Always"}
    obj = pod(container("a", requests={"cpu": "1"}), initContainers=[sidecar, container("i", requests={"cpu": "2"})])
    assert amounts(obj) == {"cpu": "3"}


def test_what_a_pod_says_as_a_whole_wins_and_its_overhead_comes_on_top():
    obj = pod(
        container(requests={"cpu": "1", "memory": "1Gi"}),
        resources={"requests": {"cpu": "4"}},
        overhead={"cpu": "250m"},
    )
    assert amounts(obj) == {"cpu": "4250m", "memory": "1Gi"}
