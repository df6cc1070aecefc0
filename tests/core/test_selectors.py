"""Label and field selectors against the answers of apimachinery and of a real API server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core import selectors
from ghostfleet.core.selectors import (
    EVERYTHING,
    NOTHING,
    custom_field_labels,
    field_labels,
    matcher,
    parse_field_selector,
    parse_label_selector,
    selector_from_object,
)

PODS = field_labels("pods")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("a=b", "a=b"),
        ("a==b", "a==b"),
        (" b != 1 , a ", "a,b!=1"),
        ("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z notin ()"),
        ("a in (b,b)", "a in (b)"),
        ("a=,!b", "a=,!b"),
        ("i>5,j<7", "i>5,j<7"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("example.com/a in (X)", "example.com/a in (X)"),
        ("b=1,a=2,b=3", "a=2,b=1,b=3"),
    ],
)
def test_a_label_selector_prints_in_canonical_form(text, canonical):
    assert str(parse_label_selector(text)) == canonical


NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a gt 5", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("_a=b", f'unable to parse requirement: <nil>: Invalid value: "_a": {NAME_PART}'),
        ("a=_", f'unable to parse requirement: values[0][a]: Invalid value: "_": {LABEL_VALUE}'),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
        ),
    ],
)
def test_malformed_label_selectors_are_refused_in_the_words_of_kubernetes(text, message):
    with pytest.raises(ValueError) as refused:
        parse_label_selector(text)
    assert str(refused.value) == message


LABELS = {"app": "web", "tier": "a", "size": "5", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches", "matches_without_labels"),
    [
        ("", True, True),
        ("app=web", True, False),
        ("app==db", False, False),
        ("app!=web", False, True),
        ("none!=x", True, True),
        ("app in (db,web)", True, False),
        ("none in (x,)", False, False),
        ("app notin (db,web)", False, True),
        ("none notin (x)", True, True),
        ("app", True, False),
        ("none", False, False),
        ("!app", False, True),
        ("empty=", True, False),
        ("none=", False, False),
        ("size>4", True, False),
        ("size>5", False, False),
        ("size<6", True, False),
        ("app>4", False, False),
        ("none<4", False, False),
        ("app=web,tier=a", True, False),
        ("app=web,tier=b", False, False),
        ("app=web,tier,!x", True, False),
    ],
)
def test_label_selectors_match_as_in_kubernetes(text, matches, matches_without_labels):
    selector = parse_label_selector(text)
    assert selector.matches(LABELS) is matches
    assert selector.matches(None) is selector.matches({}) is matches_without_labels


def test_equalities_are_offered_to_indexes():
    selector = parse_label_selector("a=1,b in (2),c in (3,4),d,e!=5,a=6")
    assert selector.equalities() == {"a": "1", "b": "2"}
    assert not selector.empty
    assert EVERYTHING.empty
    assert EVERYTHING.equalities() == {}


def test_a_selector_object_means_the_same_as_its_text():
    selector = selector_from_object(
        {
            "matchLabels": {"b": "1", "a": "2"},
            "matchExpressions": [
                {"key": "c", "operator": "In", "values": ["y", "x"]},
                {"key": "d", "operator": "NotIn", "values": ["z"]},
                {"key": "e", "operator": "Exists"},
                {"key": "f", "operator": "DoesNotExist", "values": []},
            ],
        }
    )
    assert str(selector) == "a=2,b=1,c in (x,y),d notin (z),e,!f"
    assert selector.matches({"a": "2", "b": "1", "c": "x", "e": ""})
    assert not selector.matches({"a": "2", "b": "1", "c": "x"})


def test_no_selector_object_selects_nothing_and_an_empty_one_everything():
    assert selector_from_object(None) is NOTHING
    assert not NOTHING.matches({"a": "b"})
    assert not NOTHING.empty
    assert str(NOTHING) == ""
    assert selector_from_object({}).matches(None)
    assert selector_from_object({"matchLabels": None, "matchExpressions": None}).empty


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
        ({"matchLabels": {"_": "x"}}, f'key: Invalid value: "_": {NAME_PART}'),
    ],
)
def test_bad_selector_objects_are_refused(selector, message):
    with pytest.raises(ValueError) as refused:
        selector_from_object(selector)
    assert str(refused.value) == message


keys = st.sampled_from(["a", "b", "c", "in"])
values = st.sampled_from(["", "x", "y", "1", "2"])
requirements = st.one_of(
    st.builds(lambda key, operator, value: f"{key}{operator}{value}", keys, st.sampled_from(["=", "==", "!="]), values),
    st.builds(
        lambda key, operator, listed: f"{key} {operator} ({','.join(listed)})",
        keys,
        st.sampled_from(["in", "notin"]),
        st.lists(values, min_size=1, max_size=3),
    ),
    st.builds(lambda bang, key: bang + key, st.sampled_from(["", "!"]), keys),
    st.builds(lambda key, operator: f"{key}{operator}1", keys, st.sampled_from("<>")),
)


@given(st.lists(requirements, max_size=4), st.dictionaries(keys, values))
def test_canonical_selectors_mean_the_same_and_conditions_are_all_required(parts, labels):
    selector = parse_label_selector(",".join(parts))
    again = parse_label_selector(str(selector))
    assert str(again) == str(selector)
    assert again.matches(labels) == selector.matches(labels)
    assert selector.matches(labels) == all(parse_label_selector(part).matches(labels) for part in parts)
    if selector.matches(labels):
        assert selector.equalities().items() <= labels.items()


@given(st.text(alphabet="ab=!<>(), in", max_size=20))
def test_any_text_is_either_a_selector_or_refused(text):
    try:
        selector = parse_label_selector(text)
    except ValueError:
        return
    assert selector.empty == (not text.strip())


POD = {
    "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "restartPolicy": "Never"},
    "status": {"phase": "Running", "podIP": "10.0.0.1"},
}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("spec.nodeName=n1", True),
        ("spec.nodeName==n1", True),
        ("spec.nodeName!=n1", False),
        ("spec.host=n1", True),
        ("spec.nodeName=", False),
        ("spec.schedulerName=", True),
        ("status.nominatedNodeName!=x", True),
        ("spec.hostNetwork=false", True),
        ("spec.hostNetwork=true", False),
        ("status.podIP=10.0.0.1", True),
        ("status.podIPs=10.0.0.1", False),
        ("metadata.name=p,metadata.namespace=ns", True),
        ("metadata.name=p,metadata.namespace=other", False),
        ("status.phase!=Failed,status.phase!=Succeeded,spec.nodeName=n1", True),
        (",spec.nodeName=n1,,", True),
    ],
)
def test_field_selectors_match_as_in_kubernetes(text, matches):
    assert parse_field_selector(text, PODS).matches(POD) is matches


def test_booleans_and_numbers_compare_as_text():
    nodes, jobs, controllers = map(field_labels, ("nodes", "jobs.batch", "replicationcontrollers"))
    assert parse_field_selector("spec.unschedulable=true", nodes).matches({"spec": {"unschedulable": True}})
    assert parse_field_selector("spec.unschedulable=false", nodes).matches({"spec": {}})
    assert parse_field_selector("status.successful=3", jobs).matches({"status": {"succeeded": 3}})
    assert parse_field_selector("status.successful=0", jobs).matches({})
    assert parse_field_selector("status.replicas=0", controllers).matches({"status": {"replicas": 0}})


def test_both_apis_of_events_find_the_same_events():
    core = {"involvedObject": {"kind": "Pod"}, "source": {"component": "kubelet"}, "reportingComponent": "x"}
    newer = {"regarding": {"kind": "Pod"}, "reportingController": "kubelet"}
    for text, key in (("involvedObject.kind=Pod", "events"), ("regarding.kind=Pod", "events.events.k8s.io")):
        selector = parse_field_selector(text, field_labels(key))
        assert selector.matches(core)
        assert selector.matches(newer)
    by_source = parse_field_selector("source=kubelet", field_labels("events"))
    assert by_source.matches(core)
    assert by_source.matches(newer)


@pytest.mark.parametrize(
    ("key", "label", "message"),
    [
        ("pods", "spec.foo", "field label not supported: spec.foo"),
        ("nodes", "spec.host", "field label not supported: spec.host"),
        ("nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("events.events.k8s.io", "involvedObject.kind", "field label not supported: involvedObject.kind"),
        ("jobs.batch", "spec.foo", 'field label "spec.foo" not supported for Job'),
        (
            "replicasets.apps",
            "status.replicas",
            '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            "resourceslices.resource.k8s.io",
            "spec.foo",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo",
        ),
    ],
)
def test_each_resource_refuses_other_field_labels_in_its_own_words(key, label, message):
    with pytest.raises(ValueError) as refused:
        parse_field_selector(f"{label}=1", field_labels(key))
    assert str(refused.value) == message


def test_the_refusal_names_the_version_that_was_asked():
    with pytest.raises(ValueError, match="v1beta2, Kind=ResourceSlice"):
        parse_field_selector("a=b", field_labels("resourceslices.resource.k8s.io", "v1beta2"))


def test_custom_resources_support_the_fields_their_definition_lists():
    labels = custom_field_labels([".spec.color", "spec.count"], namespaced=False)
    assert parse_field_selector("spec.color=red,spec.count=2", labels).matches({"spec": {"color": "red", "count": 2}})
    for label in ("spec.size", "metadata.namespace"):
        with pytest.raises(ValueError, match=f"field label not supported: {label}"):
            parse_field_selector(f"{label}=1", labels)
    assert parse_field_selector("metadata.namespace=a", custom_field_labels([], namespaced=True)).requirements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"),
        ("spec.nodeName=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("spec.nodeName=a\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("spec.nodeName=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_malformed_field_selectors_are_refused_in_the_words_of_kubernetes(text, message):
    with pytest.raises(ValueError) as refused:
        parse_field_selector(text, PODS)
    assert str(refused.value) == message


@given(st.text(max_size=10))
def test_escaped_values_are_read_back(value):
    term = selectors.FieldRequirement("spec.nodeName", "=", value)
    selector = parse_field_selector(str(term), PODS)
    assert selector.requirements == (term,)
    assert selector.equalities() == {"spec.nodeName": value}
    assert str(selector) == str(term)


def test_both_selectors_together_look_at_the_whole_object():
    web, here = parse_label_selector("app=web"), parse_field_selector("spec.nodeName=n1", PODS)
    elsewhere = parse_field_selector("spec.nodeName=n2", PODS)
    assert matcher(web, here)(POD)
    assert matcher(EVERYTHING, here)(POD)
    assert matcher(web, parse_field_selector("", PODS))(POD)
    assert not matcher(web, elsewhere)(POD)
    assert not matcher(parse_label_selector("app=db"), here)(POD)
    assert not matcher(web, here)({"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}})
