"""Running tests: phases, namespaces, failures, Ctrl-C, and what is left behind."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.clusterloader import Lab

Written = Callable[..., Path]

_CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ignored}\ndata: {value: '{{.Value}}', of: '{{.Namespace}}/{{.Index}}'}\n"
_POD = """\
apiVersion: v1
kind: Pod
metadata: {labels: {group: g}}
spec: {nodeSelector: {{{.Selector}}}, containers: [{name: c, image: i}]}
""".replace("{{{.Selector}}}", "{ {{.Selector}} }")


def _phase(
    replicas: int, basenames: str = "a", value: str = "x", spaces: str = "namespaceRange: {min: 1, max: 2}"
) -> str:
    bundle = ", ".join(
        f"{{basename: {name}, objectTemplatePath: map.yaml, templateFillMap: {{Value: {value}}}}}"
        for name in basenames.split()
    )
    return f"""\
- phases:
  - {{{spaces}, replicasPerNamespace: {replicas}, tuningSet: q, objectBundle: [{bundle}]}}
"""


def _test(*steps: str, more: str = "namespace: {number: 2}") -> str:
    return f"name: t\n{more}\ntuningSets: [{{name: q, qpsLoad: {{qps: 100}}}}]\nsteps:\n{''.join(steps)}"


_TWO = "namespace: {number: 2, prefix: mine, deleteAutomanagedNamespaces: false}"


def _maps(lab: Lab) -> dict[str, str]:
    found = lab.store.list("configmaps")
    return {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["data"]["value"]
        for each in found
        if each["metadata"]["namespace"].startswith("mine-") and not each["metadata"]["name"].startswith("kube-")
    }


def test_a_phase_brings_objects_to_a_number_and_keeps_the_names_of_their_indexes(lab: Lab, written: Written) -> None:
    result = lab.result(written(_test(_phase(2), more=_TWO), map=_CONFIG_MAP))
    assert result.all_errors() == []
    assert sorted(_maps(lab)) == ["mine-1/a-0", "mine-1/a-1", "mine-2/a-0", "mine-2/a-1"]
    assert result.objects == {"created": 4, "patched": 0, "deleted": 0}


def test_more_replicas_are_created_the_same_are_patched_and_fewer_deleted(lab: Lab, written: Written) -> None:
    steps = _phase(2), _phase(3, value="more"), _phase(3, value="other"), _phase(1, value="last")
    result = lab.result(written(_test(*steps, more=_TWO), map=_CONFIG_MAP))
    assert result.all_errors() == []
    assert _maps(lab) == {"mine-1/a-0": "other", "mine-2/a-0": "other"}
    assert result.objects == {"created": 6, "patched": 6, "deleted": 4}


def test_a_bundle_whose_objects_have_different_numbers_is_refused(lab: Lab, written: Written) -> None:
    result = lab.result(written(_test(_phase(2), _phase(3, "a b"), more=_TWO), map=_CONFIG_MAP))
    assert result.all_errors() == ["bundle error: b has 0 replicas while a has 2"]


def test_objects_that_were_there_count_where_that_is_asked_for(lab: Lab, written: Written) -> None:
    config = _test(
        _phase(3).replace("templateFillMap", "listUnknownObjectOptions: {labelSelector: {}}, templateFillMap"),
        more="namespace: {number: 1, prefix: mine}",
    ).replace("namespaceRange: {min: 1, max: 2}", "namespaceList: [default]")
    for number in range(2):
        meta = {"name": f"a-{number}", "namespace": "default"}
        lab.store.create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    result = lab.result(written(config, map=_CONFIG_MAP))
    assert result.all_errors() == []
    # The root certificates are a third one.
    assert result.objects["patched"] + result.objects["created"] in (1, 3)


def test_objects_of_no_namespace_are_removed_after_the_test(lab: Lab, written: Written) -> None:
    priority = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nvalue: 5\n"
    config = _test(
        "- phases:\n  - {replicasPerNamespace: 2, tuningSet: q, objectBundle: [{basename: p, objectTemplatePath: p.yaml}]}\n"
    )
    result = lab.result(written(config, p=priority))
    assert result.objects["created"] == 2
    assert not [name for name in lab.names("priorityclasses.scheduling.k8s.io") if name.startswith("p-")]


def test_a_failing_step_does_not_end_the_test_and_says_what_failed(lab: Lab, written: Written) -> None:
    broken = "apiVersion: v1\nkind: ConfigMap\ndata: [1]\n"
    result = lab.result(
        written(
            _test(_phase(1), "- measurements: [{method: Sleep, identifier: s, params: {duration: 1s}}]\n"), map=broken
        )
    )
    assert len(result.steps) == 2
    assert len(result.steps[0].errors) == 2
    assert "object a-0: " in result.steps[0].errors[0]
    assert result.steps[1].all_errors() == []


def test_an_object_template_that_cannot_be_rendered_names_file_line_and_expression(lab: Lab, written: Written) -> None:
    path = written(_test(_phase(1)), map="apiVersion: v1\nkind: ConfigMap\ndata: {a: {{AddInt 1 .Nothing}}}\n")
    first = lab.result(path).all_errors()[0]
    assert first.endswith(
        f"{path.parent / 'map.yaml'}: line 3: error calling AddInt: expected a number, found nothing: the value is "
        "not set in {{AddInt 1 .Nothing}}"
    )


def test_a_kind_that_the_cluster_does_not_serve_is_named(lab: Lab, written: Written) -> None:
    errors = lab.result(written(_test(_phase(1)), map="apiVersion: no/v1\nkind: Nothing\n")).all_errors()
    assert errors[0].endswith("the cluster does not serve Nothing (no/v1)")


def test_what_makes_no_sense_after_a_fatal_wait_is_not_done(lab: Lab, written: Written) -> None:
    wait = "- measurements: [{method: WaitForRunningPods, identifier: w, params: {desiredPodCount: 5, timeout: 10s, isFatal: true}}]\n"
    result = lab.result(written(_test(wait, _phase(1)), map=_CONFIG_MAP))
    assert result.all_errors() == ["timeout while waiting for 5 pods: 0 run, 0 are there"]
    assert len(result.steps) == 1


def test_namespaces_that_are_there_already_are_not_taken_unless_that_is_allowed(lab: Lab, written: Written) -> None:
    config = _test(_phase(1), more="namespace: {number: 2, prefix: mine}")
    lab.store.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine-1"}})
    (error,) = lab.result(written(config, map=_CONFIG_MAP)).all_errors()
    assert error.startswith("error while preparing test namespaces: pre-existing automanaged namespaces found: mine-1")
    allowed = config.replace("prefix: mine", "prefix: mine, enableExistingNamespaces: true")
    assert lab.result(written(allowed, map=_CONFIG_MAP)).all_errors() == []
    assert "mine-1" in lab.names("namespaces")
    assert "mine-2" not in lab.names("namespaces")


def test_stale_namespaces_of_earlier_tests_are_removed_where_that_is_asked_for(lab: Lab, written: Written) -> None:
    for name in ("test-abc123-1", "test-keep"):
        lab.store.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    config = _test(_phase(1), more="namespace: {number: 2, deleteStaleNamespaces: true}")
    assert lab.result(written(config, map=_CONFIG_MAP)).all_errors() == []
    assert [name for name in lab.names("namespaces") if name.startswith("test-")] == ["test-keep"]


def test_ctrl_c_ends_the_test_and_removes_all_that_it_has_made(lab: Lab, written: Written) -> None:
    path = written(
        _test(_phase(3), "- measurements: [{method: Sleep, identifier: s, params: {duration: 1h}}]\n"), map=_CONFIG_MAP
    )
    lab.assembled.clock.call_later(60_000_000, signal.raise_signal, signal.SIGINT)
    ran = lab.run(path)
    assert ran.interrupted
    assert ran.result.errors == ["interrupted"]
    assert ran.result.objects["created"] == 6
    assert not [name for name in lab.names("namespaces") if name.startswith("test-")]


def test_the_chaos_monkey_lets_nodes_fail_and_come_back(lab: Lab, written: Written) -> None:
    chaos = (
        "chaosMonkey: {nodeFailure: {failureRate: 0.3, interval: 1m, simulatedDowntime: 30s}, excludedNodes: [node-0]}"
    )
    config = _test("- measurements: [{method: Sleep, identifier: s, params: {duration: 200s}}]\n", more=chaos)
    seen: set[str] = set()

    def note(change: Any) -> None:
        if change.new is not None and "ghostfleet.dev/failed" in (change.new["metadata"].get("annotations") or {}):
            seen.add(change.name)

    lab.store.listen("nodes", note)
    assert lab.result(written(config)).all_errors() == []
    assert len(seen) >= 3
    assert "node-0" not in seen
    marks = [each["metadata"].get("annotations", {}) for each in lab.store.list("nodes")]
    assert not [each for each in marks if "ghostfleet.dev/failed" in each]


def test_the_same_seed_gives_the_same_test_and_the_same_times(written: Written) -> None:
    config = _test(_phase(5, value="{{RandIntRange 1 1000}}")).replace(
        "qpsLoad: {qps: 100}", "poissonLoad: {expectedActionsPerSecond: 3}"
    )
    path = written(config, map=_CONFIG_MAP)
    first, second, other = (Lab().result(path, seed=seed) for seed in (1, 1, 2))
    assert first.modelled == second.modelled != other.modelled


@pytest.mark.replaces
def test_files_of_beta_versions_of_dra_work_where_only_the_stable_one_is_served(written: Written) -> None:
    lab = Lab(nodes=1)
    asked: list[str] = []
    inner = lab.cluster.resolve

    async def resolve(version: str, kind: str) -> Any:
        asked.append(version)
        return None if version == "resource.k8s.io/v1beta2" else await inner(version, kind)

    lab.cluster.resolve = resolve  # type: ignore[method-assign]
    claim = "apiVersion: resource.k8s.io/v1beta2\nkind: ResourceClaimTemplate\nspec: {spec: {devices: {}}}\n"
    result = lab.result(written(_test(_phase(1)), map=claim))
    assert "resource.k8s.io/v1beta2" in asked
    assert result.all_errors() == []


def test_pods_that_never_get_a_node_are_named_with_the_reason(lab: Lab, written: Written) -> None:
    wait = "- measurements: [{method: WaitForRunningPods, identifier: w, params: {desiredPodCount: 2, timeout: 10s, labelSelector: group = g}}]\n"
    config = _test(_phase(1).replace("Value: x", "Selector: 'no: where'"), wait)
    (error,) = lab.result(written(config, map=_POD)).all_errors()
    lines = error.split("\n")
    assert lines[0] == "timeout while waiting for 2 pods: 0 run, 2 are there"
    assert "node affinity/selector" in lines[1]
