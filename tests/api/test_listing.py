"""Lists in pages, by selectors, and of the past; watches from any of them."""

from __future__ import annotations

import pytest

from ghostfleet.api.options import ListOptions
from ghostfleet.core.errors import ApiError

SPEC = {"containers": [{"name": "a", "image": "b"}]}


@pytest.fixture
def pods(lab):
    for number in range(10):
        spec = {**SPEC, "nodeName": f"n{number % 2}"}
        labels = {"parity": "even" if number % 2 == 0 else "odd"}
        lab.create("pods", {"metadata": {"name": f"p{number}", "labels": labels}, "spec": spec})
    return lab


def listed(lab, plural="pods", namespace="default", **options):
    resource, version = lab.at(plural)
    return lab.api.list(resource, version, namespace, ListOptions(**options))


def names(page):
    return [obj["metadata"]["name"] for obj in page.items]


def test_pages_together_show_everything_once_and_in_order(pods):
    seen, token, pages = [], "", 0
    while True:
        page = listed(pods, limit=4, continue_=token)
        seen += names(page)
        pages += 1
        token = page.continue_
        if not token:
            break
    assert seen == [f"p{number}" for number in range(10)]
    assert pages == 3


def test_a_first_page_says_how_many_are_left_unless_a_selector_hides_it(pods):
    assert listed(pods, limit=4).remaining == 6
    assert listed(pods, limit=2, label_selector="parity=odd").remaining is None
    assert listed(pods).remaining is None


def test_later_pages_show_the_moment_of_the_first(pods):
    first = listed(pods, limit=4)
    pods.delete("pods", "p5", grace_seconds=0)
    pods.create("pods", {"metadata": {"name": "p55"}, "spec": SPEC})
    rest = listed(pods, continue_=first.continue_)
    assert names(rest) == ["p4", "p5", "p6", "p7", "p8", "p9"]
    assert rest.revision == first.revision
    assert "p55" in names(listed(pods))


def test_a_page_whose_moment_has_left_the_history_is_gone(pods):
    first = listed(pods, limit=4)
    pods.create("pods", {"metadata": {"name": "x"}, "spec": SPEC})
    pods.store.bucket("pods").history.forget()
    with pytest.raises(ApiError, match="too old to display a consistent list") as caught:
        listed(pods, continue_=first.continue_)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


@pytest.mark.parametrize("token", ["!!!", "YWJj", "e30", "eyJydiI6IngifQ"])
def test_a_made_up_continue_token_is_a_bad_request(pods, token):
    with pytest.raises(ApiError, match="continue key is not valid") as caught:
        listed(pods, continue_=token)
    assert caught.value.code == 400


def test_selectors_narrow_a_list_with_and_without_an_index(pods):
    assert names(listed(pods, label_selector="parity=odd")) == ["p1", "p3", "p5", "p7", "p9"]
    assert names(listed(pods, field_selector="spec.nodeName=n0")) == ["p0", "p2", "p4", "p6", "p8"]
    assert names(listed(pods, field_selector="metadata.name=p3")) == ["p3"]
    assert names(listed(pods, field_selector="metadata.name=p3,spec.nodeName=n0")) == []
    assert names(listed(pods, namespace="", field_selector="metadata.name=p3")) == ["p3"]
    assert names(listed(pods, label_selector="parity=even", field_selector="spec.nodeName=n1")) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label_selector": "a=b=c"}, "found '=', expected"),
        ({"field_selector": "spec.color=red"}, "field label not supported"),
        ({"resource_version": "abc"}, "invalid resource version"),
        ({"resource_version_match": "Exact"}, "forbidden unless resourceVersion is provided"),
        ({"resource_version_match": "Newest", "resource_version": "1"}, "Unsupported value"),
        ({"resource_version_match": "Exact", "resource_version": "0"}, "forbidden for resourceVersion"),
    ],
)
def test_options_that_make_no_sense_are_refused(pods, options, words):
    with pytest.raises(ApiError, match=words) as caught:
        listed(pods, **options)
    assert caught.value.code in (400, 422)


def test_the_past_can_be_asked_for_exactly_and_the_future_not(pods):
    then = pods.store.revision
    pods.delete("pods", "p0", grace_seconds=0)
    exact = listed(pods, resource_version=str(then), resource_version_match="Exact")
    assert len(exact.items) == 10
    assert len(listed(pods, resource_version=str(then), resource_version_match="NotOlderThan").items) == 9
    with pytest.raises(ApiError, match="Too large resource version"):
        listed(pods, resource_version="999999")


def test_a_watch_from_a_list_tells_what_changed_since(pods):
    page = listed(pods)
    pods.patch("pods", "p1", {"metadata": {"labels": {"parity": "even"}}})
    resource, version = pods.at("pods")
    options = ListOptions(resource_version=str(page.revision), label_selector="parity=even")
    watch = pods.api.watch(resource, version, "default", options)
    assert [(event.type, event.object["metadata"]["name"]) for event in watch.drain()] == [("ADDED", "p1")]


def test_events_are_one_collection_under_two_groups(lab):
    lab.create(
        "events",
        {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
            "message": "hello",
            "reason": "Said",
        },
    )
    resource = lab.cluster.registry.by_key("events.events.k8s.io")
    page = lab.api.list(resource, resource.storage, "default", ListOptions(field_selector="regarding.name=p"))
    assert [(obj["apiVersion"], obj["note"]) for obj in page.items] == [("events.k8s.io/v1", "hello")]


def test_versions_of_one_resource_show_the_same_objects(lab):
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    lab.create(
        "resourceclaims.resource.k8s.io", {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
    )
    resource, _ = lab.at("resourceclaims.resource.k8s.io")
    old = lab.api.get(resource, resource.versions["v1beta2"], "default", "c")
    assert old["apiVersion"] == "resource.k8s.io/v1beta2"
    assert old["spec"] == lab.get("resourceclaims.resource.k8s.io", "c")["spec"]
