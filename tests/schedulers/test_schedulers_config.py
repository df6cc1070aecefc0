"""The configuration file: what it changes, and how it says what it does not understand."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.schedulers.kube import ConfigError, load_configuration, parse_configuration

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_an_empty_configuration_is_the_default_one() -> None:
    config = parse_configuration(HEAD)
    (profile,) = config.profiles
    assert profile.name == "default-scheduler"
    assert profile.weights["TaintToleration"] == 3
    assert (config.first_backoff, config.longest_backoff) == (SECOND, 10 * SECOND)


def test_a_file_is_read_as_kube_scheduler_reads_it() -> None:
    text = """
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    percentageOfNodesToScore: 40
    podInitialBackoffSeconds: 2
    leaderElection: {leaderElect: false}
    profiles:
    - schedulerName: packing
      plugins:
        score:
          disabled: [{name: NodeResourcesBalancedAllocation}]
          enabled: [{name: ImageLocality, weight: 9}]
        multiPoint:
          disabled: [{name: DefaultPreemption}]
      pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources: [{name: nvidia.com/gpu, weight: 5}]
    - schedulerName: other
      percentageOfNodesToScore: 100
    """
    packing, other = load_configuration(text, "file").profiles
    assert "NodeResourcesBalancedAllocation" not in packing.weights
    assert packing.weights["ImageLocality"] == 9
    assert not packing.is_on("DefaultPreemption", "postFilter")
    assert packing.arguments["NodeResourcesFit"].strategy.resources == (("nvidia.com/gpu", 5),)
    assert (packing.percentage, other.percentage) == (40, 100)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"profile": []}, 'unknown field "profile"'),
        ({"kind": "Other"}, "expected kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration"),
        ({"extenders": [{"urlPrefix": "http://x"}]}, "extenders"),
        ({"profiles": [{"schedulerNames": "x"}]}, 'unknown field "profiles[0].schedulerNames"'),
        ({"profiles": [{}, {}]}, "profiles[0].schedulerName: Required value"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, "profiles[1].schedulerName: Duplicate value"),
        ({"profiles": [{"plugins": {"filters": {}}}]}, 'unknown field "profiles[0].plugins.filters"'),
        (
            {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Mine"}]}}}]},
            'profiles[0].plugins.score.enabled[0].name: unknown plugin "Mine"',
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"strategy": {}}}]}]},
            'unknown field "profiles[0].pluginConfig[0].args.strategy"',
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "ImageLocality", "args": {}}]}]},
            "the plugin ImageLocality takes no arguments",
        ),
        (
            {
                "profiles": [
                    {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}]}
                ]
            },
            "unknown strategy 'Best'",
        ),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: 101"),
        ({"profiles": [{"plugins": {"bind": {"disabled": [{"name": "*"}]}}}]}, "no plugin is left that binds pods"),
    ],
)
def test_what_is_not_understood_is_named(change: Any, named: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_configuration({**HEAD, **change})
    assert named in str(error.value)


def test_a_disabled_filter_rules_nothing_out(lab: Any) -> None:
    lab.node("n0", taints=[{"key": "x", "effect": "NoSchedule"}])
    lab.pod("p")
    lab.run({"profiles": [{"plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}]})
    assert lab.node_of("p") == "n0"


CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]


@pytest.mark.parametrize(
    ("point", "plugin", "spec"),
    [
        ("preEnqueue", "SchedulingGates", {"schedulingGates": [{"name": "g"}]}),
        ("filter", "VolumeBinding", {"volumes": CLAIM}),
        ("preFilter", "VolumeBinding", {"volumes": CLAIM}),
        ("multiPoint", "NodeAffinity", {"nodeSelector": {"no": "node"}}),
    ],
)
def test_a_plugin_can_be_disabled_at_each_of_its_points(lab: Any, point: str, plugin: str, spec: Any) -> None:
    lab.node("n0")
    lab.pod("p", schedulerName="without", **spec)
    lab.pod("kept", **spec)
    off = {"schedulerName": "without", "plugins": {point: {"disabled": [{"name": plugin}]}}}
    lab.run({"profiles": [{"schedulerName": "default-scheduler"}, off]})
    assert lab.node_of("p") == "n0"
    assert lab.node_of("kept") is None


def test_without_preemption_and_dynamic_resources_the_message_ends_with_the_nodes(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("p", 9)
    off = [{"name": "DefaultPreemption"}, {"name": "DynamicResources"}]
    lab.run({"profiles": [{"plugins": {"postFilter": {"disabled": off}}}]})
    assert lab.message("p") == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def test_several_profiles_schedule_side_by_side(lab: Any) -> None:
    gpu = [{"name": "nvidia.com/gpu", "weight": 1}]
    packed = {"scoringStrategy": {"type": "MostAllocated", "resources": gpu}}
    for index in range(4):
        lab.node(f"n{index}")
    profiles = [
        {"schedulerName": "default-scheduler"},
        {"schedulerName": "pack", "pluginConfig": [{"name": "NodeResourcesFit", "args": packed}]},
    ]
    for index in range(4):
        lab.gpus(f"packed{index}", 1, schedulerName="pack")
    lab.run({"profiles": profiles})
    assert len({lab.node_of(f"packed{index}") for index in range(4)}) == 1
    assert lab.events("packed0")[0]["reportingComponent"] == "pack"
