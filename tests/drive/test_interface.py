"""Every scenario here runs on both implementations: what a tool sees of a cluster is the same."""

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import NAMESPACES, PODS, Kind, Refused

CONFIG_MAPS = Kind("", "v1", "configmaps")


def config(name, **labels):
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "data": {"a": "1"}}


def test_objects_are_created_read_changed_and_deleted(cluster):
    async def tool():
        made = await cluster.create(CONFIG_MAPS, config("one"))
        assert made["metadata"]["uid"]
        await cluster.patch(CONFIG_MAPS, "default", "one", {"data": {"a": None, "b": "2"}})
        assert (await cluster.get(CONFIG_MAPS, "default", "one"))["data"] == {"b": "2"}
        await cluster.delete(CONFIG_MAPS, "default", "one")
        with pytest.raises(Refused) as refusal:
            await cluster.get(CONFIG_MAPS, "default", "one")
        return refusal.value.code, refusal.value.reason

    assert cluster.run(tool()) == (404, "NotFound")


def test_a_list_is_chosen_by_labels_and_deleted_by_them(cluster):
    async def tool():
        for number in range(5):
            await cluster.create(CONFIG_MAPS, config(f"c{number}", run="x" if number % 2 else "y"))
        chosen = await cluster.list(CONFIG_MAPS, "default", "run=x")
        await cluster.delete_all(CONFIG_MAPS, "default", "run=x")
        left = await cluster.list(CONFIG_MAPS, labels="run")
        return [obj["metadata"]["name"] for obj in chosen], [obj["metadata"]["name"] for obj in left]

    assert cluster.run(tool()) == (["c1", "c3"], ["c0", "c2", "c4"])


def test_a_sleep_takes_cluster_time(cluster):
    async def tool():
        before = cluster.now()
        await cluster.sleep(2 * SECOND)
        return cluster.now() - before

    assert cluster.run(tool()) >= 2 * SECOND


def test_things_done_together_wait_at_the_same_time(cluster):
    order = []

    async def one(number):
        await cluster.sleep((3 - number) * SECOND)
        order.append(number)
        return number

    async def tool():
        return await cluster.together(one(number) for number in range(3))

    assert cluster.run(tool()) == [0, 1, 2]
    assert order == [2, 1, 0]


def test_when_one_thing_fails_the_others_still_end(cluster):
    ended = []

    async def one(number):
        await cluster.sleep(number * SECOND // 10)
        if number == 0:
            raise Refused(409, "AlreadyExists", "there already")
        ended.append(number)

    async def tool():
        await cluster.together(one(number) for number in range(3))

    with pytest.raises(Refused, match="there already"):
        cluster.run(tool())
    assert ended == [1, 2]


def test_a_watch_tells_what_is_there_and_what_becomes_of_it(cluster):
    seen = []

    async def tool():
        await cluster.create(CONFIG_MAPS, config("before", run="x"))
        stop = cluster.watch(
            CONFIG_MAPS, "default", "run=x", lambda _time, event, obj: seen.append((event, obj["metadata"]["name"]))
        )
        while not seen:
            await cluster.sleep(SECOND)
        await cluster.create(CONFIG_MAPS, config("other", run="y"))
        await cluster.create(CONFIG_MAPS, config("after", run="x"))
        await cluster.patch(CONFIG_MAPS, "default", "after", {"data": {"b": "2"}})
        await cluster.delete(CONFIG_MAPS, "default", "after")
        while len(seen) < 4:
            await cluster.sleep(SECOND)
        stop()
        await cluster.delete(CONFIG_MAPS, "default", "before")
        await cluster.sleep(SECOND)

    cluster.run(tool())
    assert seen == [("ADDED", "before"), ("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "after")]


def test_a_manifests_kind_is_found_and_an_unknown_one_is_not(cluster):
    async def tool():
        return (
            await cluster.resolve("v1", "Namespace"),
            await cluster.resolve("batch/v1", "Job"),
            await cluster.resolve("batch/v1", "Jib"),
            await cluster.resolve("no.such/v1", "Job"),
        )

    assert cluster.run(tool()) == (NAMESPACES, Kind("batch", "v1", "jobs"), None, None)


def test_a_refusal_says_which_field_is_wrong(cluster):
    async def tool():
        await cluster.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": []}})

    with pytest.raises(Refused, match=r"spec\.containers: Required value") as refusal:
        cluster.run(tool())
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")


def test_the_cluster_says_what_it_is(cluster):
    assert cluster.info.ghostfleet
    assert cluster.info.profile == "instant"
    assert cluster.info.clock in ("virtual", "scaled:10")
    assert cluster.info.version.startswith("v1.")


def test_a_cluster_of_ours_tells_what_made_it_and_which_limits_held_it_up(cluster):
    made = cluster.info.made
    assert (made["schedulers"], made["stages"]) == (["default-scheduler"], ["fast"])
    told = cluster.run(cluster.saturation())
    assert "Nodes" in [each.component for each in told]
    assert all(each.time == 0 for each in told), "nothing has happened yet"
