"""Kinds: what the corpus is made of, read from `kinds.yaml`, and where their objects are.

A *place* is a kind within one case: the namespace and name of the case's own, the paths, and manifests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from parity_material.cases import slug

from ghostfleet.api.builtin import load_registry
from ghostfleet.core.patch import apply_merge_patch

__all__ = ["DEFINITION", "KINDS", "Kind", "Place"]

Object = dict[str, Any]
_HERE = Path(__file__).parents[1]
#: The custom kind of the corpus.
DEFINITION: Object = yaml.safe_load((_HERE / "widgets.yaml").read_text())


@dataclass(frozen=True)
class Kind:
    """A kind in one version."""

    manifest: Object
    plural: str
    namespaced: bool
    subresources: tuple[str, ...]
    change: Object
    strategic: Object | None = None
    refused: Object | None = None
    invalid: dict[str, Object] = field(default_factory=dict)
    status: Object | None = None
    selectors: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return str(self.manifest["apiVersion"])

    @property
    def root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    @property
    def title(self) -> str:
        """`pods`, `deployments.apps`; with the version where there are several."""
        group, _, version = self.api_version.rpartition("/")
        told = f"{self.plural}.{group}" if group else self.plural
        return told if version == "v1" else f"{told}/{version}"

    @property
    def custom(self) -> bool:
        return "parity.example.com" in self.api_version


@dataclass(frozen=True)
class Place:
    """Where a case has its objects of a kind."""

    kind: Kind
    situation: str

    @property
    def own(self) -> str:
        """The namespace, or the name of a cluster-wide object; objects have it as a label too."""
        return slug(f"{self.kind.title} {self.situation}")

    @property
    def namespace(self) -> str:
        return self.own if self.kind.namespaced else ""

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def collection(self) -> str:
        within = f"/namespaces/{self.own}" if self.kind.namespaced else ""
        return f"{self.kind.root}{within}/{self.kind.plural}"

    @property
    def item(self) -> str:
        return f"{self.collection}/{self.name}"

    @property
    def manifest(self) -> Object:
        return self.numbered("")

    def numbered(self, number: str) -> Object:
        """The manifest, of another name for each number."""
        name = f"subject{number}" if self.kind.namespaced else f"{self.own}{number}"
        obj = _renamed(self.kind.manifest, name, self.own)
        labels = {"case": self.own, **obj["metadata"].get("labels", {})}
        return {**obj, "metadata": {**obj["metadata"], "labels": labels}}

    def changed(self, patch: Object) -> Object:
        """The manifest with a merge patch applied."""
        return apply_merge_patch(self.manifest, self.within(patch))

    def within(self, patch: Object) -> Object:
        result: Object = _renamed(patch, self.name, self.own)
        return result


def _renamed(value: Any, name: str, namespace: str) -> Any:
    if isinstance(value, str):
        return value.replace("NAMESPACE", namespace).replace("NAME", name)
    if isinstance(value, list):
        return [_renamed(each, name, namespace) for each in value]
    return {key: _renamed(each, name, namespace) for key, each in value.items()} if isinstance(value, dict) else value


def _kinds() -> tuple[Kind, ...]:
    registry = load_registry()
    made = []
    for entry in yaml.safe_load((_HERE / "kinds.yaml").read_text()):
        manifest = entry["manifest"]
        found = registry.of_kind(manifest["apiVersion"], manifest["kind"])
        known = (found[0].plural, found[0].namespaced, tuple(found[0].subresources)) if found else _WIDGET
        made.append(Kind(plural=known[0], namespaced=known[1], subresources=known[2], **_entry(entry)))
    return tuple(made)


def _entry(entry: Object) -> Object:
    return {**entry, "selectors": tuple(entry.get("selectors", ()))}


_WIDGET = ("widgets", True, ("status", "scale"))
KINDS = _kinds()
