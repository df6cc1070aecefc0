"""What a wrapper is taken to need, and what its pods will ask for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import custom, job, wrapper

from ghostfleet.dispatchers.mcad.amounts import Amounts
from ghostfleet.dispatchers.mcad.demand import demand_of, disagreements, pod_groups
from ghostfleet.dispatchers.mcad.wrapper import read_wrapper


def demand(*templates, **options) -> Amounts:
    return demand_of(read_wrapper(wrapper("w", *templates, **options))).total


def deployment(replicas, **resources):
    container = {"name": "main", "image": "app", "resources": resources}
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def test_custompodresources_replace_the_template():
    assert demand(job("j", gpus=4), custompods=[custom(2, gpus=8)]) == Amounts(20, 20_000_000, 16)


def test_replicas_count_and_parallelism_does_not():
    assert demand(deployment(3, requests={"cpu": "500m", "memory": "1Gi"})) == Amounts(1500, 3 << 30, 0)
    assert demand(job("j", gpus=8, parallelism=2)).gpu == 8


def test_a_limit_counts_where_there_is_no_request():
    assert demand(deployment(1, requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": 1})) == (
        Amounts(1000, 1 << 30, 1)
    )


def test_a_pod_is_its_own_template_and_other_objects_need_nothing():
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}
    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": []}}
    assert demand(pod, service) == Amounts(1000, 0, 0)


def test_other_resources_and_init_containers_are_not_counted():
    template = deployment(1, requests={"cpu": "1", "rdma/hca": 8, "ephemeral-storage": "1Ti"})
    template["spec"]["template"]["spec"]["initContainers"] = [{"resources": {"requests": {"cpu": "64"}}}]
    assert demand(template) == Amounts(1000, 0, 0)


def test_a_demand_says_where_it_comes_from():
    (part,) = demand_of(read_wrapper(wrapper("w", job("j"), custompods=[custom(2, gpus=8)]))).parts
    assert (part.source, part.count, part.each.gpu) == ("GenericItems[0].custompodresources[0]", 2, 8)
    (part,) = demand_of(read_wrapper(wrapper("w", job("j")))).parts
    assert part.source == "GenericItems[0].generictemplate.spec.template.spec.containers"


def test_pods_to_place_are_those_of_the_template_as_large_as_they_are_said_to_be():
    item = read_wrapper(wrapper("w", job("j", parallelism=2), custompods=[custom(1, gpus=8)])).items[0]
    (group,) = pod_groups(item)
    assert (group.count, group.each.gpu) == (2, 8)


def test_a_wrapper_that_says_something_else_than_its_template_is_found_out():
    (found,) = disagreements(read_wrapper(wrapper("w", job("j"), custompods=[custom(1, gpus=16)])))
    assert "16 nvidia.com/gpu" in found
    assert disagreements(read_wrapper(wrapper("w", job("j", gpus=2)))) == []


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"custompodresources": [{"replicas": 1, "requests": {"cpu": "many"}}]}, "custompodresources[0]"),
        ({"custompodresources": [{"replicas": "some", "requests": {}}]}, "custompodresources[0]"),
        ({"generictemplate": "text"}, "generictemplate"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_path(item, path):
    obj = wrapper("w")
    obj["spec"]["resources"]["GenericItems"] = [item]
    with pytest.raises(ValueError, match="GenericItems") as caught:
        read_wrapper(obj)
    assert path in str(caught.value)
