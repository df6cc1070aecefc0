"""How long requests take on a real control plane that has little to do, and what its scheduler needs for a pod.

The figures of the profile `kubernetes` that are about latency come from here. Jobs are submitted one a second, too few
for any client's rate limit to be felt, and a client of our own makes the kinds of requests that they do not need. The
audit log tells how long the server had each request; the components' metrics tell the mean of what their clients
waited, which is longer, by the *client's share*. What is recorded for a verb is the distribution of the first, shifted
by the second. The *informer delay* is the time from the answer to a write until the request comes in with which the Job
controller reacts to it, less the client's share; where it is negative, the controller heard of the write before the
writer had its answer. What the scheduler needs for a pod is the time of an attempt without that of its binding, the
median of the means of several batches, in clusters of several sizes, whose nodes are silent, so that their heartbeats
do not take its processor away.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from auditlog import AuditedRequest, audit_flags, audited_requests
from controlplane import program_version
from realcluster import RealCluster

from ghostfleet.drive import nodes
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection
from ghostfleet.kube.controlplane import free_ports
from ghostfleet.server.instances import Instance
from ghostfleet.server.launch import end, launch_detached
from ghostfleet.server.launchconfig import LaunchConfig, Runtime
from ghostfleet.stages.nodes import NodeShape

__all__ = ["record"]

RECORDED = Path(__file__).parents[2] / "tests" / "core" / "latency.json"
_NAME = "latency"
_NODES, _GPUS, _JOBS = 40, 8, 80
#: Clusters in which the scheduler is timed, by their nodes, and with how many batches of pods each.
_SIZES, _BATCHES, _PODS = (10, 100, 250, 500, 1000, 2000), 7, 10
#: So many requests of each verb are made by our own client.
_REQUESTS = 80
_WARM_UP, _PAUSE, _INTERVAL, _PATIENCE = 20.0, 0.1, 1.0, 300.0
#: Leases are not renewed, and nobody minds.
_SILENT_NODES = ("kwok=--node-lease-duration-seconds=86400", "kube-controller-manager=--node-monitor-grace-period=24h")
_COMPONENTS = ("kube-controller-manager", "kube-scheduler")
_JOBS_PATH, _PODS_PATH = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
_MAPS_PATH = "/api/v1/namespaces/default/configmaps"
_PERCENTS = (1, 10, 25, 50, 75, 90, 99)
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)

Object = dict[str, Any]


def record(binaries: Path) -> None:
    """Record the requests of one cluster, and the scheduler in clusters of several sizes."""
    with tempfile.TemporaryDirectory(prefix="ghostfleet-record-") as made:
        requests = _requests(binaries, Path(made))
    scheduler = _scheduler(binaries)
    versions = {name: program_version(binaries / name) for name in ("kube-apiserver", "kube-scheduler", "kwok")}
    recorded = {**versions, "date": datetime.now(UTC).date().isoformat(), "cores": os.cpu_count()}
    found = {"recorded": recorded, **requests, "scheduler": scheduler}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    RECORDED.write_text(f"{{{lines}}}\n")


# -- requests --------------------------------------------------------------------------------------------------------


def _requests(binaries: Path, directory: Path) -> Object:
    flags = [f"kube-apiserver={flag}" for flag in audit_flags(directory)]
    with _cluster(binaries, _NODES, flags) as cluster:
        before, since = cluster.metrics(), time.time()
        _submit_jobs(cluster.api)
        after, until = cluster.metrics(), time.time()
        _own_requests(cluster.api)
    audited = list(audited_requests(directory))
    meanwhile = [each for each in audited if since <= each.received < until]
    share = _client_share(before, after, [each for each in meanwhile if each.program in _COMPONENTS])
    times: dict[str, list[float]] = {}
    for each in audited:
        if each.received >= since and (each.program in (*_COMPONENTS, "kwok") or each.resource == "configmaps"):
            times.setdefault(_verb(each), []).append(each.answered - each.received + share)
    return {
        "client's share": _milliseconds(share),
        "requests": {verb: _distribution(times[verb]) for verb in sorted(times)},
        "informer delay": _distribution([each - share for each in _reactions(meanwhile)]),
    }


def _verb(request: AuditedRequest) -> str:
    """With its subresource: `create`, `update status`, `create binding`."""
    _, _, subresource = request.resource.partition("/")
    return f"{request.verb} {subresource}".rstrip()


def _submit_jobs(api: RealCluster) -> None:
    for number in range(_JOBS):
        api.must("POST", _JOBS_PATH, _job(f"latency-{number}"))
        time.sleep(_INTERVAL)
    _until(lambda: all(each["status"].get("succeeded") for each in api.must("GET", _JOBS_PATH)["items"]))
    # The last events are still on their way.
    time.sleep(_INTERVAL)


def _own_requests(api: RealCluster) -> None:
    """What Jobs do not lead to: objects are read, listed, changed and deleted one by one."""
    for number in range(_REQUESTS):
        made = api.must("POST", _MAPS_PATH, {"metadata": {"name": f"map-{number}"}, "data": {"number": str(number)}})
        path = f"{_MAPS_PATH}/map-{number}"
        api.must("GET", path)
        api.must("PUT", path, {**made, "data": {"number": "0"}})
        api.must("GET", f"{_MAPS_PATH}?limit=20")
        api.must("DELETE", path)
        time.sleep(_PAUSE)


def _client_share(before: Object, after: Object, requests: Iterable[AuditedRequest]) -> float:
    """Seconds by which a client waits longer than the server works, in the mean."""
    total = "rest_client_request_duration_seconds"
    waited = "rest_client_rate_limiter_duration_seconds"
    writes = [each for each in requests if each.verb not in ("get", "list")]

    def grown(name: str) -> float:
        return sum(after[key] - before.get(key, 0.0) for key in after if key[1] == name and 'verb="GET"' not in key[2])

    clients = grown(f"{total}_sum") - grown(f"{waited}_sum")
    server = sum(each.answered - each.received for each in writes)
    counted = grown(f"{total}_count")
    if counted != len(writes):
        raise SystemExit(f"the components count {counted:g} requests, the audit log {len(writes)}")
    return (clients - server) / counted


def _reactions(requests: Iterable[AuditedRequest]) -> Iterator[float]:
    """From the answer to each Job's creation until its pod is asked for."""
    created: float | None = None
    for each in sorted(requests, key=lambda each: each.received):
        if each.verb == "create" and each.resource == "jobs":
            created = each.answered
        elif each.verb == "create" and each.resource == "pods" and created is not None:
            yield each.received - created
            created = None


def _distribution(seconds: list[float]) -> Object:
    cuts = quantiles(seconds, n=100, method="inclusive")
    return {"count": len(seconds), **{f"p{each}": _milliseconds(cuts[each - 1]) for each in _PERCENTS}}


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


# -- the scheduler ---------------------------------------------------------------------------------------------------


def _scheduler(binaries: Path) -> Object:
    """Milliseconds for a pod, by the number of nodes."""
    found = {}
    with _cluster(binaries, _SIZES[0], _SILENT_NODES) as cluster:
        for size in _SIZES:
            cluster.scale(size)
            attempts = [_scheduled(cluster, f"pod-{size}-{batch}") for batch in range(_BATCHES)]
            found[str(size)] = _milliseconds(median(attempts))
    return found


def _scheduled(cluster: _Cluster, name: str) -> float:
    """Mean seconds for each pod of a batch."""
    before = cluster.metrics()
    for number in range(_PODS):
        cluster.api.must("POST", _PODS_PATH, {"metadata": {"name": f"{name}-{number}"}, "spec": _pod_spec()})
        time.sleep(_PAUSE)
    _until(lambda: all(each["spec"].get("nodeName") for each in cluster.api.must("GET", _PODS_PATH)["items"]))
    return _attempt(before, cluster.metrics())


def _attempt(before: Object, after: Object) -> float:
    def grown(name: str, labels: str) -> float:
        return sum(after[key] - before.get(key, 0.0) for key in after if key[1] == name and labels in key[2])

    attempts, binding = "scheduler_scheduling_attempt_duration_seconds", 'extension_point="Bind"'
    points = "scheduler_framework_extension_point_duration_seconds"
    count = grown(f"{attempts}_count", 'result="scheduled"')
    return (grown(f"{attempts}_sum", 'result="scheduled"') - grown(f"{points}_sum", binding)) / count


# -- a cluster -------------------------------------------------------------------------------------------------------


class _Cluster:
    """A real control plane that runs."""

    def __init__(self, kubeconfig: Path, connection: Connection, ports: Mapping[str, int]) -> None:
        self.api = RealCluster(kubeconfig)
        self._kubeconfig = kubeconfig
        self._connection = connection
        self._ports = ports

    def metrics(self) -> dict[tuple[str, str, str], float]:
        """All samples by component, name and labels."""
        return {
            (component, *key): value for component, port in self._ports.items() for key, value in _samples(port).items()
        }

    def scale(self, count: int) -> None:
        shape = NodeShape(count=count, gpus=_GPUS, fake_taint=False)
        nodes.scale(self._connection, shape, nodes.numbers(self._connection, shape.prefix), lambda: None)
        # The controllers take the taints of new nodes away one by one, long after these are ready.
        _until(lambda: not any(node["spec"].get("taints") for node in self._connection.items("/api/v1/nodes")))
        time.sleep(_WARM_UP)
        # The server closes connections that were silent for so long.
        self.api = RealCluster(self._kubeconfig)


@contextlib.contextmanager
def _cluster(binaries: Path, count: int, flags: Iterable[str] = ()) -> Iterator[_Cluster]:
    ports = dict(zip(_COMPONENTS, free_ports(len(_COMPONENTS)), strict=True))
    instance = Instance(_NAME)
    settings = LaunchConfig(
        name=_NAME,
        runtime=Runtime.KUBERNETES,
        bin_dir=binaries,
        nodes=count,
        gpus=_GPUS,
        stages=("stress",),
        component_arg=(*flags, *(f"{component}=--secure-port={port}" for component, port in ports.items())),
    )
    try:
        launch_detached(settings)
        with contextlib.closing(Connection(Access(instance.kubeconfig))) as connection:
            time.sleep(_WARM_UP)
            yield _Cluster(instance.kubeconfig, connection, ports)
    finally:
        end(instance)


def _samples(port: int) -> dict[tuple[str, str], float]:
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(f"https://127.0.0.1:{port}/metrics", context=unverified) as answer:
        text = answer.read().decode()
    return {(name, labels): float(value) for name, labels, value in _SAMPLE.findall(text)}


def _job(name: str) -> Object:
    return {
        "metadata": {"name": name},
        "spec": {"template": {"spec": {**_pod_spec(), "restartPolicy": "Never"}}},
    }


def _pod_spec() -> Object:
    container = {"name": "main", "image": "busybox", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return {"containers": [container]}


def _until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing has come of it in {_PATIENCE:.0f} seconds")
        time.sleep(_INTERVAL)
