"""up, down, status, list and kubeconfig."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import stat
import urllib.error
import urllib.request

import pytest
import yaml


def test_a_detached_cluster_says_where_it_is_how_to_use_it_and_how_to_end_it(ghostfleet):
    said = ghostfleet("up", "--detach")
    assert "Cluster default is ready at https://127.0.0.1:" in said
    assert f"export KUBECONFIG=~/{ghostfleet.directory('default').relative_to(ghostfleet.home)}/kubeconfig" in said
    assert "ghostfleet down default" in said
    assert "state:          ready" in ghostfleet("status")
    assert "Cluster default has ended." in ghostfleet("down")
    assert not ghostfleet.directory("default").exists()


def test_only_the_user_can_read_what_grants_access(ghostfleet):
    ghostfleet("up", "-d", "-q")
    directory = ghostfleet.directory("default")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name in ("kubeconfig", "server.key", "record.json", "log"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600, name


def test_requests_without_the_token_are_turned_away(ghostfleet):
    ghostfleet("up", "-d", "-q")
    config = yaml.safe_load(ghostfleet("kubeconfig"))
    server = config["clusters"][0]["cluster"]["server"]
    context = ssl.create_default_context(cafile=str(ghostfleet.directory("default") / "ca.crt"))
    with urllib.request.urlopen(f"{server}/version", context=context, timeout=10) as answer:
        assert json.load(answer)["gitVersion"].startswith("v1.")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{server}/api/v1/namespaces", context=context, timeout=10)
    assert caught.value.code == 401
    assert json.load(caught.value)["reason"] == "Unauthorized"
    caught.value.close()


def test_several_clusters_run_side_by_side(ghostfleet):
    assert "No clusters" in ghostfleet("list")
    for name in ("a", "b"):
        ghostfleet("up", name, "--detach", "--quiet", "--clock", "scaled:10" if name == "b" else "wall")
    rows = json.loads(ghostfleet("list", "-o", "json"))
    assert [(row["name"], row["state"], row["clock"]) for row in rows] == [
        ("a", "running", "wall"),
        ("b", "running", "scaled:10"),
    ]
    assert len({row["url"] for row in rows}) == 2
    assert [row["name"] for row in yaml.safe_load(ghostfleet("list", "-o", "yaml"))] == ["a", "b"]
    ghostfleet("down", "a")
    assert [row["name"] for row in json.loads(ghostfleet("list", "-o", "json"))] == ["b"]


def test_a_cluster_cannot_be_started_twice(ghostfleet):
    ghostfleet("up", "-d", "-q")
    assert "is running already; `ghostfleet down default` ends it" in ghostfleet("up", "-d", code=1)
    assert "is running already" in ghostfleet("up", code=1)


def test_what_a_killed_cluster_left_behind_is_cleared_away(ghostfleet):
    ghostfleet("up", "-d", "-q")
    record = json.loads((ghostfleet.directory("default") / "record.json").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    while json.loads(ghostfleet("list", "-o", "json"))[0]["state"] == "running":
        pass
    assert "is not running" in ghostfleet("status", code=1)
    assert "is ready" in ghostfleet("up", "-d")
    record = json.loads((ghostfleet.directory("default") / "record.json").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    while json.loads(ghostfleet("list", "-o", "json"))[0]["state"] == "running":
        pass
    assert "was not running" in ghostfleet("down")


def test_an_unreadable_record_is_said_and_can_be_cleared(ghostfleet):
    ghostfleet("up", "-d", "-q")
    (ghostfleet.directory("default") / "record.json").write_text("{ not json")
    assert "unreadable" in ghostfleet("list")
    assert "cannot read" in ghostfleet("status", code=1)
    assert "Cluster default has ended." in ghostfleet("down")
    assert not ghostfleet.directory("default").exists()


def test_a_port_that_is_taken_is_said_before_anything_is_announced(ghostfleet):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = ghostfleet("up", "--port", port, code=1)
        assert f"another program has port {port}" in said
        assert "--port" in said
        assert f"another program has port {port}" in ghostfleet("up", "-d", "--port", port, code=1)
    assert ghostfleet("list").startswith("No clusters")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["up", "--clock", "fast"], "known are wall, scaled:N"),
        (["up", "--clock", "scaled:-1"], "a number above 0"),
        (["up", "--clock", "virtual"], "needs wall or scaled:N"),
        (["up", "--no-tls", "--address", "0.0.0.0"], "could read the token"),
        (["up", "Bad Name"], "is not a name for a cluster"),
        (["up", "../escape"], "is not a name for a cluster"),
        (["up", "--port", "99999"], "65535"),
        (["down", "Bad Name"], "is not a name for a cluster"),
        (["kubeconfig", "-x"], "No such option"),
        (["fly"], "No such command"),
        (["up", "--commands", "obeyed"], "--commands obeyed: expected one of ignored, endless, played"),
        (["up", "--kai-policy", "none"], "--kai-policy none: expected kai or prefer-consolidation"),
        (["up", "--scheduler", "nothing"], "scheduler 'nothing': expected kai or path.py:Class"),
        (["up", "-d", "--scheduler", "nothing"], "scheduler 'nothing': expected kai or path.py:Class"),
        (["up", "--recreate-bare-pods"], "--recreate-bare-pods is for KAI; add --scheduler kai"),
        (["stress", "--scheduler", "kai", "--kai-profile", "v9"], "--kai-profile v9: expected v0.13 or latest"),
    ],
)
def test_wrong_usage_is_told_with_what_would_be_right(ghostfleet, arguments, words):
    assert words in ghostfleet(*arguments, code=2)


@pytest.mark.parametrize("command", ["down", "status", "kubeconfig"])
def test_a_cluster_that_is_not_there_is_said(ghostfleet, command):
    said = ghostfleet(command, "ghost", code=1)
    assert "ghost" in said


def test_a_kubeconfig_is_merged_and_taken_out_again(ghostfleet):
    ghostfleet.kubeconfig.parent.mkdir()
    mine = {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": "mine", "context": {"cluster": "c", "user": "u"}}],
    }
    ghostfleet.kubeconfig.write_text(yaml.safe_dump({**mine, "current-context": "mine"}))
    ghostfleet("up", "lab", "-d", "-q")
    assert "ghostfleet-lab" in ghostfleet("kubeconfig", "lab", "--merge")
    merged = yaml.safe_load(ghostfleet.kubeconfig.read_text())
    assert [each["name"] for each in merged["contexts"]] == ["mine", "ghostfleet-lab"]
    assert merged["current-context"] == "ghostfleet-lab"
    ghostfleet("down", "lab")
    after = yaml.safe_load(ghostfleet.kubeconfig.read_text())
    assert [each["name"] for each in after["contexts"]] == ["mine"]


def test_a_broken_kubeconfig_is_left_as_it_is(ghostfleet):
    ghostfleet.kubeconfig.parent.mkdir()
    ghostfleet.kubeconfig.write_text("[ not yaml")
    ghostfleet("up", "-d", "-q")
    assert "is not valid YAML" in ghostfleet("kubeconfig", "--merge", code=1)
    assert ghostfleet.kubeconfig.read_text() == "[ not yaml"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_cluster_at_once_even_with_open_watches(ghostfleet, number):
    process = ghostfleet.start("up", "--port", "0")
    assert process.stdout is not None
    assert "is ready at" in process.stdout.readline()
    config = yaml.safe_load(ghostfleet("kubeconfig"))
    server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
    context = ssl.create_default_context(cafile=str(ghostfleet.directory("default") / "ca.crt"))
    request = urllib.request.Request(f"{server}/api/v1/pods?watch=1", headers={"Authorization": f"Bearer {token}"})
    watches = [urllib.request.urlopen(request, context=context, timeout=30) for _ in range(20)]
    process.send_signal(number)
    rest, _ = process.communicate(timeout=30)
    assert "Cluster default has ended." in rest
    assert process.returncode == 0
    for watch in watches:
        watch.close()


def test_the_version_is_told(ghostfleet):
    assert ghostfleet("--version").startswith("ghostfleet ")
    assert "Usage" in ghostfleet("--help")


BROKEN = """
class Broken:
    name = "broken"

    def schedule(self, snapshot):
        raise LookupError("this scheduler cannot")
"""


def test_a_component_that_fails_is_shown_and_the_others_go_on(ghostfleet, tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    ghostfleet("up", "-d", "-q", "--nodes", "1", "--scheduler", f"{tmp_path / 'broken.py'}:Broken")
    config = yaml.safe_load(ghostfleet("kubeconfig"))
    context = ssl.create_default_context(cafile=str(ghostfleet.directory("default") / "ca.crt"))
    headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}", "Content-Type": "application/json"}
    pods = f"{config['clusters'][0]['cluster']['server']}/api/v1/namespaces/default/pods"

    def ask(url, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(url, data, headers)
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            return json.load(answer)

    for name, scheduler in (("stays", "broken"), ("goes", "default-scheduler")):
        spec = {"schedulerName": scheduler, "containers": [{"name": "c", "image": "i"}]}
        ask(pods, {"metadata": {"name": name}, "spec": spec})
    while ask(f"{pods}/goes")["status"].get("phase") != "Running":
        pass
    while "failed" not in ghostfleet("status"):
        pass
    assert "state:          failed: ghostfleet_scheduler_broken" in ghostfleet("status")
    assert "failed: ghostfleet_scheduler_broken" in ghostfleet("status", "-o", "json")
    log = (ghostfleet.directory("default") / "log").read_text()
    assert log.count("component ghostfleet_scheduler_broken failed; the others go on") == 1
    assert "LookupError: this scheduler cannot" in log
