"""Which pods belong together, by who owns them."""

from __future__ import annotations

import pytest
import yaml

from ghostfleet.controllers import runai
from ghostfleet.controllers.kai import POD_GROUPS, KaiConfig
from ghostfleet.controllers.kai.grouping.hub import Hub
from ghostfleet.controllers.kai.grouping.metadata import GroupingError
from ghostfleet.controllers.kai.grouping.owners import Owners
from support.kai_lab import KaiLab

QUEUE = "kai.scheduler/queue"
LWS = "leaderworkerset.sigs.k8s.io"
TRAINING = "training.kubeflow.org"
CONTAINER = {"name": "pytorch", "image": "app", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
POD_SPEC = {"schedulerName": "kai-scheduler", "restartPolicy": "Never", "containers": [CONTAINER]}


def template(labels=None, **spec):
    return {"metadata": {"labels": labels or {}}, "spec": {**POD_SPEC, **spec}}


def groups(kai):
    return [each["metadata"]["name"] for each in kai.store.list(POD_GROUPS)]


def summary(group):
    """What a pod group asks for: the least number of members, and of each sub group."""
    spec = group["spec"]
    return spec.get("minMember"), {each["name"]: each.get("minMember") for each in spec.get("subGroups", ())}


def uid(obj):
    return obj["metadata"]["uid"]


# -- pods and what Kubernetes makes of them ------------------------------------------------------------------------------


def test_a_bare_pod_is_a_group_of_its_own(still):
    pod = still.pod("alone", labels={QUEUE: "team"})
    group = still.group(pod)
    name = group["metadata"]["name"]
    assert name == f"pg-alone-{uid(pod)}"
    assert group["spec"] == {"minMember": 1, "queue": "team", "priorityClassName": "train", "topologyConstraint": {}}
    assert group["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "alone", "uid": uid(pod)}
    ]
    assert group["metadata"]["labels"] == {QUEUE: "team"}
    described = group["metadata"]["annotations"]["kai.scheduler/top-owner-metadata"]
    assert described == f'name: alone\nuid: {uid(pod)}\ngroup: ""\nversion: v1\nkind: Pod\n'


def test_a_pod_of_another_scheduler_is_left_alone(still):
    pod = still.pod("other", spec={"schedulerName": "default-scheduler"})
    assert not groups(still)
    assert "annotations" not in still.get("pods", pod["metadata"]["name"])["metadata"]


def test_a_pod_of_its_own_that_names_a_group_was_put_there_by_hand(still):
    still.pod("mine", annotations={"pod-group-name": "by-hand"})
    assert not groups(still)


def test_a_group_goes_with_its_owner(still):
    still.pod("alone")
    assert len(groups(still)) == 1
    still.store.delete("pods", "default", "alone")
    still.clock.settle()
    assert not groups(still)


def test_pods_of_a_spark_application_share_a_group(still):
    labels = {"spark-app-name": "pi", "spark-app-selector": "spark-123"}
    still.pod("driver", labels=labels)
    still.pod("executor", labels=labels)
    assert groups(still) == ["spark-123"]


def test_each_pod_of_a_job_is_a_group_for_a_job_is_no_gang(kai):
    spec = {"parallelism": 3, "completions": 3, "template": template({QUEUE: "team"})}
    kai.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
    job = kai.get("jobs.batch", "j")
    pods = [each["metadata"]["name"] for each in kai.store.list("pods")]
    assert groups(kai) == sorted(f"pg-{name}-{uid(job)}" for name in pods)
    assert {summary(each)[0] for each in kai.store.list(POD_GROUPS)} == {1}
    assert {each["metadata"]["ownerReferences"][0]["kind"] for each in kai.store.list(POD_GROUPS)} == {"Job"}


def test_a_group_of_a_job_from_before_is_kept(still):
    job = still.owner("batch/v1", "Job", "old", spec={"template": template()})
    legacy = f"pg-old-{uid(job)}"
    still.apply(
        {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {"name": legacy},
            "spec": {"queue": "theirs"},
        }
    )
    still.pod("old-abc", job)
    assert groups(still) == [legacy]
    assert still.group("old-abc")["spec"]["queue"] == "theirs", "whoever set the queue decided"
    assert still.group("old-abc")["spec"]["minMember"] == 1


def test_a_deployment_serves_with_a_group_for_each_pod(kai):
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template({"app": "web"})}
    spec["template"]["spec"].pop("restartPolicy")
    kai.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    pods = kai.store.list("pods")
    assert groups(kai) == sorted(f"pg-{pod['metadata']['name']}-{uid(pod)}" for pod in pods)
    assert {each["spec"]["priorityClassName"] for each in kai.store.list(POD_GROUPS)} == {"inference"}


@pytest.mark.parametrize(("api_version", "kind"), [("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet")])
def test_pods_of_other_built_in_workloads_are_one_group_of_which_any_may_run(still, api_version, kind):
    spec = {"selector": {"matchLabels": {"app": "w"}}, "serviceName": "w", "template": template({"app": "w"})}
    spec["template"]["spec"].pop("restartPolicy")
    if kind == "ReplicaSet":
        spec.pop("serviceName")
    owner = still.owner(api_version, kind, "w", spec=spec)
    still.pod("w-0", owner)
    still.pod("w-1", owner)
    assert groups(still) == [f"pg-w-{uid(owner)}"]
    assert summary(still.group("w-1")) == (1, {})


def test_pods_of_a_cron_job_belong_to_one_of_its_jobs(still):
    cron = still.owner(
        "batch/v1",
        "CronJob",
        "nightly",
        spec={"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template()}}},
    )
    reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": uid(cron), "controller": True}
    job = still.owner(
        "batch/v1", "Job", "nightly-1", metadata={"ownerReferences": [reference]}, spec={"template": template()}
    )
    still.pod("nightly-1-abc", job)
    assert groups(still) == [f"pg-nightly-1-{uid(job)}"]


# -- what labels and annotations say -------------------------------------------------------------------------------------


def test_the_queue_is_that_of_the_owner_then_of_the_pod_then_of_the_project(still):
    still.define("example.com", "v1", "Thing")
    owner = still.owner("example.com/v1", "Thing", "t", metadata={"labels": {QUEUE: "owners"}})
    assert still.group(still.pod("a", owner, labels={QUEUE: "pods"}))["spec"]["queue"] == "owners"
    assert still.group(still.pod("b", labels={QUEUE: "pods", "project": "p"}))["spec"]["queue"] == "pods"
    assert still.group(still.pod("c", labels={"project": "p"}))["spec"]["queue"] == "p"
    pool = {"project": "p", "kai.scheduler/node-pool": "fast"}
    assert still.group(still.pod("d", labels=pool))["spec"]["queue"] == "p-fast"
    assert still.group("d")["metadata"]["labels"]["kai.scheduler/node-pool"] == "fast"
    assert still.group(still.pod("e"))["spec"]["queue"] == "default-queue"


def test_the_label_of_the_queue_may_be_another_one():
    lab = KaiLab("stages", "controllers", config=KaiConfig(queue_label="runai/queue"))
    assert lab.group(lab.pod("p", labels={"runai/queue": "old", QUEUE: "new"}))["spec"]["queue"] == "old"


def test_the_priority_class_must_exist(still):
    assert still.group(still.pod("a", labels={"priorityClassName": "build"}))["spec"]["priorityClassName"] == "build"
    assert still.group(still.pod("b", labels={"priorityClassName": "no-such"}))["spec"]["priorityClassName"] == "train"
    pod = still.pod("c", spec={"priorityClassName": "inference"})
    assert still.group(pod)["spec"]["priorityClassName"] == "inference"


def test_preemptibility_is_taken_from_a_label_that_says_it_right(still):
    label = "kai.scheduler/preemptibility"
    assert still.group(still.pod("a", labels={label: "non-preemptible"}))["spec"]["preemptibility"] == "non-preemptible"
    assert "preemptibility" not in still.group(still.pod("b", labels={label: "maybe"}))["spec"]


def test_topology_constraints_are_taken_from_annotations_of_the_owner(still):
    prefix = "kai.scheduler/topology"
    notes = {prefix: "racks", f"{prefix}-required-placement": "zone", f"{prefix}-preferred-placement": "rack"}
    group = still.group(still.pod("near", annotations=notes))
    constraint = {"topology": "racks", "requiredTopologyLevel": "zone", "preferredTopologyLevel": "rack"}
    assert group["spec"]["topologyConstraint"] == constraint


def test_the_owner_is_described_as_yaml_reads_it(still):
    for name in ("true", "1", "1.5", "n"):
        described = still.group(still.pod(name))["metadata"]["annotations"]["kai.scheduler/top-owner-metadata"]
        read = yaml.safe_load(described)
        assert read == {"name": name, "uid": read["uid"], "group": "", "version": "v1", "kind": "Pod"}


# -- owners --------------------------------------------------------------------------------------------------------------


def test_a_kind_that_is_not_served_is_grouped_by_its_reference(still):
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r", "uid": "some-uid"}}
    still.pod("a", owner)
    still.pod("b", owner)
    assert groups(still) == ["pg-r-some-uid"]
    assert still.group("a")["metadata"]["ownerReferences"] == [
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "r", "uid": "some-uid"}
    ]


def test_the_owner_at_the_top_decides(still):
    still.define("example.com", "v1", "Top")
    top = still.owner("example.com/v1", "Top", "top")
    reference = {"apiVersion": "example.com/v1", "kind": "Top", "name": "top", "uid": uid(top)}
    job = still.owner(
        "batch/v1", "Job", "below", metadata={"ownerReferences": [reference]}, spec={"template": template()}
    )
    still.pod("p", job)
    assert groups(still) == [f"pg-top-{uid(top)}"]


def test_a_pod_whose_owner_is_gone_is_told_so(still):
    pod = still.pod("p", spec={"schedulerName": "default-scheduler"})
    grouper = Hub(still.store, Owners(still.store, still.api.registry), KaiConfig())
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "uid": "u"}
    orphan = {**pod, "metadata": {**pod["metadata"], "ownerReferences": [reference]}}
    with pytest.raises(GroupingError) as caught:
        grouper.metadata(orphan)
    assert caught.value.message == 'failed to find Job: <default/gone>, uid: <u>: Job "gone" not found'
    still.owner("batch/v1", "Job", "gone", spec={"template": template()})
    with pytest.raises(GroupingError, match="Owner resource with uid u not found"):
        grouper.metadata(orphan)


def test_several_owners_of_an_owner_are_too_many(still):
    still.define("example.com", "v1", "Thing")
    tops = [still.owner("example.com/v1", "Thing", name) for name in ("one", "two")]
    references = [
        {"apiVersion": "example.com/v1", "kind": "Thing", "name": each["metadata"]["name"], "uid": uid(each)}
        for each in tops
    ]
    owner = still.owner("example.com/v1", "Thing", "below", metadata={"ownerReferences": references})
    still.pod("p", owner)
    assert not groups(still)
    (event,) = still.events("p")
    assert event == (
        "PodGrouperWarning",
        "found Thing <below in namespace default> with multiple owners: Thing/one, Thing/two",
    )
    still.store.update(
        "things.example.com", {**owner, "metadata": {**owner["metadata"], "ownerReferences": references[:1]}}
    )
    still.advance(2)
    assert groups(still) == [f"pg-one-{uid(tops[0])}"], "it is tried again"


def test_workloads_of_runai_are_grouped_by_what_they_became():
    still = KaiLab("stages", "controllers", "runai")
    runai.install_kinds(still.store)
    still.clock.settle()
    workload = still.owner("run.ai/v2alpha1", "TrainingWorkload", "w", metadata={"labels": {QUEUE: "team"}}, spec={})
    reference = {"apiVersion": "run.ai/v2alpha1", "kind": "TrainingWorkload", "name": "w", "uid": uid(workload)}
    job = still.owner(
        "run.ai/v1", "RunaiJob", "w", metadata={"ownerReferences": [reference]}, spec={"template": template()}
    )
    still.pod("w-0-0", job)
    group = still.group("w-0-0")
    assert group["metadata"]["name"] == f"pg-w-0-{uid(job)}"
    assert group["spec"]["queue"] == "team"


def test_steps_of_an_argo_workflow_are_groups_with_its_labels(still):
    still.define("argoproj.io", "v1alpha1", "Workflow")
    workflow = still.owner("argoproj.io/v1alpha1", "Workflow", "flow", metadata={"labels": {QUEUE: "team"}})
    first, second = still.pod("step-1", workflow), still.pod("step-2", workflow)
    assert groups(still) == sorted(f"pg-{each['metadata']['name']}-{uid(each)}" for each in (first, second))
    assert still.group("step-1")["spec"]["queue"] == "team"


# -- gangs ---------------------------------------------------------------------------------------------------------------


def training_job(kai, kind, field, specs, **spec):
    kai.define("kubeflow.org", "v1", kind) if kind != "PyTorchJob" else None
    return kai.owner("kubeflow.org/v1", kind, "train", spec={field: specs, **spec})


def replica(count, **more):
    return {"replicas": count, "template": template(), **more}


def test_a_pytorch_job_is_a_gang_with_a_master_and_workers(kai):
    specs = {"Master": replica(1), "Worker": replica(3)}
    job = training_job(kai, "PyTorchJob", "pytorchReplicaSpecs", specs)
    assert groups(kai) == [f"pg-train-{uid(job)}"]
    assert summary(kai.group("train-master-0")) == (4, {"master": 1, "worker": 3})
    label = "kai.scheduler/subgroup-name"
    assert kai.get("pods", "train-master-0")["metadata"]["labels"][label] == "master"
    assert {kai.get("pods", f"train-worker-{each}")["metadata"]["labels"][label] for each in range(3)} == {"worker"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}, (2, {"master": 1, "worker": 1})),
        ({"elasticPolicy": {"minReplicas": 3}}, (3, {"master": 1, "worker": 2})),
        (
            {"elasticPolicy": {"minReplicas": 3}, "runPolicy": {"schedulingPolicy": {"minAvailable": 4}}},
            (4, {"master": 1, "worker": 3}),
        ),
    ],
)
def test_a_pytorch_job_may_do_with_fewer(kai, more, expected):
    specs = {"Master": replica(1), "Worker": replica(5)}
    training_job(kai, "PyTorchJob", "pytorchReplicaSpecs", specs, **more)
    assert summary(kai.group("train-master-0")) == expected


def test_workers_of_a_pytorch_job_may_be_in_segments(kai):
    notes = {
        "kai.scheduler/segment-size": "2",
        "kai.scheduler/topology": "racks",
        "kai.scheduler/segment-topology-required-placement": "rack",
    }
    worker = replica(4)
    worker["template"] = {**worker["template"], "metadata": {"annotations": notes}}
    training_job(kai, "PyTorchJob", "pytorchReplicaSpecs", {"Master": replica(1), "Worker": worker})
    group = kai.group("train-worker-3")
    assert summary(group) == (5, {"master": 1, "worker": None, "worker-0": 2, "worker-1": 2})
    segment = group["spec"]["subGroups"][-1]
    assert segment["parent"] == "worker"
    assert segment["topologyConstraint"] == {"topology": "racks", "requiredTopologyLevel": "rack"}
    labels = [kai.get("pods", f"train-worker-{each}")["metadata"]["labels"] for each in range(4)]
    assert [each["kai.scheduler/subgroup-name"] for each in labels] == ["worker-0"] * 2 + ["worker-1"] * 2


@pytest.mark.parametrize(
    ("kind", "field", "specs", "members"),
    [
        ("TFJob", "tfReplicaSpecs", {"PS": 1, "Worker": 2}, 3),
        ("XGBoostJob", "xgbReplicaSpecs", {"Master": 1, "Worker": 2}, 3),
        ("JAXJob", "jaxReplicaSpecs", {"Worker": 4}, 4),
        ("MPIJob", "mpiReplicaSpecs", {"Launcher": 1, "Worker": 2}, 3),
    ],
)
def test_other_training_jobs_are_gangs_of_all_replicas(still, kind, field, specs, members):
    job = training_job(still, kind, field, {name: replica(count) for name, count in specs.items()})
    assert summary(still.group(still.pod("p", job))) == (members, {})


@pytest.mark.parametrize(
    ("kind", "field", "specs", "said"),
    [
        ("TFJob", "other", {}, "doesn't have a tfReplicaSpecs field"),
        ("JAXJob", "jaxReplicaSpecs", {"Head": 1}, "doesn't have a Worker replica spec which is required"),
        ("TFJob", "tfReplicaSpecs", {"Worker": 0}, "doesn't allow for 0 Worker pods"),
        ("TFJob", "tfReplicaSpecs", {"Worker": "two"}, "two is not an integer"),
    ],
)
def test_a_training_job_that_makes_no_sense_is_told_so(still, kind, field, specs, said):
    job = training_job(still, kind, field, {name: replica(count) for name, count in specs.items()})
    still.pod("p", job)
    assert not groups(still)
    ((reason, message),) = still.events("p")
    assert (reason, said in message) == ("PodGrouperWarning", True)


def test_the_launcher_of_an_mpi_job_counts_when_it_is_there(still):
    specs = {"Launcher": replica(1), "Worker": replica(2)}
    job = training_job(still, "MPIJob", "mpiReplicaSpecs", specs, launcherCreationPolicy="WaitForWorkersReady")
    roles = {f"{TRAINING}/job-name": "train"}
    still.pod("worker", job, labels={**roles, f"{TRAINING}/job-role": "worker"})
    assert summary(still.group("worker"))[0] == 2
    still.pod("launcher", job, labels={**roles, f"{TRAINING}/job-role": "launcher"})
    assert summary(still.group("worker"))[0] == 3


def test_a_notebook_is_for_building(still):
    still.define("kubeflow.org", "v1beta1", "Notebook")
    notebook = still.owner("kubeflow.org/v1beta1", "Notebook", "n")
    assert still.group(still.pod("n-0", notebook))["spec"]["priorityClassName"] == "build"


RAY = {
    "workerGroupSpecs": [
        {"groupName": "small", "replicas": 3, "minReplicas": 2},
        {"replicas": 2, "numOfHosts": 4},
        {"groupName": "off", "replicas": 5, "suspended": True},
        {"groupName": "none", "replicas": 0},
    ]
}


def test_a_ray_cluster_is_a_gang_of_its_head_and_the_least_of_its_workers(still):
    still.define("ray.io", "v1", "RayCluster")
    cluster = still.owner("ray.io/v1", "RayCluster", "r", spec=RAY)
    still.pod("head", cluster, labels={"ray.io/group": "headgroup"})
    still.pod("worker", cluster, labels={"ray.io/group": "small"})
    assert summary(still.group("head")) == (11, {"headgroup": 1, "small": 2, "worker-group-1": 8})
    assert still.get("pods", "worker")["metadata"]["labels"]["kai.scheduler/subgroup-name"] == "small"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("RayJob", {"rayClusterName": "r"}),
        ("RayService", {"activeServiceStatus": {"rayClusterName": "r"}}),
        ("RayService", {"pendingServiceStatus": {"rayClusterName": "r"}}),
    ],
)
def test_a_ray_job_or_service_is_grouped_by_its_cluster(still, kind, status):
    still.define("ray.io", "v1", "RayCluster")
    still.define("ray.io", "v1", kind)
    owner = still.owner(
        "ray.io/v1", kind, "w", status=status, metadata={"labels": {"ray.io/priority-class-name": "inference"}}
    )
    still.owner("ray.io/v1", "RayCluster", "r", spec=RAY)
    group = still.group(still.pod("p", owner))
    assert group["metadata"]["name"] == f"pg-w-{uid(owner)}"
    assert (group["spec"]["minMember"], group["spec"]["priorityClassName"]) == (11, "inference")


def test_a_ray_job_without_a_cluster_waits_for_one(still):
    still.define("ray.io", "v1", "RayJob")
    still.pod("p", still.owner("ray.io/v1", "RayJob", "w"))
    assert "failed to extract rayClusterName for default/w of kind RayJob" in still.events("p")[0][1]


def worker_set(kai, size=3, **spec):
    kai.define("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")
    template = {"size": size, **spec.pop("template", {})}
    return kai.owner(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "s", spec={"leaderWorkerTemplate": template, **spec}
    )


def member(kai, owner, group, worker):
    labels = {f"{LWS}/group-index": str(group), f"{LWS}/worker-index": str(worker)}
    return kai.pod(f"s-{group}-{worker}", owner, labels=labels)


def test_each_group_of_a_leader_worker_set_is_a_gang(still):
    owner = worker_set(still)
    for group in range(2):
        for worker in range(3):
            member(still, owner, group, worker)
    assert groups(still) == [f"pg-s-{uid(owner)}-group-0", f"pg-s-{uid(owner)}-group-1"]
    assert summary(still.group("s-1-2")) == (3, {"leader": 1, "workers": 2})


def test_a_leader_that_workers_wait_for_is_enough_until_it_is_placed(still):
    owner = worker_set(still, startupPolicy="LeaderReady")
    leader = member(still, owner, 0, 0)
    assert summary(still.group(leader)) == (1, {"leader": 1})
    still.bind(leader)
    assert summary(still.group(leader)) == (3, {"leader": 1, "workers": 2})


@pytest.mark.parametrize(
    ("size", "policy", "expected"),
    [
        (5, {}, {"segment-0": 3, "segment-1": 2, "leader": 1, "workers": 2}),
        (4, {}, {"segment-0": 2, "segment-1": 2, "leader": 1, "workers": 1}),
        (5, {"subGroupPolicyType": "LeaderExcluded"}, {"leader": 1, "segment-0": 2, "segment-1": 2}),
    ],
)
def test_a_leader_worker_set_may_be_in_segments(still, size, policy, expected):
    owner = worker_set(still, size, template={"subGroupPolicy": {"subGroupSize": 2, **policy}})
    pods = [member(still, owner, 0, worker) for worker in range(size)]
    assert summary(still.group(pods[0])) == (size, expected)
    label = "kai.scheduler/subgroup-name"
    placed = [still.get("pods", each["metadata"]["name"])["metadata"]["labels"][label] for each in pods]
    counted = {name: placed.count(name) for name in placed}
    leaves = {name: count for name, count in expected.items() if name != "segment-0" or policy}
    assert counted == leaves, "every leaf has as many pods as it needs"


JOBS = [
    {"name": "driver", "template": {"spec": {}}},
    {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 3}}},
]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({}, {"driver": 1, "workers": 6}), ({"startupPolicy": {"startupPolicyOrder": "AnyOrder"}}, {"": 7})],
)
def test_a_job_set_is_a_gang_for_each_job_where_these_start_in_order(still, spec, expected):
    still.define("jobset.x-k8s.io", "v1alpha2", "JobSet")
    owner = still.owner("jobset.x-k8s.io/v1alpha2", "JobSet", "s", spec={"replicatedJobs": JOBS, **spec})
    for name in ("driver", "workers"):
        still.pod(name, owner, labels={"jobset.sigs.k8s.io/replicatedjob-name": name})
    found = {each["metadata"]["name"]: each["spec"]["minMember"] for each in still.store.list(POD_GROUPS)}
    prefix = f"pg-s-{uid(owner)}"
    assert found == {f"{prefix}-{name}" if name else prefix: count for name, count in expected.items()}


@pytest.mark.parametrize(("gang", "count"), [(True, 1), (False, 2)])
def test_a_knative_revision_is_a_gang_of_its_least_scale_or_no_gang(gang, count):
    lab = KaiLab("stages", "controllers", config=KaiConfig(knative_gang=gang))
    lab.define("serving.knative.dev", "v1", "Service")
    lab.define("serving.knative.dev", "v1", "Revision")
    service = lab.owner("serving.knative.dev/v1", "Service", "s")
    lab.owner(
        "serving.knative.dev/v1",
        "Revision",
        "s-1",
        metadata={"annotations": {"autoscaling.knative.dev/min-scale": "2"}},
    )
    for name in ("a", "b"):
        lab.pod(name, service, labels={"serving.knative.dev/revision": "s-1"})
    assert len(groups(lab)) == count
    assert lab.group("a")["spec"]["minMember"] == (2 if gang else 1)
    assert lab.group("a")["spec"]["priorityClassName"] == "inference"


def test_a_pod_gang_of_grove_is_a_group_with_sub_groups_and_topology(still):
    still.define("grove.io", "v1alpha1", "PodCliqueSet")
    still.define("scheduler.grove.io", "v1alpha1", "PodGang")
    owner = still.owner("grove.io/v1alpha1", "PodCliqueSet", "set")
    parts = [
        {"name": name, "minReplicas": least, "podReferences": [{"namespace": "default", "name": f"{name}-0"}]}
        for name, least in (("prefill", 2), ("decode", 3))
    ]
    parts[0]["topologyConstraint"] = {"packConstraint": {"required": "rack"}}
    config = {"name": "both", "podGroupNames": ["prefill", "decode"]}
    still.owner(
        "scheduler.grove.io/v1alpha1",
        "PodGang",
        "gang",
        metadata={"annotations": {"grove.io/topology-name": "racks"}},
        spec={
            "podgroups": parts,
            "priorityClassName": "inference",
            "topologyConstraint": {"packConstraint": {"preferred": "zone"}},
            "topologyConstraintGroupConfigs": [config],
        },
    )
    for name in ("prefill-0", "decode-0"):
        still.pod(name, owner, labels={"grove.io/podgang": "gang"})
    group = still.group("decode-0")
    assert summary(group) == (5, {"both": None, "prefill": 2, "decode": 3})
    assert group["spec"]["priorityClassName"] == "inference"
    assert group["spec"]["topologyConstraint"] == {"topology": "racks", "preferredTopologyLevel": "zone"}
    prefill = group["spec"]["subGroups"][1]
    assert prefill["parent"] == "both"
    assert prefill["topologyConstraint"] == {"topology": "racks", "requiredTopologyLevel": "rack"}
    assert still.get("pods", "prefill-0")["metadata"]["labels"]["kai.scheduler/subgroup-name"] == "prefill"


def test_a_group_follows_its_owner_but_for_what_others_decide(still):
    job = training_job(still, "TFJob", "tfReplicaSpecs", {"Worker": replica(2)})
    pod = still.pod("a", job, labels={QUEUE: "first"})
    group = still.group(pod)
    still.store.update(POD_GROUPS, {**group, "spec": {**group["spec"], "queue": "moved", "markUnschedulable": False}})
    still.store.update(
        "tfjobs.kubeflow.org",
        {
            **job,
            "spec": {"tfReplicaSpecs": {"Worker": replica(5)}},
            "metadata": {**job["metadata"], "labels": {"x": "y"}},
        },
    )
    still.pod("b", job, labels={QUEUE: "second"})
    group = still.group("b")
    assert (group["spec"]["minMember"], group["spec"]["queue"], group["spec"]["markUnschedulable"]) == (
        5,
        "moved",
        False,
    )
    assert group["metadata"]["labels"] == {"x": "y"}
    assert group["metadata"]["generation"] == 2
