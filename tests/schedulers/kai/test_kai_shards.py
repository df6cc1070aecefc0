"""Node pools: a scheduler for each shard, with nodes, queues and pod groups of its own."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.controllers.kai import POD_GROUPS, QUEUES, SCHEDULING_SHARDS
from ghostfleet.schedulers.framework.arguments import ConfigError
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.shards import shard_configuration
from support.kai_lab import KaiLab

POOL, LABEL = "kai.scheduler/node-pool", "kai.scheduler/queue"


def label(kai: KaiLab, resource: str, name: str, pool: str | None) -> None:
    obj = kai.get(resource, name)
    labels = {key: value for key, value in (obj["metadata"].get("labels") or {}).items() if key != POOL}
    labels |= {} if pool is None else {POOL: pool}
    kai.store.update(resource, {**obj, "metadata": {**obj["metadata"], "labels": labels}})
    kai.clock.settle()


def shard(kai: KaiLab, name: str, **spec: Any) -> None:
    metadata = {"name": name}
    kai.apply({"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": metadata, "spec": spec})


@pytest.fixture
def kai() -> KaiLab:
    lab = KaiLab.scheduled(nodes=2, gpus=4)
    lab.queue("plain", gpus=4)
    lab.queue("fast", gpus=4)
    label(lab, "nodes", "kwok-node-1", "h100")
    label(lab, QUEUES, "fast", "h100")
    return lab


def node_of(kai: KaiLab, pod: str) -> str | None:
    return kai.get("pods", pod)["spec"].get("nodeName")


def test_pods_of_a_pool_wait_for_its_shard_and_get_its_nodes_only(kai: KaiLab) -> None:
    for number in range(5):
        kai.pod(f"p{number}", labels={LABEL: "plain"})
        kai.pod(f"f{number}", labels={LABEL: "fast", POOL: "h100"})
    kai.advance(10)
    assert {node_of(kai, f"p{number}") for number in range(4)} == {"kwok-node-0"}
    assert [node_of(kai, f"f{number}") for number in range(5)] == [None] * 5
    shard(kai, "fast", partitionLabelValue="h100")
    kai.advance(10)
    assert [node_of(kai, f"f{number}") for number in range(5)] == ["kwok-node-1"] * 4 + [None]
    assert node_of(kai, "p4") is None
    (condition,) = kai.group("f4")["status"]["schedulingConditions"]
    assert condition["nodePool"] == "h100"


def test_a_node_that_changes_its_pool_takes_other_pods(kai: KaiLab) -> None:
    for number in range(5):
        kai.pod(f"p{number}", labels={LABEL: "plain"})
    kai.advance(5)
    assert len(kai.running()) == 4
    label(kai, "nodes", "kwok-node-1", None)
    kai.advance(5)
    assert len(kai.running()) == 5
    label(kai, "nodes", "kwok-node-1", "h100")
    kai.pod("p5", labels={LABEL: "plain"})
    kai.advance(5)
    assert len(kai.running()) == 5


def test_a_pod_group_that_leaves_the_pool_is_no_longer_looked_at(kai: KaiLab) -> None:
    for number in range(5):
        kai.pod(f"p{number}", labels={LABEL: "plain"})
    kai.advance(5)
    (waits,) = {f"p{number}" for number in range(5)} - set(kai.running())
    label(kai, POD_GROUPS, kai.group(waits)["metadata"]["name"], "h100")
    kai.store.delete("pods", "default", kai.running()[0], grace=0)
    kai.advance(5)
    assert waits not in kai.running()


def test_a_shard_that_is_changed_starts_anew_and_one_that_is_deleted_stops(kai: KaiLab) -> None:
    kai.pod("one", labels={LABEL: "plain"})
    kai.advance(5)
    label(kai, "nodes", "kwok-node-1", None)
    changed = kai.get(SCHEDULING_SHARDS, "default")
    kai.store.update(SCHEDULING_SHARDS, {**changed, "spec": {"placementStrategy": {"gpu": "spread"}}})
    kai.clock.settle()
    kai.pod("two", labels={LABEL: "plain"})
    kai.advance(5)
    assert (node_of(kai, "one"), node_of(kai, "two")) == ("kwok-node-0", "kwok-node-1")
    kai.store.delete(SCHEDULING_SHARDS, "", "default")
    kai.pod("three", labels={LABEL: "plain"})
    kai.advance(5)
    assert node_of(kai, "three") is None


def test_a_shard_that_cannot_be_understood_says_so_and_goes_on_as_it_was(kai: KaiLab) -> None:
    changed = kai.get(SCHEDULING_SHARDS, "default")
    kai.store.update(SCHEDULING_SHARDS, {**changed, "spec": {"placementStrategy": {"gpu": "scatter"}}})
    kai.pod("one", labels={LABEL: "plain"})
    kai.advance(5)
    assert kai.running() == ["one"]
    told = dict(kai.events("default"))["InvalidShard"]
    assert told == (
        "Shard default stays as it was: spec.placementStrategy.gpu: 'scatter' is neither binpack nor spread"
    )


def test_a_shard_says_how_its_scheduler_is_set_up() -> None:
    spec = {
        "partitionLabelValue": "h100",
        "args": {"max-consolidation-preemptees": "0", "default-staleness-grace-period": "2m", "v": "6"},
        "placementStrategy": {"gpu": "spread", "cpu": "binpack"},
        "minRuntime": {"preemptMinRuntime": "5m"},
        "kValue": 0.5,
        "queueDepthPerAction": {"preempt": 3},
        "usageDBConfig": {"clientType": "prometheus", "usageParams": {"halfLifePeriod": "1h"}},
    }
    config = shard_configuration(spec, SchedulerConfiguration())
    arguments = {each.name: each.arguments for each in config.plugins}
    assert config.node_pool == "h100"
    assert (config.max_consolidation_preemptees, config.staleness_grace) == (0, 120)
    assert "consolidation" not in config.actions
    assert arguments["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}
    assert "gpuspread" in arguments
    assert "gpupack" not in arguments
    assert arguments["minruntime"] == {"defaultPreemptMinRuntime": "5m"}
    assert arguments["proportion"] == {"kValue": "0.5"}
    assert config.queue_depth_per_action == {"preempt": 3}
    assert config.usage is not None
    assert config.usage.half_life == 3600


def test_a_shard_turns_single_actions_and_plugins_off_and_on_and_orders_them() -> None:
    usual = SchedulerConfiguration()
    assert shard_configuration({}, usual) == usual
    spec = {
        "actions": {"consolidation": {"enabled": False}, "preempt": {"priority": 450}},
        "plugins": {
            "minruntime": {"enabled": False},
            "podaffinity": {},
            "nodeplacement": {"arguments": {"gpu": "spread"}},
        },
    }
    config = shard_configuration(spec, usual)
    assert config.actions == ("allocate", "preempt", "reclaim", "stalegangeviction")
    names = [each.name for each in config.plugins]
    assert names[-1] == "podaffinity"
    assert "minruntime" not in names
    assert next(each for each in config.plugins if each.name == "nodeplacement").arguments == {"gpu": "spread"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"args": {"max-consolidation-preemptees": "few"}}, "spec.args.max-consolidation-preemptees: 'few'"),
        ({"args": {"use-scheduling-signatures": "maybe"}}, "expected true or false"),
        ({"actions": {"backfill": {}}}, 'spec.actions: unknown name "backfill"; known are allocate'),
        ({"queueDepthPerAction": {"backfill": 1}}, 'spec.queueDepthPerAction: "backfill" is none of the actions'),
        ({"usageDBConfig": {"usageParams": {"windowType": "x"}}}, 'spec.usageDBConfig.usageParams.windowType: "x"'),
    ],
)
def test_what_is_wrong_with_a_shard_is_named(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        shard_configuration(spec, SchedulerConfiguration())


def test_a_queue_that_had_much_of_late_gets_less_of_what_is_free() -> None:
    """Two queues without quota and of equal weight want all four GPUs; the one that had them an hour gets fewer."""
    shares = {}
    for usage in (None, {"usageParams": {"windowSize": "2h"}}):
        kai = KaiLab.scheduled(nodes=1, gpus=4)
        changed = kai.get(SCHEDULING_SHARDS, "default")
        spec = {"kValue": 4, **({} if usage is None else {"usageDBConfig": {"clientType": "prometheus", **usage}})}
        kai.store.update(SCHEDULING_SHARDS, {**changed, "spec": spec})
        kai.clock.settle()
        kai.queue("old")
        kai.queue("new")
        for number in range(4):
            kai.pod(f"o{number}", labels={LABEL: "old"})
        kai.advance(3600)
        for number in range(4):
            kai.pod(f"n{number}", labels={LABEL: "new"})
        kai.advance(180)
        shares[usage is not None] = sum(name.startswith("n") for name in kai.running())
    assert shares[False] == 2
    assert shares[True] > 2
