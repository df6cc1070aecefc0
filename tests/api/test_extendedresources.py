"""Extended resources that device classes serve: which class, and which requests."""

from __future__ import annotations

from typing import Any

from ghostfleet.api.extendedresources import ExtendedResourceClasses, device_requests

GPU = "example.com/gpu"


def device_class(name: str, resource: str = "", created: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    spec = {"extendedResourceName": resource} if resource else {}
    return {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}


def container(name: str, **asked: int) -> dict[str, Any]:
    requests = {f"example.com/{resource}": str(amount) for resource, amount in asked.items()}
    return {"name": name, "resources": {"requests": {"cpu": "1", **requests}}}


def counts(requests: list[dict[str, Any]]) -> dict[str, int]:
    return {each["name"]: each["exactly"]["count"] for each in requests}


def uses(mappings: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["containerName"], each["requestName"]) for each in mappings]


def test_each_class_serves_a_resource_of_its_own_name_and_the_one_it_names() -> None:
    known = ExtendedResourceClasses([device_class("gpu", GPU)])
    own = "deviceclass.resource.kubernetes.io/gpu"
    assert known.serving([GPU, own, "example.com/other"]) == {GPU: "gpu", own: "gpu"}


def test_among_classes_that_name_the_same_resource_the_newest_serves_it_then_the_first_by_name() -> None:
    old, new = device_class("a", GPU), device_class("z", GPU, "2026-01-02T00:00:00Z")
    assert ExtendedResourceClasses([old, new]).serving([GPU]) == {GPU: "z"}
    assert ExtendedResourceClasses([new, old]).serving([GPU]) == {GPU: "z"}
    assert ExtendedResourceClasses([device_class("b", GPU), old]).serving([GPU]) == {GPU: "a"}


def test_a_class_that_goes_or_names_another_resource_serves_the_old_one_no_longer() -> None:
    known = ExtendedResourceClasses([device_class("gpu", GPU)])
    known.change(device_class("gpu", GPU), device_class("gpu", "example.com/tpu"))
    assert known.serving([GPU, "example.com/tpu"]) == {"example.com/tpu": "gpu"}
    known.change(device_class("gpu", "example.com/tpu"), None)
    assert known.serving([GPU, "example.com/tpu"]) == {}


def test_each_container_has_a_request_named_after_its_place_and_that_of_the_resource() -> None:
    spec = {"containers": [container("a", gpu=2), container("b"), container("c", gpu=1, tpu=3)]}
    requests, mappings = device_requests(spec, {"example.com/tpu": "tpu", GPU: "gpu"})
    assert counts(requests) == {"container-0-request-1": 2, "container-2-request-1": 1, "container-2-request-2": 3}
    assert requests[0]["exactly"] == {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    assert mappings[0] == {"containerName": "a", "resourceName": GPU, "requestName": "container-0-request-1"}
    assert uses(mappings)[1:] == [("c", "container-2-request-1"), ("c", "container-2-request-2")]


def test_init_containers_use_the_devices_of_later_ones_and_share_what_they_need_more() -> None:
    sidecar = {**container("sidecar", gpu=1), "restartPolicy": "Always"}
    spec = {
        "initContainers": [container("first", gpu=4), sidecar, container("second", gpu=6)],
        "containers": [container("main", gpu=2)],
    }
    requests, mappings = device_requests(spec, {GPU: "gpu"})
    # The second comes after the sidecar, so it has the main container's two alone.
    assert counts(requests) == {"container-1-request-1": 1, "container-2-request-1": 4, "container-3-request-1": 2}
    assert uses(mappings) == [
        ("sidecar", "container-1-request-1"),
        ("main", "container-3-request-1"),
        ("first", "container-1-request-1"),
        ("first", "container-3-request-1"),
        ("first", "container-2-request-1"),
        ("second", "container-3-request-1"),
        ("second", "container-2-request-1"),
    ]


def test_an_init_container_that_needs_no_more_than_the_others_asks_for_nothing() -> None:
    spec = {"initContainers": [container("init", gpu=2)], "containers": [container("main", gpu=2)]}
    requests, mappings = device_requests(spec, {GPU: "gpu"})
    assert counts(requests) == {"container-1-request-1": 2}
    assert uses(mappings) == [("main", "container-1-request-1"), ("init", "container-1-request-1")]
