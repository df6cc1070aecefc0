"""`kwok-dra`, or DRAKWOKDriver: fake nodes with fake GPUs, offered as DRA devices (kubernetes/perf-tests, PR 3491).

It installs KWOK's controller in `kwok-system`, the class of the devices, fake nodes with KWOK's taint and a slice of
devices for each, and two stages by which the pods of Jobs end: those labelled `job-type=short-lived` after
CL2_JOB_RUNNING_TIME_MS, those labelled `long-running` after CL2_LONG_JOB_RUNNING_TIME_MS. The stages have a weight that
counts more than any other by which such pods could end. Where a cluster knows no stages, KWOK's own are installed too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ghostfleet.clusterloader.dependencies.installing import DependencyError, Installed
from ghostfleet.clusterloader.params import Params
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.manifests import load_documents
from ghostfleet.drive.interface import DEPLOYMENTS, NODES, Cluster, Kind
from ghostfleet.stages.catalogue import stage_definition, stage_documents
from ghostfleet.stages.dradrivers import find_profile
from ghostfleet.stages.nodes import NodeShape, fake_nodes

__all__ = ["KwokDra"]

NAMESPACE = "kwok-system"
_CONTROLLER = "kwok-controller"
_MANIFESTS = Path(__file__).parent / "data" / "kwok.yaml"
_DRIVER = "cl2-gpu.kwok.x-k8s.io"
_LABEL = "type=kwok"
#: Published: the defaults of the dependency's README.
_NODES, _GPUS, _TIMEOUT = 2, 8, 300 * SECOND
#: Published: the delays of the dependency's stages, in milliseconds.
_SHORT, _LONG = 30_000, 3_600_000
_STAGES = "kwok.x-k8s.io/v1alpha1"
_INFO = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    "osImage": "Ubuntu 20.04.1 LTS",
    "kernelVersion": "5.4.0-fake",
    "kubeletVersion": "v1.29.0-fake",
    "containerRuntimeVersion": "containerd://1.6.0-fake",
}


class KwokDra:
    """See the module."""

    def __init__(self, cluster: Cluster, mapping: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._mapping = mapping
        self.installed = Installed(cluster)

    async def setup(self, params: Params, limit: int | None) -> None:
        nodes, gpus = params.integer("nodes", _NODES), params.integer("gpusPerNode", _GPUS)
        timeout = params.duration("timeout", _TIMEOUT)
        if nodes < 0 or gpus < 0:
            raise DependencyError("params: expected nodes and gpusPerNode of 0 or more")
        install = self.installed.create
        for document in load_documents(_MANIFESTS.read_bytes(), str(_MANIFESTS)):
            await install(document.object)
        profile = find_profile("kwok")
        for device_class in profile.classes():
            await install(await self._served(device_class))
        await self._wait("the controller to be ready", self._controller_missing, timeout, limit)
        await self._install_stages()
        for node in fake_nodes(NodeShape(count=nodes)):
            status = {**node["status"], "nodeInfo": _INFO}
            made = await install({**node, "status": status})
            if made is None:
                made = await self._cluster.get(NODES, "", node["metadata"]["name"])
            for each in profile.slices(made, gpus):
                resource_slice = await self._served(each)
                if await install(resource_slice) is None:
                    await self._renew(resource_slice)
        await self._wait("the nodes to be ready", lambda: self._nodes_missing(nodes), timeout, limit)

    async def teardown(self) -> None:
        await self.installed.remove()

    async def _wait(self, what: str, until: Any, timeout: int, limit: int | None) -> None:
        end = self._cluster.now() + timeout
        await self.installed.wait(what, until, end if limit is None else min(end, limit))

    async def _served(self, obj: Object) -> Object:
        """An object of resource.k8s.io in the version that the cluster has."""
        for version in ("v1", "v1beta2"):
            found = f"resource.k8s.io/{version}"
            if await self._cluster.resolve(found, obj["kind"]) is not None:
                return {**obj, "apiVersion": found}
        raise DependencyError(f"the cluster does not serve {obj['kind']} (resource.k8s.io/v1 or v1beta2): DRA is off")

    async def _renew(self, resource_slice: Object) -> None:
        """Bring a slice that an earlier test has left behind to the devices of this one."""
        kind = await self._cluster.resolve(resource_slice["apiVersion"], "ResourceSlice")
        assert kind is not None
        there = await self._cluster.get(kind, "", resource_slice["metadata"]["name"])
        devices = resource_slice["spec"].get("devices") or []
        if there["spec"].get("devices") != devices:
            pool = {"generation": there["spec"]["pool"]["generation"] + 1}
            patch = {"spec": {"devices": devices, "pool": pool}}
            await self._cluster.patch(kind, "", there["metadata"]["name"], patch)

    async def _install_stages(self) -> None:
        stages = [
            _job_stage("job-complete-short", "short-lived", self._time("CL2_JOB_RUNNING_TIME_MS", _SHORT)),
            _job_stage("job-complete-long", "long-running", self._time("CL2_LONG_JOB_RUNNING_TIME_MS", _LONG)),
        ]
        if await self._cluster.resolve(_STAGES, "Stage") is None:
            await self.installed.create(stage_definition())
            await self._wait("the definition of stages", self._stages_missing, _TIMEOUT, None)
            stages += [each for each in stage_documents("fast") if each["metadata"]["name"] != "pod-complete"]
        for stage in stages:
            if await self.installed.create(stage) is None:
                kind = Kind("kwok.x-k8s.io", "v1alpha1", "stages", namespaced=False)
                await self._cluster.patch(kind, "", stage["metadata"]["name"], {"spec": stage["spec"]})

    def _time(self, name: str, default: int) -> int:
        value = self._mapping.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 53:
            raise DependencyError(f"{name}: expected milliseconds, found {value!r}")
        return int(value)

    async def _stages_missing(self) -> str:
        return "" if await self._cluster.resolve(_STAGES, "Stage") is not None else "it is not served yet"

    async def _controller_missing(self) -> str:
        deployment = await self._cluster.get(DEPLOYMENTS, NAMESPACE, _CONTROLLER)
        wanted, ready = deployment["spec"].get("replicas", 1), (deployment.get("status") or {}).get("readyReplicas", 0)
        if ready == wanted > 0:
            return ""
        return f"Deployment {NAMESPACE}/{_CONTROLLER} has {ready} of {wanted} pods ready"

    async def _nodes_missing(self, wanted: int) -> str:
        found = await self._cluster.list(NODES, "", _LABEL)
        if len(found) > wanted:
            own = {f"kwok-node-{number}" for number in range(wanted)}
            others = [name for each in found if (name := each["metadata"]["name"]) not in own]
            shown = ", ".join(others[:5]) + (" ..." if len(others) > 5 else "")
            raise DependencyError(
                f"params.nodes is {wanted}, but {len(found)} nodes have the label {_LABEL}, of which {shown} come from "
                f"elsewhere; remove them or set params.nodes to {len(found)}"
            )
        ready = sum(map(_is_ready, found))
        return "" if ready == wanted else f"{ready} of {wanted} nodes with the label {_LABEL} are ready"


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _job_stage(name: str, job_type: str, milliseconds: int) -> Object:
    """The stage by which the pods of some Jobs end."""

    def matching(key: str, operator: str, *values: str) -> Object:
        return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}

    return {
        "apiVersion": _STAGES,
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {
                "matchExpressions": [
                    matching(".metadata.deletionTimestamp", "DoesNotExist"),
                    matching(".status.phase", "In", "Running"),
                    matching(".metadata.ownerReferences.[].kind", "In", "Job"),
                    matching('.metadata.labels["job-type"]', "In", job_type),
                ]
            },
            "weight": 1_000_000,
            "delay": {"durationMilliseconds": milliseconds},
            "next": {"statusTemplate": _COMPLETED},
        },
    }


#: What becomes of the status of a pod whose containers have ended well.
_COMPLETED = """\
{{ $now := Now }}
{{ $root := . }}
conditions:
- {type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
containerStatuses:
{{ range $index, $container := .spec.containers }}
{{ $state := (index $root.status.containerStatuses $index).state }}
- name: {{ $container.name | Quote }}
  image: {{ $container.image | Quote }}
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {{ or $state.running.startedAt $now | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
phase: Succeeded
"""
