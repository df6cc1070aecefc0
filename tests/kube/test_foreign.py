"""Real programs of Kubernetes and KWOK on our own server, each in the place of our own part."""

from __future__ import annotations

import pytest

from ghostfleet.core.clock import WallClock
from ghostfleet.kube.processes import Processes, Program
from ghostfleet.kube.programs import CONTROLLERS, KWOK, SCHEDULER

pytestmark = [pytest.mark.real, pytest.mark.timeout(120), pytest.mark.xdist_group("foreign")]


def pod_spec(gpus: int = 0, **more) -> dict:
    container = {"name": "c", "image": "i", **({"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {})}
    return {"containers": [container], **more}


def job(name: str, completions: int, gpus: int = 0) -> dict:
    template = {"spec": pod_spec(gpus, restartPolicy="Never")}
    return {
        "metadata": {"name": name},
        "spec": {"completions": completions, "parallelism": completions, "template": template},
    }


def deployment(name: str, replicas: int) -> dict:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec()}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def available(name: str, count: int):
    return lambda seen: seen.get(name, {}).get("status", {}).get("availableReplicas", 0) == count


def succeeded(name: str, count: int):
    return lambda seen: seen.get(name, {}).get("status", {}).get("succeeded") == count


@pytest.fixture
def started(programs, tmp_path):
    """Starts a real program on a cluster; all end with the test, or when they are stopped."""
    processes = Processes(tmp_path / "logs", WallClock())

    def start(program: str, desk, **more) -> None:
        flags = {"kubeconfig": desk.kubeconfig, **{name.replace("_", "-"): value for name, value in more.items()}}
        if program == KWOK:
            stages = "---\n".join(path.read_text() for path in sorted((tmp_path / "stages").iterdir()))
            (tmp_path / "kwok.yaml").write_text(stages)
            flags |= {"config": tmp_path / "kwok.yaml", "manage-all-nodes": "true", "node-lease-duration-seconds": 40}
        else:
            flags |= {"leader-elect": "false", "secure-port": 0}
        processes.start(Program(program, [programs[program], *(f"--{flag}={value}" for flag, value in flags.items())]))

    start.stop = processes.stop
    yield start
    processes.check()
    processes.stop()


@pytest.fixture
def stages(tmp_path):
    """The set `fast`, as files for kwok."""
    import yaml

    from ghostfleet.stages.catalogue import stage_documents

    (tmp_path / "stages").mkdir()
    for document in stage_documents("fast"):
        (tmp_path / "stages" / f"{document['metadata']['name']}.yaml").write_text(yaml.safe_dump(document))


def in_default(seen: dict) -> list[dict]:
    """What the tests made, without what every cluster has of its own."""
    return [each for each in seen.values() if each["metadata"]["namespace"] == "default"]


def test_the_real_scheduler_binds_our_pods(served, started, tmp_path):
    with served(tmp_path, "scheduler", nodes=3, tls=True) as desk:
        desk.create("jobs", job("training", 6, gpus=4))
        waiting = desk.until("pods", lambda seen: len(in_default(seen)) == 6)
        assert not any(pod["spec"].get("nodeName") for pod in waiting.values()), "nobody else binds pods"
        started(SCHEDULER, desk)
        desk.until("jobs", succeeded("training", 6))
        desk.create("pods", {"metadata": {"name": "huge"}, "spec": pod_spec(gpus=9)})
        seen = desk.until("pods", lambda seen: seen.get("huge", {}).get("status", {}).get("conditions"))
        told = desk.until("events", lambda seen: sum(each["reason"] == "Scheduled" for each in in_default(seen)) == 6)
    condition = seen["huge"]["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")
    assert condition["message"].startswith("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")
    assert any(each["reason"] == "FailedScheduling" for each in told.values())


def test_the_real_controllers_run_our_jobs_and_deployments(served, started, tmp_path, is_ready):
    with served(tmp_path, "controllers", nodes=3, tls=True) as desk:
        desk.create("jobs", job("batch", 5))
        desk.until("nodes", lambda seen: all(map(is_ready, seen.values())))
        assert not desk.connection.items("/api/v1/pods"), "nobody else makes pods of jobs"
        started(CONTROLLERS, desk)
        jobs = desk.until("jobs", succeeded("batch", 5))
        assert jobs["batch"]["metadata"]["uid"]
        desk.create("deployments", deployment("web", 4))
        desk.until("deployments", available("web", 4))
        desk.patch("deployments", "web", {"spec": {"replicas": 1}})
        desk.until("pods", lambda seen: sum(name.startswith("web-") for name in seen) == 1)
        changed = {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}
        desk.patch("deployments", "web", changed)
        desk.until(
            "deployments",
            lambda seen: (
                seen["web"]["status"].get("observedGeneration") == 3
                and available("web", 1)(seen)
                and seen["web"]["status"].get("updatedReplicas") == 1
            ),
        )
        desk.delete("deployments", "web")
        desk.until("pods", lambda seen: not any(name.startswith("web-") for name in seen))


def test_the_real_kwok_plays_our_nodes_and_pods(served, started, stages, tmp_path, is_ready):
    with served(tmp_path, "stages", nodes=3, tls=True) as desk:
        assert not any(map(is_ready, desk.connection.items("/api/v1/nodes"))), "nobody else plays nodes"
        started(KWOK, desk)
        desk.until("nodes", lambda seen: all(map(is_ready, seen.values())))
        desk.until("leases", lambda seen: len(seen) == 3)
        desk.create("jobs", job("batch", 5))
        desk.until("jobs", succeeded("batch", 5))
        desk.create("deployments", deployment("web", 3))
        desk.until("deployments", available("web", 3))
        desk.delete("deployments", "web")
        desk.until("pods", lambda seen: not any(name.startswith("web-") for name in seen))


def test_all_of_them_work_together_on_our_server(served, started, stages, tmp_path):
    with served(tmp_path, "scheduler", "controllers", "stages", nodes=3, tls=True) as desk:
        for program in (SCHEDULER, CONTROLLERS, KWOK):
            started(program, desk)
        desk.create("jobs", job("batch", 8, gpus=2))
        desk.create("deployments", deployment("web", 5))
        desk.until("jobs", succeeded("batch", 8))
        desk.until("deployments", available("web", 5))


@pytest.mark.parametrize(
    ("driver", "class_name", "nodes", "count"),
    [
        ("example", "gpu.example.com", 64, 500),
        # kube-scheduler looks at each part that a card can be cut in, for each pod anew.
        ("nvidia", "gpu.nvidia.com", 2, 14),
        ("kwok", "cl2-gpu.kwok.x-k8s.io", 2, 14),
    ],
)
def test_the_real_scheduler_and_controllers_give_out_our_drivers_devices(
    served, started, tmp_path, driver, class_name, nodes, count
):
    """Pods with a claim each, from a template, on nodes with eight devices each."""
    request = {"name": "gpu", "exactly": {"deviceClassName": class_name}}
    template = {"metadata": {"name": "gpus"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    used = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    unlimited = {"kube_api_qps": 1000, "kube_api_burst": 1000}
    with served(tmp_path, "scheduler", "controllers", nodes=nodes, tls=True, dra=driver) as desk:
        started(CONTROLLERS, desk, **unlimited)
        started(SCHEDULER, desk, **unlimited)
        desk.create("resourceclaimtemplates", template)
        for number in range(count):
            desk.create("pods", {"metadata": {"name": f"pod-{number}"}, "spec": pod_spec(resourceClaims=used)})
        pods = desk.until("pods", lambda seen: sum(map(runs, seen.values())) == count)
        claims = desk.connection.items("/apis/resource.k8s.io/v1/resourceclaims")
        slices = desk.connection.items("/apis/resource.k8s.io/v1/resourceslices")
        started.stop()
    offered = {
        (each["spec"]["pool"]["name"], device["name"]): each["spec"]["nodeName"]
        for each in slices
        for device in each["spec"].get("devices", ())
    }
    held = {}
    for claim in claims:
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        (consumer,) = claim["status"]["reservedFor"]
        device = (result["pool"], result["device"])
        assert offered[device] == pods[consumer["name"]]["spec"]["nodeName"]
        held[device] = consumer["name"]
    assert len(held) == count, "no device is held twice"
    assert set(held.values()) == {f"pod-{number}" for number in range(count)}


def runs(pod: dict) -> bool:
    return pod.get("status", {}).get("phase") == "Running"
