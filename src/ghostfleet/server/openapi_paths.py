"""Paths and operations as OpenAPI lists them: what can be done where, and with which parameters.

An *operation* is one verb on one path; it is described once, in a neutral form, and written in either dialect. Clients
read surprisingly much from here: kubectl looks at the parameters of PATCH to learn whether the server validates fields
and can dry-run, and at its media types to learn how it may patch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.api.builtin import kind_type_name, returns_deleted
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.server.openapi_parameters import DELETE, LIST, LOG, PATCH, WRITE, parameter_v2, parameter_v3
from ghostfleet.server.openapi_schemas import Dialect, list_schema_name, schema_name

__all__ = ["Operation", "group_path", "operations", "path_item"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_STATUS = _META + "Status"
_JSON = "application/json"
_WATCH = "application/json;stream=watch"
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_REASONS = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One verb on one path."""

    method: str
    id: str
    tag: str
    text: str
    #: what Kubernetes calls the verb, and the kind it is about; both empty for discovery
    action: str = ""
    kind: tuple[str, str, str] = ("", "", "")
    parameters: tuple[str, ...] = ()
    body: str = ""
    body_types: tuple[str, ...] = ("*/*",)
    #: schema of the answer by status code; an empty name means plain text
    answers: dict[int, str] = field(default_factory=dict)
    answer_types: tuple[str, ...] = (_JSON,)


def group_path(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def operations(
    group: str, version: str, served: Iterable[tuple[Resource, Version]]
) -> Iterator[tuple[str, list[Operation]]]:
    """All paths of a group version, each with its operations."""
    words = _Words(group, version)
    listing = Operation(
        "get",
        f"get{words.camel}APIResources",
        words.tag,
        "get available resources",
        answers={200: _META + "APIResourceList"},
    )
    yield group_path(group, version) + "/", [listing]
    for resource, _ in served:
        yield from _paths_of(resource, words)


class _Words:
    """A group version as operations spell it (`RbacAuthorizationV1`) and as tags do (`rbacAuthorization_v1`)."""

    def __init__(self, group: str, version: str) -> None:
        parts = (group.removesuffix(".k8s.io") or "core").split(".")
        self.version = version
        self.path = group_path(group, version)
        self.camel = "".join(part.capitalize() for part in [*parts, version])
        self.tag = parts[0] + "".join(part.capitalize() for part in parts[1:]) + f"_{version}"


def _paths_of(resource: Resource, words: _Words) -> Iterator[tuple[str, list[Operation]]]:
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    if resource.namespaced and "list" in resource.verbs:
        yield f"{words.path}/{resource.plural}", [_list(resource, words, everywhere=True)]
    collection = f"{words.path}{scope}/{resource.plural}"
    for path, found in (
        (collection, _on_collection(resource, words)),
        (collection + "/{name}", _on_object(resource, words)),
        *((f"{collection}/{{name}}/{part}", _on_part(resource, part, words)) for part in resource.subresources),
    ):
        if found:
            yield path, found


def _on_collection(resource: Resource, words: _Words) -> list[Operation]:
    name = schema_name(resource, words.version)
    kind = (resource.group, words.version, resource.kind)
    noun = _noun(resource)
    found = []
    if "list" in resource.verbs:
        found.append(_list(resource, words))
    if "create" in resource.verbs:
        text = f"create {_one(resource)}"
        answers = {200: name, 201: name, 202: name}
        identity = f"create{words.camel}{noun}"
        found.append(
            Operation("post", identity, words.tag, text, "post", kind, WRITE, name, _body_types(resource), answers)
        )
    if "deletecollection" in resource.verbs:
        parameters = tuple(sorted({*DELETE, *LIST} - {"allowWatchBookmarks", "watch"}))
        identity = f"delete{words.camel}Collection{noun}"
        text = f"delete collection of {resource.kind}"
        body = _META + "DeleteOptions"
        answers = {200: _STATUS}
        action = "deletecollection"
        found.append(Operation("delete", identity, words.tag, text, action, kind, parameters, body, answers=answers))
    return found


def _list(resource: Resource, words: _Words, *, everywhere: bool = False) -> Operation:
    noun = f"{resource.kind}ForAllNamespaces" if everywhere else _noun(resource)
    watchable = "watch" in resource.verbs
    return Operation(
        "get",
        f"list{words.camel}{noun}",
        words.tag,
        f"list or watch objects of kind {resource.kind}" if watchable else f"list objects of kind {resource.kind}",
        "list",
        (resource.group, words.version, resource.kind),
        LIST,
        answers={200: list_schema_name(resource, words.version)},
        answer_types=(_JSON, _WATCH) if watchable else (_JSON,),
    )


def _on_object(resource: Resource, words: _Words) -> list[Operation]:
    name = schema_name(resource, words.version)
    kind = (resource.group, words.version, resource.kind)
    found = list(_on_one(resource, words, "", name, kind, resource.verbs))
    if "delete" in resource.verbs:
        gone = name if returns_deleted(resource.key) else _STATUS
        text = f"delete {_one(resource)}"
        identity = f"delete{words.camel}{_noun(resource)}"
        body = _META + "DeleteOptions"
        answers = {200: gone, 202: gone}
        found.append(Operation("delete", identity, words.tag, text, "delete", kind, DELETE, body, answers=answers))
    return found


def _on_part(resource: Resource, part: str, words: _Words) -> list[Operation]:
    group, version, kind, verbs = resource.subresources[part]
    own = (group, kind) == (resource.group, resource.kind)
    shown = (group, words.version if own else version, kind)
    name = schema_name(resource, words.version) if own else kind_type_name(*shown) or ""
    if part == "log":
        identity = f"read{words.camel}{_noun(resource)}Log"
        text = f"read log of the specified {resource.kind}"
        plain = ("text/plain",)
        return [Operation("get", identity, words.tag, text, "get", shown, LOG, answers={200: ""}, answer_types=plain)]
    return list(_on_one(resource, words, part, name, shown, verbs))


def _on_one(
    resource: Resource, words: _Words, part: str, name: str, kind: tuple[str, str, str], verbs: Iterable[str]
) -> Iterator[Operation]:
    """Reading and writing of an object or of one of its parts."""
    end = words.camel + _noun(resource) + part.capitalize()
    what = f"{part} of the specified {resource.kind}" if part else f"the specified {resource.kind}"
    if "get" in verbs:
        yield Operation("get", f"read{end}", words.tag, f"read {what}", "get", kind, answers={200: name})
    if "update" in verbs:
        answers = {200: name, 201: name}
        identity, text = f"replace{end}", f"replace {what}"
        yield Operation("put", identity, words.tag, text, "put", kind, WRITE, name, _body_types(resource), answers)
    if "patch" in verbs:
        types = _PATCH_TYPES if resource.custom else (*_PATCH_TYPES, _STRATEGIC)
        answers = {200: name, 201: name}
        identity, text = f"patch{end}", f"partially update {what}"
        yield Operation("patch", identity, words.tag, text, "patch", kind, PATCH, _META + "Patch", types, answers)
    if part and "create" in verbs:
        answers = {200: name, 201: name, 202: name}
        identity, text = f"create{end}", f"create {part} of {_one(resource)}"
        yield Operation("post", identity, words.tag, text, "post", kind, WRITE, name, _body_types(resource), answers)


def _body_types(resource: Resource) -> tuple[str, ...]:
    """Custom resources have no protobuf."""
    return (_JSON, "application/yaml") if resource.custom else ("*/*",)


def _noun(resource: Resource) -> str:
    return f"Namespaced{resource.kind}" if resource.namespaced else resource.kind


def _one(resource: Resource) -> str:
    """`a Pod`, `an Ingress`, but `Endpoints`, which is a plural already."""
    if resource.kind.lower() == resource.plural:
        return resource.kind
    return f"an {resource.kind}" if resource.kind[0] in "AEIOU" else f"a {resource.kind}"


def path_item(path: str, found: list[Operation], dialect: Dialect) -> dict[str, Any]:
    """A path with its operations; parameters that all of them share are said once."""
    shared = set(found[0].parameters).intersection(*(operation.parameters for operation in found))
    if found[0].action:
        shared.add("pretty")
    shared |= {name for name in ("name", "namespace") if f"{{{name}}}" in path}
    write = _operation_v3 if dialect.full else _operation_v2
    item = {operation.method: write(operation, shared, dialect) for operation in found}
    if shared:
        item["parameters"] = _parameters(sorted(shared), dialect, found[0].kind[2])
    return item


def _parameters(names: Iterable[str], dialect: Dialect, kind: str) -> Any:
    return [parameter_v3(name, kind) if dialect.full else parameter_v2(name) for name in names]


def _common(operation: Operation) -> dict[str, Any]:
    written: dict[str, Any] = {
        "operationId": operation.id,
        "description": operation.text,
        "tags": [operation.tag],
    }
    if operation.action:
        group, version, kind = operation.kind
        written["x-kubernetes-action"] = operation.action
        written["x-kubernetes-group-version-kind"] = {"group": group, "version": version, "kind": kind}
    return written


def _operation_v3(operation: Operation, shared: set[str], dialect: Dialect) -> dict[str, Any]:
    written = _common(operation)
    if own := [name for name in operation.parameters if name not in shared]:
        written["parameters"] = _parameters(own, dialect, operation.kind[2])
    if operation.body:
        schema = {"schema": dialect.reference(operation.body)}
        written["requestBody"] = {"content": dict.fromkeys(operation.body_types, schema)}
        if operation.method != "delete":
            written["requestBody"]["required"] = True
    written["responses"] = {"401": {"description": _REASONS[401]}}
    for code, name in operation.answers.items():
        schema = {"schema": dialect.reference(name) if name else {"type": "string"}}
        content = dict.fromkeys(operation.answer_types, schema)
        written["responses"][str(code)] = {"description": _REASONS[code], "content": content}
    return written


def _operation_v2(operation: Operation, shared: set[str], dialect: Dialect) -> dict[str, Any]:
    written = _common(operation) | {"consumes": list(operation.body_types), "produces": list(operation.answer_types)}
    parameters = _parameters((name for name in operation.parameters if name not in shared), dialect, "")
    if operation.body:
        required = {} if operation.method == "delete" else {"required": True}
        body = {"name": "body", "in": "body", "schema": dialect.reference(operation.body), **required}
        parameters.insert(0, body)
    if parameters:
        written["parameters"] = parameters
    written["responses"] = {"401": {"description": _REASONS[401]}}
    for code, name in operation.answers.items():
        schema = dialect.reference(name) if name else {"type": "string"}
        written["responses"][str(code)] = {"description": _REASONS[code], "schema": schema}
    return written
