"""kubectl apply, diff, replace, edit and the four sorts of patches."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.kubectl

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: COLOR}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1.26", env: [{name: A, value: "1"}]}
      - {name: side, image: busybox}
"""


def test_apply_creates_then_changes_nothing_then_configures(kubectl):
    assert "configmap/settings created" in kubectl.apply(CONFIG)
    assert "configmap/settings unchanged" in kubectl.apply(CONFIG)
    assert "configmap/settings configured" in kubectl.apply(CONFIG.replace("COLOR", "blue"))
    assert kubectl.json("get", "cm", "settings")["data"] == {"color": "blue"}


def test_apply_removes_what_left_the_manifest(kubectl):
    kubectl.apply(DEPLOYMENT)
    kubectl.apply(DEPLOYMENT.replace("      - {name: side, image: busybox}\n", "").replace("1.26", "1.27"))
    containers = kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"]
    assert [(each["name"], each["image"]) for each in containers] == [("main", "nginx:1.27")]


def test_apply_of_several_documents_and_from_files(kubectl, tmp_path):
    (tmp_path / "a.yaml").write_text(CONFIG)
    (tmp_path / "b.json").write_text(
        json.dumps(json.loads('{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}'))
    )
    assert set(kubectl("apply", "-f", str(tmp_path)).split("\n")[:-1]) == {
        "configmap/settings created",
        "secret/s created",
    }
    assert "created (dry run)" in kubectl("create", "-f", "-", "--dry-run=client", stdin=DEPLOYMENT)
    assert "server dry run" in kubectl.apply(DEPLOYMENT, "--dry-run=server")
    kubectl("get", "deploy", "web", code=1)


def test_apply_prunes_what_is_no_longer_in_the_set(kubectl, space):
    other = CONFIG.replace("settings", "other")
    kubectl.apply(CONFIG + "---" + other)
    pruned = kubectl.apply(
        CONFIG,
        "--prune",
        "-l",
        "app=web",
        "--prune-whitelist=core/v1/ConfigMap" if not kubectl.has(26) else "--prune-allowlist=core/v1/ConfigMap",
    )
    assert "configmap/other pruned" in pruned
    assert kubectl("get", "cm", "-l", "app=web", "-o", "name").split() == ["configmap/settings"]


def test_server_side_apply_owns_fields_and_conflicts(kubectl):
    assert "serverside-applied" in kubectl.apply(DEPLOYMENT, "--server-side")
    assert "serverside-applied" in kubectl.apply(DEPLOYMENT, "--server-side")
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 5")
    refused = kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=changed, code=1)
    assert 'conflict with "kubectl"' in refused
    assert ".spec.replicas" in refused
    assert "serverside-applied" in kubectl.apply(changed, "--server-side", "--field-manager=other", "--force-conflicts")
    assert kubectl.json("get", "deploy", "web")["spec"]["replicas"] == 5


def test_client_side_objects_can_be_taken_over_by_server_side_apply(kubectl):
    kubectl.needs(26, "the migration from client-side apply")
    kubectl.apply(CONFIG)
    assert "serverside-applied" in kubectl.apply(CONFIG.replace("COLOR", "red"), "--server-side")
    assert kubectl.json("get", "cm", "settings")["data"] == {"color": "red"}


def test_apply_edits_and_views_the_last_applied_configuration(kubectl):
    kubectl.apply(CONFIG)
    assert "color: COLOR" in kubectl("apply", "view-last-applied", "configmap/settings")
    kubectl("apply", "set-last-applied", "-f", "-", stdin=CONFIG.replace("COLOR", "x"))
    assert "color: x" in kubectl("apply", "view-last-applied", "configmap/settings")


def test_diff_tells_what_apply_would_change(kubectl):
    kubectl.apply(DEPLOYMENT)
    assert kubectl("diff", "-f", "-", stdin=DEPLOYMENT) == ""
    difference = kubectl("diff", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 3"), code=1)
    assert "-  replicas: 2" in difference
    assert "+  replicas: 3" in difference


def test_replace_takes_the_whole_object(kubectl):
    kubectl("create", "-f", "-", stdin=CONFIG)
    assert "configmap/settings replaced" in kubectl("replace", "-f", "-", stdin=CONFIG.replace("COLOR", "green"))
    assert kubectl.json("get", "cm", "settings")["data"] == {"color": "green"}
    assert "replaced" in kubectl("replace", "--force", "-f", "-", stdin=CONFIG)
    assert "already exists" in kubectl("create", "-f", "-", stdin=CONFIG, code=1)
    ghost = CONFIG.replace("settings", "ghost")
    assert "not found" in kubectl("replace", "-f", "-", stdin=ghost, code=1)


def test_edit_opens_an_editor_and_saves(kubectl):
    kubectl("create", "-f", "-", stdin=CONFIG)
    said = kubectl("edit", "cm", "settings", env={"KUBE_EDITOR": "sed -i s/COLOR/yellow/"})
    assert "configmap/settings edited" in said
    assert kubectl.json("get", "cm", "settings")["data"] == {"color": "yellow"}


def test_patches_of_all_sorts(kubectl):
    kubectl.apply(DEPLOYMENT)
    kubectl(
        "patch", "deploy", "web", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"n:2"}]}}}}'
    )
    containers = kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"]
    assert [each["image"] for each in containers] == ["n:2", "busybox"]
    kubectl("patch", "deploy", "web", "--type=merge", "-p", '{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":4}}')
    kubectl("patch", "deploy", "web", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/a"}]')
    after = kubectl.json("get", "deploy", "web")
    assert after["spec"]["replicas"] == 4
    assert "labels" not in after["metadata"] or "a" not in after["metadata"]["labels"]
    assert "no change" in kubectl("patch", "deploy", "web", "-p", '{"spec":{"replicas":4}}')
    bad = kubectl(
        "patch", "deploy", "web", "--type=json", "-p", '[{"op":"test","path":"/spec/replicas","value":9}]', code=1
    )
    assert "rejected our request" in bad or "The request is invalid" in bad


def test_a_status_is_patched_through_its_subresource(kubectl):
    kubectl.needs(24, "--subresource")
    kubectl.apply(DEPLOYMENT)
    kubectl("patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":2}}')
    assert kubectl.json("get", "deploy", "web")["status"]["replicas"] == 2
    kubectl("patch", "deploy", "web", "--type=merge", "-p", '{"status":{"replicas":9}}')
    assert kubectl.json("get", "deploy", "web")["status"]["replicas"] == 2
    assert "Scale" in kubectl("get", "deploy", "web", "--subresource=scale", "-o", "yaml")


def test_bad_manifests_are_refused_with_the_place(kubectl):
    unknown = kubectl("apply", "-f", "-", stdin=DEPLOYMENT.replace("replicas:", "replicaz:"), code=1)
    assert "replicaz" in unknown
    missing = kubectl(
        "create",
        "--validate=false",
        "-f",
        "-",
        stdin="apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n",
        code=1,
    )
    assert "spec.containers: Required value" in missing
    several = (
        CONFIG + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: UPPER}\nspec: {containers: [{name: a, image: b}]}\n"
    )
    said = kubectl("create", "-f", "-", stdin=several, code=1)
    assert "configmap/settings created" in said
    assert 'metadata.name: Invalid value: "UPPER"' in said
    assert "no matches for kind" in kubectl(
        "create", "-f", "-", stdin="apiVersion: x/v1\nkind: Ghost\nmetadata: {name: a}\n", code=1
    )
