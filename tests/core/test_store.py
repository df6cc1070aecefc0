"""The store: life and death of objects, and the revisions in between."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.core.bucket import index_by_label, index_by_node
from ghostfleet.core.changes import Change
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store


@pytest.fixture
def store() -> Store:
    store = Store(VirtualClock(), Streams(1))
    store.register("pods", {"node": index_by_node(), "job": index_by_label("job-name")})
    return store


def pod(name: str = "a", namespace: str = "default", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "c"}]},
    }


def test_a_created_object_gets_what_only_the_store_gives(store: Store) -> None:
    stored = store.create("pods", pod())
    metadata = stored["metadata"]
    assert metadata["resourceVersion"] == "1"
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert len(metadata["uid"]) == 36
    assert store.get("pods", "default", "a") is stored


def test_a_create_shares_what_it_does_not_change_and_leaves_the_given_object_alone(store: Store) -> None:
    given = pod()
    stored = store.create("pods", given)
    assert stored["spec"] is given["spec"]
    assert given["metadata"] == {"name": "a", "namespace": "default"}


def test_the_same_name_in_another_namespace_is_another_object(store: Store) -> None:
    store.create("pods", pod())
    store.create("pods", pod(namespace="other"))
    with pytest.raises(ApiError, match='pods "a" already exists') as caught:
        store.create("pods", pod())
    assert caught.value.code == 409
    assert store.count("pods") == 2


def test_a_generated_name_keeps_its_prefix_and_fits_a_dns_label(store: Store) -> None:
    made = store.create("pods", {"metadata": {"generateName": "job-", "namespace": "default"}})
    assert made["metadata"]["name"].startswith("job-")
    assert len(made["metadata"]["name"]) == 9
    long = store.create("pods", {"metadata": {"generateName": "x" * 80, "namespace": "default"}})
    assert len(long["metadata"]["name"]) == 63


def test_an_update_takes_the_next_revision_and_keeps_what_the_store_gave(store: Store) -> None:
    first = store.create("pods", pod())
    second = store.update("pods", {**pod(), "spec": {"nodeName": "n1"}})
    assert second["metadata"]["resourceVersion"] == "2"
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert second["metadata"]["creationTimestamp"] == first["metadata"]["creationTimestamp"]


def test_an_update_that_changes_nothing_keeps_the_revision(store: Store) -> None:
    first = store.create("pods", pod())
    assert store.update("pods", pod()) is first
    assert store.revision == 1


def test_an_update_from_an_old_version_conflicts(store: Store) -> None:
    first = store.create("pods", pod())
    store.update("pods", pod(labels={"a": "b"}))
    with pytest.raises(ApiError, match="the object has been modified") as caught:
        store.update("pods", {**first, "spec": {}})
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")


def test_an_update_with_another_uid_conflicts(store: Store) -> None:
    store.create("pods", pod())
    with pytest.raises(ApiError, match="UID in precondition: other"):
        store.update("pods", pod(uid="other"))


def test_updating_or_deleting_what_is_not_there_says_so(store: Store) -> None:
    for act in (lambda: store.update("pods", pod()), lambda: store.delete("pods", "default", "a")):
        with pytest.raises(ApiError, match='pods "a" not found'):
            act()


def test_a_delete_may_name_the_uid_and_version_it_means(store: Store) -> None:
    store.create("pods", pod())
    with pytest.raises(ApiError, match="does not match the UID in record"):
        store.delete("pods", "default", "a", uid="other")
    with pytest.raises(ApiError, match="does not match the ResourceVersion in record"):
        store.delete("pods", "default", "a", resource_version="77")
    _, gone = store.delete("pods", "default", "a", resource_version="1")
    assert gone


def test_an_object_with_a_finalizer_stays_marked_until_it_is_removed(store: Store) -> None:
    store.create("pods", pod(finalizers=["keep.example/it"], generation=1))
    marked, gone = store.delete("pods", "default", "a")
    assert not gone
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert marked["metadata"]["generation"] == 2
    again, gone = store.delete("pods", "default", "a")
    assert not gone
    assert again is marked
    metadata = {key: value for key, value in marked["metadata"].items() if key != "finalizers"}
    store.update("pods", {**marked, "metadata": metadata})
    assert store.find("pods", "default", "a") is None


def test_an_update_cannot_unmark_a_deleted_object(store: Store) -> None:
    store.create("pods", pod(finalizers=["keep.example/it"]))
    store.delete("pods", "default", "a")
    after = store.update("pods", pod(finalizers=["keep.example/it"], labels={"still": "here"}))
    assert "deletionTimestamp" in after["metadata"]


def test_grace_can_be_shortened_but_not_lengthened(store: Store) -> None:
    store.create("pods", pod())
    marked, _ = store.delete("pods", "default", "a", grace=30)
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    longer, _ = store.delete("pods", "default", "a", grace=60)
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 30
    store.clock.advance(SECOND)  # type: ignore[attr-defined]
    shorter, _ = store.delete("pods", "default", "a", grace=5)
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:06Z"
    _, gone = store.delete("pods", "default", "a", grace=0)
    assert gone


def test_dry_runs_answer_but_change_nothing(store: Store) -> None:
    made = store.create("pods", pod(), dry_run=True)
    assert made["metadata"]["uid"]
    assert "resourceVersion" not in made["metadata"]
    store.create("pods", pod())
    store.update("pods", pod(labels={"x": "y"}), dry_run=True)
    _, gone = store.delete("pods", "default", "a", dry_run=True)
    assert gone
    assert store.get("pods", "default", "a")["metadata"].get("labels") is None
    assert store.revision == 1


def test_lists_come_in_key_order_and_can_be_had_of_the_past(store: Store) -> None:
    for namespace, name in [("b", "x"), ("a", "z"), ("a-b", "q"), ("a", "y")]:
        store.create("pods", pod(name, namespace))
    places = [f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in store.list("pods")]
    assert places == sorted(places) == ["a-b/q", "a/y", "a/z", "b/x"]
    store.delete("pods", "a", "y")
    store.update("pods", pod("z", "a", labels={"new": "1"}))
    then = store.list_at("pods", None, 4)
    assert [o["metadata"]["name"] for o in then] == ["q", "y", "z", "x"]
    assert "labels" not in then[2]["metadata"]
    assert [o["metadata"]["name"] for o in store.list_at("pods", "a", 5)] == ["z"]


def test_indexes_follow_every_write(store: Store) -> None:
    store.create("pods", pod("a", labels={"job-name": "j"}))
    store.create("pods", pod("b", labels={"job-name": "j"}))
    store.update("pods", {**store.get("pods", "default", "a"), "spec": {"nodeName": "n1"}})
    names = lambda index, value: [o["metadata"]["name"] for o in store.having("pods", index, value)]  # noqa: E731 - short
    assert names("node", "n1") == ["a"]
    assert names("job", "j") == ["a", "b"]
    store.update("pods", {**store.get("pods", "default", "a"), "spec": {"nodeName": "n2"}})
    store.delete("pods", "default", "b")
    assert names("node", "n1") == []
    assert names("node", "n2") == ["a"]
    assert names("job", "j") == ["a"]


def test_dependents_of_any_resource_are_found_by_their_owners_uid(store: Store) -> None:
    owner = {"uid": "u-1", "kind": "Job", "name": "j", "apiVersion": "batch/v1"}
    store.create("pods", pod(ownerReferences=[owner]))
    store.create("configmaps", {"metadata": {"name": "c", "namespace": "default", "ownerReferences": [owner]}})
    assert [resource for resource, _ in store.owned_by("u-1")] == ["pods", "configmaps"]
    assert [resource for resource, _ in store.owned_by("u-1", "pods")] == ["pods"]
    store.delete("pods", "default", "a")
    assert [resource for resource, _ in store.owned_by("u-1")] == ["configmaps"]


def test_listeners_hear_every_change_in_order_until_they_stop(store: Store) -> None:
    heard: list[Change] = []
    stop = store.listen("pods", heard.append)
    everything: list[Change] = []
    store.listen_to_all(everything.append)
    store.create("pods", pod())
    store.patch_status("pods", "default", "a", {"phase": "Running"})
    store.create("nodes", {"metadata": {"name": "n"}})
    store.delete("pods", "default", "a")
    stop()
    store.create("pods", pod("b"))
    assert [(change.revision, change.type) for change in heard] == [(1, "ADDED"), (2, "MODIFIED"), (4, "DELETED")]
    assert [change.revision for change in everything] == [1, 2, 3, 4, 5]


def test_a_listener_may_leave_while_it_is_being_told(store: Store) -> None:
    heard: list[str] = []
    stops: list[Any] = []
    stops.append(store.listen("pods", lambda change: (heard.append("once"), stops[0]())))
    store.listen("pods", lambda change: heard.append("always"))
    store.create("pods", pod("a"))
    store.create("pods", pod("b"))
    assert heard == ["once", "always", "always"]


def test_who_does_not_care_for_the_status_is_told_of_all_else(store: Store) -> None:
    heard: list[int] = []
    stop = store.listen("pods", lambda change: heard.append(change.revision), status=False)
    stop_all = store.listen_to_all(lambda change: heard.append(-change.revision), status=False)
    made = store.create("pods", pod())
    store.patch_status("pods", "default", "a", {"phase": "Running"})
    store.update("pods", {**store.get("pods", "default", "a"), "spec": {}})
    stop()
    store.delete("pods", "default", "a")
    stop_all()
    store.create("pods", made)
    assert heard == [1, -1, 3, -3, -4]


def test_an_added_object_is_taken_as_it_is(store: Store) -> None:
    given = pod()
    assert store.add("pods", given) is given
    assert store.get("pods", "default", "a") is given
    assert given["metadata"]["resourceVersion"] == "1"
    with pytest.raises(ApiError, match="already exists"):
        store.add("pods", pod())


def test_unchecked_writes_leave_the_old_object_alone_and_are_seen_like_others(store: Store) -> None:
    changes: list[Change] = []
    store.listen("pods", changes.append)
    made = store.create("pods", pod())
    bound = {**made, "metadata": {**made["metadata"]}, "spec": {**made["spec"], "nodeName": "n"}}
    assert store.replace("pods", made, bound) is bound
    running = store.set_status("pods", bound, {"phase": "Running"})
    assert [made["metadata"]["resourceVersion"], bound["metadata"]["resourceVersion"]] == ["1", "2"]
    assert running["metadata"]["resourceVersion"] == "3"
    assert running["spec"] is bound["spec"]
    assert list(store.having("pods", "node", "n")) == [running]
    assert [change.type for change in changes] == ["ADDED", "MODIFIED", "MODIFIED"]
    assert store.list_at("pods", None, 2) == [bound]


def test_two_stores_of_one_seed_give_the_same_names_and_uids() -> None:
    made = []
    for seed in (7, 7, 8):
        store = Store(VirtualClock(), Streams(seed))
        made.append(store.create("pods", {"metadata": {"generateName": "x-", "namespace": "default"}}))
    assert made[0] == made[1]
    assert made[0] != made[2]
