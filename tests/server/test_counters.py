"""`/metrics`: valid for Prometheus, under the real names, and right."""

from __future__ import annotations

import re

from ghostfleet.cluster import ClusterConfig, add_nodes
from ghostfleet.stages.nodes import NodeShape

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (\+Inf|-?[0-9.e+-]+)")
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def parsed(text: str) -> dict[str, float]:
    """All samples, by name and labels; whatever Prometheus would refuse is an error."""
    samples: dict[str, float] = {}
    told: set[str] = set()
    family = sort = ""
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            assert family not in told, f"{family} comes twice"
            told.add(family)
        elif line.startswith("# TYPE "):
            _, _, named, sort = line.split(" ")
            assert named == family
        else:
            match = _SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] in [family + suffix for suffix in _SUFFIXES[sort]], line
            series = line.rpartition(" ")[0]
            assert series not in samples, f"{series} comes twice"
            samples[series] = float(match[3])
    check_histograms(samples)
    return samples


def check_histograms(samples: dict[str, float]) -> None:
    """Every histogram rises, and its last bucket is its count."""
    last: dict[str, float] = {}
    for series, number in samples.items():
        if "_bucket{" in series:
            name = series.replace("_bucket{", "{").replace(re.search(r',?\ble="[^"]*"', series)[0], "")
            assert number >= last.get(name, 0)
            last[name] = number
    for name, number in last.items():
        metric, _, labels = name.partition("{")
        count = f"{metric}_count{{{labels}" if labels != "}" else f"{metric}_count"
        assert samples[count] == number


def scrape(face) -> dict[str, float]:
    reply = face.get("/metrics")
    assert reply.header("content-type").startswith("text/plain; version=0.0.4")
    return parsed(reply.body.decode())


def series(metric: str, samples: dict[str, float], **labels: str) -> list[float]:
    """The numbers of all series of a name that have these labels."""
    pairs = [f'{label}="{value}"' for label, value in labels.items()]
    return [
        number
        for shown, number in samples.items()
        if shown.partition("{")[0] == metric and all(pair in shown for pair in pairs)
    ]


def test_requests_are_counted_by_what_they_ask_for(face):
    face.get(f"{PODS}/nope")
    face.post(MAPS, {"metadata": {"name": "a"}})
    face.post(f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}})
    face.get(MAPS)
    face.get("/api/v1/configmaps")
    face.call("PATCH", f"{MAPS}/a?fieldManager=me", b"{}", content_type="application/apply-patch+yaml")
    face.call("DELETE", MAPS)
    samples = scrape(face)
    total = "apiserver_request_total"
    assert series(total, samples, verb="GET", resource="pods", scope="resource", code="404", version="v1") == [1]
    assert series(total, samples, verb="POST", resource="configmaps", scope="resource", dry_run="") == [1]
    assert series(total, samples, verb="POST", resource="configmaps", dry_run="All") == [1]
    assert series(total, samples, verb="LIST", resource="configmaps", scope="namespace", code="200") == [1]
    assert series(total, samples, verb="LIST", resource="configmaps", scope="cluster") == [1]
    assert series(total, samples, verb="APPLY", resource="configmaps") == [1]
    assert series(total, samples, verb="DELETE", resource="configmaps", scope="namespace") == [1]
    assert sum(series("apiserver_request_duration_seconds_count", samples)) == 7
    assert sum(series("apiserver_request_sli_duration_seconds_count", samples)) == 7
    assert series("apiserver_request_sli_duration_seconds_bucket", samples, verb="POST", le="60") == [2]
    assert sum(series("apiserver_request_duration_seconds_sum", samples)) > 0


def test_names_that_clients_invent_are_not_kept(face):
    for number in range(50):
        face.get(f"{PODS}/p/part{number}")
        face.call(f"METHOD{number}", f"{PODS}/p")
    assert len(series("apiserver_request_total", scrape(face), resource="pods")) <= 3


def test_objects_are_counted_by_resource(face):
    samples = scrape(face)
    assert series("apiserver_storage_objects", samples, resource="namespaces") == [4]
    assert series("apiserver_resource_objects", samples, group="", resource="namespaces") == [4]


def test_open_watches_and_what_they_sent_are_told(live):
    connection = live.connect()
    connection.request("GET", f"{MAPS}?watch=true", headers={"authorization": f"Bearer {live.token}"})
    response = connection.getresponse()
    for number in range(3):
        live.call("POST", MAPS, {"metadata": {"name": f"c{number}"}})
        response.readline()
    samples = parsed(live.call("GET", "/metrics").body.decode())
    assert series("apiserver_longrunning_requests", samples, verb="WATCH", resource="configmaps") == [1]
    assert series("apiserver_registered_watchers", samples, resource="configmaps") == [1]
    assert series("apiserver_watch_events_total", samples, resource="configmaps") == [3]
    assert series("apiserver_request_total", samples, verb="WATCH") == [], "it goes on"
    connection.close()


def test_the_scheduler_and_queues_are_told_under_their_real_names(face):
    fleet = type(face)(ClusterConfig())
    add_nodes(fleet.cluster, NodeShape(count=2, gpus=8, fake_taint=False))

    def job(name: str, gpus: int) -> dict:
        limits = {"limits": {"nvidia.com/gpu": gpus}}
        containers = [{"name": "c", "image": "i", "resources": limits}]
        template = {"spec": {"restartPolicy": "Never", "containers": containers}}
        return {"metadata": {"name": name}, "spec": {"parallelism": 4, "completions": 4, "template": template}}

    fleet.post("/apis/batch/v1/namespaces/default/jobs", job("fits", 1))
    fleet.post("/apis/batch/v1/namespaces/default/jobs", job("huge", 9))
    fleet.clock.advance(5_000_000)
    samples = scrape(fleet)
    attempts = "scheduler_schedule_attempts_total"
    assert series(attempts, samples, profile="default-scheduler", result="scheduled") == [4]
    assert series(attempts, samples, result="unschedulable")[0] >= 1
    assert series("scheduler_pending_pods", samples, queue="unschedulable") == [4]
    assert series("scheduler_pending_pods", samples, queue="active") == [0]
    assert series("scheduler_scheduling_attempt_duration_seconds_count", samples, result="scheduled") == [4]
    assert series("workqueue_adds_total", samples, name="job")[0] >= 2
    assert series("workqueue_depth", samples, name="job") == [0]
    assert samples["ghostfleet_stages_played_total"] >= 4
