"""Kinds that a server does not serve by default, states that a server cannot be brought into, and objects with gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.schema import ANY
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.server.tables import columns, row
from ghostfleet.server.tables.rendering import BUILT_IN

NOW = parse_rfc3339("2026-01-01T02:00:00Z")
CREATED = {"creationTimestamp": "2026-01-01T00:00:00Z"}
VERSION = Version("v1", ANY)
GOLDEN = Path(__file__).parent / "golden"
OBJECTS = [
    (case["resource"], case["object"])
    for path in sorted(GOLDEN.glob("*.json"))
    if path.stem != "columns" and not path.stem.startswith("widgets")
    for case in orjson.loads(path.read_bytes())["cases"]
]


def resource(key: str) -> Resource:
    plural, _, group = key.partition(".")
    return Resource(group, plural, "", "", True, "v1", {"v1": VERSION})


def cells(key: str, name: str = "x", **fields: Any) -> list[Any]:
    return row(resource(key), VERSION, {"metadata": {"name": name, **CREATED}} | fields, NOW)


def condition(sort: str, status: str = "True", **more: str) -> dict[str, str]:
    return {"type": sort, "status": status, **more}


def test_a_pod_group_tells_its_policy_and_how_far_it_is():
    gang = {"schedulingPolicy": {"gang": {"minCount": 3}}, "podGroupTemplateRef": {"workload": {"workloadName": "w"}}}
    key = "podgroups.scheduling.k8s.io"
    assert cells(key, spec=gang) == ["x", "Gang", "w", "Pending", "120m"]
    for status, word in (("True", "Scheduled"), ("False", "Unschedulable")):
        found = cells(key, spec={}, status={"conditions": [condition("PodGroupScheduled", status)]})
        assert found == ["x", "Basic", "<none>", word, "120m"]
    disrupted = [condition("PodGroupScheduled"), condition("DisruptionTarget", reason="PreemptionByScheduler")]
    assert cells(key, spec={}, status={"conditions": disrupted})[3] == "PreemptionByScheduler"


def test_workloads_show_name_and_age():
    assert cells("workloads.scheduling.k8s.io") == ["x", "120m"]


def test_a_lease_candidate_shows_lease_and_versions():
    spec = {"leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0"}
    assert cells("leasecandidates.coordination.k8s.io", spec=spec) == ["x", "l", "1.36.0", "1.35.0", "120m"]


def test_a_device_taint_rule_shows_the_taint_and_when_it_was_added():
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    key = "devicetaintrules.resource.k8s.io"
    assert cells(key, spec={"taint": taint}) == ["x", "k", "v", "NoExecute", "", "120m"]
    added = {**taint, "timeAdded": "2026-01-01T01:59:00Z"}
    assert cells(key, spec={"taint": added})[4] == "60s"


def test_a_pool_status_request_sums_up_the_pools_once_there_is_an_answer():
    key, spec = "resourcepoolstatusrequests.resource.k8s.io", {"driver": "d"}
    assert cells(key, spec=spec) == ["x", "d", "-", "-", "-", "-", "-", 0, "Pending", "<none>"]
    pools = [
        {"totalDevices": 8, "availableDevices": 3, "allocatedDevices": 4, "unavailableDevices": 1},
        {"totalDevices": 2, "validationError": "incomplete"},
    ]
    complete = condition("Complete", lastTransitionTime="2026-01-01T01:59:30Z")
    status = {"pools": pools, "poolCount": 2, "conditions": [complete]}
    assert cells(key, spec=spec, status=status)[2:] == ["10", "3", "4", "1", "1", 2, "Complete", "30s"]
    assert cells(key, spec=spec, status=status | {"poolCount": 5})[8] == "Complete (2/5 pools)"
    failed = {"conditions": [condition("Failed")], "poolCount": 2}
    assert cells(key, spec=spec, status=failed)[2:] == ["-", "-", "-", "-", "-", 2, "Failed", "<none>"]


def test_a_storage_version_lists_the_first_servers():
    servers = [{"apiServerID": f"s{index}", "encodingVersion": "v1"} for index in range(5)]
    key = "storageversions.internal.apiserver.k8s.io"
    status = {"commonEncodingVersion": "v1", "storageVersions": servers}
    assert cells(key, status=status) == ["x", "v1", "s0=v1,s1=v1,s2=v1 + 2 more...", "120m"]
    assert cells(key, status={}) == ["x", "<unset>", "<unset>", "120m"]


def test_a_storage_version_migration_shows_the_last_true_condition():
    conditions = [condition("Running", "False"), condition("Succeeded")]
    key, spec = "storageversionmigrations.storagemigration.k8s.io", {"resource": {"group": "apps", "resource": "ds"}}
    assert cells(key, spec=spec, status={"conditions": conditions}) == ["x", "ds.apps", "Succeeded"]
    assert cells(key, spec={"resource": {"resource": "pods"}}) == ["x", "pods", "Unknown"]


def test_certificates_show_signer_and_state():
    assert cells("clustertrustbundles.certificates.k8s.io", spec={}) == ["x", "<none>"]
    spec = {"podName": "p", "serviceAccountName": "s", "nodeName": "n", "signerName": "g/s"}
    key = "podcertificaterequests.certificates.k8s.io"
    assert cells(key, spec=spec) == ["x", "p", "s", "n", "g/s", "Pending", "<none>"]
    denied = {"conditions": [condition("Denied")]}
    annotated = {**spec, "unverifiedUserAnnotations": {"b": "2", "a": "1"}}
    assert cells(key, spec=annotated, status=denied)[5:] == ["Denied", "a=1,b=2"]


@pytest.mark.parametrize(
    ("types", "certificate", "word"),
    [
        ([], "", "Pending"),
        (["Approved"], "Yw==", "Approved,Issued"),
        (["Denied"], "", "Denied"),
        (["Approved", "Failed"], "", "Approved,Failed"),
    ],
)
def test_a_certificate_signing_request_says_what_became_of_it(types, certificate, word):
    status = {"conditions": [condition(sort) for sort in types], "certificate": certificate}
    assert cells("certificatesigningrequests.certificates.k8s.io", spec={}, status=status)[-1] == word


def test_an_api_service_says_where_it_is_and_whether_it_can_be_reached():
    key, spec = "apiservices.apiregistration.k8s.io", {"service": {"namespace": "n", "name": "s"}}
    unavailable = {"conditions": [condition("Available", "False", reason="MissingEndpoints")]}
    assert cells(key, spec=spec, status=unavailable) == ["x", "n/s", "False (MissingEndpoints)", "120m"]
    assert cells(key, spec={}) == ["x", "Local", "Unknown", "120m"]


def test_a_component_without_a_health_condition_is_unknown():
    assert cells("componentstatuses") == ["x", "Unknown", "", ""]


def test_a_quota_that_nothing_has_computed_yet_is_blank():
    assert cells("resourcequotas", spec={"hard": {"pods": "3"}}) == ["x", "", "", "120m"]


def test_an_autoscaler_with_a_metric_of_unknown_type_says_so():
    found = cells("horizontalpodautoscalers.autoscaling", spec={"metrics": [{"type": "Odd"}]})
    assert found[2] == "<unknown type>"


def test_a_job_names_the_most_telling_of_its_conditions():
    both = {"conditions": [condition("Suspended"), condition("Failed"), condition("Complete", "False")]}
    assert cells("jobs.batch", status=both)[1] == "Failed"


@pytest.mark.parametrize("key", sorted(BUILT_IN))
def test_a_bookmark_prints_in_every_kind(key):
    made = row(resource(key), VERSION, {"metadata": {"resourceVersion": "9"}}, NOW)
    surplus = 1 if key.startswith("ipaddresses") else 0
    assert len(made) == len(columns(resource(key), VERSION)) + surplus


@given(st.sampled_from(OBJECTS), st.data())
def test_any_part_of_an_object_may_be_missing_or_null(example, data):
    key, obj = example
    pruned = dict(obj)
    for section in ("metadata", "spec", "status"):
        found = obj.get(section)
        if not isinstance(found, dict):
            continue
        gone = data.draw(st.sets(st.sampled_from(sorted(found)))) if found else set()
        blank = data.draw(st.booleans())
        kept = {name: value for name, value in found.items() if name not in gone}
        pruned[section] = kept | dict.fromkeys(sorted(gone)) if blank else kept
    assert len(row(resource(key), VERSION, pruned, NOW)) == len(row(resource(key), VERSION, obj, NOW))
