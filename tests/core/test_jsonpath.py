"""JSONPath against the answers of client-go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core import jsonpath

OBJECT = {
    "spec": {"replicas": 3, "d.e": "dotted", "none": None, "list": [1.5, 2.5, 3.5], "empty": []},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "v": 1.5, "ok": True, "tags": ["p", "q"]},
            {"type": "Other", "status": "False", "v": 2.5, "ok": False, "sub": {"type": "in"}},
            {"type": "three)", "v": 3.5},
        ]
    },
    "a b": "space",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("{.spec.replicas}", [3]),
        ("spec.replicas", [3]),
        ("{ .spec.replicas }", [3]),
        ("$.spec.replicas", [3]),
        ("@.spec.replicas", [3]),
        (".spec.missing", []),
        (".spec.missing.deeper", []),
        (".spec.replicas.deeper", []),
        (".spec.none", [None]),
        (".spec.none.deeper", []),
        ("['spec']['replicas']", [3]),
        (".spec['replicas']", [3]),
        (".spec.d\\.e", ["dotted"]),
        (".spec['d\\.e']", ["dotted"]),
        (".spec['d.e']", []),
        (".a\\ b", ["space"]),
        (".spec.list[0]", [1.5]),
        (".spec.list[-1]", [3.5]),
        (".spec.list[]", [1.5]),
        (".spec.list[*]", [1.5, 2.5, 3.5]),
        (".spec.list[0:2]", [1.5, 2.5]),
        (".spec.list[1:]", [2.5, 3.5]),
        (".spec.list[:-1]", [1.5, 2.5]),
        (".spec.list[::2]", [1.5, 3.5]),
        (".spec.list[0,2]", [1.5, 3.5]),
        (".spec.list[1:1]", []),
        (".spec.list[5]", []),
        (".spec.list[-5]", []),
        (".spec.list[2:1]", []),
        (".spec.list[::0]", []),
        (".spec.empty[*]", []),
        (".spec.empty[0]", []),
        (".spec[0]", []),
        (".spec.replicas[0]", []),
        (".status.conditions[*].type", ["Ready", "Other", "three)"]),
        (".status.*[0].type", ["Ready"]),
        (".status.conditions[0,1]['type','v']", ["Ready", "Other", 1.5, 2.5]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        (".status.conditions[?('Ready'==@.type)].status", ["True"]),
        (".status.conditions[?(@.type!='Ready')].v", [2.5, 3.5]),
        (".status.conditions[?(@.type=='three)')].v", [3.5]),
        (".status.conditions[?(@.v>1.5)].v", [2.5, 3.5]),
        (".status.conditions[?(@.v>=2.5)].v", [2.5, 3.5]),
        (".status.conditions[?(@.v<2.5)].v", [1.5]),
        (".status.conditions[?(@.v<=2.5)].v", [1.5, 2.5]),
        (".status.conditions[?(@.ok==true)].type", ["Ready"]),
        (".status.conditions[?(@.ok!=true)].type", ["Other"]),
        (".status.conditions[?(@.sub)].type", ["Other"]),
        (".status.conditions[?(@.sub.type)].type", ["Other"]),
        (".status.conditions[?(@.tags[0]=='p')].type", ["Ready"]),
        (".status.conditions[?(@.v==2)].type", []),
        (".status.conditions[?(@.ok<true)].type", []),
        (".spec[?(@.x)]", []),
        ("..type", ["Ready", "Other", "three)", "in"]),
        (".spec.list..", [[1.5, 2.5, 3.5]]),
    ],
)
def test_a_path_leads_where_client_go_finds_it(path, found):
    # client-go walks maps in any order, so where several depths are found the order is not compared.
    assert sorted(map(repr, jsonpath.compile(path).find(OBJECT))) == sorted(map(repr, found))


def test_the_first_value_is_found_or_none():
    assert jsonpath.compile(".status.conditions[*].type").first(OBJECT) == "Ready"
    assert jsonpath.compile(".nowhere").first(OBJECT) is None


def test_an_escape_in_a_quoted_text_stands_for_its_character():
    path = jsonpath.compile(r'.items[?(@.name=="a\"b\u0041\n")].v')
    assert path.find({"items": [{"name": 'a"bA\n', "v": 1}]}) == [1]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "must not be empty"),
        ("{}", "must not be empty"),
        (".a.b[", "unterminated array"),
        (".a.b[x]", "invalid array index x"),
        (".a.b[-]", "array index - is not a number"),
        (".a[?(@.v", "unterminated filter"),
        (".a[?(@.v)", "unclosed array expect ]"),
        (".a[?(@.v=~2)]", "unrecognized filter operator ="),
        (".a[?(@.v==x)]", "unrecognized identifier x"),
        (".a[?(@.v==1.2.3)]", "cannot parse number 1.2.3"),
        (".a[?(@.v=='x)]", "unterminated filter"),
        (".a[?(@.v=='\\z')]", "invalid syntax"),
        ("....a", "invalid multiple recursive descent"),
        (".a}b", "unrecognized character"),
        ("'open", "unterminated quoted string"),
        (".a b", "unrecognized identifier b"),
        (".a\\", "escapes nothing"),
        ("[?(" * 500 + "@" + ")]" * 500, "unterminated filter"),
        ("[" * 1000 + "," + "]" * 1000, "invalid array index"),
    ],
)
def test_bad_paths_are_refused_with_the_reason(path, problem):
    with pytest.raises(ValueError, match="JSONPath") as refused:
        jsonpath.compile(path)
    assert problem in str(refused.value)


@given(st.text(alphabet=".ab[]?()@='\"0-,*:\\ {}$", max_size=12))
def test_any_text_is_either_a_path_or_refused(text):
    try:
        path = jsonpath.compile(text)
    except ValueError:
        return
    assert isinstance(path.find({"a": [{"b": 1}, {"b": "x"}], "b": {"a": None}}), list)
