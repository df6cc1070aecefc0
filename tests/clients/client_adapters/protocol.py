"""What the scenarios ask of a client library, whatever its own style is.

An *adapter* does each thing the way a user of its library would, and gives objects as dicts. What a library cannot do
it *lacks*, with the reason; the scenario is then skipped for it. The library's own exceptions come out as `Refused`,
with the original as its cause.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

Object = dict[str, Any]
Event = tuple[str, Object]
PatchSort = Literal["json", "merge", "strategic", "apply"]

PATCH_MEDIA: dict[PatchSort, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that the scenarios use."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]


KINDS = {
    each.kind: each
    for each in (
        Kind("v1", "Namespace", "namespaces", namespaced=False),
        Kind("v1", "Node", "nodes", namespaced=False),
        Kind("v1", "Pod", "pods"),
        Kind("v1", "ConfigMap", "configmaps"),
        Kind("apps/v1", "Deployment", "deployments"),
        Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
        Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False),
        Kind("lab.example.com/v1", "Widget", "widgets"),
    )
}


class Refused(Exception):
    """The server said no: its code, its reason and its message, as the client told them."""

    def __init__(self, code: int, reason: str, message: str, causes: list[str] | None = None) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        #: fields that an Invalid names
        self.causes = causes or []

    @classmethod
    def by(cls, status: Mapping[str, Any]) -> Refused:
        causes = [cause.get("field") or "" for cause in (status.get("details") or {}).get("causes") or ()]
        return cls(status["code"], status.get("reason") or "", status.get("message") or "", causes)


class Adapter(ABC):
    """One client library."""

    name: ClassVar[str]
    #: The exceptions by which the library tells of a refusal.
    errors: ClassVar[tuple[type[Exception], ...]]
    #: What it cannot do, and why.
    lacks: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def __init__(self, kubeconfig: Path) -> None: ...

    def needs(self, feature: str) -> None:
        if feature in self.lacks:
            pytest.skip(f"{self.name}: {self.lacks[feature]}")

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def create(self, namespace: str, obj: Object, *, dry_run: bool = False) -> Object: ...

    @abstractmethod
    def get(self, kind: str, namespace: str, name: str) -> Object: ...

    @abstractmethod
    def list(self, kind: str, namespace: str, *, labels: str = "", fields: str = "") -> tuple[list[Object], str]:
        """Objects of one namespace, or of all when it is "", and the revision of the list ("" when not told)."""

    @abstractmethod
    def pages(self, kind: str, namespace: str, limit: int) -> list[list[Object]]: ...

    @abstractmethod
    def replace(self, namespace: str, obj: Object, *, subresource: str = "") -> Object: ...

    @abstractmethod
    def patch(
        self,
        kind: str,
        namespace: str,
        name: str,
        patch: Any,
        sort: PatchSort,
        *,
        subresource: str = "",
        manager: str = "",
        force: bool = False,
    ) -> Object: ...

    @abstractmethod
    def delete(
        self, kind: str, namespace: str, name: str, *, propagation: str = "", grace: int | None = None
    ) -> None: ...

    @abstractmethod
    def delete_all(self, kind: str, namespace: str, *, labels: str) -> None: ...

    @abstractmethod
    def watch(self, kind: str, namespace: str, since: str, count: int, *, labels: str = "") -> list[Event]:
        """The first events after a revision."""

    @abstractmethod
    def initial_events(self, kind: str, namespace: str, count: int) -> list[Event]:
        """What a watch begins with that asks for the present state and bookmarks."""

    @abstractmethod
    def scale(self, kind: str, namespace: str, name: str, replicas: int) -> Object:
        """Set the replicas by the subresource; answers what it says afterwards."""

    @abstractmethod
    def bind(self, namespace: str, pod: str, node: str) -> None: ...

    @abstractmethod
    def evict(self, namespace: str, pod: str) -> None: ...

    @abstractmethod
    def logs(self, namespace: str, pod: str) -> str: ...
