"""What a real kube-scheduler does with the scenarios.

kube-scheduler runs with `-v=10`, for then its log tells the score of every node. A scenario's nodes and residents are
made, the scheduler is given a moment to see them, and then the pods come one by one; afterwards everything is deleted.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
from controlplane import program_version, running
from parity_material.golden import GOLDEN, write_golden
from parity_material.scenarios import Scenario, scenario
from parity_material.scheduling import priority_classes, started
from parity_material.servers import Remote

__all__ = ["Verdicts", "record"]

_PODS = "/api/v1/namespaces/default/pods"
_NODES = "/api/v1/nodes"
_HEADERS = {"content-type": "application/json", "accept": "application/json"}
_SCORE = re.compile(r'"Calculated node\'s final score for pod" pod="default/([\w-]+)" node="([\w-]+)" score=(-?\d+)')
_MOMENT, _PATIENCE = 0.15, 15.0
Verdict = dict[str, Any]


class Verdicts:
    """What a running kube-scheduler makes of pods, from the API and from its log."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._server = Remote(kubeconfig)
        self._log = log
        self._read = 0

    def prepare(self) -> None:
        self._server.await_account("default")
        for each in priority_classes():
            self.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", each)

    def record(self, given: Scenario) -> list[Verdict]:
        try:
            for node in given.nodes:
                self.send("POST", _NODES, node)
            # A new node is tainted until somebody says that it is ready.
            for node in given.nodes:
                self.send(
                    "PATCH", f"{_NODES}/{node['metadata']['name']}", {"spec": {"taints": node["spec"].get("taints")}}
                )
            for pod in given.residents:
                self.send("POST", _PODS, pod)
                self.start(pod)
            time.sleep(_MOMENT)
            return self._verdicts(given.arrivals)
        finally:
            self.send("DELETE", f"{_PODS}?gracePeriodSeconds=0")
            self.send("DELETE", _NODES)
            self._until_empty()

    def start(self, pod: dict[str, Any]) -> None:
        self.send("PATCH", f"{_PODS}/{pod['metadata']['name']}/status", started(pod))

    def _verdicts(self, arrivals: list[dict[str, Any]]) -> list[Verdict]:
        """One for each pod, until somebody must go: then nothing is as it was."""
        verdicts = []
        for pod in arrivals:
            verdicts.append(self.of(pod))
            if verdicts[-1]["node"] is None:
                self.send("DELETE", f"{_PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
            else:
                self.start(pod)
            time.sleep(_MOMENT / 3)
            if verdicts[-1]["nominated"]:
                break
        return verdicts

    def of(self, pod: dict[str, Any], *, tried: bool = True) -> Verdict:
        """Create a pod and wait for what is decided; it may be one that is not even tried."""
        name = pod["metadata"]["name"]
        self.send("POST", _PODS, pod)
        if tried:
            self._await_decision(name)
        else:
            time.sleep(4 * _MOMENT)
        return self.now(name)

    def now(self, name: str) -> Verdict:
        """What has become of a pod."""
        seen = self.send("GET", f"{_PODS}/{name}")
        conditions = {each["type"]: each for each in seen["status"].get("conditions", ())}
        if seen["status"].get("nominatedNodeName"):
            # Victims are deleted in the background.
            time.sleep(4 * _MOMENT)
        pods = self.send("GET", _PODS)["items"]
        verdict: Verdict = {
            "node": seen["spec"].get("nodeName"),
            "message": conditions.get("PodScheduled", {}).get("message"),
            "nominated": seen["status"].get("nominatedNodeName"),
            "victims": sorted(each["metadata"]["name"] for each in pods if "deletionTimestamp" in each["metadata"]),
            "scores": self._scores(name),
        }
        return verdict

    def _await_decision(self, name: str) -> None:
        """Wait until a pod is bound or refused."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            pod = self.send("GET", f"{_PODS}/{name}")
            if any(each["type"] == "PodScheduled" for each in pod["status"].get("conditions", ())):
                return
            time.sleep(0.01)
        raise SystemExit(f"pod {name}: kube-scheduler did not decide within {_PATIENCE:.0f} seconds")

    def _scores(self, name: str) -> dict[str, int]:
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read().decode(errors="replace")
            self._read = log.tell()
        return {node: int(score) for pod, node, score in _SCORE.findall(text) if pod == name}

    def _until_empty(self) -> None:
        for path in (_PODS, _NODES):
            while self.send("GET", f"{path}?limit=1").get("items"):
                time.sleep(0.02)
        time.sleep(_MOMENT)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        headers = {**_HEADERS, "content-type": "application/merge-patch+json"} if method == "PATCH" else _HEADERS
        reply = self._server.send(method, path, b"" if body is None else orjson.dumps(body), headers)
        if reply.status >= 400 and reply.status != 404:
            raise SystemExit(f"{method} {path}: {reply.body.decode()}")
        return reply.value


def record(kubeconfig: Path, binaries: Path, count: int) -> None:
    """Record so many scenarios."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "scheduler.log"
        arguments = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0", "-v=10")
        with running(binaries / "kube-scheduler", log, *arguments):
            recorder = Verdicts(kubeconfig, log)
            recorder.prepare()
            time.sleep(3)
            lines = []
            for number in range(count):
                given = scenario(number)
                told = {"nodes": given.nodes, "residents": given.residents, "arrivals": given.arrivals}
                lines.append({"name": f"scenario {number}", **told, "verdicts": recorder.record(given)})
    recorded = {"kube-scheduler": program_version(binaries / "kube-scheduler")}
    write_golden(GOLDEN / "scheduler.jsonl.gz", recorded, lines)
