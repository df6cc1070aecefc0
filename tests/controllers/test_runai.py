"""Run:ai's workloads on a whole cluster: what they become, in which order, and how they end."""

from __future__ import annotations

import hashlib
from collections import Counter
from random import Random

import orjson
import pytest

from ghostfleet.api.admission import Admission
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.controllers.runai.templatecache import TemplateCache
from ghostfleet.controllers.runai.values import FieldProblem
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.stages.nodes import NodeShape

NAMESPACE = "runai-project-0"
TEMPLATES = Admission(Store(VirtualClock()), Random(0)).templates
GROUPS = "podgroups.scheduling.run.ai"
CLAIM = {
    "claimName": "",
    "ephemeral": True,
    "existingPvc": False,
    "path": "/data",
    "readWriteOnce": True,
    "size": "1Mi",
}


class Lab:
    """A small cluster with one project."""

    def __init__(self, profile="instant", nodes=4, seed=0):
        self.cluster = Cluster(config=ClusterConfig(profile=profile), seed=seed)
        self.store = self.cluster.store
        self.clock = self.cluster.clock
        add_nodes(self.cluster, NodeShape(count=nodes, gpus=8, fake_taint=False))
        self.run(1)

    def create(self, key, obj, namespace=NAMESPACE):
        resource = self.cluster.registry.by_key(key)
        return self.cluster.api.create(resource, resource.storage, namespace, obj, WriteOptions())

    def submit(self, kind="Training", name="j-1a2b3c", duration="", **fields):
        spec = {
            "name": {"value": name},
            "image": {"value": "ubuntu"},
            "command": {"value": "sleep infinity"},
            "gpu": {"value": "1"},
            "cpu": {"value": "0.05"},
            "memory": {"value": "1Mi"},
        } | {field: wrapped if isinstance(wrapped, dict) else {"value": wrapped} for field, wrapped in fields.items()}
        if duration:
            spec["annotations"] = {"items": {"ghostfleet.dev/duration": {"value": duration}}}
        spec = {field: wrapped for field, wrapped in spec.items() if wrapped != {"value": None}}
        workload = {
            "apiVersion": "run.ai/v2alpha1",
            "kind": f"{kind}Workload",
            "metadata": {"name": name},
            "spec": spec,
        }
        return self.create(f"{kind.lower()}workloads.run.ai", workload)

    def run(self, seconds):
        self.clock.run(self.clock.now() + int(seconds * SECOND))

    def one(self, key):
        (found,) = self.store.list(key, NAMESPACE)
        return found

    def names(self, key):
        return [each["metadata"]["name"] for each in self.store.list(key, NAMESPACE)]

    def phase(self, kind="Training"):
        return self.one(f"{kind.lower()}workloads.run.ai").get("status", {}).get("phase")

    def change(self, key, **spec):
        obj = self.one(key)
        self.store.update(key, {**obj, "spec": {**obj["spec"], **spec}})
        self.run(1)


@pytest.fixture
def lab():
    return Lab()


def test_a_training_workload_becomes_a_job_of_one_pod_and_a_pod_group(lab):
    lab.submit()
    lab.run(1)
    workload, job, pod, group = map(lab.one, ("trainingworkloads.run.ai", "runaijobs.run.ai", "pods", GROUPS))
    labels = {"release": "j-1a2b3c", "workloadName": "j-1a2b3c", "job-name": "j-1a2b3c", "project": "project-0"}
    assert job["metadata"]["labels"] == pod["metadata"]["labels"] == group["metadata"]["labels"] == labels
    assert (job["metadata"]["name"], pod["metadata"]["name"]) == ("j-1a2b3c", "j-1a2b3c-0-0")
    assert group["metadata"]["name"] == f"pg-j-1a2b3c-{job['metadata']['uid']}"
    assert pod["metadata"]["annotations"]["pod-group-name"] == group["metadata"]["name"]
    assert group["spec"] == {"minMember": 1, "priorityClassName": "train", "queue": "project-0"}
    owners = [each["metadata"]["ownerReferences"][0]["uid"] for each in (job, pod, group)]
    assert owners == [workload["metadata"]["uid"], job["metadata"]["uid"], job["metadata"]["uid"]]
    assert lab.phase() == "Running"
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["sleep", "infinity"]
    assert container["resources"] == {
        "requests": {"cpu": "50m", "memory": "1Mi", "nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }
    assert pod["spec"]["schedulerName"] == "default-scheduler"


def test_a_workload_is_completed_when_its_pod_has_succeeded(lab):
    lab.submit(duration="60s")
    lab.run(30)
    assert lab.phase() == "Running"
    lab.run(60)
    status = lab.one("trainingworkloads.run.ai")["status"]
    assert status == {
        "phase": "Completed",
        "startTime": "2026-01-01T00:00:01Z",
        "completionTime": "2026-01-01T00:01:01Z",
    }
    job = lab.one("runaijobs.run.ai")["status"]
    assert (job["phase"], job["succeeded"]) == ("Succeeded", 1)
    assert [each["type"] for each in job["conditions"]] == ["Complete"]


def test_an_interactive_workload_is_not_to_be_preempted(lab):
    lab.submit("Interactive")
    lab.run(1)
    assert lab.one(GROUPS)["spec"]["priorityClassName"] == "build"
    assert lab.phase("Interactive") == "Running"


def test_a_distributed_workload_becomes_a_pytorch_job(lab):
    lab.submit("Distributed", workers=7, duration="60s")
    lab.run(1)
    job = lab.one("pytorchjobs.kubeflow.org")
    assert job["spec"]["runPolicy"] == {"cleanPodPolicy": "None"}
    assert lab.names("pods") == ["j-1a2b3c-master-0", *(f"j-1a2b3c-worker-{index}" for index in range(7))]
    for pod in lab.store.list("pods", NAMESPACE):
        labels = pod["metadata"]["labels"]
        assert labels["release"] == labels["workloadName"] == labels["training.kubeflow.org/job-name"] == "j-1a2b3c"
        assert pod["metadata"]["annotations"]["pod-group-name"] == lab.one(GROUPS)["metadata"]["name"]
    assert lab.one(GROUPS)["spec"]["minMember"] == 8
    assert lab.phase("Distributed") == "Running"
    lab.run(90)
    assert lab.phase("Distributed") == "Completed"


def test_a_distributed_workload_of_no_workers_is_a_master_alone(lab):
    lab.submit("Distributed", workers=0)
    lab.run(1)
    assert lab.names("pods") == ["j-1a2b3c-master-0"]


def test_claims_are_made_bound_mounted_and_told_of(lab):
    lab.submit("Distributed", workers=1, pvcs={"items": {"pvc-new-0": {"value": CLAIM}}})
    lab.run(5)
    claim = lab.one("persistentvolumeclaims")
    assert claim["metadata"]["name"] == "j-1a2b3c-pvc-new-0"
    assert claim["status"]["phase"] == "Bound"
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    pod = lab.store.get("pods", NAMESPACE, "j-1a2b3c-worker-0")
    volume = {"name": "pvc-new-0", "persistentVolumeClaim": {"claimName": "j-1a2b3c-pvc-new-0"}}
    assert pod["spec"]["volumes"] == [volume]
    assert pod["spec"]["containers"][0]["volumeMounts"] == [{"name": "pvc-new-0", "mountPath": "/data"}]
    told = {
        each["reason"] for each in lab.store.list("events", NAMESPACE) if "pvc-new" in each["involvedObject"]["name"]
    }
    assert {"ExternalProvisioning", "ProvisioningSucceeded"} <= told
    lab.store.delete("distributedworkloads.run.ai", NAMESPACE, "j-1a2b3c")
    lab.run(60)
    assert lab.names("persistentvolumeclaims") == [], "an ephemeral claim goes with its workload"


def test_a_claim_that_is_there_is_only_mounted(lab):
    given = {**CLAIM, "claimName": "shared", "existingPvc": True}
    lab.submit(pvcs={"items": {"data": {"value": given}}})
    lab.run(1)
    assert lab.names("persistentvolumeclaims") == []
    assert lab.one("pods")["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "shared"}
    assert lab.phase() == "Pending"


def test_everything_that_a_workload_became_goes_with_it(lab):
    lab.submit("Training", "j-aaaaaa")
    lab.submit("Distributed", "j-bbbbbb", workers=2)
    lab.run(1)
    lab.store.delete("trainingworkloads.run.ai", NAMESPACE, "j-aaaaaa")
    lab.store.delete("distributedworkloads.run.ai", NAMESPACE, "j-bbbbbb")
    lab.run(60)
    kinds = ("runaijobs.run.ai", "pytorchjobs.kubeflow.org", "pods", "services", GROUPS)
    assert [lab.names(kind) for kind in kinds] == [[]] * len(kinds)


def test_a_share_of_a_gpu_is_an_annotation(lab):
    lab.submit(gpu="0.5")
    lab.run(1)
    pod = lab.one("pods")
    assert pod["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    assert "limits" not in pod["spec"]["containers"][0]["resources"]


def test_a_failed_pod_is_tried_again_until_the_limit(lab):
    failing = {
        "items": {"ghostfleet.dev/duration": {"value": "1s"}, "ghostfleet.dev/failure-probability": {"value": "1"}}
    }
    lab.submit(backoffLimit=2, annotations=failing)
    lab.run(5)
    assert lab.names("pods") == ["j-1a2b3c-0-0"], "the next try waits for ten seconds"
    lab.run(300)
    assert lab.names("pods") == [f"j-1a2b3c-0-{number}" for number in range(3)]
    assert lab.one("runaijobs.run.ai")["status"]["conditions"][0]["reason"] == "BackoffLimitExceeded"
    assert lab.phase() == "Failed"


def test_a_lost_pod_is_made_anew(lab):
    lab.submit()
    lab.run(1)
    lab.store.delete("pods", NAMESPACE, "j-1a2b3c-0-0")
    lab.run(1)
    assert lab.names("pods") == ["j-1a2b3c-0-1"]
    assert lab.phase() == "Running"


def test_several_completions_run_side_by_side(lab):
    lab.submit(completions=5, parallelism=2, duration="10s")
    lab.run(5)
    assert lab.names("pods") == ["j-1a2b3c-0-0", "j-1a2b3c-1-0"]
    lab.run(60)
    assert len(lab.names("pods")) == 5
    assert lab.phase() == "Completed"


def test_a_workload_that_is_not_active_is_stopped_until_it_is(lab):
    lab.submit()
    lab.run(1)
    lab.change("trainingworkloads.run.ai", active={"value": False})
    assert (lab.phase(), lab.names("pods")) == ("Stopped", [])
    lab.change("trainingworkloads.run.ai", active={"value": True})
    assert (lab.phase(), lab.names("pods")) == ("Running", ["j-1a2b3c-0-0"])


def test_a_finished_workload_goes_when_its_time_is_over(lab):
    lab.submit(duration="10s", ttlAfterFinish="1m")
    lab.run(60)
    assert lab.phase() == "Completed"
    lab.run(20)
    assert lab.names("trainingworkloads.run.ai") == []


def test_a_workload_without_room_is_pending_with_a_reason(lab):
    lab.submit(gpu=9)
    lab.run(5)
    (condition,) = (each for each in lab.one("pods")["status"]["conditions"] if each["type"] == "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert lab.phase() == "Pending"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"gpu": "1.5"}, "spec.gpu.value: found '1.5', expected a whole number of GPUs, or a share of one"),
        ({"gpu": "many"}, "spec.gpu.value: found 'many'"),
        ({"cpu": "x"}, "quantities must match"),
        ({"image": None}, "spec.containers[0].image: Required value"),
        ({"command": "sh -c 'oops"}, "spec.command.value"),
        ({"workers": "two"}, "spec.workers.value: found 'two', expected a whole number"),
        ({"pvcs": {"items": {"data": {"value": {"size": "1Mi"}}}}}, "spec.pvcs.items.data.value.path"),
        ({"labels": {"items": {"team": {"value": "a b"}}}}, "metadata.labels: Invalid value"),
        ({"ttlAfterFinish": "soon"}, "spec.ttlAfterFinish.value"),
    ],
)
def test_a_workload_that_makes_no_sense_has_failed_and_says_why(lab, fields, problem):
    lab.submit(**fields)
    lab.run(1)
    status = lab.one("trainingworkloads.run.ai")["status"]
    assert status["phase"] == "Failed"
    assert problem in status["message"]
    assert lab.names("pods") == []


def test_a_job_of_the_users_own_is_grouped_too(lab):
    template = {"spec": {"containers": [{"name": "main", "image": "ubuntu"}], "restartPolicy": "Never"}}
    job = {"apiVersion": "run.ai/v1", "kind": "RunaiJob", "metadata": {"name": "own"}, "spec": {"template": template}}
    lab.create("runaijobs.run.ai", job)
    lab.run(1)
    assert lab.one("pods")["metadata"]["labels"] == {"release": "own", "job-name": "own"}
    assert lab.one(GROUPS)["metadata"]["labels"] == {"release": "own", "workloadName": "own"}


def test_a_name_that_is_taken_is_told_and_waited_for(lab):
    template = {"spec": {"containers": [{"name": "main", "image": "ubuntu"}]}}
    job = {
        "apiVersion": "run.ai/v1",
        "kind": "RunaiJob",
        "metadata": {"name": "j-1a2b3c"},
        "spec": {"template": template},
    }
    lab.create("runaijobs.run.ai", job)
    lab.submit()
    lab.run(1)
    reasons = [each["reason"] for each in lab.store.list("events", NAMESPACE) if each["type"] == "Warning"]
    assert "FailedCreate" in reasons
    lab.store.delete("runaijobs.run.ai", NAMESPACE, "j-1a2b3c")
    lab.run(60)
    assert lab.phase() == "Running"


def test_pod_groups_are_served_in_both_versions(lab):
    lab.submit()
    lab.run(1)
    resource = lab.cluster.registry.by_key(GROUPS)
    for version in ("v1", "v2alpha2"):
        item = lab.cluster.api.get(resource, resource.versions[version], NAMESPACE, lab.names(GROUPS)[0])
        assert item["apiVersion"] == f"scheduling.run.ai/{version}"


def test_pods_of_like_workloads_share_one_spec(lab):
    for number in range(3):
        lab.submit(name=f"j-{number}")
    lab.cluster.clock.settle()
    jobs = lab.store.list("runaijobs.run.ai", NAMESPACE)
    assert len({id(job["spec"]["template"]["spec"]) for job in jobs}) == 1
    for job in jobs:
        pod = lab.store.get("pods", NAMESPACE, f"{job['metadata']['name']}-0-0")
        assert pod["metadata"]["labels"] is job["spec"]["template"]["metadata"]["labels"]


def times(lab, name):
    """When each thing that a workload became came to be, in the order in which it must have."""

    def created(key, label):
        found = [each for each in lab.store.list(key, NAMESPACE) if each["metadata"]["labels"].get(label) == name]
        return [parse_rfc3339(each["metadata"]["creationTimestamp"]) for each in found]

    (workload,) = (each for each in lab.store.list("trainingworkloads.run.ai") if each["metadata"]["name"] == name)
    (pod,) = (each for each in lab.store.list("pods", NAMESPACE) if each["metadata"]["labels"]["release"] == name)
    (decided,) = (each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
    return [
        parse_rfc3339(workload["metadata"]["creationTimestamp"]),
        *created("runaijobs.run.ai", "release"),
        *created("pods", "release"),
        *created(GROUPS, "workloadName"),
        parse_rfc3339(decided["lastTransitionTime"]),
    ]


def test_things_come_in_their_order_and_late_when_the_clients_are_busy():
    lab = Lab("kubernetes", nodes=20)
    for number in range(100):
        lab.submit(name=f"j-{number:03}")
    lab.run(120)
    marks = [times(lab, f"j-{number:03}") for number in range(100)]
    assert all(mark == sorted(mark) for mark in marks)
    waits = [mark[1] - mark[0] for mark in marks]
    # A job and a status for each workload, at 20 requests a second after a burst of 30.
    assert waits[0] == 0
    assert 6 * SECOND <= max(waits) <= 20 * SECOND


def test_an_instant_cluster_takes_no_time_over_it(lab):
    for number in range(20):
        lab.submit(name=f"j-{number:03}")
    lab.cluster.clock.settle()
    assert len(lab.names("pods")) == len(lab.names(GROUPS)) == 20
    lab.run(1)
    assert Counter(each["status"]["phase"] for each in lab.store.list("trainingworkloads.run.ai")) == {"Running": 20}


def digest(seed):
    lab, seen = Lab(nodes=4, seed=seed), hashlib.sha256()
    lab.store.listen_to_all(lambda change: seen.update(orjson.dumps(change.event().object)))
    for number in range(10):
        lab.submit("Training", f"t-{number}", duration="exponential(20s)")
        lab.submit("Distributed", f"d-{number}", duration="exponential(20s)", workers=1)
    lab.run(600)
    return seen.hexdigest()


def test_the_same_seed_gives_the_same_bytes():
    assert digest(7) == digest(7)
    assert digest(7) != digest(8)


@pytest.mark.parametrize("without", [("runai",), ("runai", "kubeflow"), ("runai", "kubeflow", "controllers")])
def test_the_parts_can_be_left_out(without):
    cluster = Cluster(config=ClusterConfig(without=frozenset(without)))
    assert cluster.registry.by_key("trainingworkloads.run.ai") is None
    assert (cluster.registry.by_key("pytorchjobs.kubeflow.org") is None) is ("kubeflow" in without)


def test_without_the_training_operator_a_distributed_workload_waits_for_its_kind():
    cluster = Cluster(config=ClusterConfig(without=frozenset(("kubeflow", "controllers"))))
    metadata = {"name": "j-1", "namespace": "default"}
    workload = {"apiVersion": "run.ai/v2alpha1", "kind": "DistributedWorkload", "metadata": metadata}
    cluster.store.create("distributedworkloads.run.ai", {**workload, "spec": {"image": {"value": "ubuntu"}}})
    cluster.clock.run(cluster.clock.now() + SECOND)
    (event,) = cluster.store.list("events", "default")
    assert "pytorchjobs.kubeflow.org" in event["message"]
    assert cluster.store.count("pytorchjobs.kubeflow.org") == 0


def test_more_of_what_a_workload_may_say_reaches_its_pods():
    workload_template = TemplateCache("main", TEMPLATES).template_of(
        {
            "image": {"value": "ubuntu"},
            "imagePullPolicy": {"value": "ifNotPresent"},
            "arguments": {"value": '--text "Hello World"'},
            "workingDir": {"value": "/work"},
            "environment": {"items": {"HOME": {"value": "/home/me"}, "DEBUG": {"value": True}}},
            "gpuDevices": {"value": 8},
            "gpuMemory": {"value": "2Gi"},
            "cpuLimit": {"value": 2},
            "extendedResources": {"items": {"rdma/hca": {"value": 1}}},
            "nodeType": {"value": "dgx"},
            "tolerations": {"items": {"gpu": {"value": {"key": "gpu", "operator": "Exists"}}}},
            "largeShm": {"value": "true"},
            "hostIpc": {"value": True},
            "runAsUser": {"value": True},
            "runAsUid": {"value": "1000"},
            "schedulerName": {"value": "kai-scheduler"},
            "unheardOf": {"value": 1},
        }
    )
    (container,) = workload_template.spec["containers"]
    assert container["args"] == ["--text", "Hello World"]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["env"] == [{"name": "HOME", "value": "/home/me"}, {"name": "DEBUG", "value": "true"}]
    assert container["resources"]["limits"] == {"cpu": "2", "nvidia.com/gpu": "8", "rdma/hca": "1"}
    assert container["volumeMounts"] == [{"name": "dshm", "mountPath": "/dev/shm"}]
    assert workload_template.annotations == {"gpu-memory": "2048"}
    assert workload_template.spec["nodeSelector"] == {"run.ai/type": "dgx"}
    assert workload_template.spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert workload_template.spec["securityContext"] == {"runAsUser": 1000}
    assert (workload_template.spec["hostIPC"], workload_template.spec["schedulerName"]) == (True, "kai-scheduler")


def test_a_claim_that_is_to_be_there_must_be_named():
    with pytest.raises(FieldProblem, match="claimName"):
        TemplateCache("main", TEMPLATES).template_of(
            {"pvcs": {"items": {"data": {"value": {**CLAIM, "existingPvc": True}}}}}
        )
