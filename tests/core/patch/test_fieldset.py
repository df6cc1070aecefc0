from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.patch.fieldset import (
    LEAF,
    difference,
    has,
    in_order,
    intersection,
    path_text,
    paths,
    recursive_difference,
    union,
)

ELEMENTS = ["f:a", "f:b", 'k:{"name":"x"}', 'k:{"port":80}', 'k:{"port":9}', 'v:"s"', "v:3", "i:2"]
PATHS = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple)
MEMBERS = st.sets(PATHS, max_size=8)


def set_of(members):
    """The set built from its paths, one after the other."""
    root: dict = {}
    for path in sorted(members):
        node: dict = {}
        for element in reversed(path):
            node = {element: node}
        root = union(root, node)
    return root


def members_of(fields):
    return set(paths(fields))


@given(MEMBERS)
def test_a_set_holds_the_paths_it_was_made_of(members):
    fields = set_of(members)
    assert members_of(fields) == members
    assert all(has(fields, path) for path in members)
    assert not has(fields, ("f:nothing",))
    assert not has(fields, ())


@given(MEMBERS, MEMBERS)
def test_operations_are_those_of_sets_of_paths(one, other):
    first, second = set_of(one), set_of(other)
    assert members_of(union(first, second)) == one | other
    assert members_of(intersection(first, second)) == one & other
    assert members_of(difference(first, second)) == one - other
    below = {path for path in one if any(path[: len(gone)] == gone for gone in other)}
    assert members_of(recursive_difference(first, second)) == one - below
    assert (first, second) == (set_of(one), set_of(other))


@given(MEMBERS, MEMBERS)
def test_operations_that_change_nothing_give_the_same_object(one, other):
    first, second = set_of(one | other), set_of(other)
    assert union(first, second) is first
    assert difference(second, set_of(one - other)) is second


@given(MEMBERS, MEMBERS)
def test_sets_come_in_one_order_however_they_were_made(one, other):
    assert str(union(set_of(one), set_of(other))) == str(union(set_of(other), set_of(one)))


def test_elements_are_ordered_as_kubernetes_orders_them():
    mixed = {"i:2": {}, "v:3": {}, 'v:"s"': {}, 'k:{"port":80}': {}, 'k:{"port":9}': {}, "f:b": {}, ".": {}, "f:a": {}}
    expected = [".", "f:a", "f:b", 'k:{"port":9}', 'k:{"port":80}', "v:3", 'v:"s"', "i:2"]
    assert list(in_order(mixed)) == expected


def test_a_parent_that_loses_its_children_stays_a_member():
    fields = {"f:labels": {".": {}, "f:app": {}}}
    assert difference(fields, {"f:labels": {"f:app": {}}}) == {"f:labels": LEAF}
    assert difference(fields, {"f:labels": {}}) == {"f:labels": {"f:app": {}}}
    assert recursive_difference(fields, {"f:labels": {}}) == {}


def test_paths_read_as_messages_show_them():
    assert path_text(("f:spec", "f:containers", 'k:{"name":"a"}', "f:image")) == '.spec.containers[name="a"].image'
    assert (
        path_text(("f:ports", 'k:{"containerPort":80,"protocol":"TCP"}')) == '.ports[containerPort=80,protocol="TCP"]'
    )
    assert path_text(("f:metadata", "f:finalizers", 'v:"x/y"')) == '.metadata.finalizers[="x/y"]'
    assert path_text(("f:list", "i:3")) == ".list[3]"


def test_members_of_a_level_come_before_those_below_it():
    fields = {"f:a": {".": {}, "f:x": {}}, "f:b": {}}
    assert [path_text(path) for path in paths(fields)] == [".a", ".b", ".a.x"]
