"""The allocator: what goes wrong with claims, classes and slices, and what is the business of one node only."""

from __future__ import annotations

import pytest

from ghostfleet.schedulers.dra import (
    AllocatedDevices,
    AllocationError,
    AllocationTimeout,
    Allocator,
    DeviceID,
    Features,
    Inventory,
    NodeAllocationError,
    PodClaims,
    device_class_named,
    first_available_score,
)
from ghostfleet.schedulers.dra.requests import ClaimSpec

_DRIVER = "gpu.example.com"


def _node(name="node-0", **labels):
    return {"metadata": {"name": name, "labels": labels}}


def _slice(name="slice-0", devices=("gpu-0", "gpu-1"), node="node-0", pool="", count=1, generation=1, **spec):
    described = [each if isinstance(each, dict) else {"name": each} for each in devices]
    about = {"name": pool or node, "generation": generation, "resourceSliceCount": count}
    return {
        "metadata": {"name": name},
        "spec": {"driver": _DRIVER, "nodeName": node, "pool": about, "devices": described, **spec},
    }


def _class(name="gpu", expression=f"device.driver == '{_DRIVER}'"):
    return {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}


def _claim(name="claim", count=1, class_name="gpu", selectors=(), **exactly):
    selectors = [{"cel": {"expression": each}} for each in selectors]
    request = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": count, "selectors": selectors}
    spec = {"devices": {"requests": [{"name": "req", "exactly": {**request, **exactly}}]}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


_GPU = _class()


def _allocator(*slices, classes=(_GPU,), features=None, **more):
    inventory = Inventory(features or Features())
    for each in slices:
        inventory.put(each)
    named = {each["metadata"]["name"]: each for each in classes}
    return Allocator(inventory, AllocatedDevices(), device_class_named(named), **more)


def _devices(allocator, *claims, node="node-0"):
    results = allocator.allocate(_node(node), PodClaims(claims), lambda: "share")
    if results is None:
        return None
    return [[each["device"] for each in result["devices"]["results"]] for result in results]


def _hold(allocator, *claims, node="node-0"):
    for result in allocator.allocate(_node(node), PodClaims(claims), lambda: "share"):
        allocator.allocated.add(result)


def test_devices_are_taken_in_order_until_none_is_left():
    allocator = _allocator(_slice())
    for expected in ([["gpu-0"]], [["gpu-1"]]):
        assert _devices(allocator, _claim()) == expected
        _hold(allocator, _claim())
    assert _devices(allocator, _claim()) is None


def test_a_device_that_is_given_back_can_be_had_again():
    allocator = _allocator(_slice())
    (first,) = allocator.allocate(_node(), PodClaims([_claim()]), lambda: "")
    allocator.allocated.add(first)
    assert _devices(allocator, _claim()) == [["gpu-1"]]
    allocator.allocated.remove(first)
    assert _devices(allocator, _claim()) == [["gpu-0"]]


def test_all_claims_of_a_pod_are_solved_together():
    devices = [{"name": "gpu-0", "attributes": {"model": {"string": "A"}}}, {"name": "gpu-1", "attributes": {}}]
    wants = f"device.attributes['{_DRIVER}'].?model.orValue('') == 'A'"
    allocator = _allocator(_slice(devices=devices))
    assert _devices(allocator, _claim("any"), _claim("picky", selectors=[wants])) == [["gpu-1"], ["gpu-0"]]


def test_a_selector_that_does_not_compile_stops_the_allocation_with_the_words_of_cel():
    with pytest.raises(AllocationError) as caught:
        _devices(_allocator(_slice()), _claim(selectors=["device.nope"]))
    assert str(caught.value) == (
        "claim default/claim: selector #0: CEL compile error: compilation failed: "
        "ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^"
    )
    with pytest.raises(AllocationError, match="class gpu: selector #0: CEL compile error: compilation failed: ERROR"):
        _devices(_allocator(_slice(), classes=[_class(expression="1 +")]), _claim())


def test_an_attribute_that_is_missing_stops_only_those_who_ask_for_it():
    allocator = _allocator(_slice())
    with pytest.raises(
        AllocationError, match="claim default/claim: selector #0: CEL runtime error: no such key: model"
    ):
        _devices(allocator, _claim(selectors=[f"device.attributes['{_DRIVER}'].model == 'A'"]))
    assert _devices(allocator, _claim("other")) == [["gpu-0"]]


def test_an_error_is_told_in_the_name_of_each_claim_that_meets_it():
    allocator = _allocator(_slice())
    for name in ("one", "two"):
        with pytest.raises(AllocationError, match=f"claim default/{name}: selector #0"):
            _devices(allocator, _claim(name, selectors=["device.driver"]))


def test_a_slice_with_a_device_twice_makes_its_pool_invalid_and_no_other():
    broken = _slice("slice-0", ["gpu-0", "gpu-0"])
    allocator = _allocator(broken, _slice("slice-1", ["gpu-9"], "node-1"))
    with pytest.raises(NodeAllocationError, match="^invalid resource pools were encountered$"):
        _devices(allocator, _claim())
    assert _devices(allocator, _claim(), node="node-1") == [["gpu-9"]]
    allocator.inventory.put(_slice("slice-2", ["gpu-5"], pool="sound"))
    assert _devices(allocator, _claim()) == [["gpu-5"]]


def test_nothing_is_taken_from_a_pool_until_all_its_slices_are_there():
    allocator = _allocator(_slice(count=2))
    assert _devices(allocator, _claim()) is None
    words = "asks for all devices, but resource pool gpu.example.com/node-0 is currently being updated"
    with pytest.raises(AllocationError, match=words):
        _devices(allocator, _claim(allocationMode="All"))
    allocator.inventory.put(_slice("slice-1", ["gpu-2"], count=2))
    assert _devices(allocator, _claim(allocationMode="All")) == [["gpu-0", "gpu-1", "gpu-2"]]


def test_a_newer_generation_replaces_the_older_slices():
    allocator = _allocator(_slice(), _slice("slice-1", ["new-0"], generation=2))
    assert _devices(allocator, _claim(allocationMode="All")) == [["new-0"]]
    allocator.inventory.remove("slice-1")
    assert _devices(allocator, _claim()) == [["gpu-0"]]


def test_a_claim_that_names_no_class_or_one_that_is_not_there():
    allocator = _allocator(_slice())
    with pytest.raises(AllocationError, match=r"request req: missing device class name \(unsupported request type\?\)"):
        _devices(allocator, _claim(class_name=""))
    with pytest.raises(AllocationError) as caught:
        _devices(allocator, _claim(class_name="nope"))
    assert str(caught.value) == (
        "claim default/claim, request req: could not retrieve device class nope: "
        'deviceclass.resource.k8s.io "nope" not found'
    )
    assert _devices(allocator, _claim()) == [["gpu-0"]]


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (_claim(count=33), "number of requested devices 33 exceeds the claim limit of 32"),
        (_claim(allocationMode="Some"), "request req: unsupported count mode Some"),
    ],
)
def test_requests_that_cannot_be(claim, words):
    with pytest.raises(AllocationError, match=words):
        _devices(_allocator(_slice()), claim)


def test_a_constraint_of_no_known_kind():
    claim = _claim()
    claim["spec"]["devices"]["constraints"] = [{}]
    with pytest.raises(AllocationError, match=r"constraint #0: empty constraint \(unsupported constraint type\?\)"):
        _devices(_allocator(_slice()), claim)


def test_a_node_selector_that_is_wrong_is_told_when_a_node_is_asked_for():
    term = {"matchExpressions": [{"key": "a", "operator": "Nope"}]}
    broken = _slice("broken", nodeName=None, pool="net", nodeSelector={"nodeSelectorTerms": [term]})
    with pytest.raises(AllocationError, match="failed to perform node selection for slice broken"):
        _devices(_allocator(broken), _claim())


def test_slices_of_a_node_selector_follow_the_labels_of_the_node():
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    net = _slice("net", ["nic-0"], nodeName=None, pool="net", nodeSelector={"nodeSelectorTerms": [term]})
    allocator = _allocator(net)
    claims = PodClaims([_claim()])
    assert allocator.allocate(_node("n", zone="b"), claims, lambda: "") is None
    (result,) = allocator.allocate(_node("n", zone="a"), claims, lambda: "")
    assert result["nodeSelector"] == {"nodeSelectorTerms": [term]}


def test_a_share_has_an_id_of_its_own_each_time():
    device = {"name": "gpu-0", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi"}}}
    allocator = _allocator(_slice(devices=[device]))
    claims = PodClaims([_claim(capacity={"requests": {"memory": "4Gi"}})])
    numbers = iter(range(10))
    seen = []
    while (results := allocator.allocate(_node(), claims, lambda: f"share-{next(numbers)}")) is not None:
        allocator.allocated.add(results[0])
        seen.append(results[0]["devices"]["results"][0])
    assert [each["shareID"] for each in seen] == ["share-0", "share-1"]
    assert allocator.allocated.capacity == {DeviceID(_DRIVER, "node-0", "gpu-0"): {"memory": 8 * 2**30 * 10**9}}
    # The same question twice without a change in between still gets two IDs.
    allocator.allocated.remove({"devices": {"results": seen[:1]}})
    ids = [allocator.allocate(_node(), claims, lambda: f"id-{next(numbers)}")[0] for _ in range(2)]
    assert ids[0]["devices"]["results"][0]["shareID"] != ids[1]["devices"]["results"][0]["shareID"]


def test_admin_access_holds_nothing():
    allocator = _allocator(_slice(devices=["gpu-0"]))
    _hold(allocator, _claim(adminAccess=True))
    assert allocator.allocated.devices == set()
    _hold(allocator, _claim())
    assert _devices(allocator, _claim(adminAccess=True)) == [["gpu-0"]]


def test_a_class_that_changes_is_seen_at_once():
    classes = {"gpu": _class()}
    inventory = Inventory(Features(), [_slice()])
    allocator = Allocator(inventory, AllocatedDevices(), device_class_named(classes))
    assert _devices(allocator, _claim()) == [["gpu-0"]]
    classes["gpu"] = _class(expression="device.driver == 'other'")
    assert _devices(allocator, _claim()) is None


def test_a_search_that_takes_too_long_is_given_up():
    attributes = [{"name": f"gpu-{place}", "attributes": {"id": {"int": place}}} for place in range(20)]
    claim = _claim(count=10)
    claim["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{_DRIVER}/id"}]
    assert _devices(_allocator(_slice(devices=attributes)), claim) is None
    many = [_claim(str(place), count=4) for place in range(4)]
    picky = _claim("picky", selectors=["false"])
    with pytest.raises(AllocationTimeout, match="timed out trying to allocate devices"):
        _devices(_allocator(_slice(devices=attributes), most_steps=10_000), *many, picky)


def test_the_first_alternative_scores_best():
    subs = [{"name": name, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1} for name in ("a", "b")]
    spec = ClaimSpec({"requests": [{"name": "req", "firstAvailable": subs}]})
    for name, score in (("a", 8), ("b", 7)):
        assert first_available_score(spec, {"devices": {"results": [{"request": f"req/{name}"}]}}) == score


def test_a_pod_that_asks_for_more_than_can_be_searched_is_told_so():
    claims = [_claim(str(place), count=32) for place in range(60)]
    devices = [f"gpu-{place}" for place in range(60 * 32)]
    with pytest.raises(AllocationTimeout, match="too many devices are asked for at once"):
        _devices(_allocator(_slice(devices=devices)), *claims)
    assert _devices(_allocator(_slice(devices=devices)), *claims[:8]) is not None
