"""What programs do with a cluster, done with every client library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from client_adapters.protocol import Adapter, Object, Refused

pytestmark = pytest.mark.clients


def pod(name: str, *, image: str = "busybox", node: str = "", **metadata: Any) -> Object:
    spec: Object = {"containers": [{"name": "main", "image": image}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def config(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return {**obj, "data": data} if data else obj


def deployment(name: str, replicas: int) -> Object:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def owned_by(owner: Object, name: str) -> Object:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    return config(name, ownerReferences=[reference])


def names(objects: list[Object]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def told(events: list[tuple[str, Object]]) -> list[tuple[str, str]]:
    return [(type_, obj["metadata"]["name"]) for type_, obj in events]


# -- create, get, list -----------------------------------------------------------------------------------------------


def test_a_created_object_comes_back_with_what_the_server_adds(client: Adapter, space: str) -> None:
    made = client.create(space, pod("a"))
    assert made["metadata"]["uid"]
    assert made["metadata"]["namespace"] == space
    assert made["spec"]["restartPolicy"] == "Always"
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert client.get("Pod", space, "a") == made


def test_a_name_can_be_generated(client: Adapter, space: str) -> None:
    obj = config("")
    obj["metadata"] = {"generateName": "run-"}
    first, second = client.create(space, obj), client.create(space, obj)
    assert first["metadata"]["name"].startswith("run-")
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_a_dry_run_stores_nothing(client: Adapter, space: str) -> None:
    assert client.create(space, pod("a"), dry_run=True)["spec"]["dnsPolicy"] == "ClusterFirst"
    assert client.list("Pod", space)[0] == []


def test_a_list_shows_what_labels_choose(client: Adapter, space: str) -> None:
    for name, team, size in (("a", "x", "big"), ("b", "x", "small"), ("c", "y", "small"), ("d", "z", "tiny")):
        client.create(space, config(name, labels={"team": team, "size": size}))
    assert names(client.list("ConfigMap", space, labels="team=x")[0]) == ["a", "b"]
    assert names(client.list("ConfigMap", space, labels="team in (x,y), size=small")[0]) == ["b", "c"]
    assert client.list("ConfigMap", space, labels="team=nobody")[0] == []


def test_a_list_shows_what_fields_choose(client: Adapter, space: str) -> None:
    client.create(space, pod("a", node="node-of-a"))
    client.create(space, pod("b"))
    assert names(client.list("Pod", space, fields="spec.nodeName=node-of-a")[0]) == ["a"]
    assert names(client.list("Pod", space, fields="metadata.name=b")[0]) == ["b"]


def test_a_list_can_span_namespaces(client: Adapter, space: str) -> None:
    client.create(space, pod("a", labels={"in": space}))
    found = client.list("Pod", "", labels=f"in={space}")[0]
    assert [(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in found] == [(space, "a")]


def test_a_list_comes_in_chunks_of_one_moment(client: Adapter, space: str) -> None:
    for number in range(7):
        client.create(space, pod(f"p{number}"))
    pages = client.pages("Pod", space, 3)
    assert [names(page) for page in pages] == [["p0", "p1", "p2"], ["p3", "p4", "p5"], ["p6"]]


# -- update and patch ------------------------------------------------------------------------------------------------


def test_an_update_replaces_an_object(client: Adapter, space: str) -> None:
    made = client.create(space, config("a", {"k": "1", "l": "1"}))
    changed = client.replace(space, {**made, "data": {"k": "2"}})
    assert changed["data"] == {"k": "2"}
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_an_update_of_an_old_version_is_a_conflict(client: Adapter, space: str) -> None:
    made = client.create(space, config("a", {"k": "1"}))
    client.replace(space, {**made, "data": {"k": "2"}})
    with pytest.raises(Refused) as refused:
        client.replace(space, {**made, "data": {"k": "3"}})
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert "the object has been modified" in refused.value.message
    assert client.get("ConfigMap", space, "a")["data"] == {"k": "2"}


def test_a_json_patch_changes_step_by_step(client: Adapter, space: str) -> None:
    client.create(space, config("a", {"k": "1", "l": "1"}))
    steps = [
        {"op": "test", "path": "/data/k", "value": "1"},
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "remove", "path": "/data/l"},
    ]
    assert client.patch("ConfigMap", space, "a", steps, "json")["data"] == {"k": "2"}
    with pytest.raises(Refused) as refused:
        client.patch("ConfigMap", space, "a", steps, "json")
    assert refused.value.code == 422


def test_a_merge_patch_sets_and_removes_fields(client: Adapter, space: str) -> None:
    client.create(space, config("a", {"k": "1", "l": "1"}))
    assert client.patch("ConfigMap", space, "a", {"data": {"k": None, "m": "1"}}, "merge")["data"] == {
        "l": "1",
        "m": "1",
    }


def test_a_strategic_patch_knows_lists_by_their_keys(client: Adapter, space: str) -> None:
    client.create(space, deployment("a", 1))
    sidecar = {"name": "sidecar", "image": "busybox:1"}
    patch = {"spec": {"template": {"spec": {"containers": [sidecar]}}}}
    patched = client.patch("Deployment", space, "a", patch, "strategic")
    assert sorted(each["name"] for each in patched["spec"]["template"]["spec"]["containers"]) == ["main", "sidecar"]


def test_applying_creates_and_then_owns(client: Adapter, space: str) -> None:
    def apply(data: dict[str, str], manager: str, *, force: bool = False) -> Object:
        return client.patch("ConfigMap", space, "a", config("a", data), "apply", manager=manager, force=force)

    assert apply({"k": "1", "l": "1"}, "one")["data"] == {"k": "1", "l": "1"}
    # What an applier no longer states, goes.
    assert apply({"k": "1"}, "one")["data"] == {"k": "1"}
    with pytest.raises(Refused) as refused:
        apply({"k": "2"}, "two")
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert 'conflict with "one"' in refused.value.message
    taken = apply({"k": "2"}, "two", force=True)
    assert taken["data"] == {"k": "2"}
    assert {entry["manager"]: entry["operation"] for entry in taken["metadata"]["managedFields"]} == {"two": "Apply"}


def test_the_status_is_written_on_its_own(client: Adapter, space: str) -> None:
    client.create(space, pod("a"))
    running = client.patch("Pod", space, "a", {"status": {"phase": "Running"}}, "merge", subresource="status")
    assert running["status"]["phase"] == "Running"
    ended = {**running, "status": {**running["status"], "phase": "Succeeded"}}
    ended["metadata"] = {**ended["metadata"], "labels": {"by": "status"}}
    assert client.replace(space, ended, subresource="status")["status"]["phase"] == "Succeeded"
    client.patch("Pod", space, "a", {"status": {"phase": "Failed"}}, "merge")
    assert client.get("Pod", space, "a")["status"]["phase"] == "Succeeded"


# -- delete ----------------------------------------------------------------------------------------------------------


def test_a_deleted_object_is_gone(client: Adapter, space: str) -> None:
    client.create(space, config("a"))
    client.delete("ConfigMap", space, "a")
    with pytest.raises(Refused) as refused:
        client.get("ConfigMap", space, "a")
    assert (refused.value.code, refused.value.reason) == (404, "NotFound")


def test_a_pod_on_a_node_is_deleted_gracefully(client: Adapter, space: str) -> None:
    client.create(space, pod("a", node="somewhere"))
    client.delete("Pod", space, "a", grace=600)
    marked = client.get("Pod", space, "a")["metadata"]
    assert marked["deletionTimestamp"]
    assert marked["deletionGracePeriodSeconds"] == 600
    client.delete("Pod", space, "a", grace=0)
    assert client.list("Pod", space)[0] == []


def test_many_are_deleted_by_a_selector(client: Adapter, space: str) -> None:
    client.needs("deleting by selector")
    for name in ("a", "b", "c"):
        client.create(space, pod(name, labels={"go": "no" if name == "b" else "yes"}))
    client.delete_all("Pod", space, labels="go=yes")
    assert names(client.list("Pod", space)[0]) == ["b"]


def test_dependents_go_after_their_owner_in_the_background(client: Adapter, space: str) -> None:
    owner = client.create(space, config("owner"))
    since = client.create(space, owned_by(owner, "dependent"))["metadata"]["resourceVersion"]
    client.delete("ConfigMap", space, "owner", propagation="Background")
    events = client.watch("ConfigMap", space, since, 2)
    assert told(events) == [("DELETED", "owner"), ("DELETED", "dependent")]


def test_dependents_go_before_their_owner_in_the_foreground(client: Adapter, space: str) -> None:
    owner = client.create(space, config("owner"))
    since = client.create(space, owned_by(owner, "dependent"))["metadata"]["resourceVersion"]
    client.delete("ConfigMap", space, "owner", propagation="Foreground")
    events = client.watch("ConfigMap", space, since, 3)
    assert told(events) == [("MODIFIED", "owner"), ("DELETED", "dependent"), ("DELETED", "owner")]
    assert events[0][1]["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_orphans_stay_and_forget_their_owner(client: Adapter, space: str) -> None:
    owner = client.create(space, config("owner"))
    since = client.create(space, owned_by(owner, "dependent"))["metadata"]["resourceVersion"]
    client.delete("ConfigMap", space, "owner", propagation="Orphan")
    events = client.watch("ConfigMap", space, since, 3)
    assert told(events) == [("MODIFIED", "owner"), ("MODIFIED", "dependent"), ("DELETED", "owner")]
    assert "ownerReferences" not in client.get("ConfigMap", space, "dependent")["metadata"]


# -- watch -----------------------------------------------------------------------------------------------------------


def test_a_watch_tells_all_changes_after_a_revision(client: Adapter, space: str) -> None:
    since = client.create(space, pod("before"))["metadata"]["resourceVersion"]
    client.create(space, pod("a"))
    client.patch("Pod", space, "a", {"metadata": {"labels": {"k": "v"}}}, "merge")
    client.delete("Pod", space, "a")
    client.create(space, pod("b"))
    events = client.watch("Pod", space, since, 4)
    assert told(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    revisions = [int(obj["metadata"]["resourceVersion"]) for _, obj in events]
    assert revisions == sorted(set(revisions))


def test_a_watch_goes_on_from_the_revision_of_a_list(client: Adapter, space: str) -> None:
    client.needs("revision of a list")
    client.create(space, pod("listed"))
    found, since = client.list("Pod", space)
    client.create(space, pod("watched"))
    assert names(found) == ["listed"]
    assert told(client.watch("Pod", space, since, 1)) == [("ADDED", "watched")]


def test_a_watch_with_a_selector_sees_objects_come_and_go(client: Adapter, space: str) -> None:
    since = client.create(space, config("a"))["metadata"]["resourceVersion"]
    for value in ("yes", "no", "yes"):
        client.patch("ConfigMap", space, "a", {"metadata": {"labels": {"seen": value}}}, "merge")
    events = client.watch("ConfigMap", space, since, 3, labels="seen=yes")
    assert told(events) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


def test_a_watch_can_begin_with_the_present_and_a_bookmark(client: Adapter, space: str) -> None:
    client.needs("bookmarks")
    client.create(space, pod("a"))
    events = client.initial_events("Pod", space, 2)
    assert [type_ for type_, _ in events] == ["ADDED", "BOOKMARK"]
    bookmark = events[1][1]["metadata"]
    assert bookmark["annotations"] == {"k8s.io/initial-events-end": "true"}
    client.create(space, pod("b"))
    assert told(client.watch("Pod", space, bookmark["resourceVersion"], 1)) == [("ADDED", "b")]


def test_a_watch_that_is_too_old_expires_and_can_start_anew(forgotten: Adapter) -> None:
    forgotten.needs("expiry")
    name = f"expiring-{forgotten.name.replace(' ', '-').replace('.', '-').replace('_', '-')}"
    since = forgotten.create("default", config(name))["metadata"]["resourceVersion"]
    for number in range(10):
        forgotten.patch("ConfigMap", "default", name, {"data": {"n": str(number)}}, "merge")
    with pytest.raises(Refused) as refused:
        forgotten.watch("ConfigMap", "default", since, 1)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    _, since = forgotten.list("ConfigMap", "default")
    forgotten.patch("ConfigMap", "default", name, {"data": {"n": "new"}}, "merge")
    ((_, obj),) = forgotten.watch("ConfigMap", "default", since, 1)
    assert obj["data"] == {"n": "new"}


# -- subresources ----------------------------------------------------------------------------------------------------


def test_a_deployment_is_scaled(client: Adapter, space: str) -> None:
    client.create(space, deployment("a", 1))
    scale = client.scale("Deployment", space, "a", 5)
    assert scale["spec"]["replicas"] == 5
    assert scale["status"]["selector"] == "app=a"
    assert client.get("Deployment", space, "a")["spec"]["replicas"] == 5


def test_a_pod_is_bound_to_a_node_once(client: Adapter, space: str) -> None:
    client.create(space, pod("a"))
    client.bind(space, "a", "some-node")
    bound = client.get("Pod", space, "a")
    assert bound["spec"]["nodeName"] == "some-node"
    assert {each["type"]: each["status"] for each in bound["status"]["conditions"]} == {"PodScheduled": "True"}
    with pytest.raises(Refused) as refused:
        client.bind(space, "a", "another-node")
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


def test_a_pod_is_evicted_unless_a_budget_forbids_it(client: Adapter, space: str) -> None:
    client.create(space, pod("free"))
    client.create(space, pod("kept", labels={"app": "kept"}))
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    client.patch("Pod", space, "kept", {"status": running}, "merge", subresource="status")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}
    client.create(space, budget)
    client.evict(space, "free")
    with pytest.raises(Refused) as refused:
        client.evict(space, "kept")
    assert (refused.value.code, refused.value.reason) == (429, "TooManyRequests")
    assert names(client.list("Pod", space)[0]) == ["kept"]


def test_a_running_pod_has_logs(client: Adapter, space: str) -> None:
    def become(state: Object) -> None:
        status = {"name": "main", "state": state, "image": "", "imageID": "", "ready": False, "restartCount": 0}
        patch = {"status": {"containerStatuses": [status]}}
        client.patch("Pod", space, "a", patch, "merge", subresource="status")

    client.create(space, pod("a", node="somewhere"))
    become({"waiting": {"reason": "ContainerCreating"}})
    with pytest.raises(Refused) as refused:
        client.logs(space, "a")
    assert refused.value.message == 'container "main" in pod "a" is waiting to start: ContainerCreating'
    become({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
    assert "main started" in client.logs(space, "a")


# -- refusals --------------------------------------------------------------------------------------------------------


def test_refusals_are_the_exceptions_of_the_client(client: Adapter, space: str) -> None:
    client.create(space, config("taken"))
    with pytest.raises(Refused) as refused:
        client.create(space, config("taken"))
    assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")
    assert isinstance(refused.value.__cause__, client.errors)
    with pytest.raises(Refused) as refused:
        client.get("Pod", space, "nobody")
    assert (refused.value.code, refused.value.reason) == (404, "NotFound")
    assert isinstance(refused.value.__cause__, client.errors)


def test_an_invalid_object_names_its_fields(client: Adapter, space: str) -> None:
    bad = pod("a")
    bad["spec"]["containers"][0] |= {"name": "Not A Name", "imagePullPolicy": "Sometimes"}
    with pytest.raises(Refused) as refused:
        client.create(space, bad)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert set(refused.value.causes) == {"spec.containers[0].name", "spec.containers[0].imagePullPolicy"}
    assert client.list("Pod", space)[0] == []


def test_a_wrong_token_is_refused(adapter: type[Adapter], served: Path, tmp_path: Path) -> None:
    forged = tmp_path / "kubeconfig"
    forged.write_text(re.sub(r"token: .*", "token: forged", served.read_text()))
    stranger = adapter(forged)
    try:
        with pytest.raises(Refused) as refused:
            stranger.get("Pod", "default", "a")
        assert (refused.value.code, refused.value.reason) == (401, "Unauthorized")
    finally:
        stranger.close()


def test_a_namespace_that_is_not_there_takes_nothing(client: Adapter) -> None:
    with pytest.raises(Refused) as refused:
        client.create("nowhere", config("a"))
    assert (refused.value.code, refused.value.reason) == (404, "NotFound")
    assert 'namespaces "nowhere" not found' in refused.value.message


# -- custom resources ------------------------------------------------------------------------------------------------

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.lab.example.com"},
    "spec": {
        "group": "lab.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "colour": {"type": "string", "default": "grey"},
                                    "replicas": {"type": "integer"},
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}


def widget(name: str, **spec: Any) -> Object:
    return {"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def widgets(client: Adapter) -> None:
    """The custom kind, made by whichever client comes first."""
    try:
        made = client.create("", WIDGETS)
    except Refused as error:
        if error.reason == "AlreadyExists":
            return
        raise
    since = made["metadata"]["resourceVersion"]
    while not any(
        each["type"] == "Established" and each["status"] == "True"
        for each in (made.get("status") or {}).get("conditions") or ()
    ):
        ((_, made),) = client.watch("CustomResourceDefinition", "", since, 1)
        since = made["metadata"]["resourceVersion"]


@pytest.mark.usefixtures("widgets")
def test_a_custom_kind_is_used_like_any_other(client: Adapter, space: str) -> None:
    made = client.create(space, widget("a", size=3, replicas=1, unknown="pruned"))
    assert made["spec"] == {"size": 3, "colour": "grey", "replicas": 1}
    since = made["metadata"]["resourceVersion"]
    assert client.patch("Widget", space, "a", {"spec": {"size": 4}}, "merge")["spec"]["size"] == 4
    ready = client.patch("Widget", space, "a", {"status": {"ready": True}}, "merge", subresource="status")
    assert (ready["status"], ready["metadata"]["generation"]) == ({"ready": True}, 2)
    assert client.scale("Widget", space, "a", 7)["spec"]["replicas"] == 7
    assert names(client.list("Widget", space)[0]) == ["a"]
    client.delete("Widget", space, "a")
    events = client.watch("Widget", space, since, 4)
    assert told(events) == [*[("MODIFIED", "a")] * 3, ("DELETED", "a")]


@pytest.mark.usefixtures("widgets")
def test_a_custom_object_is_validated_by_its_schema(client: Adapter, space: str) -> None:
    with pytest.raises(Refused) as refused:
        client.create(space, widget("a", size=0))
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.causes == ["spec.size"]


@pytest.mark.usefixtures("widgets")
def test_a_custom_object_is_applied(client: Adapter, space: str) -> None:
    client.patch("Widget", space, "a", widget("a", size=1), "apply", manager="one")
    applied = client.patch("Widget", space, "a", widget("a", size=2), "apply", manager="one")
    assert applied["spec"]["size"] == 2
    with pytest.raises(Refused) as refused:
        client.patch("Widget", space, "a", widget("a", size=3), "apply", manager="two")
    assert refused.value.reason == "Conflict"
