"""What fake DRA drivers publish, allocated from by the real classes."""

from __future__ import annotations

import pytest

from ghostfleet.schedulers.dra import AllocatedDevices, Allocator, Features, Inventory, PodClaims, device_class_named
from ghostfleet.stages.dradrivers import find_profile


def _node(name="kwok-node-3", product="NVIDIA-H100-80GB-HBM3"):
    return {"metadata": {"name": name, "uid": "u", "labels": {"nvidia.com/gpu.product": product}}}


class _Fleet:
    def __init__(self, profile, node, devices=2):
        self.node = node
        classes = {each["metadata"]["name"]: each for each in profile.classes()}
        inventory = Inventory(Features(), profile.slices(node, devices))
        self.allocator = Allocator(inventory, AllocatedDevices(), device_class_named(classes))

    def take(self, class_name, *selectors, count=1):
        """The names of devices that a claim gets, which it keeps; None if it gets none."""
        selectors = [{"cel": {"expression": each}} for each in selectors]
        exactly = {
            "deviceClassName": class_name,
            "allocationMode": "ExactCount",
            "count": count,
            "selectors": selectors,
        }
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        results = self.allocator.allocate(self.node, PodClaims([{"metadata": {"name": "c"}, "spec": spec}]), lambda: "")
        if results is None:
            return None
        self.allocator.allocated.add(results[0])
        return [each["device"] for each in results[0]["devices"]["results"]]


def test_kwok_publishes_what_the_kwok_dra_dependency_does():
    (found,) = find_profile("kwok").slices(_node(), 2)
    assert found["metadata"]["name"] == "kwok-gpu-node-3"
    assert found["metadata"]["labels"] == {"resource.k8s.io/driver": "cl2-gpu.kwok.x-k8s.io"}
    assert found["spec"]["pool"] == {"name": "kwok-gpu-pool-node-3", "generation": 1, "resourceSliceCount": 1}
    assert found["spec"]["devices"][1] == {
        "name": "gpu1",
        "attributes": {
            "name": {"string": "gpu_1"},
            "gpu_type": {"string": "kwok_gpu"},
            "memory": {"string": "8Gi"},
            "compute_capability": {"string": "7.5"},
        },
        "capacity": {"cl2-gpu.kwok.x-k8s.io/gpu": {"value": "1"}},
    }
    fleet = _Fleet(find_profile("kwok"), _node())
    assert [fleet.take("cl2-gpu.kwok.x-k8s.io") for _ in range(3)] == [["gpu0"], ["gpu1"], None]


def test_the_example_driver_has_models_and_memory():
    wanted = (
        "device.attributes['gpu.example.com'].model == 'LATEST-GPU-MODEL'",
        "device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0",
    )
    assert _Fleet(find_profile("example"), _node()).take("gpu.example.com", *wanted) == ["gpu-0"]


def test_whole_gpus_and_their_partitions_exclude_each_other():
    fleet = _Fleet(find_profile("nvidia"), _node())
    wanted = "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"
    assert fleet.take("mig.nvidia.com", wanted) == ["gpu-0-mig-3g40gb-0-3"]
    assert fleet.take("gpu.nvidia.com") == ["gpu-1"]
    assert fleet.take("gpu.nvidia.com") is None
    assert fleet.take("mig.nvidia.com", wanted) == ["gpu-0-mig-3g40gb-4-7"]
    assert fleet.take("mig.nvidia.com") is None


def test_seven_of_the_smallest_partitions_fit_on_a_gpu():
    fleet = _Fleet(find_profile("nvidia"), _node(product="NVIDIA-A100-SXM4-40GB"), devices=1)
    smallest = "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"
    assert len(fleet.take("mig.nvidia.com", smallest, count=7)) == 7
    assert fleet.take("mig.nvidia.com", smallest) is None


@pytest.mark.parametrize("product", ["A100", "H100", "H200", "B200", "A30", "L4", "V100-nope"])
def test_selectors_that_people_write_for_real_gpus_work(product):
    fleet = _Fleet(find_profile("nvidia"), _node(product=product))
    gpu = "device.attributes['gpu.nvidia.com']"
    assert fleet.take(
        "gpu.nvidia.com",
        f"{gpu}.architecture in ['Ampere', 'Hopper', 'Blackwell', 'Ada-Lovelace']",
        f"{gpu}.driverVersion.isGreaterThan(semver('550.0.0'))",
        f"{gpu}.cudaComputeCapability.compareTo(semver('8.0.0')) >= 0",
        "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0",
    ) == ["gpu-0"]


def test_what_drivers_publish_is_valid(lab):
    for name in ("nvidia", "kwok", "example"):
        profile = find_profile(name)
        for each in profile.classes():
            lab.create("deviceclasses.resource.k8s.io", each)
        for each in profile.slices(_node(), 8):
            lab.create("resourceslices.resource.k8s.io", each)


_OWN = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fpga}
spec: {selectors: [{cel: {expression: "device.driver == 'fpga.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: "{{ .Node.metadata.name }}-fpga"}
spec:
  driver: fpga.example.com
  nodeName: "{{ .Node.metadata.name }}"
  pool: {name: "{{ .Node.metadata.name }}", generation: 1, resourceSliceCount: 1}
  devices:
  {{- range $i := until (int .Devices) }}
  - name: fpga-{{ $i }}
  {{- end }}
"""


def test_a_profile_of_ones_own_is_a_template(tmp_path):
    file = tmp_path / "fpga.yaml"
    file.write_text(_OWN)
    fleet = _Fleet(find_profile(str(file)), _node(), devices=3)
    assert fleet.take("fpga", count=3) == ["fpga-0", "fpga-1", "fpga-2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ if }}", "not a Go template of manifests"),
        ("apiVersion: v1\nkind: Pod\n", "found kind 'Pod', expected ResourceSlice or DeviceClass"),
        ("a: [", "profile.yaml"),
    ],
)
def test_a_profile_that_is_none_is_refused_in_a_line(tmp_path, text, words):
    file = tmp_path / "profile.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        find_profile(str(file)).slices(_node(), 1)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="no DRA profile 'nope': expected example, kwok, nvidia, or a file"):
        find_profile("nope")
