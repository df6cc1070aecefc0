"""Situations of making and changing an object. Each function is one; its name, with blanks, is that of its cases."""

from __future__ import annotations

from collections.abc import Callable

from parity_material.asking import Steps, create, get, listed, patch, put
from parity_material.cases import Step
from parity_material.kinds import Place

__all__ = ["MAKING"]


def created_read_and_deleted(place: Place) -> Steps:
    return [create(place), get(place), listed(place), Step("DELETE", place.item), Step("GET", place.item, until=404)]


def created_twice(place: Place) -> Steps:
    return [create(place), create(place)]


def tried_out_only(place: Place) -> Steps:
    dry = "dryRun=All"
    change = place.within(place.kind.change)
    return [
        create(place, query=dry),
        get(place),
        create(place),
        patch(place, "merge", change, "fieldManager=patcher&dryRun=All"),
        Step("DELETE", f"{place.item}?{dry}"),
        get(place),
        Step("DELETE", place.item, {"dryRun": ["Some"]}),
    ]


def named_by_the_server(place: Place) -> Steps:
    manifest = place.manifest
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "name"}
    if place.kind.plural == "customresourcedefinitions":
        return []
    return [
        create(place, {**manifest, "metadata": {**metadata, "generateName": f"{place.own[:20]}-"}}),
        create(place, {**manifest, "metadata": metadata}),
    ]


def named_badly(place: Place) -> Steps:
    manifest = place.manifest
    named = [{**manifest, "metadata": {**manifest["metadata"], "name": name}} for name in ("Not A Name", "a/b", "..")]
    marked = [
        {**manifest, "metadata": {**manifest["metadata"], field: value}}
        for field, value in (
            ("labels", {"bad key!": "x"}),
            ("annotations", {"/x": "y"}),
            ("finalizers", ["no slash or dot"]),
            ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": ""}]),
        )
    ]
    return [create(place, each) for each in (*named, *marked)]


def of_another_type_than_the_path(place: Place) -> Steps:
    manifest = place.manifest
    wrong = [
        {**manifest, "kind": "Wrong"},
        {**manifest, "apiVersion": "wrong.example.com/v9"},
        {key: value for key, value in manifest.items() if key not in ("kind", "apiVersion")},
        {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "x"}},
    ]
    if place.kind.namespaced:
        wrong.append({**manifest, "metadata": {**manifest["metadata"], "namespace": "elsewhere"}})
    return [
        *(create(place, each) for each in wrong),
        put(place, {"$of": 2, "$with": {"metadata": {"name": "other"}}}),
    ]


def with_unknown_fields(place: Place) -> Steps:
    odd = {**place.manifest, "nonsense": 1, "metadata": {**place.manifest["metadata"], "more": {"nonsense": 2}}}
    return [
        create(place, odd, "fieldValidation=Strict&dryRun=All"),
        create(place, odd, "fieldValidation=Warn&dryRun=All"),
        create(place, odd, "fieldValidation=Ignore&dryRun=All"),
        create(place, odd, "fieldValidation=Maybe&dryRun=All"),
        create(place),
        patch(place, "merge", {"nonsense": 1}, "fieldManager=patcher&fieldValidation=Strict"),
        patch(place, "merge", {"nonsense": 1}, "fieldManager=patcher&fieldValidation=Warn"),
        patch(place, "json", [{"op": "add", "path": "/nonsense", "value": 1}], "fieldValidation=Strict"),
    ]


def updated(place: Place) -> Steps:
    change = place.within(place.kind.change)
    stale = {"metadata": {"resourceVersion": "1"}}
    free = {"metadata": {"resourceVersion": None}}
    return [
        create(place),
        put(place, {"$of": 0}),
        put(place, {"$of": 0, "$with": change}),
        put(place, {"$of": 2, "$with": stale}),
        put(place, {"$of": 2, "$with": free}),
        put(place, {"$of": 2, "$with": {"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}}}),
        put(place, {"$of": 2, "$with": {"metadata": {"labels": None, "resourceVersion": None}}}),
        get(place),
    ]


def updated_though_it_is_not_there(place: Place) -> Steps:
    return [
        put(place, place.manifest),
        patch(place, "merge", {"metadata": {"labels": {"a": "b"}}}),
        Step("DELETE", place.item),
        get(place),
    ]


def changed_in_a_way_that_is_refused(place: Place) -> Steps:
    if place.kind.refused is None:
        return []
    refused = place.within(place.kind.refused)
    return [
        create(place),
        patch(place, "merge", refused),
        put(place, {"$of": 0, "$with": refused}),
        create(place, place.changed(place.kind.refused), "dryRun=All"),
        get(place),
    ]


def patched_by_merge(place: Place) -> Steps:
    change = place.within(place.kind.change)
    return [
        create(place),
        patch(place, "merge", change),
        patch(place, "merge", change),
        patch(place, "merge", {"metadata": {"labels": {"case": None, "more": "yes"}, "annotations": {"a": "b"}}}),
        patch(place, "merge", {"metadata": {"annotations": None}}),
        patch(place, "merge", {"metadata": {"resourceVersion": "1", "annotations": {"a": "c"}}}),
        patch(place, "merge", {"metadata": {"name": "another"}}),
        patch(place, "merge", ["no", "object"]),
        patch(place, "merge", {"metadata": {"labels": "text"}}),
    ]


def patched_by_operations(place: Place) -> Steps:
    add = {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "c"}}
    return [
        create(place),
        patch(place, "json", [add, {"op": "copy", "from": "/metadata/annotations/a~1b", "path": "/metadata/labels/x"}]),
        patch(place, "json", [{"op": "test", "path": "/metadata/labels/x", "value": "c"}]),
        patch(place, "json", [{"op": "test", "path": "/metadata/labels/x", "value": "d"}]),
        patch(place, "json", [{"op": "remove", "path": "/metadata/labels/none"}]),
        patch(place, "json", [{"op": "move", "from": "/metadata/labels/x", "path": "/metadata/labels/y"}]),
        patch(place, "json", [{"op": "jump", "path": "/metadata"}]),
        patch(place, "json", {"op": "remove", "path": "/metadata/labels"}),
        patch(place, "json", [{"op": "replace", "path": "/kind", "value": "Other"}]),
        patch(place, "json", [{"op": "replace", "path": "/metadata/uid", "value": "other"}]),
    ]


def patched_strategically(place: Place) -> Steps:
    steps = [
        create(place),
        patch(place, "strategic", place.within(place.kind.change)),
        patch(place, "strategic", {"metadata": {"labels": {"$patch": "replace", "only": "this"}}}),
        patch(place, "strategic", {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}),
        patch(place, "strategic", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
    ]
    if place.kind.strategic is not None:
        steps.insert(1, patch(place, "strategic", place.within(place.kind.strategic)))
    return steps


def applied_by_two(place: Place) -> Steps:
    first = {**place.manifest, "metadata": {**place.manifest["metadata"], "annotations": {"shared": "1", "first": "1"}}}
    changed = place.changed(place.kind.change)
    second = {**changed, "metadata": {**changed["metadata"], "annotations": {"shared": "2"}}}
    fewer = {**first, "metadata": {**first["metadata"], "annotations": {"shared": "1"}}}
    one, two = "fieldManager=one", "fieldManager=two"
    return [
        patch(place, "apply", first, one),
        patch(place, "apply", first, one),
        patch(place, "apply", {**fewer, "metadata": {**fewer["metadata"], "annotations": {"shared": "2"}}}, two),
        patch(place, "apply", second, f"{two}&force=true"),
        patch(place, "apply", fewer, f"{one}&force=true"),
        patch(place, "apply", first, "force=true"),
        patch(place, "apply", {"metadata": {"name": place.name}}, one),
        patch(place, "merge", {"metadata": {"annotations": {"shared": "3"}}}, "fieldManager=x&force=true"),
        get(place),
    ]


def applied_after_it_was_created(place: Place) -> Steps:
    marked = {**place.manifest, "metadata": {**place.manifest["metadata"], "annotations": {"a": "applied"}}}
    return [
        create(place),
        patch(place, "merge", {"metadata": {"annotations": {"a": "patched"}}}, "fieldManager=patcher"),
        patch(place, "apply", marked, "fieldManager=applier"),
        patch(place, "apply", marked, "fieldManager=applier&force=true"),
        patch(place, "apply", place.manifest, "fieldManager=applier"),
        patch(place, "merge", {"metadata": {"managedFields": []}}),
        patch(place, "merge", {"metadata": {"managedFields": [{}]}}),
    ]


MAKING: tuple[Callable[[Place], Steps], ...] = (
    created_read_and_deleted,
    created_twice,
    tried_out_only,
    named_by_the_server,
    named_badly,
    of_another_type_than_the_path,
    with_unknown_fields,
    updated,
    updated_though_it_is_not_there,
    changed_in_a_way_that_is_refused,
    patched_by_merge,
    patched_by_operations,
    patched_strategically,
    applied_by_two,
    applied_after_it_was_created,
)
