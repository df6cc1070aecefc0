"""A real control plane under our commands."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(240), pytest.mark.xdist_group("real")]

JOB = {
    "metadata": {"name": "hello"},
    "spec": {"completions": 4, "parallelism": 4, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}},
}  # fmt: skip


def succeeded(name: str, count: int):
    return lambda seen: seen.get(name, {}).get("status", {}).get("succeeded") == count


def children(pid: int) -> dict[int, str]:
    """The processes that one started, with their names."""
    found = (Path(f"/proc/{pid}/task/{pid}/children").read_text()).split()
    return {int(each): Path(f"/proc/{each}/comm").read_text().strip() for each in found}


def alive(pids) -> list[int]:
    return [
        pid
        for pid in pids
        if Path(f"/proc/{pid}").exists()
        and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    ]


def wait_for_end(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([handle], [], [], 60)
    os.close(handle)
    assert ended, f"process {pid} does not end"


@pytest.fixture(scope="module")
def real(programs, shell):
    shell("up", "real", "--runtime", "kubernetes", "--nodes", "3", "--gpus", "8", "--detach")
    yield shell.desk("real")
    shell("down", "real")


def test_it_answers_to_the_same_commands(real, shell):
    said = shell("status", "real")
    assert "state:          ready" in said
    assert "runtime:        kubernetes" in said
    assert "nodes:          3" in said
    row = json.loads(shell("list", "-o", "json"))[0]
    assert (row["name"], row["state"], row["runtime"]) == ("real", "running", "kubernetes")
    assert shell("kubeconfig", "real", "--path").strip() == str(real.kubeconfig)


def test_only_the_user_can_read_what_grants_access(real, shell):
    directory = shell.directory("real")
    for path in (directory, directory / "logs", directory / "etcd"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    for name in ("kubeconfig", "tokens.csv", "accounts.key", "server.key", "logs/kube-apiserver.log"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600, name


def test_a_job_runs_to_its_end(real):
    real.create("jobs", JOB)
    real.until("jobs", succeeded("hello", 4))


def test_nodes_are_added_scaled_and_removed(real, shell, is_ready):
    shell("nodes", "add", "--count", "2", "--prefix", "extra-", "--gpus", "4", "--cluster", "real")
    real.until("nodes", lambda seen: len(seen) == 5 and all(map(is_ready, seen.values())))
    shell("nodes", "scale", "--count", "4", "--prefix", "extra-", "--cluster", "real")
    real.until("nodes", lambda seen: len(seen) == 7 and all(map(is_ready, seen.values())))
    shell("nodes", "remove", "--prefix", "extra-", "--cluster", "real")
    real.until("nodes", lambda seen: len(seen) == 3)


def test_a_node_that_fails_gets_not_ready_and_recovers(real, shell, is_ready):
    shell("nodes", "fail", "kwok-node-1", "--cluster", "real")
    real.until("nodes", lambda seen: not is_ready(seen["kwok-node-1"]))
    shell("nodes", "recover", "kwok-node-1", "--cluster", "real")
    real.until("nodes", lambda seen: is_ready(seen["kwok-node-1"]))


def test_when_one_part_dies_all_end_and_the_status_says_why(programs, shell):
    shell("up", "frail", "--runtime", "kubernetes", "--detach", "--quiet")
    pid = json.loads((shell.directory("frail") / "record.json").read_text())["pid"]
    parts = children(pid)
    assert sorted(parts.values()) == ["etcd", "kube-apiserver", "kube-controller", "kube-scheduler", "kwok"]
    os.kill(next(each for each, name in parts.items() if name == "kube-apiserver"), signal.SIGKILL)
    wait_for_end(pid)
    assert not alive(parts)
    said = shell("status", "frail", code=1)
    assert "cluster frail is not running: kube-apiserver was ended by SIGKILL: " in said
    assert str(shell.directory("frail") / "logs" / "kube-apiserver.log") in said
    shell("down", "frail")
    assert not shell.directory("frail").exists()


def test_nothing_is_left_when_its_process_is_killed(programs, shell):
    shell("up", "killed", "--runtime", "kubernetes", "--disable", "controllers,scheduler,stages", "-d", "-q")
    pid = json.loads((shell.directory("killed") / "record.json").read_text())["pid"]
    parts = children(pid)
    os.kill(pid, signal.SIGKILL)
    for part in parts:
        wait_for_end(part)
    assert "was not running" in shell("down", "killed")


def test_a_component_gets_the_flags_that_are_given_for_it(programs, shell):
    arguments = [
        "kube-scheduler=--kube-api-qps=777",
        "kube-scheduler=--kube-api-burst=888",
        "kube-apiserver=--allow-privileged=false",
    ]
    words = [word for argument in arguments for word in ("--component-arg", argument)]
    shell("up", "tuned", "--runtime", "kubernetes", "--disable", "controllers,stages", *words, "-d", "-q")
    pid = json.loads((shell.directory("tuned") / "record.json").read_text())["pid"]
    told = {name: Path(f"/proc/{each}/cmdline").read_text().split("\0")[1:-1] for each, name in children(pid).items()}
    assert told["kube-scheduler"][-2:] == ["--kube-api-qps=777", "--kube-api-burst=888"]
    assert [word for word in told["kube-apiserver"] if "privileged" in word] == ["--allow-privileged=false"]
    shell("down", "tuned")


def test_a_flag_that_a_component_does_not_know_is_said(programs, shell):
    words = ["--component-arg", "kube-scheduler=--no-such-flag=1"]
    said = shell("up", "wrong", "--runtime", "kubernetes", "--disable", "stages", *words, "-d", code=1)
    assert "kube-scheduler ended with exit code 1: " in said
    assert "unknown flag: --no-such-flag" in said
    shell("down", "wrong")


def test_it_ends_at_once_by_ctrl_c(programs, shell):
    started = shell.start("up", "here", "--runtime", "kubernetes", "--disable", "controllers,scheduler,stages")
    assert started.stdout is not None
    assert started.stdout.readline().startswith("Cluster here is ready at https://127.0.0.1:")
    parts = children(started.pid)
    assert sorted(parts.values()) == ["etcd", "kube-apiserver"]
    started.send_signal(signal.SIGINT)
    said, _ = started.communicate(timeout=30)
    assert started.returncode == 0
    assert "Cluster here has ended." in said
    assert not alive(parts)
    assert not shell.directory("here").exists()


def test_the_agent_plays_the_nodes_of_a_real_cluster(programs, shell, playing, is_ready):
    shell("up", "lab", "--runtime", "kubernetes", "--nodes", "3", "--gpus", "8", "--disable", "stages", "-d", "-q")
    desk = shell.desk("lab")
    with playing(desk, "general"):
        desk.until("nodes", lambda seen: all(map(is_ready, seen.values())))
        desk.create("jobs", JOB)
        desk.until("jobs", succeeded("hello", 4))
        pods = desk.until("pods", lambda seen: len(seen) == 4)
        for name in pods:
            desk.delete("pods", name)
        desk.until("pods", lambda seen: not seen)
    shell("down", "lab")


SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def test_devices_are_published_and_given_on_a_real_cluster_as_on_ours(programs, shell, playing, is_ready):
    shell("up", "own", "--nodes", "2", "--gpus", "2", "--dra", "nvidia", "-d", "-q")
    ours = {each["metadata"]["name"]: each["spec"] for each in shell.desk("own").connection.items(SLICES)}
    shell("down", "own")
    named = ("--nodes", "2", "--gpus", "2", "--dra", "nvidia", "--disable", "stages")
    shell("up", "lab", "--runtime", "kubernetes", *named, "-d", "-q")
    desk = shell.desk("lab")
    assert {each["metadata"]["name"]: each["spec"] for each in desk.connection.items(SLICES)} == ours
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    template = {"metadata": {"name": "gpus"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    desk.create("/apis/resource.k8s.io/v1/resourceclaimtemplates", template)
    claims = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    container = {"name": "c", "image": "i"}
    with playing(desk, "general"):
        desk.until("nodes", lambda seen: all(map(is_ready, seen.values())))
        for name in ("a", "b", "c"):
            spec = {"containers": [container], "resourceClaims": claims}
            desk.create("pods", {"metadata": {"name": name}, "spec": spec})
        old = {**container, "resources": {"limits": {"nvidia.com/gpu": 1}}}
        desk.create("pods", {"metadata": {"name": "old-way"}, "spec": {"containers": [old]}})
        running = lambda seen: [pod["status"].get("phase") for pod in seen.values()] == ["Running"] * 4  # noqa: E731
        pods = desk.until("pods", running)
    assert "extendedResourceClaimStatus" in pods["old-way"]["status"]
    shell("nodes", "remove", "kwok-node-0", "--cluster", "lab")
    desk.until(SLICES, lambda seen: all(each["spec"]["nodeName"] == "kwok-node-1" for each in seen.values()))
    shell("down", "lab")


def test_without_kwok_our_own_engine_plays_the_nodes(programs, shell, tmp_path, is_ready):
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        (tmp_path / name).symlink_to(programs[name])
    environment = shell.environment
    shell.environment = {
        **environment,
        "XDG_CACHE_HOME": str(tmp_path / "none"),
        "KUBEBUILDER_ASSETS": "",
        "PATH": "/usr/bin:/bin",
    }
    try:
        shell("up", "own", "--runtime", "kubernetes", "--bin-dir", str(tmp_path), "--nodes", "2", "-d", "-q")
    finally:
        shell.environment = environment
    desk = shell.desk("own")
    desk.until("nodes", lambda seen: len(seen) == 2 and all(map(is_ready, seen.values())))
    assert (shell.directory("own") / "logs" / "agent.log").exists()
    shell("down", "own")
