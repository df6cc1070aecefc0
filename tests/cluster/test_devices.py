"""Devices in a whole cluster: whatever happens, none is held twice, and none is kept by nobody."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND

CLAIMS, CLASSES = "resourceclaims.resource.k8s.io", "deviceclasses.resource.k8s.io"
NODES, DEVICES = 2, 3
steps = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(["own", "shared-1", "shared-2", "extended"])),
        st.tuples(st.just("create_many"), st.integers(2, 5)),
        st.tuples(st.just("delete"), st.integers(0, 11)),
        st.tuples(st.just("finish"), st.integers(0, 11)),
        st.tuples(st.just("wait"), st.integers(1, 20)),
    ),
    max_size=24,
)


class _Run:
    def __init__(self) -> None:
        self.cluster = Cluster(config=ClusterConfig(nodes=NODES, gpus=DEVICES, dra="example"))
        self._count = 0
        #: By claim, how often it was allocated, and how often it gave its devices back.
        self.allocated: Counter[str] = Counter()
        self.given_back: Counter[str] = Counter()
        self.cluster.store.listen(CLAIMS, self._notice)
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}
        about = {"apiVersion": "resource.k8s.io/v1"}
        template = {**about, "kind": "ResourceClaimTemplate", "metadata": {"name": "gpus"}, "spec": {"spec": spec}}
        self._create("resourceclaimtemplates.resource.k8s.io", template)
        selector = {"cel": {"expression": "device.driver == 'gpu.example.com'"}}
        served = {"extendedResourceName": "example.com/gpu", "selectors": [selector]}
        self._create(CLASSES, {**about, "kind": "DeviceClass", "metadata": {"name": "served"}, "spec": served})
        for name in ("shared-1", "shared-2"):
            self._create(CLAIMS, {**about, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec})
        self.cluster.clock.settle()

    def _create(self, key: str, obj: dict[str, Any]) -> None:
        resource = self.cluster.registry.by_key(key)
        namespace = "default" if resource.namespaced else ""
        self.cluster.api.create(resource, resource.storage, namespace, obj, WriteOptions())

    def _notice(self, change: Any) -> None:
        before = (change.old or {}).get("status", {}).get("allocation")
        after = (change.new or {}).get("status", {}).get("allocation")
        claim = (change.new or change.old)["metadata"]["uid"]
        # While it holds devices a claim is kept.
        assert change.new is not None or before is None
        self.allocated[claim] += before is None and after is not None
        self.given_back[claim] += before is not None and after is None

    def create(self, claim: str) -> None:
        container: dict[str, Any] = {"name": "main", "image": "x"}
        spec: dict[str, Any] = {"containers": [container]}
        if claim == "extended":
            container["resources"] = {"limits": {"example.com/gpu": "1"}}
        else:
            named = {"resourceClaimTemplateName": "gpus"} if claim == "own" else {"resourceClaimName": claim}
            spec["resourceClaims"] = [{"name": "gpu", **named}]
        metadata = {"name": f"pod-{self._count}"}
        self._create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        self._count += 1

    def create_many(self, count: int) -> None:
        """Pods that the scheduler decides about together."""
        for _ in range(count):
            self.create("own")

    def delete(self, number: int) -> None:
        number %= max(self._count, 1)
        if self.cluster.store.find("pods", "default", f"pod-{number}") is not None:
            pods = self.cluster.registry.by_key("pods")
            self.cluster.api.delete(pods, pods.storage, "default", f"pod-{number}", DeleteOptions())

    def finish(self, number: int) -> None:
        number %= max(self._count, 1)
        pod = self.cluster.store.find("pods", "default", f"pod-{number}")
        if pod is not None and pod["status"].get("phase") == "Running":
            self.cluster.store.set_status("pods", pod, {**pod["status"], "phase": "Succeeded"})

    def wait(self, seconds: int) -> None:
        clock = self.cluster.clock
        clock.run(clock.now() + seconds * SECOND)  # type: ignore[attr-defined]

    def check(self) -> None:
        store = self.cluster.store
        held = [
            (result["pool"], result["device"])
            for claim in store.list(CLAIMS)
            for result in claim["status"].get("allocation", {"devices": {"results": []}})["devices"]["results"]
        ]
        assert len(held) == len(set(held))
        for pod in store.list("pods"):
            if pod["status"]["phase"] == "Running":
                names = [claim["metadata"]["name"] for claim in store.list(CLAIMS) if _reserves(claim, pod)]
                assert len(names) == 1

    def check_rest(self) -> None:
        """When all is quiet: devices are held for pods that are there, and nobody waits while one is free."""
        store = self.cluster.store
        claims = [claim for claim in store.list(CLAIMS) if claim["status"].get("allocation")]
        pods = store.list("pods")
        for claim in claims:
            assert any(_reserves(claim, pod) and pod["status"]["phase"] == "Running" for pod in pods)
        if any(pod["status"]["phase"] == "Pending" for pod in pods):
            assert len(claims) == NODES * DEVICES

    def end(self) -> None:
        """All pods go: whatever was allocated is given back, once."""
        for number in range(self._count):
            self.delete(number)
        self.wait(120)
        assert not any(claim["status"].get("allocation") for claim in self.cluster.store.list(CLAIMS))
        assert self.allocated == self.given_back


def _reserves(claim: Any, pod: Any) -> bool:
    return any(each["uid"] == pod["metadata"]["uid"] for each in claim["status"].get("reservedFor") or ())


@settings(max_examples=25, deadline=None)
@given(steps)
def test_no_device_is_held_twice_nor_lost_and_each_is_given_back_once(script: list[tuple[str, Any]]) -> None:
    run = _Run()
    for what, argument in script:
        getattr(run, what)(argument)
        run.cluster.clock.settle()
        run.check()
    run.wait(120)
    run.check()
    run.check_rest()
    run.end()
