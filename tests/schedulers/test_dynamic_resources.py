"""DynamicResources: pods with claims go where their devices are."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.core.latency import Client
from ghostfleet.schedulers.framework.runner import Pace

CLAIMS = "resourceclaims.resource.k8s.io"
DRIVER = "gpu.example.com"
NOBODY = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."


def ask(count: int = 1, *, named: str = "gpu", expression: str = "") -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": named, "allocationMode": "ExactCount", "count": count}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": "gpu", "exactly": exactly}


class Devices:
    """A lab with a class, and short ways to make slices, claims and pods."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
        self.put("DeviceClass", "gpu", spec={"selectors": [selector]})

    def put(self, kind: str, name: str, **parts: Any) -> Any:
        metadata = {"name": name, **parts.pop("metadata", {})}
        return self.lab.put({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, **parts})

    def node(self, name: str, devices: int = 2, **attributes: Any) -> None:
        self.lab.node(name)
        self.slice(name, devices, nodeName=name, attributes=attributes)

    def slice(self, name: str, devices: int, **spec: Any) -> Any:
        attributes = spec.pop("attributes", {})
        listed = [{"name": f"gpu-{place}", "attributes": attributes} for place in range(devices)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        return self.put("ResourceSlice", name, spec={"driver": DRIVER, "pool": pool, "devices": listed, **spec})

    def claim(self, name: str, *requests: Any, **parts: Any) -> Any:
        spec = {"devices": {"requests": list(requests) or [ask()]}}
        return self.put("ResourceClaim", name, spec=spec, status={}, **parts)

    def pod(self, name: str, *claims: str, **spec: Any) -> Any:
        """A pod that names claims."""
        named = [{"name": each, "resourceClaimName": each} for each in claims]
        return self.lab.pod(name, resourceClaims=named, **spec)

    def own(self, name: str, *requests: Any, **spec: Any) -> Any:
        """A pod with a claim that was made for it from a template."""
        named = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
        pod = self.lab.pod(name, resourceClaims=named, **spec)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": True}
        self.claim(f"{name}-gpu", *requests, metadata={"ownerReferences": [owner]})
        made = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
        return self.lab.store.set_status("pods", pod, {**pod["status"], "resourceClaimStatuses": made})

    def status(self, claim: str) -> Any:
        return self.lab.store.get(CLAIMS, "default", claim)["status"]

    def held(self, claim: str) -> list[tuple[str, str]]:
        results = self.status(claim)["allocation"]["devices"]["results"]
        return [(each["pool"], each["device"]) for each in results]

    def free(self, claim: str) -> None:
        found = self.lab.store.get(CLAIMS, "default", claim)
        self.lab.store.set_status(CLAIMS, found, {})


@pytest.fixture
def devices(lab: Any) -> Devices:
    return Devices(lab)


def test_a_pod_gets_the_devices_of_its_node_and_the_claim_says_so(devices: Devices, lab: Any) -> None:
    lab.node("bare")
    devices.node("gpus")
    devices.claim("one", ask(2))
    devices.pod("p", "one")
    lab.run()
    assert lab.node_of("p") == "gpus"
    claim = lab.store.get(CLAIMS, "default", "one")
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert devices.held("one") == [("gpus", "gpu-0"), ("gpus", "gpu-1")]
    uid = lab.get("p")["metadata"]["uid"]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid}]
    terms = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpus"]}]}]
    assert "allocationTimestamp" in claim["status"]["allocation"]


def test_pods_of_one_template_get_different_devices_until_none_is_left(devices: Devices, lab: Any) -> None:
    for name in ("a", "b"):
        devices.node(name, 3)
    lab.run()
    for number in range(7):
        devices.own(f"p{number}")
    lab.run()
    placed = [number for number in range(7) if lab.node_of(f"p{number}")]
    held = [each for number in placed for each in devices.held(f"p{number}-gpu")]
    assert len(placed) == 6
    assert len(set(held)) == 6
    message = lab.message("p6")
    assert message == (
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, " + NOBODY.format(2)
    )


def test_pods_of_one_template_go_to_nodes_that_come_later_however_many(devices: Devices, lab: Any) -> None:
    devices.node("first", 1)
    devices.own("p")
    lab.run()
    for number in range(40):
        devices.node(f"n{number}", 1)
        devices.own(f"p{number}")
    lab.run()
    assert all(lab.node_of(f"p{number}") for number in range(40))


def test_a_claim_that_gives_its_devices_back_lets_the_next_pod_in(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    devices.own("first")
    lab.run()
    devices.own("second")
    lab.run()
    assert lab.node_of("second") is None
    devices.free("first-gpu")
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("second") == "a"


def test_a_new_slice_lets_a_pod_in(devices: Devices, lab: Any) -> None:
    lab.node("a")
    devices.own("p")
    lab.run()
    assert "cannot allocate all claims" in lab.message("p")
    devices.slice("a", 1, nodeName="a")
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("p") == "a"


def test_a_pod_waits_without_a_word_until_its_claims_are_there(devices: Devices, lab: Any) -> None:
    devices.node("a")
    devices.pod("p", "later")
    lab.run()
    assert lab.node_of("p") is None
    assert lab.condition("p") == {}
    devices.claim("later")
    lab.run()
    assert lab.node_of("p") == "a"


def test_pods_share_a_claim_on_the_node_of_its_devices(devices: Devices, lab: Any) -> None:
    for name in ("a", "b", "c"):
        devices.node(name, 1)
    devices.claim("shared")
    for number in range(5):
        devices.pod(f"p{number}", "shared")
    lab.run()
    assert len({lab.node_of(f"p{number}") for number in range(5)}) == 1
    assert [each["name"] for each in devices.status("shared")["reservedFor"]] == [f"p{number}" for number in range(5)]
    assert len(devices.held("shared")) == 1


def test_a_claim_has_at_most_256_consumers(devices: Devices, lab: Any) -> None:
    devices.node("a")
    devices.claim("shared")
    devices.pod("first", "shared")
    lab.run()
    claim = lab.store.get(CLAIMS, "default", "shared")
    others = [{"resource": "pods", "name": f"o{number}", "uid": f"u{number}"} for number in range(255)]
    reserved = [*claim["status"]["reservedFor"], *others]
    lab.store.set_status(CLAIMS, claim, {**claim["status"], "reservedFor": reserved})
    devices.pod("last", "shared")
    lab.run()
    assert lab.node_of("last") is None
    assert lab.condition("last")["reason"] == "SchedulerError"
    assert lab.message("last").endswith("status.reservedFor: Too many: 257: must have at most 256 items")
    claim = lab.store.get(CLAIMS, "default", "shared")
    lab.store.set_status(CLAIMS, claim, {**claim["status"], "reservedFor": reserved[1:]})
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("last") == "a"


def test_a_claim_that_nobody_uses_is_given_back_where_the_pod_cannot_go(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    devices.node("b", 1)
    devices.claim("one")
    devices.pod("first", "one", nodeSelector={"kubernetes.io/hostname": "a"})
    lab.run()
    assert devices.held("one") == [("a", "gpu-0")]
    claim = lab.store.get(CLAIMS, "default", "one")
    lab.store.set_status(CLAIMS, claim, {"allocation": claim["status"]["allocation"]})
    devices.pod("second", "one", nodeSelector={"kubernetes.io/hostname": "b"})
    lab.run()
    assert "deallocation of ResourceClaim completed" in lab.events("second")[0]["message"]
    assert lab.node_of("second") == "b"
    assert devices.held("one") == [("b", "gpu-0")]


def test_a_claim_in_use_elsewhere_is_not_given_back(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    devices.node("b", 1)
    devices.claim("one")
    devices.pod("first", "one", nodeSelector={"kubernetes.io/hostname": "a"})
    lab.run()
    devices.pod("second", "one", nodeSelector={"kubernetes.io/hostname": "b"})
    lab.run()
    assert lab.message("second") == (
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 resourceclaim not available on the node. still not schedulable, " + NOBODY.format(2)
    )


def full(**spec: Any) -> dict[str, Any]:
    """What is to be added to a pod so that it takes all of a node's CPUs."""
    container = {"name": "main", "image": "img", "resources": {"requests": {"cpu": "8"}}}
    return {"containers": [container], **spec}


def given_up(devices: Devices, lab: Any, claim: str, node: str) -> None:
    """A claim that holds a device of a node for nobody."""
    devices.claim(claim)
    devices.pod("first", claim, nodeSelector={"kubernetes.io/hostname": node})
    lab.run()
    status = devices.status(claim)
    lab.delete("first")
    lab.store.set_status(CLAIMS, lab.store.get(CLAIMS, "default", claim), {"allocation": status["allocation"]})


def test_a_claim_is_not_given_back_for_a_node_that_the_pod_cannot_go_to_anyway(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    devices.node("b", 1)
    given_up(devices, lab, "one", "a")
    for name in ("a", "b"):
        lab.pod(f"on-{name}", nodeName=name, **full())
    devices.pod("second", "one", **full())
    lab.run()
    assert lab.message("second").startswith("0/2 nodes are available: 2 Insufficient cpu. still not schedulable, ")
    assert devices.held("one") == [("a", "gpu-0")]


def test_a_claim_is_given_back_even_if_room_is_made_elsewhere(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    devices.node("b", 0)
    given_up(devices, lab, "one", "a")
    lab.pod("low", nodeName="a", priority=-5, **full())
    devices.pod("second", "one", priority=5, **full())
    lab.run()
    events = [each["message"] for each in lab.events("second")]
    assert events[0] == "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."
    assert "deletionTimestamp" in lab.get("low")["metadata"]
    assert "allocation" not in devices.status("one")


WRONG = (
    'running "DynamicResources" filter plugin: claim default/p-gpu: selector #0: CEL runtime error: no such key: nope'
)


def test_what_is_wrong_with_a_pod_is_found_only_where_nothing_else_keeps_it_from_a_node(
    devices: Devices, lab: Any
) -> None:
    devices.node("a", 1)
    lab.pod("first", nodeName="a", **full())
    expression = f"device.attributes['{DRIVER}'].nope"
    devices.own("p", ask(expression=expression), **full())
    lab.run()
    assert lab.message("p").startswith("0/1 nodes are available: 1 Insufficient cpu. still not schedulable, ")
    lab.delete("first")
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.message("p") == WRONG


def test_what_is_wrong_with_a_pod_ends_the_search_for_victims(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    lab.pod("low", nodeName="a", priority=-5, **full())
    devices.own("p", ask(expression=f"device.attributes['{DRIVER}'].nope"), priority=5, **full())
    lab.run()
    assert lab.message("p") == f"0/1 nodes are available: 1 Insufficient cpu. preemption: {WRONG}"
    assert "deletionTimestamp" not in lab.get("low")["metadata"]


def test_a_class_that_is_not_there_is_named(devices: Devices, lab: Any) -> None:
    devices.node("a")
    devices.own("p", ask(named="tpu"))
    lab.run()
    assert lab.message("p") == (
        "0/1 nodes are available: request gpu: device class tpu does not exist. no new claims to deallocate, "
        + NOBODY.format(1)
    )
    devices.put("DeviceClass", "tpu", spec={})
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("p") == "a"


def test_a_selector_that_fails_at_run_time_is_an_error_of_that_pod_alone(devices: Devices, lab: Any) -> None:
    devices.node("a")
    for name in ("p", "q"):
        devices.own(name, ask(expression=f"device.attributes['{DRIVER}'].color == 'red'"))
    devices.own("fine")
    lab.run()
    assert lab.node_of("fine") == "a"
    for name in ("p", "q"):
        assert lab.condition(name)["reason"] == "SchedulerError"
        message = lab.message(name)
        assert message.startswith(f'running "DynamicResources" filter plugin: claim default/{name}-gpu: '), message
        assert "no such key: color" in message


def test_earlier_alternatives_are_preferred(devices: Devices, lab: Any) -> None:
    devices.node("old", 8, model={"string": "old"})
    devices.node("new", 1, model={"string": "new"})
    listed = [
        {
            "name": model,
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": 1,
            "selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}}],
        }
        for model in ("new", "old")
    ]
    for name in ("p", "q"):
        devices.own(name, {"name": "gpu", "firstAvailable": listed})
        lab.run()
    assert [lab.node_of("p"), lab.node_of("q")] == ["new", "old"]
    assert devices.status("p-gpu")["allocation"]["devices"]["results"][0]["request"] == "gpu/new"


def test_devices_that_all_nodes_reach_go_to_one_pod_only(devices: Devices, lab: Any) -> None:
    for name in ("a", "b", "c"):
        lab.node(name)
    devices.slice("network", 1, allNodes=True)
    for name in ("p", "q"):
        devices.own(name)
    lab.run()
    assert lab.node_of("p") is not None
    assert lab.node_of("q") is None
    devices.free("p-gpu")
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("q") is not None


def conditional(devices: Devices, lab: Any, name: str = "a") -> None:
    """A node with a device that has to be attached first."""
    lab.node(name)
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    device = {"name": "gpu-0", "bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    devices.put("ResourceSlice", name, spec={"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [device]})


def report(lab: Any, claim: str, pool: str, **condition: str) -> None:
    """What a driver says of the device of a claim."""
    found = lab.store.get(CLAIMS, "default", claim)
    told = {"driver": DRIVER, "pool": pool, "device": "gpu-0", "conditions": [{"status": "True", **condition}]}
    lab.store.set_status(CLAIMS, found, {**found["status"], "devices": [told]})


def seconds(lab: Any, number: float) -> None:
    lab.clock.run(until=lab.clock.now() + int(number * 1_000_000))


def test_a_pod_is_bound_when_its_devices_are_bound(devices: Devices, lab: Any) -> None:
    conditional(devices, lab)
    devices.own("p")
    lab.run()
    assert lab.node_of("p") is None
    [event] = lab.events("p")
    assert event["reason"] == "BindingConditionsPending"
    assert event["message"] == "waiting for binding conditions for device on node a"
    report(lab, "p-gpu", "a", type="Attached")
    seconds(lab, 5)
    assert lab.node_of("p") == "a"


def test_conditions_are_looked_at_every_five_seconds(devices: Devices, lab: Any) -> None:
    conditional(devices, lab)
    devices.own("p")
    lab.run()
    seconds(lab, 6)
    report(lab, "p-gpu", "a", type="Attached")
    seconds(lab, 3.9)
    assert lab.node_of("p") is None
    seconds(lab, 0.1)
    assert lab.node_of("p") == "a"


def test_a_pod_whose_devices_are_not_bound_in_time_gets_others(devices: Devices, lab: Any) -> None:
    conditional(devices, lab)
    devices.own("p")
    lab.run()
    seconds(lab, 599)
    assert devices.status("p-gpu")["reservedFor"]
    devices.slice("other", 1, nodeName="a")
    seconds(lab, 20)
    messages = [event["message"] for event in lab.events("p")]
    assert messages[1] == 'running PreBind plugin "DynamicResources": device binding timeout: context deadline exceeded'
    assert "1 resourceclaim not available on the node. deallocation of ResourceClaim completed" in messages[2]
    # Devices without conditions are taken first.
    assert lab.node_of("p") == "a"
    assert devices.held("p-gpu") == [("other", "gpu-0")]


def test_a_timeout_of_the_configuration_counts(devices: Devices, lab: Any) -> None:
    conditional(devices, lab)
    arguments = {"name": "DynamicResources", "args": {"bindingTimeout": "12s"}}
    lab.start({"profiles": [{"pluginConfig": [arguments]}]})
    devices.own("p")
    seconds(lab, 11.9)
    assert len(lab.events("p")) == 1
    seconds(lab, 0.1)
    assert "device binding timeout" in lab.events("p")[1]["message"]


def test_a_pod_whose_device_fails_says_so_and_tries_again(devices: Devices, lab: Any) -> None:
    conditional(devices, lab)
    devices.own("p")
    lab.run()
    report(lab, "p-gpu", "a", type="Broken", reason="Gone", message='no "link"')
    seconds(lab, 5)
    messages = [event["message"] for event in lab.events("p")]
    assert messages[1] == (
        'running PreBind plugin "DynamicResources": device binding failed: '
        'claim=p-gpu, reason=Gone, message="no \\"link\\""'
    )
    assert "deallocation of ResourceClaim completed" in messages[2]


def test_with_a_slow_client_devices_are_taken_before_they_are_written(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    lab.start(pace=Pace(Client(requests={"create": (SECOND,), "update": (SECOND,)})))
    devices.own("p")
    devices.own("q")
    lab.clock.run(until=lab.clock.now() + 500_000)
    assert "allocation" not in devices.status("p-gpu")
    assert "cannot allocate all claims" in lab.message("q")
    lab.clock.run(until=lab.clock.now() + 10_000_000)
    assert lab.node_of("p") == "a"
    assert lab.node_of("q") is None


def test_a_pod_that_goes_before_its_claim_is_written_leaves_its_devices_to_others(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    lab.start(pace=Pace(Client(requests={"create": (SECOND,), "update": (SECOND,)})))
    devices.own("p")
    lab.clock.run(until=lab.clock.now() + 500_000)
    lab.delete("p")
    devices.own("q")
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("q") == "a"


# -- extended resources -----------------------------------------------------------------------------------------------

GPU = "example.com/gpu"


def served(devices: Devices, resource: str = GPU) -> None:
    """A class that stands for an extended resource."""
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    devices.put("DeviceClass", "served", spec={"selectors": [selector], "extendedResourceName": resource})


def extended(lab: Any, pod: str) -> Any:
    """The claim that a pod's status tells of."""
    return lab.store.get(CLAIMS, "default", lab.get(pod)["status"]["extendedResourceClaimStatus"]["resourceClaimName"])


def test_a_pod_that_asks_for_a_resource_which_a_class_serves_gets_devices(devices: Devices, lab: Any) -> None:
    lab.node("bare")
    devices.node("gpus", 3)
    served(devices)
    lab.pod("p", {GPU: "2"})
    lab.run()
    assert lab.node_of("p") == "gpus"
    told = lab.get("p")["status"]["extendedResourceClaimStatus"]
    name = "container-0-request-0"
    assert told["requestMappings"] == [{"containerName": "main", "resourceName": GPU, "requestName": name}]
    claim = extended(lab, "p")
    assert claim["metadata"]["generateName"] == "p-extended-resources-"
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert claim["metadata"]["ownerReferences"][0]["uid"] == lab.get("p")["metadata"]["uid"]
    results = claim["status"]["allocation"]["devices"]["results"]
    assert [(each["request"], each["device"]) for each in results] == [(name, "gpu-0"), (name, "gpu-1")]
    assert claim["status"]["reservedFor"][0]["name"] == "p"


def test_pods_with_extended_resources_get_different_devices_until_none_is_left(devices: Devices, lab: Any) -> None:
    devices.node("a", 3)
    served(devices)
    for name in ("p", "q", "r", "s"):
        lab.pod(name, {GPU: "1"})
    lab.run()
    held = [each["device"] for claim in lab.store.list(CLAIMS) for each in
            claim["status"]["allocation"]["devices"]["results"]]  # fmt: skip
    assert sorted(held) == ["gpu-0", "gpu-1", "gpu-2"]
    assert lab.message("s") == (
        "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, " + NOBODY.format(1)
    )


def test_a_node_that_has_the_resource_itself_gives_that_and_makes_no_claim(devices: Devices, lab: Any) -> None:
    served(devices, "nvidia.com/gpu")
    lab.node("plugin", 8)
    lab.gpus("p", 8)
    lab.gpus("q", 1)
    lab.run()
    assert lab.node_of("p") == "plugin"
    assert lab.store.list(CLAIMS) == []
    assert "Insufficient nvidia.com/gpu" in lab.message("q")


def test_a_pod_waits_until_a_class_serves_its_resource(devices: Devices, lab: Any) -> None:
    devices.node("a")
    lab.pod("p", {GPU: "1"})
    lab.run()
    assert lab.message("p").startswith(f"0/1 nodes are available: 1 Insufficient {GPU}.")
    served(devices)
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("p") == "a"


def test_every_class_serves_the_resource_of_its_name(devices: Devices, lab: Any) -> None:
    devices.node("a")
    lab.pod("p", {"deviceclass.resource.kubernetes.io/gpu": "1"})
    lab.run()
    assert lab.node_of("p") == "a"
    assert extended(lab, "p")["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu"


def test_claims_and_extended_resources_of_a_pod_are_solved_together(devices: Devices, lab: Any) -> None:
    devices.node("small", 2)
    devices.node("large", 3)
    served(devices)
    devices.claim("two", ask(2))
    named = [{"name": "two", "resourceClaimName": "two"}]
    lab.pod("p", {GPU: "1"}, resourceClaims=named)
    lab.run()
    assert lab.node_of("p") == "large"
    assert devices.held("two") == [("large", "gpu-0"), ("large", "gpu-1")]
    assert extended(lab, "p")["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-2"


def test_a_claim_left_over_from_an_earlier_attempt_goes_before_the_pod_is_tried_again(
    devices: Devices, lab: Any
) -> None:
    devices.node("a", 1)
    served(devices)
    pod = lab.pod("p", {GPU: "1"})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    finalizers = ["resource.kubernetes.io/delete-protection"]
    about = {"ownerReferences": [owner], "annotations": annotations, "finalizers": finalizers}
    devices.claim("left", metadata=about)
    lab.run()
    assert lab.events("p")[0]["message"] == (
        "0/1 nodes are available: 1 cannot schedule extended resource claim. deletion of ResourceClaim completed, "
        + NOBODY.format(1)
    )
    assert lab.store.find(CLAIMS, "default", "left") is None
    assert lab.node_of("p") == "a"


def test_a_pod_that_goes_before_its_extended_claim_is_written_leaves_nothing(devices: Devices, lab: Any) -> None:
    devices.node("a", 1)
    served(devices)
    lab.start(pace=Pace(Client(requests={"create": (SECOND,), "update": (SECOND,)})))
    lab.pod("p", {GPU: "1"})
    lab.clock.run(until=lab.clock.now() + 500_000)
    lab.delete("p")
    lab.pod("q", {GPU: "1"})
    lab.clock.run(until=lab.clock.now() + 20_000_000)
    assert lab.node_of("q") == "a"
    assert len(lab.store.list(CLAIMS)) == 1


# -- rules ------------------------------------------------------------------------------------------------------------


def rule(devices: Devices, name: str, effect: str, **selector: str) -> None:
    spec = {"deviceSelector": selector, "taint": {"key": "broken", "effect": effect}}
    devices.put("DeviceTaintRule", name, spec=spec)


def test_devices_that_a_rule_taints_are_left_alone_until_it_goes(devices: Devices, lab: Any) -> None:
    devices.node("a", 2)
    rule(devices, "first", "NoSchedule", driver=DRIVER, pool="a", device="gpu-0")
    rule(devices, "nobody", "NoSchedule", driver="another.example.com")
    devices.own("p")
    lab.run()
    assert devices.held("p-gpu") == [("a", "gpu-1")]
    devices.own("q")
    lab.run()
    assert "cannot allocate all claims" in lab.message("q")
    lab.store.delete("devicetaintrules.resource.k8s.io", "", "first")
    seconds(lab, 20)
    assert devices.held("q-gpu") == [("a", "gpu-0")]


def test_a_rule_that_comes_later_keeps_pods_from_its_devices(devices: Devices, lab: Any) -> None:
    devices.node("a", 2)
    devices.own("p")
    lab.run()
    rule(devices, "all", "NoExecute", pool="a")
    devices.own("q")
    lab.run()
    assert lab.node_of("q") is None
    request = ask()
    request["exactly"]["tolerations"] = [{"key": "broken", "operator": "Exists"}]
    devices.own("r", request)
    lab.run()
    assert lab.node_of("r") == "a"


# -- drivers that publish nonsense ------------------------------------------------------------------------------------


def test_a_pool_that_lacks_a_slice_gives_nothing_and_other_pools_go_on(devices: Devices, lab: Any) -> None:
    lab.node("a")
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
    devices.slice("a", 2, nodeName="a", pool=pool)
    devices.own("p")
    lab.run()
    assert "1 cannot allocate all claims" in lab.message("p")
    all_of_them = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
    devices.own("q", all_of_them)
    lab.run()
    assert lab.message("q").endswith(
        "claim default/q-gpu, request gpu: asks for all devices, "
        "but resource pool gpu.example.com/a is currently being updated"
    )
    lab.delete("q")
    devices.node("b", 1)
    seconds(lab, 20)
    assert lab.node_of("p") == "b"


def test_a_pool_with_one_device_twice_is_invalid_and_other_pools_go_on(devices: Devices, lab: Any) -> None:
    lab.node("a")
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
    for name in ("a-1", "a-2"):
        devices.slice(name, 1, nodeName="a", pool=pool)
    devices.own("p")
    lab.run()
    assert lab.message("p").startswith("0/1 nodes are available: 1 invalid resource pools were encountered.")
    devices.node("b", 1)
    seconds(lab, 20)
    assert lab.node_of("p") == "b"
