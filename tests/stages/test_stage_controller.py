"""Playing stages on store and clock: timers, choices, what cancels what."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.core.latency import Client

SEED_001 = """
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options: {cidr: 10.0.0.1/24}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-create}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.podIP, operator: DoesNotExist}
  delay: {durationMilliseconds: 100, jitterDurationMilliseconds: 500}
  next:
    event: {type: Normal, reason: Created, message: Created container}
    statusTemplate: |
      {{ $now := Now }}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0,
         state: {waiting: {reason: ContainerCreating}}}
      {{ end }}
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" )
        ( or .metadata.namespace "" ) | Quote }}
      phase: Pending
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
    - {key: .status.podIP, operator: Exists}
  delay: {durationMilliseconds: 10000, jitterDurationMilliseconds: 11000}
  next:
    statusTemplate: |
      {{ $now := Now }}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0,
         state: {running: {startedAt: {{ $now | Quote }}}}}
      {{ end }}
      phase: Running
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-complete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
  delay: {durationMilliseconds: 10000, jitterDurationMilliseconds: 11000}
  next:
    statusTemplate: |
      {{ $now := Now }}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0,
         state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}}
      {{ end }}
      phase: Succeeded
"""


def test_a_pod_on_a_node_runs_and_a_pod_of_a_job_is_done(world):
    world.pod("plain")
    world.pod("worker", job=True)
    world.run()
    assert (world.phase("plain"), world.phase("worker")) == ("Running", "Succeeded")


def test_others_see_a_pod_running_before_it_is_done(world):
    world.pod(job=True)
    world.run()
    assert [phase for _, _, phase in world.log] == ["Pending", "Running", "Succeeded"]


def test_pods_without_a_node_or_on_unknown_nodes_are_left_alone(world):
    world.pod("nowhere", node="")
    world.pod("elsewhere", node="stranger")
    world.run(60)
    assert (world.phase("nowhere"), world.phase("elsewhere")) == ("Pending", "Pending")


def test_pods_that_wait_for_their_node_are_played_when_it_comes(world):
    world.pod(node="node-9")
    world.run(60)
    world.nodes(1, first=9)
    world.run()
    assert world.phase() == "Running"


def test_the_delays_of_a_users_configuration_give_the_ages_that_kwok_showed(make_world, stage_file):
    world = make_world(stage_file(SEED_001))
    world.nodes(4)
    for number in range(20):
        world.pod(f"pod-{number}", node=f"node-{number % 4}", job=True)
    world.run(60)
    assert any("KwokConfiguration" in problem for problem in world.fleet.problems)
    for number in range(20):
        changes = [moment for moment, name, _ in world.log if name == f"pod-{number}"]
        times = world.times(f"pod-{number}")
        assert changes[0] == 0
        assert 10.1 <= times["Running"] < 11.5
        assert 20.1 <= times["Succeeded"] < 22.5
    assert {event[1:] for event in world.teller.events} == {("Normal", "Created", "Created container")}


def test_every_change_of_an_object_starts_its_delay_anew(make_world, make_stage):
    world = make_world([make_stage("go", "Pending", "Running", delay={"durationMilliseconds": 10_000})])
    world.nodes()
    world.pod()
    world.run(9)
    world.patch("Pod", "pod", {"metadata": {"labels": {"x": "y"}}})
    world.run(9)
    assert world.phase() == "Pending"
    world.run(1)
    assert world.times()["Running"] == 19


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(st.integers(1, 15), max_size=6))
def test_a_stage_acts_one_delay_after_the_last_change_that_came_in_time(make_world, make_stage, gaps):
    world = make_world([make_stage("go", "Pending", "Running", delay={"durationMilliseconds": 10_000})])
    world.nodes()
    world.pod()
    last = moment = 0
    for number, gap in enumerate(gaps):
        world.run(gap)
        moment += gap
        if moment - last < 10 or (moment - last == 10 and world.phase() == "Pending"):
            world.patch("Pod", "pod", {"metadata": {"labels": {"x": str(number)}}})
            last = moment
        else:
            break
    world.run(30)
    assert world.times()["Running"] == last + 10


def test_a_change_that_leaves_no_stage_does_not_stop_the_one_that_waits(make_world, make_stage):
    waiting = make_stage("go", "Pending", "Running", delay={"durationMilliseconds": 10_000})
    waiting["spec"]["selector"]["matchLabels"] = {"go": "yes"}
    world = make_world([waiting])
    world.nodes()
    world.pod(labels={"go": "yes"})
    world.run(5)
    world.patch("Pod", "pod", {"metadata": {"labels": {"go": "no"}}})
    world.run(5)
    assert world.phase() == "Running"


def test_deleting_an_object_cancels_what_waits_for_it(make_world, make_stage):
    world = make_world([make_stage("go", "Pending", "Running", delay={"durationMilliseconds": 10_000})])
    world.nodes()
    world.pod()
    world.run(5)
    world.delete("Pod", "pod", grace_seconds=0)
    world.pod()
    world.run(9)
    assert world.phase() == "Pending"
    assert world.fleet.controller.waiting == 1
    world.run(1)
    assert world.phase() == "Running"


def test_a_patch_that_changes_nothing_ends_the_chain(make_world, make_stage):
    same = make_stage("same", "Pending", "Pending")
    world = make_world([same])
    world.nodes()
    before = world.pod()["metadata"]["resourceVersion"]
    world.run(100)
    assert world.get()["metadata"]["resourceVersion"] == before


def test_stages_that_go_round_in_circles_without_a_delay_do_not_stop_time(make_world, make_stage):
    world = make_world([make_stage("there", "Pending", "Running"), make_stage("back", "Running", "Pending")])
    world.nodes()
    world.pod()
    world.run(3)
    assert world.clock.now() == world.start + 3_000_000
    assert any("goes round in circles" in problem for problem in world.fleet.problems)


def test_weights_decide_in_proportion_which_of_several_stages_comes_next(make_world, make_stage):
    failing = make_stage("fail", "Pending", "Failed", weight=1)
    working = make_stage("work", "Pending", "Running", weight=3)
    world = make_world([failing, working], seed=5)
    world.nodes(10, pods="1000")
    for number in range(800):
        world.pod(f"pod-{number}", node=f"node-{number % 10}")
    world.run()
    failed = sum(world.phase(f"pod-{number}") == "Failed" for number in range(800))
    assert 160 < failed < 240


def test_a_stage_can_tell_an_event_change_finalizers_and_delete(make_world):
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "farewell"},
        "spec": {
            "resourceRef": {"kind": "ConfigMap"},
            "selector": {"matchLabels": {"leave": "now"}},
            "steps": [
                {"event": {"type": "Warning", "reason": "Leaving", "message": "it goes"}},
                {"finalizers": {"remove": [{"value": "example.com/hold"}]}},
                {"patch": {"root": "data", "template": "last: word"}},
                {"delete": True},
            ],
        },
    }
    world = make_world([stage])
    seen: list[Any] = []
    world.store.listen("configmaps", lambda change: seen.append(change.new and change.new.get("data")))
    metadata = {"name": "note", "labels": {"leave": "now"}, "finalizers": ["example.com/hold"]}
    world.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    world.run()
    assert world.store.find("configmaps", "default", "note") is None
    assert seen[-2:] == [{"last": "word"}, None]
    assert world.teller.events == [("note", "Warning", "Leaving", "it goes")]


def test_objects_of_other_groups_are_played_too(make_world):
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "available"},
        "spec": {
            "resourceRef": {"apiGroup": "apps/v1", "kind": "Deployment"},
            "selector": {"matchExpressions": [{"cel": {"expression": "!has(self.status.readyReplicas)"}}]},
            "delay": {"durationFrom": {"cel": {"expression": "duration('2s')"}}},
            "next": {"statusTemplate": "readyReplicas: {{ .spec.replicas }}\nreplicas: {{ .spec.replicas }}"},
        },
    }
    world = make_world([stage])
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    world.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    world.run(1)
    assert "readyReplicas" not in world.get("web", "deployments.apps")["status"]
    world.run(1)
    assert world.get("web", "deployments.apps")["status"]["readyReplicas"] == 3


def test_a_stage_can_apply_another_object_and_change_it_later(make_world):
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "shadow"},
        "spec": {
            "resourceRef": {"kind": "ConfigMap"},
            "selector": {"matchLabels": {"shadow": "yes"}},
            "steps": [
                {
                    "apply": {
                        "template": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}-shadow\n"
                        "data: {{ YAML .data 1 }}"
                    }
                }
            ],
        },
    }
    world = make_world([stage])
    metadata = {"name": "note", "labels": {"shadow": "yes"}}
    world.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}})
    world.run()
    assert world.get("note-shadow", "configmaps")["data"] == {"a": "1"}
    world.patch("ConfigMap", "note", {"data": {"a": "2"}})
    world.run()
    assert world.get("note-shadow", "configmaps")["data"] == {"a": "2"}


def test_a_stage_that_fails_on_an_object_is_told_once_and_harms_no_other(make_world, make_stage):
    stage = make_stage("go", "Pending", "Running")
    stage["spec"]["next"] = {"statusTemplate": 'phase: {{ index .metadata.labels "phase" }}'}
    world = make_world([stage])
    world.nodes()
    world.pod("poor")
    world.pod("fine", labels={"phase": "Running"})
    world.run(1)
    assert (world.phase("poor"), world.phase("fine")) == ("Pending", "Running")
    (problem,) = world.fleet.problems
    assert "stage 'go' failed on pods default/poor: " in problem
    assert "index of untyped nil" in problem


def test_a_status_that_the_api_refuses_is_not_written(make_world, make_stage):
    bad = make_stage("bad", "Pending", "Running")
    bad["spec"]["next"] = {"statusTemplate": "podIP: not-an-address\nphase: [1]"}
    world = make_world([bad])
    world.nodes()
    world.pod()
    world.run(1)
    assert world.phase() == "Pending"
    assert any("stage 'bad' failed on pods default/pod" in problem for problem in world.fleet.problems)


def test_what_the_request_of_a_stage_takes_is_added_to_its_delay(make_world: Any) -> None:
    world = make_world(client=Client(requests={"patch": (SECOND,), "patch status": (2 * SECOND,)}))
    world.nodes()
    world.run(5)
    world.pod()
    world.run(1.9)
    assert world.phase() == "Pending"
    world.run(0.1)
    assert world.phase() == "Running"
