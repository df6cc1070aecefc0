"""The kinds of Kubeflow's training operator that are served here."""

from __future__ import annotations

from pathlib import Path

from ghostfleet.controllers.installing import install, load_definitions
from ghostfleet.core.store import Store

__all__ = ["PYTORCH_JOBS", "install_kinds"]

PYTORCH_JOBS = "pytorchjobs.kubeflow.org"


def install_kinds(store: Store) -> None:
    """Define what the controller works on."""
    install(store, load_definitions(Path(__file__).parent / "data" / "definitions.yaml"))
