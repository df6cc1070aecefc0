"""The agent, at work on our own served cluster: the same requests that a real one gets."""

from __future__ import annotations

import pytest

from ghostfleet.drive import nodes as fleet_nodes
from ghostfleet.drive.devices import driver_of
from ghostfleet.stages.catalogue import stage_definition
from ghostfleet.stages.nodes import NodeShape, fake_nodes

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STAGES = "/apis/kwok.x-k8s.io/v1alpha1/stages"


def pod(name: str, node: str = "", **metadata) -> dict:
    spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def job(name: str, completions: int = 1) -> dict:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"completions": completions, "parallelism": completions, "template": template},
    }


def stage(name: str, kind: str, status: str, label: str = "", api_group: str = "v1") -> dict:
    selector = (
        {"matchLabels": {label: "yes"}}
        if label
        else {"matchExpressions": [{"key": ".status.phase", "operator": "DoesNotExist"}]}
    )
    spec = {
        "resourceRef": {"apiGroup": api_group, "kind": kind},
        "selector": selector,
        "next": {"statusTemplate": status},
    }
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def phase(pods: dict, name: str) -> str:
    return pods.get(name, {}).get("status", {}).get("phase", "")


def test_nodes_get_ready_and_keep_leases_of_their_own(desk, playing, is_ready):
    with playing(desk):
        nodes = desk.until("nodes", lambda seen: all(map(is_ready, seen.values())))
        leases = desk.until("leases", lambda seen: len(seen) == 2)
    for name, lease in leases.items():
        assert lease["spec"]["holderIdentity"] == name
        assert [owner["uid"] for owner in lease["metadata"]["ownerReferences"]] == [nodes[name]["metadata"]["uid"]]


def test_a_job_runs_to_its_end_on_nodes_that_the_agent_plays(desk, playing):
    with playing(desk) as agent:
        desk.create("jobs", job("hello", 5))
        jobs = desk.until("jobs", lambda seen: seen["hello"].get("status", {}).get("succeeded") == 5)
        assert agent.figures.nodes == 2
    assert jobs["hello"]["status"]["conditions"][-1]["type"] == "Complete"


def test_a_pod_with_a_claim_runs_when_it_has_its_devices(desk, playing):
    shape = NodeShape(count=1, prefix="gpus-", gpus=1, dra="example", fake_taint=False)
    fleet_nodes.add(desk.connection, fake_nodes(shape), lambda: None, driver_of(shape))
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    template = {"metadata": {"name": "gpus"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    desk.create("/apis/resource.k8s.io/v1/resourceclaimtemplates", template)
    claims = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    with playing(desk):
        for name in ("first", "second"):
            wanted = pod(name)
            desk.create("pods", {**wanted, "spec": {**wanted["spec"], "resourceClaims": claims}})
        desk.until("pods", lambda seen: phase(seen, "first") == "Running")
        desk.delete("pods", "first")
        desk.until("pods", lambda seen: phase(seen, "second") == "Running")


def test_a_pod_that_is_deleted_ends(desk, playing):
    with playing(desk, "general"):
        desk.create("pods", pod("a"))
        desk.until("pods", lambda seen: phase(seen, "a") == "Running")
        desk.delete("pods", "a")
        desk.until("pods", lambda seen: "a" not in seen)


def test_nodes_that_are_not_marked_as_fake_are_left_alone(desk, playing):
    desk.create("nodes", {"metadata": {"name": "real"}})
    desk.create("pods", pod("there", "real"))
    with playing(desk) as agent:
        desk.create("pods", pod("here", "kwok-node-0"))
        seen = desk.until("pods", lambda seen: phase(seen, "here") == "Running")
        assert (agent.figures.nodes, agent.figures.pods) == (2, 1)
    assert phase(seen, "there") == "Pending"
    assert not desk.get("nodes", "real")["status"].get("conditions")


def test_pods_that_came_before_their_node_are_played_once_it_is_there(desk, playing):
    with playing(desk):
        desk.create("pods", pod("early", "late"))
        desk.create("pods", pod("other", "kwok-node-0"))
        desk.until("pods", lambda seen: phase(seen, "other") == "Running")
        desk.create(
            "nodes",
            {
                "metadata": {"name": "late", "annotations": {"kwok.x-k8s.io/node": "fake"}},
                "status": {"allocatable": {"pods": "9"}},
            },
        )
        desk.until("pods", lambda seen: phase(seen, "early") == "Running")


def test_nothing_happens_on_a_node_that_has_failed_until_it_goes_on(desk, playing):
    with playing(desk):
        fleet_nodes.mark_failed(desk.connection, "kwok-node-0", True)
        desk.until("nodes", lambda seen: "ghostfleet.dev/failed" in seen["kwok-node-0"]["metadata"]["labels"])
        desk.create("pods", pod("silent", "kwok-node-0"))
        desk.create("pods", pod("lively", "kwok-node-1"))
        seen = desk.until("pods", lambda seen: phase(seen, "lively") == "Running")
        assert phase(seen, "silent") == "Pending"
        fleet_nodes.mark_failed(desk.connection, "kwok-node-0", False)
        desk.until("pods", lambda seen: phase(seen, "silent") == "Running")


def test_a_pod_that_does_not_fit_is_rejected(desk, playing):
    desk.create(
        "nodes",
        {
            "metadata": {"name": "small", "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "status": {"allocatable": {"pods": "1"}},
        },
    )
    with playing(desk):
        desk.create("pods", pod("first", "small"))
        desk.until("pods", lambda seen: phase(seen, "first") == "Running")
        desk.create("pods", pod("second", "small"))
        seen = desk.until("pods", lambda seen: phase(seen, "second") == "Failed")
        assert seen["second"]["status"]["reason"] == "OutOfpods"
        told = desk.until("events", lambda seen: any(each["reason"] == "OutOfpods" for each in seen.values()))
    assert any(each["involvedObject"]["name"] == "second" for each in told.values())


def test_an_agent_that_is_started_again_goes_on_and_gives_no_address_twice(desk, playing):
    for number in range(2):
        with playing(desk):
            for each in range(3):
                desk.create("pods", pod(f"p{number}-{each}", "kwok-node-0"))
            seen = desk.until("pods", lambda seen: all(one["status"].get("podIP") for one in seen.values()))
    assert len({one["status"]["podIP"] for one in seen.values()}) == 6


def test_stages_that_are_applied_to_the_cluster_are_played(desk, playing):
    desk.connection.create(DEFINITIONS, stage_definition())
    desk.until(
        DEFINITIONS,
        lambda seen: any(
            each["type"] == "Established"
            for each in seen["stages.kwok.x-k8s.io"].get("status", {}).get("conditions", ())
        ),
    )
    desk.connection.create(
        STAGES,
        {
            **stage("odd", "Pod", "message: {{ .metadata.name }} is odd", "odd"),
            "spec": {
                **stage("odd", "Pod", "message: {{ .metadata.name }} is odd", "odd")["spec"],
                "weight": 10_000_000,
            },
        },
    )
    with playing(desk):
        desk.until(STAGES, lambda seen: seen["odd"].get("status", {}).get("conditions"))
        desk.create("pods", pod("a", "kwok-node-0", labels={"odd": "yes"}))
        seen = desk.until("pods", lambda seen: seen["a"]["status"].get("message"))
    assert seen["a"]["status"]["message"] == "a is odd"


def test_custom_resources_have_stages_too(desk, playing, tmp_path):
    import yaml

    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    desk.connection.create(
        DEFINITIONS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
                ],
            },
        },
    )
    desk.until(
        DEFINITIONS,
        lambda seen: any(
            each["type"] == "Established"
            for each in seen["widgets.example.com"].get("status", {}).get("conditions", ())
        ),
    )
    file = tmp_path / "widgets.yaml"
    file.write_text(yaml.safe_dump(stage("done", "Widget", "phase: Done", api_group="example.com/v1")))
    widgets = "/apis/example.com/v1/widgets"
    with playing(desk, "fast", str(file)):
        desk.connection.create(
            "/apis/example.com/v1/namespaces/default/widgets",
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}},
        )
        seen = desk.until(widgets, lambda seen: seen["w"].get("status"))
    assert seen["w"]["status"]["phase"] == "Done"


def test_a_cluster_that_does_not_answer_is_told_in_one_line(shell, tmp_path):
    from ghostfleet.server import kubeconfig

    path = tmp_path / "kubeconfig"
    kubeconfig.write(path, kubeconfig.render("gone", "http://127.0.0.1:9", "t", None))
    said = shell("agent", "--kubeconfig", str(path), code=1)
    assert said.startswith("ghostfleet: http://127.0.0.1:9 does not answer: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--stages", "nothing"], "nothing: neither a file or directory nor one of the sets"),
        (["--node-labels", "a=!"], "--node-annotations or --node-labels"),
    ],
)
def test_wrong_options_are_told_in_one_line(shell, desk, options, said):
    assert said in shell("agent", "--kubeconfig", str(desk.kubeconfig), *options, code=2)
