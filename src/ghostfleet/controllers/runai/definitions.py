"""The kinds of Run:ai, and what comes with them: a storage class, so that claims find volumes.

Workloads are three kinds of one shape; they are defined once.
"""

from __future__ import annotations

from pathlib import Path

from ghostfleet.api.defaults import apply_defaults, prepare_for_create
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
#: Volumes of no particular kind, made when a pod that needs one has a node: the usual default of a cluster.
_CLASS: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "ghostfleet.dev/volumes",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def install_kinds(store: Store) -> None:
    """Define the kinds, and give the cluster a storage class if it has none."""
    training, *others = load_definitions(_FILE)
    install(store, [training, _like(training, "Interactive"), _like(training, "Distributed"), *others])
    if not store.count(_CLASSES):
        store.create(_CLASSES, prepare_for_create(_CLASSES, apply_defaults(_CLASSES, _CLASS)))


def _like(training: Object, word: str) -> Object:
    """The definition of another kind of workload."""
    kind = f"{word}Workload"
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{kind.lower()}s", "singular": kind.lower()}
    spec = {**training["spec"], "names": names}
    return {**training, "metadata": {**training["metadata"], "name": f"{names['plural']}.run.ai"}, "spec": spec}
