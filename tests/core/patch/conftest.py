"""A small kind that has one of everything: a struct, maps, a map list with a default key, a set, atomic parts."""

from __future__ import annotations

import pytest

from ghostfleet.core.schema import ANY, Type


def scalar(sort):
    return Type(sort)


def object_of(called="", defaults=None, required=(), /, **fields):
    made = Type("object", called)
    made.fields = fields
    made.defaults = defaults or {}
    made.required = required
    return made


def map_of(items, atomic=False):
    made = Type("map")
    made.items = items
    made.atomic = atomic
    return made


def list_of(items, topology="atomic", keys=(), merge_key=None, merges=False):
    made = Type("list")
    made.items = items
    made.topology = topology
    made.map_keys = keys
    made.merge_key = merge_key
    made.merges = merges
    return made


@pytest.fixture(scope="session")
def thing() -> Type:
    string, integer = scalar("string"), scalar("integer")
    port = object_of("example.Port", {"protocol": "TCP"}, port=integer, protocol=string, name=string)
    part = object_of(
        "example.Part",
        name=string,
        image=string,
        args=list_of(string),
        ports=list_of(port, "map", ("port", "protocol"), "port", True),
    )
    spec = object_of(
        "example.Spec",
        {},
        ("parts",),
        parts=list_of(part, "map", ("name",), "name", True),
        size=integer,
        options=map_of(string),
        selector=map_of(string, atomic=True),
        free=ANY,
    )
    status = object_of("example.Status", phase=string)
    metadata = object_of(
        "example.Meta",
        name=string,
        namespace=string,
        uid=string,
        resourceVersion=string,
        labels=map_of(string),
        annotations=map_of(string),
        finalizers=list_of(string, "set", merges=True),
        managedFields=list_of(ANY),
    )
    return object_of(
        "example.Thing",
        {"metadata": {}, "spec": {}, "status": {}},
        apiVersion=string,
        kind=string,
        metadata=metadata,
        spec=spec,
        status=status,
    )
