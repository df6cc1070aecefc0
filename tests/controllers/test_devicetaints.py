"""Device taint eviction: pods leave devices with NoExecute taints, at once or as long as they tolerate these."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.controllers.devicetaints import DeviceTaintEviction

CLAIMS, SLICES = "resourceclaims.resource.k8s.io", "resourceslices.resource.k8s.io"
RULES = "devicetaintrules.resource.k8s.io"
DRIVER = "gpu.example.com"


class Tainted:
    """A world with a pool of two devices, and short ways to use and to taint them."""

    def __init__(self, world: Any) -> None:
        self.world = world
        DeviceTaintEviction(world.store, world.profile)
        self.publish()

    def publish(self, *taints: Any, generation: int = 1, name: str = "slice") -> None:
        """The pool's slice, with taints on its first device."""
        first = {"name": "gpu-0", **({"taints": list(taints)} if taints else {})}
        pool = {"name": "p", "generation": generation, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": "n0", "pool": pool, "devices": [first, {"name": "gpu-1"}]}
        found = self.world.store.find(SLICES, "", name)
        if found is None:
            self.world.create(SLICES, name, spec=spec)
        else:
            self.world.store.replace(SLICES, found, {**found, "metadata": {**found["metadata"]}, "spec": spec})
            self.world.clock.settle()

    def pod(self, name: str, device: str = "gpu-0", **tolerations: Any) -> None:
        """A pod on a node, with a claim that holds a device."""
        claims = [{"name": "gpu", "resourceClaimName": name}]
        spec = {"containers": [{"name": "main"}], "resourceClaims": claims}
        pod = self.world.bind(self.world.create("pods", name, spec=spec))
        self.world.set_phase(pod, "Running")
        result = {"request": "gpu", "driver": DRIVER, "pool": "p", "device": device, **tolerations}
        claim = self.world.create(CLAIMS, name, spec={})
        reserved = [{"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}]
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
        self.world.store.set_status(CLAIMS, claim, status)
        self.world.clock.settle()

    def is_going(self, name: str) -> bool:
        pod = self.world.store.find("pods", "default", name)
        return pod is None or "deletionTimestamp" in pod["metadata"]

    def rule(self, effect: str = "NoExecute", name: str = "rule", **selector: str) -> None:
        spec = {"deviceSelector": selector, "taint": {"key": "broken", "effect": effect}}
        self.world.create(RULES, name, spec=spec)

    def condition(self, name: str = "rule") -> Any:
        return self.world.get(RULES, name)["status"]["conditions"][0]

    def taint(self, effect: str = "NoExecute") -> Any:
        return {"key": "broken", "value": "yes", "effect": effect, "timeAdded": self.world.now()}


@pytest.fixture
def tainted(world: Any) -> Tainted:
    return Tainted(world)


def test_pods_on_a_tainted_device_go_and_others_stay(tainted: Tainted) -> None:
    tainted.pod("p")
    tainted.pod("q", "gpu-1")
    tainted.publish(tainted.taint())
    assert tainted.is_going("p")
    assert not tainted.is_going("q")
    conditions = tainted.world.get("pods", "p")["status"]["conditions"]
    told = next(each for each in conditions if each["type"] == "DisruptionTarget")
    assert (told["reason"], told["message"]) == (
        "DeletionByDeviceTaintManager",
        "Device Taint manager: deleting due to NoExecute taint",
    )
    [event] = tainted.world.store.list("events")
    assert (event["reason"], event["message"]) == ("DeviceTaintManagerEviction", "Marking for deletion")


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
def test_taints_of_other_effects_evict_nobody(tainted: Tainted, effect: str) -> None:
    tainted.pod("p")
    tainted.publish(tainted.taint(effect))
    assert not tainted.is_going("p")


def test_a_claim_that_tolerates_the_taint_for_a_while_lets_its_pod_go_then(tainted: Tainted) -> None:
    tolerations = [
        {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    ]
    tainted.pod("p", tolerations=tolerations)
    tainted.publish(tainted.taint())
    tainted.world.advance(29)
    assert not tainted.is_going("p")
    tainted.world.advance(1)
    assert tainted.is_going("p")


def test_a_claim_that_tolerates_the_taint_keeps_its_pod(tainted: Tainted) -> None:
    tainted.pod("p", tolerations=[{"operator": "Exists", "effect": "NoExecute"}])
    # One without an effect is for the scheduler only.
    tainted.pod("q", tolerations=[{"operator": "Exists"}])
    tainted.publish(tainted.taint())
    tainted.world.advance(600)
    assert not tainted.is_going("p")
    assert tainted.is_going("q")


def test_a_taint_that_goes_in_time_lets_the_pod_stay(tainted: Tainted) -> None:
    tainted.pod("p", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}])
    tainted.publish(tainted.taint())
    tainted.world.advance(30)
    tainted.publish()
    tainted.world.advance(60)
    assert not tainted.is_going("p")
    assert tainted.world.store.list("events")[-1]["message"] == "Cancelling deletion"


def test_only_the_newest_generation_of_a_pool_counts(tainted: Tainted) -> None:
    tainted.publish(generation=2, name="newer")
    tainted.pod("p")
    tainted.publish(tainted.taint())
    assert not tainted.is_going("p")
    tainted.world.delete(SLICES, "newer")
    assert tainted.is_going("p")


def test_a_pod_that_gets_a_tainted_device_goes_again(tainted: Tainted) -> None:
    tainted.publish(tainted.taint())
    tainted.pod("p")
    assert tainted.is_going("p")


def test_a_rule_evicts_the_pods_of_what_it_names(tainted: Tainted) -> None:
    tainted.pod("p")
    tainted.pod("q", "gpu-1")
    tainted.rule(driver=DRIVER, pool="p", device="gpu-1")
    assert not tainted.is_going("p")
    assert tainted.is_going("q")
    # The status is told before any pod goes, and then every ten seconds.
    assert (tainted.condition()["status"], tainted.condition()["reason"]) == ("True", "PodsPendingEviction")
    assert tainted.condition()["message"] == "1 pod needs to be evicted in 1 namespace."
    tainted.world.advance(11)
    assert (tainted.condition()["status"], tainted.condition()["reason"]) == ("False", "Completed")
    assert tainted.condition()["message"] == "1 pod evicted since starting the controller."


def test_a_rule_without_an_effect_tells_whom_it_would_evict(tainted: Tainted) -> None:
    tainted.pod("p")
    tainted.rule("None", driver=DRIVER)
    assert not tainted.is_going("p")
    assert (tainted.condition()["status"], tainted.condition()["reason"]) == ("False", "NoEffect")
    assert tainted.condition()["message"] == (
        "2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect "
        "was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
    )
    tainted.rule("NoSchedule", "other", driver=DRIVER)
    assert tainted.condition("other")["message"] == "Eviction only happens for the NoExecute effect."


def test_a_rule_that_evicts_nobody_says_so(tainted: Tainted) -> None:
    tainted.rule(driver="another.example.com")
    assert (tainted.condition()["reason"], tainted.condition()["message"]) == ("NotStarted", "")


def test_a_rule_that_is_changed_to_evict_counts_from_then(tainted: Tainted) -> None:
    tainted.pod("p", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}])
    tainted.rule("None", driver=DRIVER)
    tainted.world.advance(100)
    added = tainted.world.get(RULES, "rule")["spec"]["taint"]["timeAdded"]
    taint = {"key": "broken", "effect": "NoExecute", "timeAdded": added}
    old = tainted.world.get(RULES, "rule")
    from ghostfleet.api.strategy import prepare_for_update

    new = {**old, "spec": {**old["spec"], "taint": taint}}
    tainted.world.store.update(RULES, prepare_for_update(RULES, old, new, now=tainted.world.now()))
    tainted.world.advance(59)
    assert not tainted.is_going("p")
    tainted.world.advance(1)
    assert tainted.is_going("p")
