"""What KAI refuses at the door."""

from __future__ import annotations

import pytest

from ghostfleet.core.errors import ApiError

GROUP = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "g"}}
QUEUE = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}}


def refusal(act) -> str:
    with pytest.raises(ApiError) as caught:
        act()
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    return caught.value.message


def test_a_queue_must_say_something_about_resources(still):
    said = 'admission webhook "queue-validation.kai.scheduler" denied the request: resources must be specified'
    assert refusal(lambda: still.apply({**QUEUE, "spec": {"priority": 1}})) == said
    still.apply({**QUEUE, "spec": {"resources": {}}})
    resource = still.api.registry.by_key("queues.scheduling.run.ai")
    from ghostfleet.api.options import WriteOptions

    patch = {"spec": {"resources": None}}
    assert said == refusal(lambda: still.api.patch(resource, resource.storage, "", "q", "merge", patch, WriteOptions()))


@pytest.mark.parametrize(
    ("sub_groups", "said"),
    [
        ([("a", None), ("a", None)], "duplicate subgroup name a"),
        ([("a", "b")], "parent b of a was not found"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "cycle detected in subgroups"),
    ],
)
def test_sub_groups_must_be_a_tree(still, sub_groups, said):
    listed = [{"name": name, **({"parent": parent} if parent else {})} for name, parent in sub_groups]
    message = refusal(lambda: still.apply({**GROUP, "spec": {"subGroups": listed}}))
    assert message == f'admission webhook "podgroup-validation.kai.scheduler" denied the request: {said}'


def test_a_tree_of_sub_groups_is_taken(still):
    tree = [{"name": "leaf", "parent": "inner", "minMember": 2}, {"name": "inner", "parent": "root"}, {"name": "root"}]
    still.apply({**GROUP, "spec": {"minMember": 2, "subGroups": tree}})


@pytest.mark.parametrize(
    ("annotations", "gpus", "said"),
    [
        ({"gpu-fraction": "1.5"}, 0, "gpu-fraction annotation value must be a positive number smaller than 1.0"),
        ({"gpu-fraction": "half"}, 0, "gpu-fraction annotation value must be a positive number smaller than 1.0"),
        ({"gpu-fraction": "0"}, 0, "gpu-fraction annotation value must be a positive number smaller than 1.0"),
        ({"gpu-fraction": "nan"}, 0, "gpu-fraction annotation value must be a positive number smaller than 1.0"),
        ({"gpu-fraction": "0.5"}, 1, "cannot have both GPU fraction request and whole GPU resource request/limit"),
        ({"gpu-memory": "100"}, 1, "cannot request both GPU and GPU memory"),
        ({"gpu-memory": "100", "gpu-fraction": "0.5"}, 0, "cannot request both GPU and GPU memory"),
        ({"gpu-memory": "0"}, 0, "gpu-memory annotation value must be a positive integer greater than 0"),
        ({"gpu-memory": "1.5"}, 0, "gpu-memory annotation value must be a positive integer greater than 0"),
        (
            {"gpu-fraction-num-devices": "2"},
            0,
            "cannot request multiple fractional devices without specifying fraction portion or gpu-memory",
        ),
        (
            {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"},
            0,
            "fraction count annotation value must be a positive integer greater than 0",
        ),
        ({"mps": "true"}, 0, "MPS is only supported with GPU fraction request"),
    ],
)
def test_a_request_for_a_part_of_a_gpu_must_make_sense(still, annotations, gpus, said):
    requests = {"nvidia.com/gpu": str(gpus)} if gpus else {"cpu": "1"}
    message = refusal(lambda: still.pod("p", annotations=annotations, requests=requests))
    assert message == f'admission webhook "admission.kai-scheduler.svc" denied the request: {said}'
    still.pod("other", annotations=annotations, requests=requests, spec={"schedulerName": "default-scheduler"})


@pytest.mark.parametrize("annotations", [{"gpu-fraction": "0.5"}, {"gpu-fraction": "1e-1"}, {"gpu-memory": "2000"}])
def test_a_sensible_request_for_a_part_of_a_gpu_is_taken(still, annotations):
    still.pod("p", annotations={**annotations, "gpu-fraction-num-devices": "2"}, requests={"cpu": "1"})


def test_a_job_says_why_its_pods_are_refused(kai):
    template = {
        "metadata": {"annotations": {"gpu-fraction": "1.5"}},
        "spec": {
            "schedulerName": "kai-scheduler",
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "app"}],
        },
    }
    kai.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}})
    reason, message = kai.events("j")[0]
    assert reason == "FailedCreate"
    assert message.endswith("gpu-fraction annotation value must be a positive number smaller than 1.0")
    assert not kai.store.count("pods")
