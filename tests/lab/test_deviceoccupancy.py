"""DRA devices over time, and how long claims wait: at every moment what the API says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.cluster import add_nodes
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import NODES, PODS, Kind, Refused
from ghostfleet.lab.deviceoccupancy import CLAIM_TIMES, COLUMNS, DeviceOccupancy, Point
from ghostfleet.lab.plan import Plan
from ghostfleet.report.devices import recorded_devices
from ghostfleet.report.writing import write_report
from ghostfleet.stages.nodes import NodeShape

pytestmark = pytest.mark.fleet

CLAIMS, SLICES = "resourceclaims.resource.k8s.io", "resourceslices.resource.k8s.io"
TEMPLATES = Kind("resource.k8s.io", "v1", "resourceclaimtemplates")


def truth(store: Any, time: int) -> Point:
    """What the objects of the API say, worked out anew from all of them."""
    newest: dict[Any, int] = {}
    for each in store.list(SLICES):
        pool = each["spec"]["driver"], each["spec"]["pool"]["name"]
        newest[pool] = max(newest.get(pool, 0), each["spec"]["pool"]["generation"])
    there = sum(
        len(each["spec"].get("devices", ()))
        for each in store.list(SLICES)
        if each["spec"]["pool"]["generation"] == newest[each["spec"]["driver"], each["spec"]["pool"]["name"]]
    )
    claims = store.list(CLAIMS)
    held = {
        (result["driver"], result["pool"], result["device"])
        for claim in claims
        for result in claim["status"].get("allocation", {}).get("devices", {}).get("results", ())
    }
    waiting = sum("allocation" not in claim["status"] for claim in claims)
    return Point(time, there, len(held), len(claims), waiting)


class Hand:
    """Does things to a cluster with devices, as people and failures do."""

    def __init__(self, fleet: Any) -> None:
        self.fleet = fleet
        self.number = 0
        for count in (1, 2):
            request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": count}}
            metadata = {"name": f"gpus-{count}", "namespace": "default"}
            template = {"metadata": metadata, "spec": {"spec": {"devices": {"requests": [request]}}}}
            fleet.cluster.run(fleet.cluster.create(TEMPLATES, template))

    def pod(self, devices: int, seconds: int) -> None:
        self.number += 1
        claims = [{"name": "gpu", "resourceClaimTemplateName": f"gpus-{devices}"}]
        containers = [{"name": "m", "image": "x"}]
        annotations = {"ghostfleet.dev/duration": f"{seconds}s"}
        metadata = {"name": f"pod-{self.number}", "namespace": "default", "annotations": annotations}
        spec = {"restartPolicy": "Never", "containers": containers, "resourceClaims": claims}
        self.fleet.cluster.run(self.fleet.cluster.create(PODS, {"metadata": metadata, "spec": spec}))

    def delete_pod(self, which: int) -> None:
        pods = self.fleet.store.list("pods")
        if pods:
            metadata = pods[which % len(pods)]["metadata"]
            self.fleet.cluster.run(self.fleet.cluster.delete(PODS, "default", metadata["name"]))

    def node(self, which: int, what: str) -> None:
        self.number += 1
        if what == "add":
            shape = NodeShape(count=1, gpus=which + 1, dra="example", prefix=f"more-{self.number}-", fake_taint=False)
            add_nodes(self.fleet.assembled, shape)
            return
        try:
            self.fleet.cluster.run(self.fleet.cluster.delete(NODES, "", f"kwok-node-{which}"))
        except Refused:
            # It is gone already.
            return

    def publish(self, which: int) -> None:
        """A driver writes a slice of the next generation with one device less."""
        slices = self.fleet.store.list(SLICES)
        if slices:
            found = slices[which % len(slices)]
            spec = found["spec"]
            pool = {**spec["pool"], "generation": spec["pool"]["generation"] + 1}
            changed = {**spec, "pool": pool, "devices": spec["devices"][1:]}
            self.fleet.store.replace(SLICES, found, {**found, "metadata": {**found["metadata"]}, "spec": changed})


deeds = st.one_of(
    st.tuples(st.just("pod"), st.integers(1, 2), st.integers(1, 60)),
    st.tuples(st.just("delete_pod"), st.integers(0, 50)),
    st.tuples(st.just("node"), st.integers(0, 2), st.sampled_from(["add", "delete"])),
    st.tuples(st.just("publish"), st.integers(0, 9)),
)
stories = st.lists(st.tuples(st.integers(0, 9), deeds), min_size=4, max_size=14)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=stories, profile=st.sampled_from(["instant", "kubernetes"]), late=st.integers(0, 3))
def test_devices_and_claims_are_at_every_moment_what_the_api_says(make_fleet, story, profile, late):
    fleet = make_fleet(nodes=3, gpus=2, dra="example", profile=profile)
    clock, hand, store = fleet.clock, Hand(fleet), fleet.store
    occupancy = DeviceOccupancy(fleet.cluster, ["default"])
    expected: dict[int, Point] = {}
    times: dict[str, list[int]] = {}

    def watch_claim(change: Any) -> None:
        claim, now = change.new, clock.now()
        if claim is None or not occupancy._stops:
            return
        if change.old is None:
            times[claim["metadata"]["uid"]] = [now, 0, 0]
        known = times.get(claim["metadata"]["uid"])
        if known is not None:
            known[1] = known[1] or (now if claim["status"].get("allocation") else 0)
            known[2] = known[2] or (now if claim["status"].get("reservedFor") else 0)

    store.listen(CLAIMS, watch_claim)

    def let_pass(until: int) -> None:
        while True:
            clock.settle()
            if occupancy._stops:  # what was before the watch began is not known
                expected[clock.now()] = truth(store, clock.now())
            deadline = clock.next_deadline()
            if deadline is None or deadline > until:
                clock.run(until)
                return
            clock.run(deadline)

    for number, (seconds, (deed, *how)) in enumerate(story):
        if number == late:
            # A second later, so that what was there before is told apart by its time.
            let_pass(clock.now() + SECOND)
            fleet.cluster.run(occupancy.start())
        getattr(hand, deed)(*how)
        let_pass(clock.now() + seconds * SECOND)
    let_pass(clock.now() + 90 * SECOND)
    occupancy.stop()
    written = occupancy.written()
    points = [Point(*each) for each in zip(*(written[name] for name in COLUMNS), strict=True)]
    at = -1
    for time, point in expected.items():
        while at + 1 < len(points) and points[at + 1].time <= time:
            at += 1
        assert points[at]._replace(time=time) == point
    seen = list(zip(*(written["claimTimes"][name] for name in CLAIM_TIMES), strict=True))
    assert sorted(seen) == sorted(tuple(each) for each in times.values())


def test_the_report_tells_what_the_recorder_saw(make_fleet, directory):
    fleet = make_fleet(nodes=2, gpus=2, dra="example", profile="kubernetes")
    fleet.test(directory, Plan(count=8, type="dra"))
    summary = write_report(directory, plots=())
    [series] = directory.devices()
    figures = summary.figures["devices"]
    assert (figures["peakAllocated"], figures["peakOf"], figures["claims"]) == (4, 4, 8)
    assert figures["peakAllocated"] == max(series["allocated"])
    assert figures["mostWaitingClaims"] == max(series["waitingClaims"])
    created, allocated = series["claimTimes"]["created"], series["claimTimes"]["allocated"]
    delays = [(end - begin) / SECOND for begin, end in zip(created, allocated, strict=True)]
    assert figures["delays"][0]["count"] == 8
    assert figures["delays"][0]["max"] == pytest.approx(max(delays))
    assert figures["delays"][0]["mean"] == pytest.approx(sum(delays) / 8)
    page = (directory.path / "report.html").read_text()
    assert summary.devices is not None
    assert summary.devices.sentence in page
    assert 'data-chart="devices"' in page


def test_without_devices_a_report_does_not_speak_of_them(make_fleet, directory):
    make_fleet(nodes=2).test(directory, Plan(count=2, type="job"))
    summary = write_report(directory, plots=())
    assert summary.devices is None
    assert not (directory.path / "devices.jsonl").exists()
    assert 'data-chart="devices"' not in (directory.path / "report.html").read_text()
    assert recorded_devices([]) is None
