"""What a real kube-scheduler does with the scenarios of devices, `tests/parity/parity_material/device_scenarios.py`.

kube-controller-manager makes the claims of templates. A scenario's classes, slices, claims, nodes and residents are
made, the scheduler is given a moment to see them, and then the pods come one by one. After each, the claims of all pods
are written down with what they hold. A pod for which a claim was given back is waited for until it was tried again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from controlplane import program_version, running
from parity_material.device_scenarios import COUNT, device_scenario
from parity_material.device_scheduling import DEALLOCATED, NAMESPACE_LABELS, is_tried, seen_claims
from parity_material.golden import GOLDEN, write_golden
from scheduling import Verdicts

__all__ = ["record"]

_RESOURCE = "/apis/resource.k8s.io/v1"
_HERE = f"{_RESOURCE}/namespaces/default"
_PODS, _NODES, _CLAIMS = "/api/v1/namespaces/default/pods", "/api/v1/nodes", f"{_HERE}/resourceclaims"
#: Where the objects of a scenario go, in this order.
_COLLECTIONS = {
    "classes": f"{_RESOURCE}/deviceclasses",
    "slices": f"{_RESOURCE}/resourceslices",
    "templates": f"{_HERE}/resourceclaimtemplates",
    "claims": _CLAIMS,
    "nodes": _NODES,
    "residents": _PODS,
}
_EVENTS = "/api/v1/namespaces/default/events"
_MOMENT, _PATIENCE = 0.25, 6.0
Object = dict[str, Any]


def record(kubeconfig: Path, binaries: Path) -> None:
    """Record all scenarios."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "scheduler.log"
        arguments = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0", "-v=10")
        with running(binaries / "kube-scheduler", log, *arguments):
            recorder = _Recorder(Verdicts(kubeconfig, log))
            recorder.prepare()
            lines = [recorder.line(number) for number in range(COUNT)]
    programs = ("kube-scheduler", "kube-controller-manager", "kube-apiserver")
    recorded = {name: program_version(binaries / name) for name in programs}
    write_golden(GOLDEN / "devices.jsonl.gz", recorded, lines)


class _Recorder:
    """Plays scenarios on a real cluster."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._send = verdicts.send

    def prepare(self) -> None:
        self._verdicts.prepare()
        self._send("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": NAMESPACE_LABELS}})
        time.sleep(3)

    def line(self, number: int) -> Object:
        given = device_scenario(number)
        try:
            self._make(given)
            time.sleep(_MOMENT)
            verdicts = self._play(given)
        finally:
            self._clear()
        print(f"scenario {number}: {len(verdicts)} pods", file=sys.stderr)
        return {"name": f"scenario {number}", **given, "verdicts": verdicts}

    def _make(self, given: Object) -> None:
        uids = {}
        for part, collection in _COLLECTIONS.items():
            for obj in given[part]:
                made = self._send("POST", collection, {**obj, "status": obj["status"] if part == "nodes" else None})
                uids[obj["metadata"]["name"]] = made["metadata"]["uid"]
        for node in given["nodes"]:
            # A new node is tainted until somebody says that it is ready.
            taints = {"spec": {"taints": node["spec"].get("taints")}}
            self._send("PATCH", f"{_NODES}/{node['metadata']['name']}", taints)
        for pod in given["residents"]:
            self._verdicts.start(pod)
        for claim in given["claims"]:
            if "status" in claim:
                self._hold(claim, uids)

    def _hold(self, claim: Object, uids: dict[str, str]) -> None:
        """Let a claim have the devices that it holds in the scenario, for the pods that use it."""
        names = claim["status"].get("reservedFor", ())
        users = [{"resource": "pods", "name": name, "uid": uids[name]} for name in names]
        path = f"{_CLAIMS}/{claim['metadata']['name']}/status"
        self._send("PATCH", path, {"status": {**claim["status"], "reservedFor": users}})

    def _play(self, given: Object) -> list[Object]:
        """A verdict for each pod, until somebody must go: then nothing is as it was."""
        verdicts = []
        for pod in given["arrivals"]:
            verdict = self._verdict(pod)
            verdicts.append(verdict)
            if verdict["nominated"]:
                break
            if verdict["node"] is None:
                self._remove(pod)
            else:
                self._verdicts.start(pod)
            time.sleep(_MOMENT / 2)
        return verdicts

    def _verdict(self, pod: Object) -> Object:
        name = pod["metadata"]["name"]
        verdict = self._verdicts.of(pod, tried=is_tried(pod))
        end = time.monotonic() + _PATIENCE
        while DEALLOCATED in (verdict["message"] or "") and verdict["node"] is None and time.monotonic() < end:
            # It is tried again at once, or after its back-off.
            time.sleep(_MOMENT)
            verdict = self._verdicts.now(name)
        if any("resourceClaimName" in each for each in pod["spec"].get("resourceClaims", ())):
            # Events are written in the background.
            time.sleep(_MOMENT)
        seen = self._send("GET", f"{_PODS}/{name}")
        events = self._send("GET", f"{_EVENTS}?fieldSelector=involvedObject.uid={seen['metadata']['uid']}")["items"]
        return seen_claims(verdict, seen, self._send("GET", _CLAIMS)["items"], events)

    def _remove(self, pod: Object) -> None:
        """Delete a pod and wait until the claims that were made for it are gone, too."""
        self._send("DELETE", f"{_PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
        while any(_is_of(each, pod) for each in self._send("GET", _CLAIMS)["items"]):
            time.sleep(0.02)

    def _clear(self) -> None:
        self._send("DELETE", f"{_PODS}?gracePeriodSeconds=0")
        for collection in reversed(_COLLECTIONS.values()):
            if collection != _PODS:
                self._send("DELETE", collection)
        for claim in self._send("GET", _CLAIMS)["items"]:
            self._send("PATCH", f"{_CLAIMS}/{claim['metadata']['name']}", {"metadata": {"finalizers": None}})
        for collection in _COLLECTIONS.values():
            while self._send("GET", f"{collection}?limit=1").get("items"):
                time.sleep(0.02)
        time.sleep(_MOMENT / 2)


def _is_of(claim: Object, pod: Object) -> bool:
    owners = claim["metadata"].get("ownerReferences", ())
    return any(each["name"] == pod["metadata"]["name"] for each in owners)
