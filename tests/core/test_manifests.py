"""Manifests: read as kubectl reads them, refused where they are wrong, and written as kubectl writes them."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.manifests import (
    Document,
    ManifestError,
    dump,
    duplicate_keys,
    expand_lists,
    load_documents,
    load_json,
)
from ghostfleet.core.yamltext import MAX_DEPTH


def objects(text):
    return [document.object for document in load_documents(text)]


# What kubectl makes of a word without quotes.
SCALARS = [
    ("no", False),
    ("on", True),
    ("y", True),
    ("Yes", True),
    ("n", False),
    ("OFF", False),
    ("True", True),
    ("tRue", "tRue"),
    ("~", None),
    ("", None),
    ("Null", None),
    ("nULL", "nULL"),
    ("012", 10),
    ("0777", 511),
    ("0o17", 15),
    ("0o8", "0o8"),
    ("08", 8),
    ("0x1F", 31),
    ("0b11", 3),
    ("-0b11", -3),
    ("0b2", "0b2"),
    ("+5", 5),
    ("-0", 0),
    ("1_000", 1000),
    ("1__0", 10),
    ("_1", "_1"),
    ("1e3", 1000),
    ("1e-3", 0.001),
    ("1.0", 1),
    ("1.5", 1.5),
    (".5", 0.5),
    ("5.", 5),
    ("1e400", "1e400"),
    (".", "."),
    ("-", "-"),
    ("1:30", "1:30"),
    ("2001-01-01", "2001-01-01"),
    ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
    ("9223372036854775807", 2**63 - 1),
    ("-9223372036854775808", -(2**63)),
    ("18446744073709551615", 2**64 - 1),
    ("18446744073709551616", 2.0**64),
    ("=", "="),
    ("1.2.3", "1.2.3"),
    ("'12'", "12"),
    ('"yes"', "yes"),
    ("!!str 12", "12"),
    ("!!int '3'", 3),
    ("!!float 3", 3),
    ("!!binary aGk=", "hi"),
    ("!custom 12", "12"),
    ("! 12", "12"),
]


@pytest.mark.parametrize(("scalar", "value"), [pair for pair in SCALARS if pair[0] != "-"])
def test_a_plain_scalar_stands_for_what_kubectl_takes_it_for(scalar, value):
    [read] = objects(f"a: {scalar}\n")
    assert read == {"a": value}
    assert type(read["a"]) is type(value) or scalar == "! 12"


@pytest.mark.parametrize(
    ("key", "name"), [("n", "false"), ("on", "true"), ("1", "1"), ("012", "10"), ("1.5", "1.5"), ("1e3", "1000")]
)
def test_keys_become_texts(key, name):
    assert objects(f"{key}: x\n") == [{name: "x"}]


def test_documents_are_found_between_separators_and_empty_ones_are_left_out():
    text = "# only a comment\n---\n---  # nothing\na: 1\n---\nnull\n---\n\n\nb: 2\n---\n"
    assert load_documents(text, "x.yaml") == [Document({"a": 1}, "x.yaml", 4), Document({"b": 2}, "x.yaml", 10)]
    assert load_documents("") == load_documents("---\n") == []


def test_json_manifests_may_follow_each_other():
    text = '{"a": 1}\n{"b": {"c": [true, null]}}  {"d": "e"}\n'
    assert [(document.object, document.line) for document in load_documents(text)] == [
        ({"a": 1}, 1),
        ({"b": {"c": [True, None]}}, 2),
        ({"d": "e"}, 2),
    ]


def test_braces_may_open_a_yaml_mapping():
    assert objects("{a: no, b: [1e3]}\n---\nc: 1\n") == [{"a": False, "b": [1000]}, {"c": 1}]


def test_bytes_are_read_as_utf_8_with_or_without_a_mark():
    assert objects("\ufeffä: ö\n".encode()) == [{"ä": "ö"}]
    with pytest.raises(ManifestError, match="x: line 2, column 1: expected UTF-8"):
        load_documents(b"a: 1\nb: \xff\n", "x")


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("a:\n  b: 1\n  b: 2\n", 3, 3, 'key "b" already set in map'),
        ("1: a\n'1': b\n", 2, 1, 'key "1" already set in map'),
        ('{"a": 1,\n "a": 2}', 2, 2, 'key "a" already set in map'),
        ('{"a": 1,\n"b" 2}', 2, 5, "not JSON: Expecting ':' delimiter"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed in this context"),
        ("a:\n\tb: 1\n", 2, 1, "found character that cannot start any token"),
        ("a: 'open\n", 2, 1, "found unexpected end of stream"),
        ("a: 1\n--- foo\n", 2, 4, "expected nothing after '---', found 'foo'"),
        ("- a\n", 1, 1, "expected an object with apiVersion and kind, found a list"),
        ("just words\n", 1, 1, "found a text"),
        ("~: x\n", 1, 1, "expected a text as the key of a map, found nothing"),
        ("? [a]\n: b\n", 1, 3, "expected a text as the key of a map, found a list"),
        ("a: .nan\n", 1, 4, "expected a number that JSON has, found .nan"),
        ("a: -.inf\n", 1, 4, "expected a number that JSON has"),
        ("a: !!bool maybe\n", 1, 4, "cannot decode a text `maybe` as a !!bool"),
        ("a: !!int 1.5\n", 1, 4, "cannot decode a number `1.5` as a !!int"),
        ("a: !!binary '*'\n", 1, 4, "invalid base64"),
        ("a: *x\n", 1, 4, "unknown anchor 'x' referenced"),
        ("a: &x [*x]\n", 1, 8, "anchor 'x' value contains itself"),
        ("<<: [1]\n", 1, 5, "map merge requires map or sequence of maps"),
        ("a: \x01\n", 1, 1, "control characters are not allowed"),
        ("a: \ud800\n", 1, 1, "surrogates not allowed"),
    ],
)
def test_errors_name_the_place_and_the_problem(text, line, column, problem):
    with pytest.raises(ManifestError) as refused:
        load_documents(text, "pod.yaml")
    error = refused.value
    assert (error.source, error.line, error.column) == ("pod.yaml", line, column)
    assert problem in error.problem
    assert str(error) == f"pod.yaml: line {line}, column {column}: {error.problem}"


def test_anchors_stand_for_their_values():
    assert objects("a: &x {b: [1]}\nc: *x\nd: [*x]\n") == [{"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}]}]
    with pytest.raises(ManifestError, match="unknown anchor"):
        load_documents("a: &x 1\n---\nb: *x\n")


def test_merges_apply_in_the_order_in_which_they_stand():
    [read] = objects("base: &x {a: 1, b: 2}\nbelow:\n  <<: *x\n  a: 3\nabove:\n  a: 3\n  <<: *x\n")
    assert read["below"] == {"a": 3, "b": 2}
    assert read["above"] == {"a": 1, "b": 2}
    [several] = objects("<<: [{a: 1}, {a: 2, b: 2}]\n'<<': text\n")
    assert several == {"a": 1, "b": 2, "<<": "text"}


def laughs(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (laughs(30), "excessive aliasing"),
        ("[" * 500_000, "within each other"),
        ("a: " + "{b: " * 100_000, "within each other"),
        ("- " * 100_000, "within each other"),
        ("".join(" " * depth + "a:\n" for depth in range(1000)), "within each other"),
        ('{"a":' * 100_000, "within each other"),
        ('{"a":' * 400 + "1" + "}" * 400, "within each other"),
        (f"x: &x {'[' * 200}{']' * 200}\ny: {'[' * 200}*x{']' * 200}\n", "within each other"),
    ],
    ids=["laughs", "flow lists", "flow maps", "block lists", "block maps", "open json", "json", "alias in depth"],
)
@pytest.mark.timeout(20)
def test_hostile_manifests_are_refused_quickly(text, problem):
    with pytest.raises(ManifestError, match=problem):
        load_documents(text)


def test_a_few_aliases_are_welcome():
    text = "x: &x {a: 1, b: [2, 3]}\n" + "".join(f"k{n}: *x\n" for n in range(500))
    assert len(objects(text)[0]) == 501


def test_what_is_read_can_be_written_as_json():
    deepest = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    [read] = objects(f"a: {deepest}\n")
    assert orjson.dumps([{"object": {"items": [read]}}])
    assert load_json(f'{{"a": {deepest}}}'.encode()) == read


def test_lists_are_expanded_to_their_items():
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}}
- apiVersion: v1
  kind: PodList
  items:
  - metadata: {name: b}
---
kind: Service
"""
    expanded = list(expand_lists(load_documents(text, "x")))
    assert [document.object for document in expanded] == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}},
        {"kind": "Service"},
    ]
    assert [document.line for document in expanded] == [2, 2, 11]
    with pytest.raises(
        ManifestError, match="x: line 1, column 1: expected an object as item 0 of the list, found a text"
    ):
        list(expand_lists(load_documents("items: [a]\n", "x")))


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [(b"", 1, 1), (b'{"a":', 1, 6), (b'{"a":\nNaN}', 2, 1), (b"[Infinity]", 1, 2), (b'{"a":1}\n x', 2, 2)],
)
def test_bodies_that_are_no_json_are_refused_with_the_place(body, line, column):
    with pytest.raises(ManifestError) as refused:
        load_json(body)
    assert (refused.value.source, refused.value.line, refused.value.column) == ("request body", line, column)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000])
def test_bodies_that_are_too_deep_are_refused(depth):
    with pytest.raises(ManifestError):
        load_json(b"[" * depth + b"]" * depth)


def test_wide_bodies_are_welcome():
    assert len(load_json(b"[" + b",".join([b"{}"] * 1000) + b"]")) == 1000


def test_repeated_keys_are_named_by_their_paths():
    body = b'{"a":1,"b":{"c":1,"c":{"c":2},"d":[0,{"x":1,"x":2,"x":3}]},"a":[{"y":1,"y":2}]}'
    assert duplicate_keys(body) == ["b.c", "b.d[1].x", "a", "a[0].y"]
    assert duplicate_keys(b'{"a":{"b":1},"c":{"b":1},"n":' + b"1" * 5000 + b"}") == []


def test_objects_are_written_as_kubectl_writes_them():
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {}, "uid": None},
        "spec": {"containers": [{"name": "c", "args": ["-v", "2", "yes", ""], "ports": []}], "a10": 1, "a9": 1.5},
        "text": "one\ntwo\n",
    }
    assert (
        dump(pod)
        == """\
apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {}
  name: p
  uid: null
spec:
  a9: 1.5
  a10: 1
  containers:
  - args:
    - -v
    - "2"
    - "yes"
    - ""
    name: c
    ports: []
text: |
  one
  two
"""
    )


# Value and its YAML, as sigs.k8s.io/yaml writes it.
WRITTEN = [
    ("y", '"y"'),
    ("1:30", '"1:30"'),
    ("0o17", '"0o17"'),
    ("1_000", '"1_000"'),
    (".5", '".5"'),
    ("null", '"null"'),
    ("2026-01-01", '"2026-01-01"'),
    ("2026-1-1 1:2:3", '"2026-1-1 1:2:3"'),
    ("2026-13-01", "2026-13-01"),
    ("2026-01-01T00:00:00", "2026-01-01T00:00:00"),
    ("=", "="),
    ("x: y", "'x: y'"),
    ("# c", "'# c'"),
    ("- x", "'- x'"),
    ("@x", "'@x'"),
    ("a'b", "a'b"),
    ("'q'", "'''q'''"),
    (" lead", "' lead'"),
    ("tab\tx", '"tab\\tx"'),
    ("é ü", "é ü"),
    ("🙂", '"\\U0001F642"'),
    ("trail \nx", '"trail \\nx"'),
    ("l1\nl2", "|-\n  l1\n  l2"),
    (" x\ny", "|2-\n   x\n  y"),
    ("word " * 17 + "end", "word " * 15 + "word\n  word end"),
    (True, "true"),
    (1000000.0, "1e+06"),
    (1234567.5, "1.2345675e+06"),
    (0.00001, "1e-05"),
    (3.0, "3"),
    ([[1, [2]], {"b": []}], "\n- - 1\n  - - 2\n- b: []"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_values_are_written_as_kubectl_writes_them(value, text):
    separator = "" if text.startswith("\n") else " "
    assert dump({"a": value}) == f"a:{separator}{text}\n"


def test_keys_are_sorted_as_people_count():
    ordered = ["_", "1", "A", "a-b", "a.b", "a01", "a9", "a10", "a010", "a100", "b", "é"]
    assert list(objects(dump(dict.fromkeys(sorted(ordered), 0)))[0]) == ordered


@pytest.mark.parametrize(("value", "text"), [("str", "str\n"), ([1, 2], "- 1\n- 2\n"), (None, "null\n"), ({}, "{}\n")])
def test_what_is_no_object_can_be_written_too(value, text):
    assert dump(value) == text


texts = st.text(max_size=12) | st.sampled_from(
    [pair[0] for pair in SCALARS] + ["a: b", "x\ny\n", "\n", " \n", "\u2028"]
)
# kubectl writes this key so that it reads as a merge.
keys = texts.filter(lambda text: text != "<<")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(keys, values, min_size=1, max_size=5))
def test_what_is_written_is_read_back(value):
    assert objects(dump(value)) == [value]


@given(st.dictionaries(keys, values, max_size=5))
def test_json_is_read_the_same_as_json_and_as_yaml(value):
    body = orjson.dumps(value)
    assert objects(body) == [value] == [load_json(body)]
    assert duplicate_keys(body) == []


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@\n ,?~<0", max_size=30))
def test_any_text_is_either_read_or_refused(text):
    try:
        read = load_documents(text)
    except ManifestError:
        return
    assert all(isinstance(document.object, dict) for document in read)
