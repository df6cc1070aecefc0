"""What is sent in an attack: values of the wrong type, broken texts, changed objects, patches, queries and headers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import yaml
from hypothesis import strategies as st

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.schema import ANY, Type

Object = dict[str, Any]
Path_ = tuple[str | int, ...]
Headers = tuple[tuple[str, str], ...]

_DATA = Path(__file__).parents[2] / "api"
NAMES = ("a", "b")
NAMESPACE = "default"

# -- values ----------------------------------------------------------------------------------------------------------

_WORDS = (
    *("", " ", "a", "0", "-1", "1e400", "9" * 30, "x" * 300, "é", "\0", "\n", "\ud7ff", "😀", "../..", "%00", "true"),
    *(
        "None",
        "null",
        "1Gi",
        "-1Gi",
        "100m",
        "0.0000000001",
        "1e3",
        "1E999",
        "Ki",
        "10.0.0.1",
        "::1",
        "10.0.0.0/8",
        "50%",
    ),
    *("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z", "now"),
    *("1h", "-5s", "1d", "* * * * *", "@daily", "a/b", "a/b/c", "example.com/x", "kubernetes.io/x", "$(VAR)", "{{.}}"),
    *(
        "Always",
        "Never",
        "TCP",
        "Pod",
        "v1",
        "apps/v1",
        "ConfigMap",
        "default",
        "kube-system",
        "*",
        "=",
        "a=b",
        "$patch",
    ),
)
words = st.sampled_from(_WORDS) | st.text(max_size=12)
_NUMBERS = (
    0,
    1,
    -1,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**40,
    0.5,
    -0.0,
    1e308,
    5e-324,
)
numbers = st.sampled_from(_NUMBERS) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | words
_KEYS = (
    "name",
    "a",
    "",
    "spec",
    "metadata",
    "kind",
    "value",
    "$patch",
    "$retainKeys",
    "$deleteFromPrimitiveList/a",
    "x.y/z",
)
keys = st.sampled_from(_KEYS) | words
junk = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)

# -- texts -----------------------------------------------------------------------------------------------------------

_TEXTS = (
    *(b"", b"{", b"[", b"}", b"null", b"true", b"0", b'""', b"[]", b"{}", b"[[]]", b'{"a":}', b'{"a":1,}', b"{'a':1}"),
    *(b"NaN", b"-", b"1e999", b"[1e999]", b'{"metadata":{"name":1e400}}', b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"{}{}"),
    *(b"[" * 200, b"[" * 5000, b'{"a":' * 2000, b'{"metadata":' * 60 + b"{}" + b"}" * 60, b'"\\ud800"', b'"\\u0000"'),
    *(
        b'{"kind":"Pod","kind":"ConfigMap"}',
        b'{"metadata":{"name":"a","name":"b"}}',
        b"\0" * 10,
        b"k8s\0",
        b"k8s\0\xff",
    ),
    *(
        b"a: &a [*a]",
        b"a: *b",
        b"!!python/object:os.system {}",
        b"---\n---\n",
        b"? a",
        b"a: b: c",
        b"\t- x",
        b"%YAML 9.9\n---",
    ),
    *(
        b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]",
        b"<<: {a: 1}",
        b"a: 0o17",
        b"- 1\n- 2",
        b"x: .inf",
        b"1: 2",
    ),
)
_MEDIA = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json; charset=utf-8",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    *("", "text/plain", "*/*", "application/cbor", "application/json;", "JSON", "a/b/c", ";;", "application/ json"),
)
media = st.sampled_from(_MEDIA)


def text_of(value: Any) -> bytes:
    """A value as JSON, even if it has numbers that JSON would rather not have."""
    return json.dumps(value).encode()


def _enveloped(api_version: str, kind: str, raw: bytes) -> bytes:
    """Protobuf's envelope around some bytes."""

    def part(number: int, data: bytes) -> bytes:
        size, length = len(data), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + data

    return b"k8s\0" + part(1, part(1, api_version.encode()) + part(2, kind.encode())) + part(2, raw)


@st.composite
def broken_bodies(draw: st.DrawFn, obj: Object) -> bytes:
    """A body that should have been this object."""
    good = text_of(obj)
    way = draw(st.integers(0, 6))
    if way == 0:
        return draw(st.sampled_from(_TEXTS))
    if way == 1:
        return draw(st.binary(max_size=40))
    if way == 2:
        return good[: draw(st.integers(0, len(good)))]
    if way == 3:
        at = draw(st.integers(0, len(good)))
        return good[:at] + draw(st.sampled_from(_TEXTS) | st.binary(max_size=3)) + good[at:]
    if way == 4:
        return yaml.safe_dump(obj).encode() + draw(st.sampled_from(_TEXTS))
    if way == 5:
        raw = draw(st.binary(max_size=60)) + draw(st.sampled_from((b"", b"\n" + good, b"\x0a\x03\x0a\x01a")))
        return _enveloped(draw(st.just(obj["apiVersion"]) | words.filter(str.isascii)), obj["kind"], raw)
    return text_of(draw(junk))


# -- objects ---------------------------------------------------------------------------------------------------------


@cache
def seeds() -> dict[str, list[Object]]:
    """Good objects of every kind, by resource."""
    found: dict[str, list[Object]] = {}
    for path in sorted((_DATA / "defaults").glob("*.input.yaml")):
        obj = yaml.safe_load(path.read_text())
        found.setdefault(path.name.removesuffix(".input.yaml").rpartition(".")[0], []).append(obj)
    for case in orjson.loads((_DATA / "validation" / "accepted.json").read_bytes())["cases"]:
        found.setdefault(case["resource"], []).append(case["object"])
    registry = load_registry()
    return {key: objects for key, objects in found.items() if registry.by_key(key) is not None}


def fresh(obj: Object, name: str) -> Object:
    """A copy that can be created under a name."""
    kept = {key: value for key, value in obj.get("metadata", {}).items() if key in ("labels", "annotations")}
    copied: Object = orjson.loads(orjson.dumps(obj))
    return {**copied, "metadata": {**kept, "name": name}}


@st.composite
def targets(draw: st.DrawFn) -> tuple[Resource, Version, Object]:
    """A resource in one of its versions, and a good object of it."""
    registry = load_registry()
    key = draw(st.sampled_from(sorted(seeds())))
    resource = registry.by_key(key)
    assert resource is not None
    obj = fresh(draw(st.sampled_from(seeds()[key])), draw(st.sampled_from(NAMES)))
    group, _, version = obj["apiVersion"].rpartition("/")
    found = registry.at(group, version, resource.plural)
    assert found is not None, obj
    return (*found, obj)


def url(resource: Resource, version: Version, name: str = "", part: str = "") -> str:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    where = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
    tail = (f"/{name}" if name else "") + (f"/{part}" if part else "")
    return f"{root}/{version.name}{where}/{resource.plural}{tail}"


def positions(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place in a value."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from positions(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from positions(item, (*path, index))


def put(value: Any, path: Path_, new: Any) -> Any:
    """A value with something else at a place, which need not be there yet."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = value if isinstance(value, list) else []
        inner = items[step] if step < len(items) else None
        return [*items[:step], put(inner, rest, new), *items[step + 1 :]]
    fields = value if isinstance(value, dict) else {}
    return {**fields, step: put(fields.get(step), rest, new)}


@st.composite
def mutated(draw: st.DrawFn, obj: Object, type_: Type) -> Object:
    """An object with a few places changed: ones that it has, or any that its schema has."""
    result: Any = obj
    places = list(positions(obj))
    # An object that is not even of its kind, or has no name, does not get far.
    deep = [path for path in places if len(path) > 1 and path[0] != "metadata"] or places
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            path = draw(st.sampled_from(deep if draw(st.integers(0, 7)) else places))
        else:
            path = draw(schema_paths(type_))
        result = put(result, path, draw(junk | typed(type_at(type_, path))))
    return result


def type_at(type_: Type, path: Path_) -> Type:
    at: Type | None = type_
    for step in path:
        at = (at.items if isinstance(step, int) else at.child(step)) if at is not None else None
    return at or ANY


@st.composite
def schema_paths(draw: st.DrawFn, type_: Type) -> Path_:
    """A way down into a schema."""
    path: list[str | int] = []
    at: Type | None = type_
    while at is not None and len(path) < 14 and (len(path) < 2 or draw(st.integers(0, 6))):
        if at.sort == "object" and at.fields:
            name = draw(st.sampled_from([name for name in at.fields if path or name not in ("apiVersion", "kind")]))
            path.append(name)
            at = at.fields[name]
        elif at.sort in ("map", "list"):
            path.append(0 if at.sort == "list" else draw(keys))
            at = at.items
        else:
            break
    return tuple(path)


_TYPED: dict[str, st.SearchStrategy[Any]] = {
    "string": words,
    "duration": words,
    "time": words,
    "microtime": words,
    "bytes": words | st.sampled_from(("YQ==", "YQ", "====")),
    "quantity": words | st.sampled_from((1, 0.5, -1, "1.5Gi", "1n", "1e-9")),
    "integer": st.sampled_from([number for number in _NUMBERS if isinstance(number, int)]) | st.integers(-2, 70_000),
    "number": numbers,
    "boolean": st.booleans(),
    "intorstring": words | st.integers(-2, 70_000) | st.sampled_from(("100%", "-1%", "1e2%")),
}


@st.composite
def typed(draw: st.DrawFn, type_: Type, depth: int = 0) -> Any:
    """A value of the right type, with strange contents."""
    if type_.sort in _TYPED:
        return draw(_TYPED[type_.sort])
    if depth > 3:
        return draw(junk)
    size = draw(st.integers(0, 3))
    if type_.sort == "list" and type_.items is not None:
        return [draw(typed(type_.items, depth + 1)) for _ in range(size)]
    if type_.sort == "map" and type_.items is not None:
        return {draw(keys): draw(typed(type_.items, depth + 1)) for _ in range(size)}
    if type_.sort == "object" and type_.fields:
        names = [draw(st.sampled_from(list(type_.fields))) for _ in range(size)]
        return {name: draw(typed(type_.fields[name], depth + 1)) for name in (*names, *type_.required)}
    return draw(junk)


# -- patches ---------------------------------------------------------------------------------------------------------


def pointer(path: Path_) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


@st.composite
def json_patches(draw: st.DrawFn, obj: Object) -> Any:
    places = list(positions(obj))
    pointers = st.sampled_from(places).map(pointer) | st.sampled_from(
        ("/", "", "a", "/a/b/c", "/metadata/-", "/~2", "/spec/containers/99", "/metadata/name/x", "//")
    )
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test", "bad"))},
        optional={"path": pointers | scalars, "from": pointers | scalars, "value": junk},
    )
    return draw(st.lists(operation | junk, max_size=4) | junk)


_DIRECTIVES = (
    [{"$patch": "delete", "name": "a"}, {"name": "a"}],
    [{"$patch": "replace"}],
    {"$patch": "replace"},
    {"$patch": "delete"},
    {"$patch": "x"},
    {"$retainKeys": ["type"], "type": "Recreate"},
    {"$retainKeys": 1},
    {"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["b"]},
    {"$setElementOrder/containers": [{"name": "a"}, {}], "containers": [{"name": "a"}]},
    {"$setElementOrder/containers": "x"},
)


@st.composite
def merges(draw: st.DrawFn, obj: Object, type_: Type) -> Any:
    """A merge patch, strategic or not, or an object to apply."""
    patch: Any = draw(st.sampled_from(({}, {"metadata": {}}, {"apiVersion": obj["apiVersion"], "kind": obj["kind"]})))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(positions(obj))) | schema_paths(type_))
        value = draw(st.one_of(junk, typed(type_at(type_, path)), st.sampled_from(_DIRECTIVES)))
        patch = put(patch, path, value)
        if not isinstance(patch, dict):
            return patch
    return patch


PATCHES = {
    "application/json-patch+json": json_patches,
    "application/merge-patch+json": merges,
    "application/strategic-merge-patch+json": merges,
    "application/apply-patch+yaml": merges,
}

# -- queries and headers ---------------------------------------------------------------------------------------------

_SELECTORS = (
    *(
        "a=b",
        "a in (b,c)",
        "!a",
        "a notin ()",
        "a in (",
        "a>1",
        "a>x",
        "=",
        ",",
        "a=b,",
        "a==b!=c",
        "(",
        "a in b",
        "a b",
        "x/y/z=1",
    ),
    *(
        "metadata.name=a",
        "spec.nodeName=n",
        "spec.nodeName!=",
        "status.phase=Running",
        "bad.field=1",
        "metadata.name",
        "a\\,b=c",
        "\\",
    ),
)
_TOKENS = (
    *(
        "",
        "x",
        "e30",
        "e30=",
        "bnVsbA",
        "W10",
        "eyJydiI6MX0",
        "eyJydiI6LTEsInN0YXJ0IjoiYSJ9",
        "eyJydiI6MX0" * 50,
        "é",
        "%",
        "====",
    ),
    *("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "eyJydiI6OTk5OTk5OTk5OTksInN0YXJ0IjoiYSJ9"),
)
_REVISIONS = ("", "0", "1", "5", "999999", "-1", "x", "1.5", "9" * 25, "٣", " 1", "0x1")
_PARAMETERS: dict[str, st.SearchStrategy[str]] = {
    "labelSelector": st.sampled_from(_SELECTORS) | words,
    "fieldSelector": st.sampled_from(_SELECTORS) | words,
    "continue": st.sampled_from(_TOKENS) | words,
    "resourceVersion": st.sampled_from(_REVISIONS),
    "resourceVersionMatch": st.sampled_from(("Exact", "NotOlderThan", "x", "")),
    "limit": st.sampled_from(("1", "0", "-1", "x", "9" * 30, "1.5", "")),
    "watch": st.sampled_from(("true", "1", "false", "x", "")),
    "timeoutSeconds": st.sampled_from(("1", "0", "-1", "x", "9" * 30)),
    "sendInitialEvents": st.sampled_from(("true", "false", "x")),
    "allowWatchBookmarks": st.sampled_from(("true", "x")),
    "dryRun": st.sampled_from(("All", "None", "", "all")),
    "fieldManager": words,
    "fieldValidation": st.sampled_from(("Strict", "Warn", "Ignore", "x", "")),
    "force": st.sampled_from(("true", "false", "x")),
    "gracePeriodSeconds": st.sampled_from(("0", "30", "-1", "x", "9" * 30, "")),
    "propagationPolicy": st.sampled_from(("Background", "Foreground", "Orphan", "x", "")),
    "orphanDependents": st.sampled_from(("true", "false", "x")),
    "pretty": st.sampled_from(("true", "x")),
    "includeObject": st.sampled_from(("None", "Object", "Metadata", "x")),
    "container": words,
    "tailLines": st.sampled_from(("1", "-1", "x", "9" * 30)),
    "limitBytes": st.sampled_from(("1", "0", "x")),
    "sinceSeconds": st.sampled_from(("1", "-1", "x")),
    "sinceTime": words,
    "follow": st.sampled_from(("true", "x")),
    "previous": st.sampled_from(("true", "x")),
    "timestamps": st.sampled_from(("true", "x")),
}


@st.composite
def queries(draw: st.DrawFn, among: tuple[str, ...] = ()) -> str:
    """A query with a few parameters, some of them twice, some of them unheard of."""
    chosen = draw(st.lists(st.sampled_from(among or tuple(_PARAMETERS)), max_size=4))
    pairs = [(name, draw(_PARAMETERS[name])) for name in chosen]
    text = urlencode(pairs, quote_via=quote, errors="replace")
    return text + draw(st.sampled_from(("", "", "", "&", "&=", "&a", "&%zz", "&%ff=1", "&&", "&x=1;y=2")))


_ACCEPTS = (
    *(
        "application/json",
        "application/yaml",
        "*/*",
        "",
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "a",
        ";",
        ",,,",
    ),
    *("application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=meta.k8s.io", "*/*;q=0"),
    *(
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/json;stream=watch",
        "application/json;q=x",
    ),
    *(
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
        "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    ),
    *("application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", "application/json;pretty=1", "x" * 3000),
)
_HEADERS: dict[str, st.SearchStrategy[str]] = {
    "accept": st.sampled_from(_ACCEPTS),
    "content-type": media,
    "accept-encoding": st.sampled_from(("gzip", "gzip;q=0", "br, gzip", "*")),
    "if-none-match": st.sampled_from(("*", '"x"', "x", "W/")),
    "user-agent": st.sampled_from(("curl/8", "kubectl/v1.37", "", "Mozilla/5.0", "a/b/c", "/", "é")),
    "authorization": st.sampled_from(("Bearer x", "Bearer", "Basic YTpi", "bearer  ", "", "Bearer \xe9", "x" * 5000)),
    "impersonate-user": st.just("x"),
    "x-a": words.map(lambda text: text.replace("\n", "").replace("\0", "").replace("\r", "")),
}
headers = st.lists(
    st.sampled_from(tuple(_HEADERS)).flatmap(lambda name: _HEADERS[name].map(lambda value: (name, value))), max_size=4
).map(tuple)

# -- paths -----------------------------------------------------------------------------------------------------------

_STEPS = (
    *(
        "api",
        "apis",
        "v1",
        "v2",
        "apps",
        "batch",
        "metrics.k8s.io",
        "v1beta1",
        "namespaces",
        "default",
        "pods",
        "nodes",
        "a",
    ),
    *(
        "status",
        "scale",
        "log",
        "exec",
        "proxy",
        "binding",
        "finalize",
        "token",
        "watch",
        "openapi",
        "v3",
        "version",
        "healthz",
    ),
    *(
        "readyz",
        "livez",
        "ping",
        "metrics",
        "",
        ".",
        "..",
        "%2F",
        "%00",
        "%",
        "%zz",
        "%ff",
        "%C3%A9",
        "%2e%2e",
        "x" * 300,
        "~",
        "a b",
    ),
    *(
        "configmaps",
        "deployments",
        "jobs",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        "selfsubjectreviews",
        "events",
        "*",
    ),
)
paths = st.lists(st.sampled_from(_STEPS), max_size=8).map(lambda steps: "/" + "/".join(steps))
methods = st.sampled_from(
    ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get")
)

# -- custom kinds ----------------------------------------------------------------------------------------------------

_PROPERTY = {
    "type": st.sampled_from(("object", "string", "integer", "number", "boolean", "array", "x", "")),
    "default": junk,
    "minimum": numbers,
    "maxLength": numbers,
    "pattern": st.sampled_from(("a+", "(", "[", "(?=a)", "^a$", "\\p{L}")) | words,
    "enum": st.lists(scalars, max_size=3),
    "format": st.sampled_from(("date-time", "int32", "byte", "ipv4", "x")),
    "nullable": st.booleans(),
    "x-kubernetes-preserve-unknown-fields": st.booleans(),
    "x-kubernetes-int-or-string": st.booleans(),
    "x-kubernetes-embedded-resource": st.booleans(),
    "x-kubernetes-list-type": st.sampled_from(("map", "set", "atomic", "x")),
    "x-kubernetes-list-map-keys": st.just(["name"]),
}
_leaf = st.fixed_dictionaries({}, optional=_PROPERTY)
_schemas = st.recursive(
    _leaf | junk,
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(("object", "array"))},
        optional={
            "properties": st.dictionaries(keys, inner, max_size=3),
            "items": inner,
            "additionalProperties": inner | st.booleans(),
            "required": st.lists(keys, max_size=2),
            **{name: values for name, values in _PROPERTY.items() if name != "type"},
        },
    ),
    max_leaves=5,
)


def _bounds(**words: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=words)


_small = st.integers(0, 5)
_flags = st.sampled_from(
    ({}, {}, {"nullable": True}, {"description": "x"}, {"x-kubernetes-validations": [{"rule": "self == self"}]})
)
_structural_leaves = st.one_of(
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
    st.just({"type": "boolean"}),
    _bounds(minimum=_small, maximum=_small, multipleOf=st.just(2), exclusiveMinimum=st.booleans()).map(
        lambda words: {"type": "integer", **words}
    ),
    _bounds(maximum=_small, format=st.sampled_from(("double", "float"))).map(lambda words: {"type": "number", **words}),
    _bounds(
        maxLength=_small,
        pattern=st.sampled_from(("^a", "[0-9]+", "")),
        enum=st.just(["a", "b"]),
        format=st.sampled_from(("date-time", "ipv4", "byte", "uuid", "duration", "hostname")),
    ).map(lambda words: {"type": "string", **words}),
)
_structural = st.recursive(
    st.tuples(_structural_leaves, _flags).map(lambda parts: {**parts[0], **parts[1]}),
    lambda inner: st.one_of(
        st.tuples(inner, _bounds(maxItems=_small, minItems=_small)).map(
            lambda parts: {"type": "array", "items": parts[0], **parts[1]}
        ),
        st.tuples(inner, _bounds(maxProperties=_small)).map(
            lambda parts: {"type": "object", "additionalProperties": parts[0], **parts[1]}
        ),
        st.dictionaries(st.sampled_from(("a", "b", "name", "n")), inner, max_size=3).flatmap(
            lambda fields: _bounds(required=st.sampled_from((["a"], ["name"], []))).map(
                lambda words: {"type": "object", "properties": fields, **words}
            )
        ),
        st.just(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
            }
        ),
    ),
    max_leaves=5,
)


@st.composite
def fitting(draw: st.DrawFn, schema: Any) -> Any:
    """A value that a schema asks for, more or less."""
    if not isinstance(schema, dict) or draw(st.integers(0, 6)) == 0:
        return draw(junk)
    fields, items, more = schema.get("properties"), schema.get("items"), schema.get("additionalProperties")
    if isinstance(fields, dict) and fields:
        chosen = draw(st.lists(st.sampled_from(list(fields)), max_size=3))
        return {name: draw(fitting(fields[name])) for name in chosen}
    if items is not None:
        return [draw(fitting(items)) for _ in range(draw(st.integers(0, 3)))]
    if more is not None:
        return {draw(keys): draw(fitting(more)) for _ in range(draw(st.integers(0, 2)))}
    plain = {"integer": st.integers(-1, 8), "number": numbers, "boolean": st.booleans(), "object": st.just({})}
    return draw(plain.get(str(schema.get("type")), words))


@st.composite
def definitions(draw: st.DrawFn) -> Object:
    """A definition of widgets, more or less good."""
    good = draw(st.integers(0, 3)) > 0
    spec_schema = draw(_structural if good else _schemas)
    status_schema = draw(_structural) if good else {"type": "object"}
    schema = {"type": "object", "properties": {"spec": spec_schema, "status": status_schema}}
    version: Object = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if draw(st.booleans()):
        paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
        version["subresources"] = {"status": {}, "scale": paths}
    spec = {
        "group": "lab.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [version],
    }
    definition: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.lab.example.com"},
        "spec": spec,
    }
    if not good and draw(st.booleans()):
        path = draw(st.sampled_from([path for path in positions(definition) if path and path[0] == "spec"]))
        definition = put(definition, path, draw(junk))
    return definition


def schema_in(definition: Object) -> Any:
    """The schema of a definition's first version, if it has any."""
    at: Any = definition
    for step in ("spec", "versions", 0, "schema", "openAPIV3Schema"):
        try:
            at = at[step]
        except (KeyError, IndexError, TypeError):
            return {}
    return at


def as_object(value: Any) -> Object:
    """The value if it is an object; else it becomes a spec."""
    return value if isinstance(value, dict) else {"spec": value}
