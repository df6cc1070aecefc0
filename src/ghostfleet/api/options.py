"""Options: what a request asks for besides its object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ghostfleet.core.changes import Object

__all__ = ["DeleteOptions", "ListOptions", "Page", "PatchType", "WriteOptions"]

PatchType = Literal["json", "merge", "strategic", "apply"]


@dataclass(slots=True)
class WriteOptions:
    """How a create, update or patch is to be done."""

    #: Who the written fields belong to; "" leaves managedFields alone, as our own controllers do.
    manager: str = ""
    #: What becomes of fields that the kind does not have.
    validation: Literal["Strict", "Warn", "Ignore"] = "Warn"
    dry_run: bool = False
    #: Apply only: take over fields that others own.
    force: bool = False
    #: Keys that stood twice in the request's body, as paths.
    duplicates: list[str] = field(default_factory=list)
    #: Filled by the verb: fields that the kind does not have, as paths.
    unknown: list[str] = field(default_factory=list)
    #: Filled by the verb: what the client should be warned of.
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ListOptions:
    """What to list or watch, and from when."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""


@dataclass(slots=True)
class Page:
    """Some or all of the objects that a list asked for."""

    items: list[Object]
    #: The revision at which this was the truth.
    revision: int
    #: How to ask for the next page; "" when this is the last one.
    continue_: str = ""
    #: How many more there are, when that is known.
    remaining: int | None = None


@dataclass(slots=True)
class DeleteOptions:
    """How an object is to go."""

    #: Background, Foreground or Orphan; None is the kind's own way.
    propagation: str | None = None
    grace_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
