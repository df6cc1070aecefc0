"""The resource that a definition defines.

All versions share names, scope and storage; each has its own schema, printer columns and selectable fields.
Subresources belong to the resource here: it has one if any version has it, and scales by the paths of the version it
is stored in. A version that is *deprecated* has a warning, the author's or ours. A definition that is annotated with
the name of another is only another name for what that one defines: objects of either are seen under both.
"""

from __future__ import annotations

import re
from typing import Any

from ghostfleet.api.customresources.nodes import Raw, root_node
from ghostfleet.api.customresources.structure import structure_errors
from ghostfleet.api.kinds import Column, Resource, ScalePaths, Version
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import invalid

__all__ = ["resource_of"]

_STORED_AS = "ghostfleet.dev/stored-as"
_SECONDARY = "ghostfleet.dev/secondary"
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")


def resource_of(definition: Object) -> Resource:
    """The resource of a definition; an error if one of its schemas is not structural."""
    spec = definition["spec"]
    _check_structure(definition)
    names, versions = spec["names"], spec["versions"]
    annotations = definition["metadata"].get("annotations") or {}
    storage = next(each for each in versions if each.get("storage"))
    ordered = [storage, *(each for each in versions if each is not storage)]
    return Resource(
        group=spec["group"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        storage_version=storage["name"],
        versions={each["name"]: _version(spec, each) for each in versions},
        verbs=_VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        subresources=_subresources(spec, ordered),
        custom=True,
        scale=_scale(ordered),
        stored_as=annotations.get(_STORED_AS, ""),
        secondary=annotations.get(_SECONDARY) == "true",
    )


def _check_structure(definition: Object) -> None:
    errors = [
        error
        for index, version in enumerate(definition["spec"]["versions"])
        for error in structure_errors(_schema_of(version), f"spec.versions[{index}].schema.openAPIV3Schema")
    ]
    if errors:
        name = definition["metadata"]["name"]
        raise invalid("CustomResourceDefinition", "apiextensions.k8s.io", name, errors)


def _schema_of(version: Raw) -> Raw:
    """The stated schema of a version; without one, all but metadata is unknown."""
    return (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}


def _version(spec: Raw, version: Raw) -> Version:
    return Version(
        name=version["name"],
        schema=root_node(_schema_of(version)),
        served=version.get("served", False),
        deprecated=_deprecation(spec, version),
        columns=tuple(_column(each) for each in version.get("additionalPrinterColumns") or ()),
        selectable_fields=tuple(each["jsonPath"] for each in version.get("selectableFields") or ()),
    )


def _column(column: Raw) -> Column:
    return Column(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        description=column.get("description", ""),
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )


def _subresources(spec: Raw, versions: list[Any]) -> dict[str, tuple[str, str, str, tuple[str, ...]]]:
    parts = [each.get("subresources") or {} for each in versions]
    found: dict[str, tuple[str, str, str, tuple[str, ...]]] = {}
    if any(part.get("status") is not None for part in parts):
        found["status"] = (spec["group"], versions[0]["name"], spec["names"]["kind"], _PART_VERBS)
    if any(part.get("scale") is not None for part in parts):
        found["scale"] = ("autoscaling", "v1", "Scale", _PART_VERBS)
    return found


def _scale(versions: list[Any]) -> ScalePaths | None:
    for version in versions:
        scale = (version.get("subresources") or {}).get("scale")
        if scale is not None:
            return ScalePaths(
                spec_replicas=scale["specReplicasPath"],
                status_replicas=scale["statusReplicasPath"],
                label_selector=scale.get("labelSelectorPath") or "",
            )
    return None


def _deprecation(spec: Raw, version: Raw) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    better = [
        each["name"]
        for each in spec["versions"]
        if each.get("served") and not each.get("deprecated") and _maturity(each["name"]) > _maturity(version["name"])
    ]
    return f"{text}; use {group}/{max(better, key=_maturity)} {kind}" if better else text


def _maturity(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as Kubernetes prefers them: stable, beta, alpha, then any other name, earlier in the alphabet."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return -1, 0, 0, "".join(chr(0x10FFFF - ord(character)) for character in version)
    stage = {"alpha": 0, "beta": 1, None: 2}[match[2]]
    return stage, int(match[1]), int(match[3] or 0), ""
