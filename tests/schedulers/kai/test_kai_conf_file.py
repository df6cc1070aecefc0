"""KAI's configuration file: what it says is done, and what is wrong with it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.schedulers.framework.arguments import ConfigError
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.conf_file import load_configuration
from support.kai_lab import KaiLab

FILE = """
actions: "allocate, reclaim"
tiers:
- plugins:
  - name: predicates
  - name: proportion
    arguments:
      kValue: "0.5"
- plugins:
  - name: nodeplacement
    disableNodeOrder: true
    arguments: {gpu: spread, cpu: binpack}
  - name: snapshot
queueDepthPerAction: {reclaim: 10}
usageDBConfig:
  clientType: prometheus
  connectionString: http://prometheus:9090
  usageParams:
    halfLifePeriod: 10m
    windowSize: 24h
    windowType: tumbling
    tumblingWindowStartTime: "2026-01-01T00:00:00Z"
    fetchInterval: 30s
"""


def test_a_file_says_actions_plugins_depths_and_how_usage_counts() -> None:
    config = load_configuration(FILE)
    assert config.actions == ("allocate", "reclaim")
    assert [each.name for each in config.plugins] == ["predicates", "proportion", "nodeplacement"]
    assert config.plugins[1].arguments == {"kValue": "0.5"}
    assert config.queue_depth_per_action == {"reclaim": 10}
    assert config.usage is not None
    assert (config.usage.half_life, config.usage.window_size, config.usage.fetch_interval) == (600, 86_400, 30)
    assert config.usage.tumbling_start == 1_767_225_600


@pytest.mark.parametrize("text", ["", "actions: ''\n", "tiers: []\n"])
def test_what_a_file_does_not_say_is_as_in_kai(text: str) -> None:
    assert load_configuration(text) == SchedulerConfiguration()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('actions: "allocate, backfill"', 'actions: unknown action "backfill"; known are allocate, consolidation'),
        ("actions: [allocate]", "actions: .* is not a text"),
        ("tiers: {plugins: []}", "tiers: .* is not a list"),
        ("tiers: [{plugins: [{name: gang}]}]", r'tiers\[0\].plugins\[0\].name: unknown plugin "gang"; known are'),
        ("tiers: [{plugins: [{name: proportion, weight: 1}]}]", r'unknown field "tiers\[0\].plugins\[0\].weight"'),
        (
            "tiers: [{plugins: [{name: proportion, arguments: {kValue: 0.5}}]}]",
            r'tiers\[0\].plugins\[0\].arguments.kValue: 0.5 is not a text; write it in quotes, "0.5"',
        ),
        ("queueDepthPerAction: {backfill: 1}", 'queueDepthPerAction: "backfill" is none of the actions'),
        ("queueDepthPerAction: {allocate: many}", "queueDepthPerAction.allocate: 'many' is not a whole number"),
        ("usageDBConfig: {usageParams: {windowSize: 1d}}", 'usageParams.windowSize: time: unknown unit "d"'),
        ("usageDBConfig: {usageParams: {windowSize: 0s}}", "usageParams.windowSize: must be longer than nothing"),
        ("usageDBConfig: {usageParams: {windowType: round}}", 'windowType: "round" is none of sliding, tumbling, cron'),
        ("usageDBConfig: {usageParams: {windowType: cron, cronString: never}}", "usageParams.cronString: "),
        ("usageDBConfig: {usageParams: {tumblingWindowStartTime: soon}}", "'soon' is no time such as"),
        ("profiles: []", 'unknown field "profiles"; known here are actions, tiers'),
        ("a: 1\n---\nb: 1", "one document, this has 2"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^f.yaml: .*{message}"):
        load_configuration(text, "f.yaml")


def test_a_cluster_schedules_as_its_file_says(tmp_path: Path) -> None:
    file = tmp_path / "kai.yaml"
    file.write_text("tiers: [{plugins: [{name: predicates}, {name: nodeplacement, arguments: {gpu: spread}}]}]\n")
    kai = KaiLab.of(Cluster(config=ClusterConfig(nodes=2, gpus=4, schedulers=("kai",), kai_config=file)))
    for name in ("one", "two"):
        kai.pod(name)
        kai.advance(5)
    assert {kai.get("pods", name)["spec"]["nodeName"] for name in ("one", "two")} == {"kwok-node-0", "kwok-node-1"}
    assert kai.cluster.made["kai"]["configuration"]["text"] == file.read_text()


def test_the_label_of_the_queue_can_be_the_old_one() -> None:
    kai = KaiLab.of(Cluster(config=ClusterConfig(nodes=1, gpus=4, schedulers=("kai",), kai_queue_label="runai/queue")))
    kai.queue("vision", gpus=2)
    kai.pod("one", labels={"runai/queue": "vision", "kai.scheduler/queue": "speech"})
    kai.advance(5)
    assert kai.group("one")["spec"]["queue"] == "vision"
    assert kai.running() == ["one"]
