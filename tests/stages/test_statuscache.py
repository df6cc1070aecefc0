"""The short way to a status must lead where the long way leads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.languages.gotemplate.parser import parse
from ghostfleet.stages.dependence import dependence_of, extract

KWOK = Path(__file__).parents[3] / "shared" / "fixtures" / "kwok-stages"
FUNCTIONS = ("Now", "Quote", "YAML", "NodeIP", "PodIPWith", "or", "and", "not", "eq", "index", "printf", "upper")
FUNCTIONS += ("randAlpha", "default", "dict")

names = st.sampled_from(["main", "side", "pod-0", "yes"])
images = st.sampled_from(["busybox", "nginx:1.24", "10.0.0.1", "2026-01-01T00:00:00Z", "pod-1"])
containers = st.lists(
    st.fixed_dictionaries(
        {"name": names, "image": images},
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each["name"],
)
annotations = st.dictionaries(
    st.sampled_from(
        [
            "pod-container-running-failed.stage.kwok.x-k8s.io/container-name",
            "pod-container-running-failed.stage.kwok.x-k8s.io/message",
            "ghostfleet.dev/duration",
        ]
    ),
    st.sampled_from(["main", "20s", "pod-1"]),
)
pods = st.lists(
    st.fixed_dictionaries(
        {
            "containers": containers,
            "init": st.lists(
                st.sampled_from(
                    [
                        {"name": "init", "image": "busybox"},
                        {"name": "init", "image": "busybox", "restartPolicy": "Always"},
                    ]
                ),
                max_size=1,
            ),
            "annotations": annotations,
            "labels": st.sampled_from([{}, {"pod-container-running-failed.stage.kwok.x-k8s.io": "true"}]),
            "host": st.booleans(),
            "job": st.booleans(),
            "gate": st.booleans(),
        }
    ),
    min_size=1,
    max_size=6,
)


def run(make_world, stages, wanted, *, status_cache):
    world = make_world(stages)
    if not status_cache:
        world.fleet.controller._runner._status_cache.status = lambda patch, obj: None
        world.fleet.controller._runner._status_cache._example = lambda *arguments: None
    world.nodes(2, zones=["a", "b"])
    for number, pod in enumerate(wanted):
        spec = {"containers": pod["containers"]}
        if pod["init"]:
            spec["initContainers"] = pod["init"]
        if pod["host"]:
            spec["hostNetwork"] = True
        if pod["gate"]:
            spec["readinessGates"] = [{"conditionType": "example.com/ready"}]
        more = {"annotations": pod["annotations"], "labels": pod["labels"], "job": pod["job"]}
        world.pod(f"pod-{number}", node=f"node-{number % 2}", spec=spec, **more)
        world.run(0.7)
    world.run(45)
    objects = [*world.store.list("pods"), *world.store.list("nodes")]
    return [(each["metadata"]["name"], each["status"]) for each in objects], world.log


@pytest.mark.replaces
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stages=st.sampled_from(["fast", "general", "general+chaos"]), wanted=pods)
def test_what_is_foreseen_is_what_would_have_come(make_world, stages, wanted):
    assert run(make_world, stages, wanted, status_cache=True) == run(make_world, stages, wanted, status_cache=False)


@pytest.mark.replaces
@pytest.mark.skipif(not KWOK.exists(), reason="KWOK's stages are not beside this checkout")
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pod=st.sampled_from(["fast", "general"]), wanted=pods)
def test_what_is_foreseen_of_kwoks_own_stages_is_what_would_have_come(make_world, pod, wanted):
    stages = [KWOK / "node/fast", KWOK / "node/heartbeat-with-lease", KWOK / f"pod/{pod}", KWOK / "pod/chaos"]
    assert run(make_world, stages, wanted, status_cache=True) == run(make_world, stages, wanted, status_cache=False)


USER = """
message: "{{ .metadata.name }} in {{ .metadata.namespace }} on {{ .spec.nodeName }}"
{{ if eq .metadata.name "pod-3" }}
reason: {{ .metadata.uid }}
{{ end }}
phase: {{ if .metadata.labels.slow }}Pending{{ else }}Running{{ end }}
startTime: {{ or .status.startTime Now }}
"""


@pytest.mark.replaces
def test_templates_that_print_or_compare_names_are_foreseen_rightly(make_world, make_stage):
    stage = make_stage("go", "Pending", "Running")
    stage["spec"]["next"] = {"statusTemplate": USER}
    for status_cache in (True, False):
        world = make_world([stage])
        if not status_cache:
            world.fleet.controller._runner._status_cache.status = lambda patch, obj: None
        world.nodes(2)
        for number in range(6):
            world.pod(f"pod-{number}", node=f"node-{number % 2}")
            world.run(1)
        for name in ("yes", "1e3", "plain"):
            world.pod(name)
            world.run()
            assert world.get(name)["status"]["message"] == f"{name} in default on node-0"
        statuses = [world.get(f"pod-{number}")["status"] for number in range(6)]
        assert [each["message"] for each in statuses] == [
            f"pod-{number} in default on node-{number % 2}" for number in range(6)
        ]
        assert [each.get("reason") for each in statuses] == [
            world.get("pod-3")["metadata"]["uid"] if number == 3 else None for number in range(6)
        ]
        assert [each["startTime"][-3:] for each in statuses] == [f"0{number}Z" for number in range(6)]


def test_thousands_of_equal_pods_are_worked_out_once(world):
    for number in range(100):
        world.pod(f"pod-{number}", job=True)
    world.run()
    patch_caches = world.fleet.controller._runner._status_cache._patch_caches
    assert sum(patch_cache.misses for patch_cache in patch_caches.values()) == 3
    assert sum(patch_cache.hits for patch_cache in patch_caches.values()) == 198


def depends(text):
    return dependence_of(parse(text, FUNCTIONS))


@pytest.mark.parametrize(
    ("text", "looked", "printed"),
    [
        ("phase: Running", (), ()),
        ("{{ .metadata.name | Quote }}", (), ("metadata name",)),
        ("{{ if .spec.x }}a{{ end }}", ("spec x [?]",), ()),
        ('{{ if eq .spec.x "a" }}b{{ end }}', ("spec x",), ()),
        ("{{ range .spec.c }}{{ .name }}{{ end }}", ("spec c [#]",), ("spec c [] name",)),
        ("{{ range $i, $c := .spec.c }}{{ $c.name }}{{ end }}", ("spec c [#]",), ("spec c [] name",)),
        ("{{ with .spec.x }}{{ .y }}{{ else }}{{ .z.q }}{{ end }}", ("spec x [?]",), ("spec x y", "z q")),
        (
            '{{ $a := or .metadata.annotations dict }}{{ index $a "k" }}',
            ("metadata annotations [#]", "metadata annotations [?]"),
            ("metadata annotations k",),
        ),
        ("{{ $x := .a.b }}{{ if .c.d }}{{ $x := .e.f }}{{ end }}{{ $x }}", ("c d [?]",), ("a b", "e f")),
        ('{{ printf "%s on %s" .a.b .c.d }}', (), ("a b", "c d")),
        ('{{ printf "%10s" .a.b }}', ("a b",), ()),
        ('{{ index .metadata.annotations "k" }}', ("metadata annotations [#]",), ("metadata annotations k",)),
        ("{{ $unused := .spec.x }}", (), ()),
        ("{{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}", (), ()),
        ("{{ upper .spec.x }}", ("spec x",), ()),
    ],
)
def test_a_template_depends_on_what_it_looks_into_and_prints(text, looked, printed):
    found = depends(text)
    assert (found.paths, found.printed) == tuple(
        tuple(tuple(path.split()) for path in paths) for paths in (looked, printed)
    )


@pytest.mark.parametrize(
    "text", ["{{ YAML . }}", "{{ randAlpha 5 }}", "{{ upper Now }}", "{{ if eq NodeIP .x }}{{ end }}"]
)
def test_what_cannot_be_foreseen_is_not(text):
    assert depends(text) is None


def test_extracts_are_the_same_only_for_objects_that_do_not_differ_there():
    obj = {"spec": {"c": [{"name": "a"}, {"name": "b", "x": 1}]}}
    assert extract(obj, ("spec", "c", "[]", "name")) == ["a", "b"]
    assert extract(obj, ("spec", "c", "[#]")) == 2
    assert extract(obj, ("spec", "c", "[?]")) is True
    assert extract(obj, ("spec", "none", "deep", "[?]")) is False
    assert extract(obj, ("spec", "c")) == obj["spec"]["c"]
