"""What holds for every allocation, whatever the devices and claims: checked by a judge that shares no code with it."""

from __future__ import annotations

from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from ghostfleet.api.deviceselectors import SelectorError
from ghostfleet.schedulers.dra import (
    AllocatedDevices,
    AllocationError,
    Allocator,
    DeviceID,
    Features,
    Inventory,
    PodClaims,
    device_class_named,
)
from schedulers.dra.checking import Judge
from schedulers.dra.scenarios import ALL_FEATURES, STABLE_FEATURES, scenario

_SEEDS = st.integers(0, 2**32)
_WITHOUT_LISTS = tuple(each for each in ALL_FEATURES if each != "DRAListTypeAttributes")


def _allocator(case):
    inventory = Inventory(Features.of(case["features"]), case["slices"])
    allocated = AllocatedDevices()
    allocated.devices |= {DeviceID(*each.split("/")) for each in case["allocatedDevices"]}
    for each in case["allocatedSharedDeviceIDs"]:
        allocated.shares[DeviceID(*each.split("/")[:3])] = 1
    for each, amounts in case["allocatedCapacity"].items():
        allocated.consume(DeviceID(*each.split("/")), amounts)
    classes = {each["metadata"]["name"]: each for each in case["classes"]}
    return Allocator(inventory, allocated, device_class_named(classes))


def _asked(case, node, allocator=None):
    """What is allocated on a node, None if nothing; scenarios with an error are of no interest here."""
    try:
        return (allocator or _allocator(case)).allocate(node, PodClaims(case["claims"]), lambda: "share")
    except AllocationError:
        return assume(False)


@given(_SEEDS, st.sampled_from([ALL_FEATURES, STABLE_FEATURES]))
def test_every_allocation_satisfies_selectors_constraints_counters_and_capacity(seed, features):
    case = scenario(Random(seed), features)
    found = 0
    for node in case["nodes"]:
        try:
            results = _allocator(case).allocate(node, PodClaims(case["claims"]), lambda: "share")
        except AllocationError:
            continue
        if results is not None:
            found += 1
            judge = Judge(case, node)
            picks = judge.picks(results)
            assert list(judge.problems(picks)) == []
            assert judge.has_right_numbers(picks)
    assume(found)


@given(_SEEDS, st.sampled_from([_WITHOUT_LISTS, STABLE_FEATURES]))
def test_no_claim_is_left_without_devices_while_there_are_some(seed, features):
    case = scenario(Random(seed), features)
    requests = [each for claim in case["claims"] for each in claim["spec"]["devices"]["requests"]]
    assume(len(requests) <= 4)
    for node in case["nodes"]:
        results = _asked(case, node)
        if results is None:
            try:
                assert Judge(case, node, strict=True).solution() is None
            except SelectorError:
                assume(False)


@given(_SEEDS)
def test_a_pod_after_the_other_never_gets_a_device_that_is_held(seed):
    """Claims are allocated one pod after the other; in the end nothing is held twice or exceeded, nor when some go."""
    rng = Random(seed)
    case = scenario(rng, ALL_FEATURES)
    allocator = _allocator(case)
    before = set(allocator.allocated.devices)
    held = []
    for number in range(6):
        node = rng.choice(case["nodes"])
        results = _asked(case, node, allocator)
        for result in results or ():
            for each in result["devices"]["results"]:
                if "shareID" in each:
                    each["shareID"] = f"share-{number}"
            allocator.allocated.add(result)
            held.append(result)
        if held and rng.random() < 0.3:
            allocator.allocated.remove(held.pop(rng.randrange(len(held))))
    owned = [
        DeviceID(each["driver"], each["pool"], each["device"])
        for result in held
        for each in result["devices"]["results"]
        if not each.get("adminAccess") and "shareID" not in each
    ]
    assert len(owned) == len(set(owned))
    assert not before & set(owned)
    assert allocator.allocated.devices == before | set(owned)
    assert all(amount >= 0 for amounts in allocator.allocated.capacity.values() for amount in amounts.values())
    for result in held:
        allocator.allocated.remove(result)
    assert allocator.allocated.devices == before


@given(_SEEDS)
def test_slices_one_by_one_make_the_same_inventory_as_all_at_once(seed):
    """Slices that come, change and go leave nothing behind."""
    rng = Random(seed)
    case = scenario(rng, ALL_FEATURES)
    features = Features.of(case["features"], newer=True)
    grown = Inventory(features)
    for each in rng.sample(case["slices"], len(case["slices"])):
        grown.put(each)
        for node in case["nodes"]:
            grown.pools(node)
        if rng.random() < 0.3:
            grown.remove(each["metadata"]["name"])
            grown.put({**each, "spec": {**each["spec"], "devices": []}} if rng.random() < 0.5 else each)
            grown.put(each)
    whole = Inventory(features)
    for each in case["slices"]:
        whole.put(each)
    for node in case["nodes"]:
        assert [_shape(pool) for pool in grown.pools(node)] == [_shape(pool) for pool in whole.pools(node)]


def _shape(pool):
    return pool.id, pool.incomplete, pool.invalid, [device.id for device in pool.devices], pool.counters


@given(_SEEDS)
def test_an_answer_that_is_kept_is_the_answer_that_would_be_found_anew(seed):
    rng = Random(seed)
    case = scenario(rng, ALL_FEATURES)
    kept = _allocator(case)
    for _ in range(4):
        node = rng.choice(case["nodes"])
        results = _asked(case, node, kept)
        anew = Allocator(
            kept.inventory, kept.allocated, device_class_named({c["metadata"]["name"]: c for c in case["classes"]})
        )
        assert results == _asked(case, node, anew)
        for result in results or ():
            kept.allocated.add(result)
