"""Installing: kinds that come with a part of the cluster, defined as anyone else would define theirs.

A part keeps its CustomResourceDefinitions in a data file. They are created when the cluster starts, unless they are
there already; from then on they are like those that users apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.controllers.definitions import DEFINITIONS
from ghostfleet.core.changes import Object
from ghostfleet.core.manifests import load_documents
from ghostfleet.core.store import Store

__all__ = ["install", "load_definitions"]


def load_definitions(path: Path) -> list[Object]:
    """The definitions of a data file, complete."""
    documents = load_documents(path.read_bytes(), str(path))
    return [prepare_for_create(DEFINITIONS, apply_defaults(DEFINITIONS, each.object)) for each in documents]


def install(store: Store, definitions: Iterable[Object]) -> None:
    """Create the definitions that are not there yet."""
    for definition in definitions:
        if store.find(DEFINITIONS, "", definition["metadata"]["name"]) is None:
            store.create(DEFINITIONS, definition)
