"""Endpoints: the pods behind a service."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.endpoints import ENDPOINTS, SLICES, EndpointsController


@pytest.fixture
def served(world):
    EndpointsController(world.store, world.profile)
    return world


def service(world, **spec):
    ports = [{"name": "http", "port": 80, "targetPort": "web"}]
    return world.create("services", "s", spec={"selector": {"app": "web"}, "ports": ports, **spec})


def pod(world, name, address, *, ready=True):
    container = {"name": "main", "image": "registry.example/app:1", "ports": [{"name": "web", "containerPort": 8080}]}
    made = world.create("pods", name, metadata={"labels": {"app": "web"}}, spec={"containers": [container]})
    world.bind(made)
    world.set_phase(made, "Running" if ready else "Pending", podIP=address)


def test_ready_pods_are_listed_with_the_ports_they_name(served):
    service(served)
    assert served.get(ENDPOINTS, "s").get("subsets") is None
    pod(served, "a", "10.0.0.1")
    pod(served, "b", "10.0.0.2", ready=False)
    (subset,) = served.get(ENDPOINTS, "s")["subsets"]
    assert [each["ip"] for each in subset["addresses"]] == ["10.0.0.1"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.0.0.2"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    (piece,) = served.store.list(SLICES)
    assert piece["metadata"]["labels"]["kubernetes.io/service-name"] == "s"
    assert [each["conditions"]["ready"] for each in piece["endpoints"]] == [True, False]


def test_pods_leave_the_list_when_they_end_and_the_list_goes_with_its_service(served):
    service(served)
    pod(served, "a", "10.0.0.1")
    served.set_phase(served.pods()[0], "Succeeded")
    assert "subsets" not in served.get(ENDPOINTS, "s")
    served.delete("services", "s")
    assert served.store.find(ENDPOINTS, "default", "s") is None
    assert served.store.list(SLICES) == []


def test_many_pods_fill_several_slices(served):
    service(served)
    for number in range(120):
        pod(served, f"p{number:03}", f"10.0.1.{number}")
    assert sorted(len(each["endpoints"]) for each in served.store.list(SLICES)) == [20, 100]


def test_a_service_without_a_selector_is_left_alone(served):
    service(served, selector=None)
    assert served.store.list(ENDPOINTS) == []
