"""Paths of the API, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.server.paths import Target, locate, segments


def at(path: str) -> Target | None:
    parts = segments(path)
    return None if parts is None else locate(parts)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/pods/", Target("", "v1", "pods")),
        ("/api/v1/namespaces/a/pods", Target("", "v1", "pods", "a")),
        ("/api/v1/namespaces/a/pods/p", Target("", "v1", "pods", "a", "p")),
        ("/api/v1/namespaces/a/pods/p/status", Target("", "v1", "pods", "a", "p", "status")),
        ("/apis/batch/v1/jobs", Target("batch", "v1", "jobs")),
        ("/apis/batch/v1/namespaces/a/jobs/j", Target("batch", "v1", "jobs", "a", "j")),
        ("/api/v1/nodes/n/status", Target("", "v1", "nodes", "", "n", "status")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/a", Target("", "v1", "namespaces", "", "a")),
        ("/api/v1/namespaces/a/status", Target("", "v1", "namespaces", "", "a", "status")),
        ("/api/v1/namespaces/a/finalize", Target("", "v1", "namespaces", "", "a", "finalize")),
        ("/api/v1/watch/pods", Target("", "v1", "pods", watch=True)),
        ("/api/v1/watch/namespaces/a", Target("", "v1", "namespaces", "", "a", watch=True)),
        ("/apis/apps/v1/watch/namespaces/a/deployments/d", Target("apps", "v1", "deployments", "a", "d", watch=True)),
        ("/api/v1/namespaces/a/pods/p/log/more", Target("", "v1", "pods", "a", "p", "log/more")),
    ],
)
def test_a_path_names_its_resource_and_object(path, target):
    assert at(path) == target


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/batch",
        "/apis/batch/v1",
        "/version",
        "/api/v1/watch",
        "/nope/v1/pods",
    ],
)
def test_other_paths_name_no_resource(path):
    assert at(path) is None


@pytest.mark.parametrize("path", ["//api/v1/pods", "/api//v1/pods", "/api/v1/pods//", "api/v1/pods"])
def test_a_path_with_an_empty_part_is_no_path_at_all(path):
    assert segments(path) is None


@given(st.text(max_size=200))
def test_any_text_can_be_taken_apart(text):
    at("/" + text)
    at(text)


@given(st.lists(st.text(st.characters(exclude_characters="/"), min_size=1, max_size=8), max_size=9))
def test_the_parts_of_a_path_are_kept(parts):
    assert segments("/" + "/".join(parts)) == parts
    assert segments("/" + "/".join(parts) + "/") == parts or not parts


def test_a_path_of_a_megabyte_is_taken_apart_at_once():
    target = at("/api/v1/namespaces/a/pods/" + "x" * 1_000_000)
    assert target is not None
    assert len(target.name) == 1_000_000
