"""Installing KAI: its kinds, and the objects that come with it.

Run:ai has pod groups of the same name. With KAI there is one definition for both, KAI's, which serves the version that
Run:ai uses too; where Run:ai's is there already, KAI's takes its place.
"""

from __future__ import annotations

from pathlib import Path

from ghostfleet.api.strategy import apply_defaults, prepare_for_create, prepare_for_update
from ghostfleet.controllers.bootstrap import ensure_namespace
from ghostfleet.controllers.definitions import DEFINITIONS
from ghostfleet.controllers.installing import install, load_definitions
from ghostfleet.controllers.kai.constants import POD_GROUPS, QUEUES, SCHEDULING_SHARDS
from ghostfleet.core.changes import Object
from ghostfleet.core.manifests import load_documents
from ghostfleet.core.store import Store

__all__ = ["install_kinds"]

_DATA = Path(__file__).parent / "data"
_CUSTOM = {"Queue": QUEUES, "SchedulingShard": SCHEDULING_SHARDS, "Config": "configs.kai.scheduler"}
_BUILT_IN = {"PriorityClass": "priorityclasses.scheduling.k8s.io", "ServiceAccount": "serviceaccounts"}


def install_kinds(store: Store) -> None:
    """Define the kinds, and create priority classes, default queues and namespaces that are not there."""
    definitions = load_definitions(_DATA / "definitions.yaml")
    for definition in definitions:
        if definition["metadata"]["name"] == POD_GROUPS:
            _take_over(store, definition)
    install(store, definitions)
    path = _DATA / "objects.yaml"
    for document in load_documents(path.read_bytes(), str(path)):
        _ensure(store, document.object)


def _take_over(store: Store, definition: Object) -> None:
    """Put a definition in the place of another's of its name."""
    old = store.find(DEFINITIONS, "", definition["metadata"]["name"])
    if old is not None and old["spec"] != definition["spec"]:
        new = {**old, "metadata": dict(old["metadata"]), "spec": definition["spec"]}
        store.update(DEFINITIONS, prepare_for_update(DEFINITIONS, old, new))


def _ensure(store: Store, obj: Object) -> None:
    kind, metadata = obj["kind"], obj["metadata"]
    if kind == "Namespace":
        ensure_namespace(store, metadata["name"])
        return
    resource = _CUSTOM.get(kind) or _BUILT_IN[kind]
    if store.find(resource, metadata.get("namespace", ""), metadata["name"]) is not None:
        return
    if kind in _CUSTOM:
        store.create(resource, {**obj, "metadata": {**metadata, "generation": 1}})
    else:
        store.create(resource, prepare_for_create(resource, apply_defaults(resource, obj)))
