"""Shapes: what `normalise` keeps, rewrites, drops and refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.validation import normalise, strict_error, unknown_field_warnings
from ghostfleet.core.errors import ApiError
from ghostfleet.core.schema import Type

POD = load_registry().schema("v1", "Pod")
SECRET = load_registry().schema("v1", "Secret")
LEASE = load_registry().schema("coordination.k8s.io/v1", "Lease")
NODE = load_registry().schema("v1", "Node")


def normal(obj: dict[str, Any], type_: Type | None = POD, kind: str = "Pod") -> tuple[dict[str, Any], list[str]]:
    assert type_ is not None
    return normalise(obj, type_, kind=kind, version="v1")


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "b"}], **spec}}


def test_a_clean_object_comes_back_itself():
    obj = pod(nodeSelector={"a": "b"}, terminationGracePeriodSeconds=30)
    clean, unknown = normal(obj)
    assert clean is obj
    assert unknown == []


def test_an_unknown_field_is_dropped_and_named_with_its_path():
    obj = pod(foo={"x": 1})
    obj["spec"]["containers"].append({"name": "two", "image": "c", "ports": [{"containerPort": 1, "bar": 2}]})
    obj["status"] = {"phase": "Pending", "baz": 1}
    clean, unknown = normal(obj)
    assert unknown == ["spec.containers[1].ports[0].bar", "spec.foo", "status.baz"]
    assert clean["spec"]["containers"][1]["ports"] == [{"containerPort": 1}]
    assert clean["status"] == {"phase": "Pending"}
    assert "foo" not in clean["spec"]


def test_what_does_not_change_is_shared_with_the_object_given():
    obj = pod(foo=1, nodeSelector={"a": "b"})
    clean, _ = normal(obj)
    assert clean["spec"]["nodeSelector"] is obj["spec"]["nodeSelector"]
    assert clean["metadata"] is obj["metadata"]
    assert obj["spec"]["foo"] == 1


def test_null_means_absent():
    obj = pod(nodeSelector=None, affinity=None)
    obj["metadata"]["creationTimestamp"] = None
    clean, unknown = normal(obj)
    assert unknown == []
    assert clean == pod()


def test_null_inside_a_list_or_map_is_the_zero_value():
    obj = pod()
    obj["spec"]["containers"] = [{"name": "a", "command": [None], "resources": {"limits": {"cpu": None}}}, None]
    obj["metadata"]["labels"] = {"a": None}
    clean, _ = normal(obj)
    first, second = clean["spec"]["containers"]
    assert first == {"name": "a", "command": [""], "resources": {"limits": {"cpu": "0"}}}
    assert second == {}
    assert clean["metadata"]["labels"] == {"a": ""}


def test_quantities_become_canonical_text():
    obj = pod()
    obj["spec"]["containers"][0]["resources"] = {"limits": {"cpu": 1, "memory": "1024Mi"}, "requests": {"cpu": "0.5"}}
    clean, _ = normal(obj)
    assert clean["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m"},
    }


def test_times_become_utc_with_whole_seconds():
    obj = pod()
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T02:00:00.75+02:00"
    clean, _ = normal(obj)
    assert clean["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"


def test_micro_times_keep_six_digits_in_utc():
    lease = {"metadata": {"name": "a"}, "spec": {"renewTime": "2026-01-01T02:00:00.123456+02:00"}}
    clean, _ = normal(lease, LEASE, "Lease")
    assert clean["spec"]["renewTime"] == "2026-01-01T00:00:00.123456Z"


def test_base64_loses_its_line_breaks():
    clean, _ = normal({"metadata": {"name": "a"}, "data": {"a": "YWJj\nYWJj", "b": ""}}, SECRET, "Secret")
    assert clean["data"] == {"a": "YWJjYWJj", "b": ""}


def test_a_whole_number_written_with_a_fraction_is_no_integer():
    with pytest.raises(ApiError, match=r"cannot unmarshal number 30\.0 into Go struct field .* of type int64"):
        normal(pod(terminationGracePeriodSeconds=30.0))


def test_an_int_or_string_may_be_either():
    for port in (80, "http"):
        obj = pod()
        obj["spec"]["containers"][0]["livenessProbe"] = {"tcpSocket": {"port": port}}
        assert normal(obj)[0] is obj


def test_a_wrong_type_is_reported_before_unknown_fields():
    with pytest.raises(ApiError, match=r"PodSpec\.spec\.hostNetwork of type bool"):
        normal(pod(foo=1, hostNetwork="yes"))


def test_strict_validation_lists_unknown_fields_then_duplicates():
    error = strict_error("Pod", "v1", ["spec.foo"], ["spec.bar"])
    assert error.message == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.foo", duplicate field "spec.bar"'
    )


def test_a_warning_names_the_field():
    assert unknown_field_warnings(["spec.foo"]) == ['unknown field "spec.foo"']


texts = st.text(alphabet="abc-._/ ", max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
field_names = st.sampled_from(["containers", "nodeSelector", "hostNetwork", "tolerations", "volumes", "overhead", "x"])


@given(spec=st.dictionaries(field_names, json_values, max_size=4))
def test_what_normalise_returns_is_clean(spec: dict[str, Any]):
    try:
        clean, _ = normal({"metadata": {"name": "a"}, "spec": spec})
    except ApiError:
        return
    again, unknown = normal(clean)
    assert again is clean
    assert unknown == []


@given(value=st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e12) | st.integers(0, 2**60))
def test_a_number_where_a_quantity_belongs_becomes_text(value: float):
    node = {"metadata": {"name": "a"}, "status": {"capacity": {"cpu": value}}}
    clean, _ = normal(node, NODE, "Node")
    assert isinstance(clean["status"]["capacity"]["cpu"], str)
