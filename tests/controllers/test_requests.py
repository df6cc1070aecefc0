"""Requests: what they write, and that controllers write in no other way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ghostfleet.controllers
from ghostfleet.controllers.requests import create, delete, unwritten, update_status
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

_WRITES = {"create", "add", "update", "replace", "set_status", "patch_status", "delete"}
_FOLDER = Path(ghostfleet.controllers.__file__).parent
#: Who writes without waiting, and why.
_FREE = {
    "BarePods": "stands in for the user who submits a lost pod again",
    "DefinitionController": "part of the API server",
    "EventExpiry": "etcd's leases",
    "EventRecorder": "has a line of its own before the client",
    "GarbageCollector": "not limited",
    "NamespaceController": "not limited",
    "PodTerminator": "stands in for the kubelet, which is not limited",
    "ProjectQueues": "an administrator's part",
    "ReservationProgram": "runs in pods",
    "Shortcut": "used only where nothing waits",
    "StandInPods": "stands in for the kubelet, which is not limited",
}


@pytest.fixture
def store() -> Store:
    store = Store(VirtualClock())
    store.create("things", {"metadata": {"name": "a"}})
    return store


def test_what_is_created_is_answered(store: Store):
    made = create("things", {"metadata": {"name": "b"}}).perform(store)
    assert made is store.get("things", "", "b")
    with pytest.raises(ApiError, match="already exists"):
        create("things", {"metadata": {"name": "b"}}).perform(store)


def test_a_status_is_given_or_made_of_the_object_as_it_is_when_the_request_is_made(store: Store):
    before = store.get("things", "", "a")
    given = update_status("things", before, {"number": 1})
    raised = update_status("things", before, lambda current: {"number": current["status"]["number"] + 1})
    assert given.perform(store)["status"] == {"number": 1}
    assert raised.perform(store)["status"] == {"number": 2}
    assert (given.verb, given.resource) == ("update", "things/status")


def test_an_object_that_is_gone_or_another_by_now_is_left_alone(store: Store):
    before = store.get("things", "", "a")
    update, remove = update_status("things", before, {"number": 1}), delete("things", "", "a")
    assert remove.perform(store) is True
    assert remove.perform(store) is False
    assert update.perform(store) is None
    store.create("things", {"metadata": {"name": "a"}})
    assert update.perform(store) is None
    assert "status" not in store.get("things", "", "a")


def test_a_request_that_is_written_with_the_next_one_writes_nothing(store: Store):
    revision = store.revision
    assert unwritten("patch", "things").perform(store) is None
    assert store.revision == revision


def test_who_has_a_client_writes_by_requests_alone():
    """The functions of requests are given the store; one that a controller holds is for reading."""
    assert sorted({name for path in _FOLDER.rglob("*.py") for name in _writers(path)} - set(_FREE)) == []


def _writers(path: Path) -> list[str]:
    """The classes of a module that write to a store which they hold."""
    return [
        each.name
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.ClassDef)
        for node in ast.walk(each)
        if isinstance(node, ast.Attribute)
        and node.attr in _WRITES
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "_store"
    ]


def test_a_class_that_writes_to_its_own_store_is_found(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text("class Hasty:\n    def sync(self):\n        self._store.delete('pods', 'a', 'b')\n")
    assert _writers(module) == ["Hasty"]
