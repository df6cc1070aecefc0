"""Nonsense of every sort: the server answers all of it in Kubernetes' form, and its store stays whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fuzz_material import nonsense as ns
from fuzz_material.shooting import Served, Shot, Target
from hypothesis import given, settings
from hypothesis import strategies as st

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.cluster import ClusterConfig, add_nodes
from ghostfleet.stages.nodes import NodeShape

Place = tuple[Resource, Version, ns.Object]
NewTarget = Callable[..., Target]

#: A thorough run takes minutes.
pytestmark = pytest.mark.timeout(3600)

#: Every example is many requests, so fewer examples will do.
attack = settings(max_examples=settings().max_examples * 3 // 5)

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_WRITES = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
_READS = ("labelSelector", "fieldSelector", "continue", "resourceVersion", "resourceVersionMatch", "limit", "watch")
_READS += ("timeoutSeconds", "sendInitialEvents", "allowWatchBookmarks", "includeObject", "pretty")
_DELETES = ("gracePeriodSeconds", "propagationPolicy", "orphanDependents", "dryRun", "labelSelector", "fieldSelector")
_LOGS = ("container", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "previous", "timestamps", "follow")


def named(obj: ns.Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def json_shot(method: str, target: str, value: object, media: str = "application/json") -> Shot:
    return Shot(method, target, ns.text_of(value), (("content-type", media),))


def stored(target: Target, place: Place) -> None:
    """Begin with a good object."""
    resource, version, obj = place
    target.take(json_shot("POST", ns.url(resource, version), obj))


def look(target: Target, place: Place) -> None:
    """Read everything of a kind in every form."""
    resource, version, _ = place
    for accept in ("application/json", "application/yaml", _TABLE):
        target.take(Shot("GET", ns.url(resource, version), headers=(("accept", accept),)))
    since = target.cluster.store.bucket(resource.key).history.start
    for accept in ("application/json", _TABLE):
        query = f"watch=1&resourceVersion={since}&allowWatchBookmarks=true"
        target.take(Shot("GET", f"{ns.url(resource, version)}?{query}", headers=(("accept", accept),)))


@attack
@given(st.data())
def test_broken_bodies(target: NewTarget, data: st.DataObject) -> None:
    here = target()
    place = resource, version, obj = data.draw(ns.targets())
    stored(here, place)
    for _ in range(6):
        method = data.draw(st.sampled_from(("POST", "PUT", "PATCH", "DELETE")))
        name = "" if method == "POST" else named(obj)
        headers = (("content-type", data.draw(ns.media)),)
        here.take(Shot(method, ns.url(resource, version, name), data.draw(ns.broken_bodies(obj)), headers))
    here.close()


@attack
@given(st.data())
def test_wrong_values_in_every_place_of_every_kind(target: NewTarget, data: st.DataObject) -> None:
    here = target()
    place = resource, version, obj = data.draw(ns.targets())
    for _ in range(4):
        bad = data.draw(ns.mutated(obj, version.schema))
        query = data.draw(ns.queries(_WRITES))
        here.take(json_shot("POST", f"{ns.url(resource, version)}?{query}", bad))
    stored(here, place)
    for _ in range(4):
        bad = data.draw(ns.mutated(obj, version.schema))
        here.take(json_shot("PUT", ns.url(resource, version, named(obj)), bad))
    look(here, place)
    here.close()


@attack
@given(st.data())
def test_patches_of_all_types(target: NewTarget, data: st.DataObject) -> None:
    here = target()
    place = resource, version, obj = data.draw(ns.targets())
    stored(here, place)
    for _ in range(8):
        media = data.draw(st.sampled_from(tuple(ns.PATCHES)))
        if media == "application/json-patch+json":
            patch = data.draw(ns.json_patches(obj))
        else:
            patch = data.draw(ns.merges(obj, version.schema))
        part = data.draw(st.sampled_from(("", "", "", *resource.subresources)))
        query = data.draw(ns.queries(_WRITES))
        here.take(json_shot("PATCH", f"{ns.url(resource, version, named(obj), part)}?{query}", patch, media))
    look(here, place)
    here.close()


@attack
@given(st.data())
def test_parts_of_objects(target: NewTarget, data: st.DataObject) -> None:
    here = target()
    place = resource, version, obj = data.draw(ns.targets().filter(lambda place: bool(place[0].subresources)))
    stored(here, place)
    for _ in range(8):
        part = data.draw(st.sampled_from(tuple(resource.subresources)))
        method = data.draw(st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE")))
        body = data.draw(ns.mutated(obj, version.schema) | ns.junk | st.just(obj))
        media = data.draw(st.sampled_from(tuple(ns.PATCHES))) if method == "PATCH" else "application/json"
        query = data.draw(ns.queries(_LOGS if part == "log" else _WRITES))
        here.take(json_shot(method, f"{ns.url(resource, version, named(obj), part)}?{query}", body, media))
    look(here, place)
    here.close()


@attack
@given(st.data())
def test_queries(target: NewTarget, data: st.DataObject) -> None:
    here = target()
    place = resource, version, _ = data.draw(ns.targets())
    stored(here, place)
    for _ in range(8):
        method = data.draw(st.sampled_from(("GET", "GET", "GET", "DELETE", "POST")))
        name = data.draw(st.sampled_from(("", "", *ns.NAMES)))
        query = data.draw(ns.queries(_DELETES if method == "DELETE" else _READS))
        headers = data.draw(ns.headers)
        body = ns.text_of(data.draw(ns.junk)) if method == "DELETE" and data.draw(st.booleans()) else b""
        here.take(Shot(method, f"{ns.url(resource, version, name)}?{query}", body, headers))
    look(here, place)
    here.close()


@attack
@given(st.lists(st.tuples(ns.methods, ns.paths, ns.queries(), ns.headers, st.booleans()), min_size=8, max_size=8))
def test_paths_methods_and_headers(target: NewTarget, attack: list[tuple[str, str, str, ns.Headers, bool]]) -> None:
    here = target()
    for method, path, query, headers, admitted in attack:
        here.take(Shot(method, f"{path}?{query}", b"{}", headers, admitted))
    here.close()


@attack
@given(st.data())
def test_custom_kinds(target: NewTarget, data: st.DataObject) -> None:
    here = target()
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    widgets = "/apis/lab.example.com/v1/namespaces/default/widgets"
    definition = data.draw(ns.definitions())
    here.take(json_shot("POST", definitions, definition))
    schema = ns.schema_in(definition)
    for _ in range(4):
        obj = {"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
        query = data.draw(ns.queries(_WRITES))
        here.take(json_shot("POST", f"{widgets}?{query}", {**obj, **ns.as_object(data.draw(ns.fitting(schema)))}))
        media = data.draw(st.sampled_from(tuple(ns.PATCHES)))
        part = data.draw(st.sampled_from(("", "", "/status", "/scale")))
        patch = data.draw(ns.fitting(schema) | ns.junk)
        if media == "application/json-patch+json":
            patch = data.draw(ns.json_patches({**obj, "spec": patch}))
        elif isinstance(patch, dict):
            patch = {**obj, **patch}
        here.take(json_shot("PATCH", f"{widgets}/a{part}?fieldManager=x&{query}", patch, media))
        here.take(Shot("GET", widgets, headers=(("accept", _TABLE),)))
    # What is stored must bear it when its schema changes under it.
    changed = data.draw(ns.definitions())
    here.take(json_shot("PATCH", f"{definitions}/widgets.lab.example.com", changed, "application/merge-patch+json"))
    # The first one is about everything there is, and takes its time.
    documents = ("/openapi/v2", *("/openapi/v3/apis/lab.example.com/v1", "/apis/lab.example.com/v1", "/apis") * 4)
    for path in (widgets, data.draw(st.sampled_from(documents))):
        here.take(Shot("GET", path))
    here.take(json_shot("PATCH", f"{widgets}/a", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json"))
    here.take(Shot("DELETE", f"{definitions}/widgets.lab.example.com"))
    here.close()


@attack
@given(st.data())
def test_strange_objects_in_a_whole_cluster(target: NewTarget, data: st.DataObject) -> None:
    """Controllers, schedulers and nodes must cope with all that the API lets through."""
    here = target(ClusterConfig())
    add_nodes(here.cluster, NodeShape(count=2, gpus=2))
    for _ in range(4):
        resource, version, obj = data.draw(ns.targets())
        strange = data.draw(ns.mutated(obj, version.schema) | st.just(obj))
        here.take(json_shot("POST", ns.url(resource, version), strange))
    here.close()


@attack
@given(st.data())
def test_a_served_cluster_over_kept_connections(served: Served, data: st.DataObject) -> None:
    resource, version, obj = data.draw(ns.targets())
    name = named(obj)
    bodies = st.one_of(ns.broken_bodies(obj), ns.mutated(obj, version.schema).map(ns.text_of), st.just(ns.text_of(obj)))
    targets = st.one_of(ns.paths, st.sampled_from((ns.url(resource, version), ns.url(resource, version, name))))
    for _ in range(8):
        method, path, query = data.draw(ns.methods), data.draw(targets), data.draw(ns.queries())
        # A watch goes on until its time is over; such as ask for it get a second at most.
        query = f"timeoutSeconds=1&{query}".replace("watch=", "watched=").replace("follow=", "followed=")
        served.take(Shot(method, f"{path.replace(' ', '+')}?{query}", data.draw(bodies), data.draw(ns.headers)))
    served.close()
    assert served.take(Shot("GET", "/readyz")) is not None
