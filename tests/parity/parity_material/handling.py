"""Situations of reading and deleting objects, of their parts, and of requests that go wrong; see `making`."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from parity_material.asking import (
    EXAMPLES,
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    WATCH,
    Steps,
    applied_part,
    create,
    deleted_now,
    get,
    listed,
    numbered,
    patch,
    put,
)
from parity_material.cases import PATCHES, Step
from parity_material.kinds import Place

__all__ = ["HANDLING"]


def sent_in_other_forms(place: Place) -> Steps:
    if place.kind.title not in EXAMPLES:
        return []
    text = "metadata: {name: x"
    return [
        Step("POST", place.collection, text, "application/yaml"),
        Step("POST", place.collection, "{broken", "application/json"),
        Step("POST", place.collection, "[]", "application/json"),
        Step("POST", place.collection, "", "application/json"),
        Step("POST", place.collection, "a", "text/csv"),
        Step("PATCH", place.item, {}, "application/json"),
        create(place),
        Step("PATCH", place.item, "{broken", PATCHES["merge"]),
        Step("PATCH", f"{place.item}?fieldManager=a", "{broken", PATCHES["apply"]),
        Step("GET", place.item, accept="text/csv"),
        Step("GET", place.item, accept="application/yaml"),
    ]


def asked_with_mistakes(place: Place) -> Steps:
    """Some are answered there as if the server had failed."""
    if place.kind.title not in EXAMPLES:
        return []
    numbered = {**place.manifest, "metadata": {**place.manifest["metadata"], "resourceVersion": "12"}}
    return [
        create(place, numbered),
        create(place),
        patch(place, "apply", {**place.manifest, "nonsense": 2}, "fieldManager=applier&fieldValidation=Strict"),
        patch(place, "strategic", {"metadata": {"$patch": "nonsense"}}),
        listed(place, f"{WATCH}&resourceVersion=nonsense"),
        listed(place, "continue=nonsense"),
        Step("GET", place.item, accept="application/json;as=Table;v=v9;g=meta.k8s.io"),
    ]


def deleted_with_a_finalizer(place: Place) -> Steps:
    held = {**place.manifest, "metadata": {**place.manifest["metadata"], "finalizers": ["example.com/hold"]}}
    return [
        create(place, held),
        deleted_now(place),
        get(place),
        deleted_now(place),
        patch(place, "merge", {"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}}),
        patch(place, "merge", {"metadata": {"labels": {"while": "deleting"}}}),
        patch(place, "merge", {"metadata": {"finalizers": None}}),
        Step("GET", place.item, until=404),
    ]


def deleted_on_conditions(place: Place) -> Steps:
    def delete(**conditions: str) -> Step:
        return Step("DELETE", place.item, {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions})

    return [
        create(place),
        delete(uid="11111111-2222-4333-8444-555555555555"),
        delete(resourceVersion="1"),
        Step("DELETE", f"{place.item}?propagationPolicy=Nonsense"),
        Step("DELETE", place.item, {"orphanDependents": True, "propagationPolicy": "Orphan"}),
        Step("DELETE", f"{place.item}?gracePeriodSeconds=-1&dryRun=All"),
        delete(uid="<0.metadata.uid>", resourceVersion="<0.metadata.resourceVersion>"),
    ]


def deleted_together(place: Place) -> Steps:
    target = f"{place.collection}?labelSelector=case%3D{place.own}"
    if place.kind.plural == "namespaces":
        return [Step("DELETE", place.collection)]
    return [
        *(create(place, number=number) for number in "123"),
        patch(numbered(place, "2"), "merge", {"metadata": {"labels": {"keep": "me"}}}),
        Step("DELETE", f"{target},keep&dryRun=All"),
        Step("DELETE", f"{target},!keep&gracePeriodSeconds=0&propagationPolicy=Background"),
        listed(place),
        Step("DELETE", f"{target}&fieldSelector=metadata.name%3Dnobody"),
    ]


def listed_in_pages(place: Place) -> Steps:
    return [
        *(create(place, number=number) for number in "123"),
        listed(place, "limit=2"),
        listed(place, "limit=2&continue=<3.metadata.continue>"),
        listed(place, "limit=1&resourceVersion=0"),
        listed(place, "limit=1", TABLE),
        listed(place, "limit=nonsense"),
        listed(place, "resourceVersion=<0.metadata.resourceVersion>&resourceVersionMatch=NotOlderThan"),
        listed(place, "resourceVersionMatch=Exact"),
    ]


def selected(place: Place) -> Steps:
    def by_label(selector: str) -> Step:
        return Step("GET", f"{place.collection}?labelSelector={quote(selector)}")

    def by_field(selector: str) -> Step:
        return listed(place, f"fieldSelector={quote(selector)}")

    case = f"case={place.own}"
    return [
        *(create(place, number=number) for number in "12"),
        patch(numbered(place, "2"), "merge", {"metadata": {"labels": {"tier": "front"}}}),
        *(by_label(f"{case},{selector}") for selector in ("tier", "!tier", "tier in (front,back)", "tier!=front")),
        by_label(f"{case},tier notin (front)"),
        by_label("a=b=c"),
        by_label("x in ()"),
        by_field(f"metadata.name={numbered(place, '2').name}"),
        by_field(f"metadata.name!={numbered(place, '2').name}"),
        by_field("metadata.nonsense=x"),
        by_field("nonsense"),
        *(by_field(selector) for selector in place.kind.selectors),
    ]


def watched(place: Place) -> Steps:
    begin = "resourceVersion=<0.metadata.resourceVersion>"
    return [
        create(place),
        patch(place, "merge", place.within(place.kind.change)),
        patch(place, "merge", {"metadata": {"labels": {"tier": "front"}}}),
        patch(place, "merge", {"metadata": {"labels": {"tier": None}}}),
        deleted_now(place),
        listed(place, f"{WATCH}&{begin}"),
        Step("GET", f"{place.collection}?labelSelector=case%3D{place.own},tier&{WATCH}&{begin}"),
        listed(place, f"{WATCH}&{begin}", TABLE),
    ]


def printed(place: Place) -> Steps:
    return [
        create(place),
        Step("GET", place.item, accept=TABLE),
        listed(place, "", TABLE),
        listed(place, "includeObject=None", TABLE),
        listed(place, "includeObject=Nonsense", TABLE),
        Step("GET", place.item, accept=PARTIAL),
        listed(place, "", PARTIAL_LIST),
    ]


def asked_in_ways_that_do_not_exist(place: Place) -> Steps:
    return [
        Step("PUT", place.collection, place.manifest),
        Step("PATCH", place.collection, {}, PATCHES["merge"]),
        Step("POST", place.item, place.manifest),
        Step("GET", f"{place.item}/nonsense"),
        Step("GET", f"{place.item}/status/more"),
        Step("GET", f"{place.item}/scale"),
        Step("OPTIONS", place.item),
    ]


def given_a_status(place: Place) -> Steps:
    if place.kind.status is None:
        return []
    status, change = place.kind.status, place.within(place.kind.change)
    return [
        create(place, {**place.manifest, **status}),
        patch(place, "merge", status),
        patch(place, "merge", {**status, **change}, subresource="status"),
        Step("GET", f"{place.item}/status"),
        put(place, {"$of": 2, "$with": {"status": None, "metadata": {"labels": {"from": "status"}}}}, "", "status"),
        patch(place, "apply", applied_part(place, status), "fieldManager=applier&force=true", "status"),
        put(place, {"$of": 0, "$with": {"metadata": {"resourceVersion": "1"}}}, "", "status"),
    ]


def scaled(place: Place) -> Steps:
    if "scale" not in place.kind.subresources:
        return []
    return [
        create(place),
        Step("GET", f"{place.item}/scale"),
        put(place, {"$of": 1, "$with": {"spec": {"replicas": 7}}}, "", "scale"),
        patch(place, "merge", {"spec": {"replicas": 4}}, subresource="scale"),
        patch(place, "merge", {"spec": {"replicas": -1}}, subresource="scale"),
        put(place, {"$of": 1, "$with": {"metadata": {"resourceVersion": "1"}}}, "", "scale"),
        patch(place, "json", [{"op": "test", "path": "/spec/replicas", "value": 9}], subresource="scale"),
        get(place),
    ]


HANDLING: tuple[Callable[[Place], Steps], ...] = (
    sent_in_other_forms,
    asked_with_mistakes,
    deleted_with_a_finalizer,
    deleted_on_conditions,
    deleted_together,
    listed_in_pages,
    selected,
    watched,
    printed,
    asked_in_ways_that_do_not_exist,
    given_a_status,
    scaled,
)
