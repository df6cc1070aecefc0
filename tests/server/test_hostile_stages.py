"""A served cluster whose users apply hostile stages and patches: it serves on, and says which of them it was."""

from __future__ import annotations

import http.client
import json
import os
import resource
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

#: Bytes of address space for the whole server; what it needs without attacks is a third of that.
MEMORY = 3 << 30
#: Seconds to wait for a condition, however busy the machine is.
PATIENCE = 90
STAGES = "/apis/kwok.x-k8s.io/v1alpha1/stages"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JSON_PATCH = "application/json-patch+json"


class Served:
    """A cluster in a process of its own."""

    def __init__(self, directory: Path) -> None:
        config = yaml.safe_load((directory / "kubeconfig").read_text())
        self.directory = directory
        self._port = int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2])
        self._context = ssl.create_default_context(cafile=str(directory / "ca.crt"))
        self._token = config["users"][0]["user"]["token"]

    def call(self, method: str, target: str, body: Any = None, media: str = "application/json") -> tuple[int, Any]:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=PATIENCE)
        try:
            headers = {"authorization": f"Bearer {self._token}", "content-type": media}
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def make(self, target: str, obj: dict[str, Any]) -> None:
        status, answer = self.call("POST", target, obj)
        assert status == 201, answer

    def log(self) -> str:
        return (self.directory / "log").read_text()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    state = tmp_path_factory.mktemp("state")
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "KUBECONFIG": str(state / "mine")}
    ghostfleet = [sys.executable, "-m", "ghostfleet"]

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    up = [*ghostfleet, "up", "hostile", "--detach", "--quiet", "--nodes", "2"]
    subprocess.run(up, env=environment, check=True, timeout=PATIENCE, preexec_fn=bounded)
    try:
        yield Served(state / "ghostfleet" / "clusters" / "hostile")
    finally:
        subprocess.run([*ghostfleet, "down", "hostile", "--quiet"], env=environment, check=True, timeout=PATIENCE)


def eventually(condition: Callable[[], Any]) -> Any:
    """What a condition gives as soon as it gives something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def stage(name: str, **spec: Any) -> dict[str, Any]:
    """A stage for config maps that are called like it, so that no other test is disturbed."""
    chosen = {"matchLabels": {"for": name}}
    given = spec.pop("selector", {})
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "ConfigMap"},
            "selector": {**chosen, **given},
            "next": {"patches": [{"root": "data", "template": "done: yes"}]},
            **spec,
        },
    }


def patching(template: str) -> dict[str, Any]:
    return {"patches": [{"root": "data", "template": template}]}


def jq(query: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": query, "operator": "Exists"}]}


def cel(expression: str) -> dict[str, Any]:
    return {"matchExpressions": [{"cel": {"expression": expression}}]}


THIRTY = "[" + ",".join(["1"] * 30) + "]"
HOSTILE = {
    "template-loop": (
        {"next": patching("{{ range seq 1 1000000000 }}x{{ end }}")},
        "spec.next.patches[0].template: template: more than 50,000 steps",
    ),
    "template-nested": (
        {"next": patching("{{ range until 10 }}" * 30 + "x" + "{{ end }}" * 30)},
        "spec.next.patches[0].template: template: more than 50,000 steps",
    ),
    "template-shared": (
        {"next": patching("{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}")},
        "spec.next.patches[0].template: template: more than 50,000 steps",
    ),
    "jq-range": (
        {"selector": jq("[range(1e12)]")},
        "spec.selector.matchExpressions[0].key: jq '[range(1e12)]': more than 50,000 steps",
    ),
    "jq-repeat": (
        {"selector": jq("last(repeat(1))")},
        "spec.selector.matchExpressions[0].key: jq 'last(repeat(1))': more than 50,000 steps",
    ),
    "jq-delay": (
        {"delay": {"durationFrom": {"jq": {"expression": "until(false; .)"}}}},
        "spec.delay.durationFrom.jq.expression: jq 'until(false; .)': more than 50,000 steps",
    ),
    "cel-loops": (
        {"selector": cel(f"{THIRTY}.all(a, {THIRTY}.all(b, {THIRTY}.all(c, {THIRTY}.all(d, true))))")},
        "spec.selector.matchExpressions[0].cel.expression: cel",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_stage_is_named_where_it_fails_and_the_server_serves_on(served: Served, name: str):
    spec, place = HOSTILE[name]
    served.make(STAGES, stage(name, **spec))
    eventually(lambda: "conditions" in served.call("GET", f"{STAGES}/{name}")[1].get("status", {}))
    for number in range(3):
        metadata = {"name": f"{name}-{number}", "labels": {"for": name}}
        served.make(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    def told() -> list[str]:
        chosen = "reason=StageOverBudget"
        events = served.call("GET", f"/api/v1/namespaces/default/events?fieldSelector={chosen}")[1]["items"]
        return [each["message"] for each in events if each["involvedObject"]["name"].startswith(f"{name}-")]

    message = eventually(told)[0]
    assert message.startswith(f"stage '{name}': {place}")
    eventually(lambda: f"stage '{name}'" in served.log())
    assert served.call("GET", "/api/v1/namespaces")[0] == 200
    assert served.call("DELETE", f"{STAGES}/{name}")[0] == 200


def test_a_stage_that_is_plainly_too_large_is_refused_when_it_is_applied(served: Served):
    served.make(STAGES, stage("too-long", next=patching("x" * 70_000)))
    conditions = eventually(lambda: served.call("GET", f"{STAGES}/too-long")[1].get("status", {}).get("conditions"))
    assert conditions[0]["status"] == "False"
    assert conditions[0]["message"] == (
        "stage 'too-long': spec.next.patches[0].template: expected at most 65,536 characters, found 70,000"
    )
    assert served.call("DELETE", f"{STAGES}/too-long")[0] == 200


def test_copies_of_copies_are_refused_as_a_real_server_does(served: Served):
    served.make(
        MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copied"}, "data": {"k": "x" * 1000}}
    )
    copies = [{"op": "copy", "from": "/data", "path": f"/data/k{number}"} for number in range(60)]
    status, answer = served.call("PATCH", f"{MAPS}/copied", copies, JSON_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["message"] == "the server rejected our request due to an error in our request"
    assert answer["details"] == {}


def test_a_patch_of_too_many_operations_is_refused_as_a_real_server_does(served: Served):
    served.make(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "often"}, "data": {"k": "x"}})
    often = [{"op": "test", "path": "/data/k", "value": "x"}] * 10_001
    status, answer = served.call("PATCH", f"{MAPS}/often", often, JSON_PATCH)
    assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")
    why = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert answer["message"] == f"Request entity too large: {why}"


def test_an_object_cannot_grow_beyond_what_etcd_stores(served: Served):
    container = {"name": "main", "image": "busybox"}
    served.make(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "grows"}, "spec": {"containers": [container]}}
    )
    merge = "application/merge-patch+json"
    for field, expected in (("message", 200), ("reason", 500)):
        status, answer = served.call("PATCH", f"{PODS}/grows/status", {"status": {field: "x" * 900_000}}, merge)
        assert status == expected
    assert answer == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "etcdserver: request is too large",
        "code": 500,
    }


def test_pods_go_on_living_after_all_of_this(served: Served):
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    served.make(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "last"}, "spec": spec})
    eventually(lambda: served.call("GET", f"{PODS}/last")[1]["status"].get("phase") == "Running")
    assert "Traceback" not in served.log()
