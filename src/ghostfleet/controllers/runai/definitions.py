"""The kinds of Run:ai, and what comes with them: storage classes, so that claims find volumes, and projects.

A project is a namespace, `runai-<project>`, whose label names the queue of the same name.

Workloads are three kinds of one shape; they are defined once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.controllers.bootstrap import ensure_namespace
from ghostfleet.controllers.installing import install, load_definitions
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = [
    "DISTRIBUTED",
    "INTERACTIVE",
    "POD_GROUPS",
    "RUNAI_JOBS",
    "TRAINING",
    "WORKLOADS",
    "install_kinds",
]

TRAINING = "trainingworkloads.run.ai"
INTERACTIVE = "interactiveworkloads.run.ai"
DISTRIBUTED = "distributedworkloads.run.ai"
WORKLOADS = (TRAINING, INTERACTIVE, DISTRIBUTED)
RUNAI_JOBS = "runaijobs.run.ai"
POD_GROUPS = "podgroups.scheduling.run.ai"

_FILE = Path(__file__).parent / "data" / "definitions.yaml"
_CLASSES = "storageclasses.storage.k8s.io"
#: The usual default of a cluster, and the class that the templates of Run:ai's scale test name.
_DEFAULT_CLASS, _TEMPLATES_CLASS = "standard", "openebs-lvmpv"
_DEFAULT_PROJECT = "project-0"


def install_kinds(store: Store, projects: Iterable[str] = ()) -> None:
    """Define the kinds, and give the cluster storage classes and projects, the default one among them."""
    training, *others = load_definitions(_FILE)
    install(store, [training, _like(training, "Interactive"), _like(training, "Distributed"), *others])
    if not store.count(_CLASSES):
        _create_class(store, _DEFAULT_CLASS, {"storageclass.kubernetes.io/is-default-class": "true"})
    if store.find(_CLASSES, "", _TEMPLATES_CLASS) is None:
        _create_class(store, _TEMPLATES_CLASS)
    for project in dict.fromkeys((_DEFAULT_PROJECT, *projects)):
        ensure_namespace(store, f"runai-{project}", **{"runai/queue": project})


def _create_class(store: Store, name: str, annotations: dict[str, str] | None = None) -> None:
    """Volumes of no particular kind, made when a pod that needs one has a node."""
    obj = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "provisioner": "ghostfleet.dev/volumes",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    store.create(_CLASSES, prepare_for_create(_CLASSES, apply_defaults(_CLASSES, obj)))


def _like(training: Object, word: str) -> Object:
    """The definition of another kind of workload."""
    kind = f"{word}Workload"
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{kind.lower()}s", "singular": kind.lower()}
    spec = {**training["spec"], "names": names}
    return {**training, "metadata": {**training["metadata"], "name": f"{names['plural']}.run.ai"}, "spec": spec}
