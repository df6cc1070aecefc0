"""Configs: what is read, what is warned about, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.clusterloader import CONFIGS, compiled

from ghostfleet.clusterloader.compiling import generated_config
from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.clusterloader.suite import read_suite
from ghostfleet.core.manifests import dump

Written = Callable[..., Path]

_SOUND = """\
name: t
tuningSets: [{name: q, qpsLoad: {qps: 1}}]
steps:
- name: one
  phases:
  - {namespaceRange: {min: 1, max: 2}, replicasPerNamespace: 1, tuningSet: q, objectBundle: [{basename: o, objectTemplatePath: o.yaml}]}
- name: two
  measurements: [{method: Sleep, identifier: s, params: {duration: 1s}}]
"""
_OBJECT = "apiVersion: v1\nkind: ConfigMap\n"


def test_keys_are_read_in_any_case_of_letters(written: Written) -> None:
    config = compiled(written(_SOUND.replace("tuningSets", "TUNINGSETS").replace("phases", "Phases"), o=_OBJECT)).config
    assert config.tuning_sets[0].name == "q"
    assert config.steps[0].phases[0].namespace_range is not None


def test_what_is_not_said_has_clusterloader2s_defaults(written: Written) -> None:
    namespace = compiled(written(_SOUND, o=_OBJECT)).config.namespace
    assert (namespace.number, namespace.delete_automanaged_namespaces, namespace.enable_existing_namespaces) == (
        1,
        True,
        False,
    )
    assert namespace.prefix.startswith("test-")
    assert len(namespace.prefix) == 11


def test_unknown_keys_are_warned_about_with_their_line_and_a_guess(written: Written) -> None:
    path = written(_SOUND + "  identifer: x\nnamspace: {number: 3}\n", o=_OBJECT)
    assert sorted(compiled(path).warnings) == [
        f"{path}: line 10: namspace: unknown key, which ClusterLoader2 ignores; did you mean namespace?",
        f"{path}: line 9: steps[1].identifer: unknown key, which ClusterLoader2 ignores; known are phases, "
        "measurements, name, module",
    ]


def test_unknown_keys_are_errors_where_that_is_asked_for(written: Written) -> None:
    with pytest.raises(ConfigError, match="line 9: namspace: unknown key"):
        compiled(written(_SOUND + "namspace: {number: 3}\n", o=_OBJECT), strict=True)


def test_all_that_is_wrong_is_told_at_once(written: Written) -> None:
    path = written(
        """\
        name: 5
        namespace: {number: 0, deleteNamespaceTimeout: 5 minutes}
        tuningSets:
        - {name: a, qpsLoad: {qps: 0}}
        - {name: b, qpsLoad: {qps: 1}, steppedLoad: {burstSize: 1, stepDelay: 1s}}
        dependencies:
        - {name: d, method: Nothing}
        steps:
        - name: empty
        - phases:
          - namespaceRange: {min: 3, max: 1}
            namespaceList: [x]
            replicasPerNamespace: -1
            tuningSet: c
            objectBundle: [{basename: "A_b", objectTemplatePath: nothing.yaml}]
        - measurements: [{method: Sleep}]
        - module: {path: nowhere.yaml}
        """
    )
    with pytest.raises(ConfigError) as caught:
        compiled(path)
    found = [line.split(": ", 3)[2] for line in str(caught.value).split("\n")]
    assert found == [
        "name",
        "namespace.deleteNamespaceTimeout",
        "name",
        "namespace.number",
        "tuningSets[0].qpsLoad.qps",
        "tuningSets[1]",
        "dependencies[0].method",
        "steps[0]",
        "steps[1].phases[0].replicasPerNamespace",
        "steps[1].phases[0]",
        "steps[1].phases[0].namespaceRange.max",
        "steps[1].phases[0].tuningSet",
        "steps[1].phases[0].objectBundle[0].basename",
        "steps[1].phases[0].objectBundle[0].objectTemplatePath",
        "steps[2].measurements[0]",
        "steps[3].module.path",
    ]


def test_modules_see_their_params_and_the_values_of_the_test_but_not_those_of_modules_around_them(
    written: Written,
) -> None:
    path = written(
        "name: t\nsteps:\n- module: {path: outer.yaml, params: {x: 1}}\n",
        outer="steps:\n- module: {path: /inner.yaml, params: {z: 2}}\n- name: outer {{.x}}\n  measurements: "
        "[{method: Sleep, identifier: s}]\n",
        inner="steps:\n- name: inner {{.x}} {{.z}} {{.Nodes}}\n  measurements: [{method: Sleep, identifier: s}]\n",
    )
    assert [step.name for step in compiled(path).config.steps] == ["inner <no value> 2 10", "outer 1"]


def test_a_module_that_names_itself_is_cut_off(written: Written) -> None:
    path = written("name: t\nsteps:\n- module: {path: m.yaml}\n", m="steps:\n- module: {path: m.yaml}\n")
    with pytest.raises(ConfigError, match="expected at most 20 modules within each other"):
        compiled(path)


def test_steps_can_be_left_out_by_name_and_fields_overwritten(written: Written) -> None:
    overwrites = ["Namespace.Number=7", "Steps[1].Name=zwei", "TuningSets[0].QpsLoad={qps: 9}"]
    config = compiled(written(_SOUND, o=_OBJECT), skip_steps=["one"], overwrites=overwrites).config
    assert config.namespace.number == 7
    assert [step.name for step in config.steps] == ["zwei"]
    assert config.tuning_sets[0].qps_load is not None
    assert config.tuning_sets[0].qps_load.qps == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("Namespace.Number", "expected Path.To.Field=value"),
        ("Steps[9].Name=x", r"there is no \[9\], only 2 of them"),
        ("Name.Inner=1", "Name holds something else"),
        ("a-b=1", "'a-b' is no name of a field"),
        ("Name=[", "while parsing a flow node"),
    ],
)
def test_an_overwrite_that_leads_nowhere_is_refused(written: Written, change: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compiled(written(_SOUND, o=_OBJECT), overwrites=[change])


def test_the_generated_config_can_be_read_again(tmp_path: Path) -> None:
    for name in ("dra", "batch", "throughput", "startup", "density", "load", "readme"):
        test = compiled(CONFIGS / name / "config.yaml")
        copy = tmp_path / f"{name}.yaml"
        copy.write_text(dump(generated_config(test.config)))
        # Paths of templates are relative to the config.
        for file in (CONFIGS / name).glob("*.yaml"):
            if file.name != "config.yaml":
                (tmp_path / file.name).write_text(file.read_text())
        assert compiled(copy).config == test.config


def test_a_suite_names_scenarios_without_underscores(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text("- identifier: a_b\n  configPath: c.yaml\n- identifier: c\n")
    with pytest.raises(ConfigError) as caught:
        read_suite(path)
    assert str(caught.value).split("\n") == [
        f"{path}: line 1: [0].identifier: 'a_b': expected no underscore",
        f"{path}: line 3: [1].configPath: expected the path of a config",
    ]
