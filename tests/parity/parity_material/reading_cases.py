"""Cases of access, of custom resources, and of reading in all its forms.

Each function is a case; it is given the namespace that the case has to itself, and tells the steps.
"""

from __future__ import annotations

from collections.abc import Callable

from parity_material.asking import WATCH, Steps
from parity_material.cases import PATCHES, Step
from parity_material.objects import GONE, config, definition, merge, namespaced, post

__all__ = ["READING_CASES"]


def who_may_do_what(ns: str) -> Steps:
    attributes = {"resourceAttributes": {"namespace": ns, "verb": "create", "resource": "pods"}}
    access = "/apis/authorization.k8s.io/v1"
    return [
        Step("POST", f"{access}/selfsubjectaccessreviews", {"spec": attributes}),
        Step("POST", f"{access}/selfsubjectaccessreviews", {"spec": {}}),
        Step("POST", f"{access}/subjectaccessreviews", {"spec": {**attributes, "user": "admin", "groups": ["system:masters"]}}),
        Step("POST", f"{access}/subjectaccessreviews", {"spec": attributes}),
        Step("POST", f"{access}/namespaces/{ns}/localsubjectaccessreviews", {"spec": {**attributes, "groups": ["system:masters"]}}),
        Step("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nonsense"}}),
        Step("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}}),
    ]  # fmt: skip


def a_service_account_gets_a_token(ns: str) -> Steps:
    at = namespaced(ns, "serviceaccounts/robot/token")
    return [
        post(ns, "serviceaccounts", {"metadata": {"name": "robot"}}),
        Step("POST", at, {"spec": {"expirationSeconds": 3600}}),
        Step("POST", at, {"spec": {"expirationSeconds": 5}}),
        Step("POST", namespaced(ns, "serviceaccounts/ghost/token"), {"spec": {}}),
    ]


def a_definition_and_its_objects(ns: str) -> Steps:
    group = f"{ns}.example.com"
    things = f"/apis/{group}/v1/namespaces/{ns}/things"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1, "gone": 2}}
    return [
        Step("GET", things),
        Step("POST", definitions, definition(group)),
        Step("GET", f"/apis/{group}/v1/things", until=200),
        Step("GET", f"{definitions}/things.{group}"),
        Step("POST", things, thing),
        Step("POST", f"{things}?fieldValidation=Strict", {**thing, "metadata": {"name": "u"}}),
        Step("PATCH", f"{things}/t", {"spec": {"size": "x"}}, PATCHES["merge"]),
        Step("PATCH", f"{things}/t", {"spec": {"size": 2}}, PATCHES["strategic"]),
        Step("GET", f"/apis/{group}/v1"),
        Step("DELETE", f"{definitions}/things.{group}"),
        Step("GET", f"{definitions}/things.{group}", until=GONE),
        Step("GET", things, until=GONE),
    ]


def two_definitions_want_one_name(ns: str) -> Steps:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    group = f"{ns}.example.com"
    return [
        Step("POST", definitions, definition(group)),
        Step("GET", f"/apis/{group}/v1/things", until=200),
        Step("POST", definitions, definition(group, plural="items", kind="Thing")),
        Step("GET", f"/apis/{group}/v1/items"),
        Step("POST", definitions, definition(group, plural="bits", kind="Bit", version="V!")),
        Step("DELETE", f"{definitions}/items.{group}"),
        Step("DELETE", f"{definitions}/things.{group}"),
    ]


def revisions_of_lists(ns: str) -> Steps:
    at = namespaced(ns, "configmaps")
    return [
        post(ns, "configmaps", config("a")),
        post(ns, "configmaps", config("b")),
        *(Step("GET", f"{at}?{query}") for query in (
            "resourceVersion=99999999999",
            "resourceVersion=<0.metadata.resourceVersion>&resourceVersionMatch=Exact",
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersion=1&resourceVersionMatch=Nonsense",
            "resourceVersion=nonsense",
            "resourceVersion=-1",
            "limit=-1",
            "limit=1&continue=x&resourceVersion=1",
        )),
        Step("GET", f"{at}/a?resourceVersion=0"),
        Step("GET", f"{at}/a?resourceVersion=99999999999"),
        Step("HEAD", f"{at}/a"),
    ]  # fmt: skip


def watches_of_all_sorts(ns: str) -> Steps:
    at = namespaced(ns, "configmaps")
    begin = "resourceVersion=<0.metadata.resourceVersion>"
    return [
        post(ns, "configmaps", config("a")),
        post(ns, "configmaps", config("b")),
        merge(ns, "configmaps/a", {"data": {"x": "y"}}),
        Step("GET", f"{at}?{WATCH}&{begin}&fieldSelector=metadata.name%3Db"),
        Step("GET", f"{at}/a?{WATCH}&{begin}"),
        Step("GET", f"{at}?{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        Step("GET", f"{at}?{WATCH}&sendInitialEvents=true"),
        Step("GET", f"{at}?{WATCH}&resourceVersionMatch=Exact"),
        Step("GET", f"{at}?watch=nonsense&timeoutSeconds=1"),
        Step("GET", f"/api/v1/watch/namespaces/{ns}/configmaps?timeoutSeconds=1&{begin}"),
        Step("GET", f"{at}?{WATCH}&{begin}", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
    ]


def objects_in_two_versions(ns: str) -> Steps:
    stable, beta = (f"/apis/resource.k8s.io/{version}/namespaces/{ns}/resourceclaims" for version in ("v1", "v1beta2"))
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
    core, events = f"/api/v1/namespaces/{ns}/events", f"/apis/events.k8s.io/v1/namespaces/{ns}/events"
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"namespace": ns, "kind": "Pod", "name": "p"},
        "reason": "R",
        "message": "m",
    }
    return [
        Step("POST", f"{beta}?fieldManager=creator", claim),
        Step("GET", f"{stable}/c"),
        Step("PATCH", f"{stable}/c?fieldManager=patcher", {"metadata": {"labels": {"a": "b"}}}, PATCHES["merge"]),
        Step("GET", f"{beta}/c"),
        Step("POST", f"{core}?fieldManager=creator", event),
        Step("GET", f"{events}/e"),
        Step("PATCH", f"{events}/e", {"note": "n"}, PATCHES["merge"]),
        Step("GET", f"/apis/parity.example.com/v1beta1/namespaces/{ns}/widgets"),
    ]


READING_CASES: tuple[Callable[[str], Steps], ...] = (
    who_may_do_what,
    a_service_account_gets_a_token,
    a_definition_and_its_objects,
    two_definitions_want_one_name,
    revisions_of_lists,
    watches_of_all_sorts,
    objects_in_two_versions,
)
