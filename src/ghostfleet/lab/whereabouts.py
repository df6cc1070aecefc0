"""Where a run is: the cluster that its record names, which the commands after `submit` go back to.

The record has the kubeconfig and the context by which the cluster was reached, its address, and the uid of its
namespace kube-system, by which it is known again even when its address has changed.
"""

from __future__ import annotations

import os
from pathlib import Path

from ghostfleet.drive.access import Access
from ghostfleet.drive.interface import ClusterInfo, ConnectionFailed
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run

__all__ = ["access_of", "check_is_there"]

_EMBEDDED = "embedded"


def access_of(run: Run) -> Access | None:
    """How the cluster of a run is reached; None when the record does not say."""
    if run.cluster.get("address") == _EMBEDDED:
        raise LabError(
            f"run {run.run} was made in virtual time, on a cluster that ended with it; all that was measured is in its "
            "output dir, and `ghostfleet plot` shows it"
        )
    files = [Path(path) for path in str(run.cluster.get("kubeconfig") or "").split(os.pathsep) if path]
    if not files:
        return None
    try:
        return Access(files, str(run.cluster.get("context") or ""))
    except ConnectionFailed as error:
        raise LabError(
            f"run {run.run} is on {_described(run)}, which cannot be reached: {error}; --cluster or --kubeconfig says "
            "where else it is"
        ) from None


def check_is_there(run: Run, info: ClusterInfo) -> None:
    """Raise a LabError when a cluster is not the one that the run was submitted to."""
    known = run.cluster.get("uid")
    if known and info.uid and known != info.uid:
        raise LabError(
            f"run {run.run} was submitted to {_described(run)}, but {info.address} is another cluster, or one that "
            "was started anew; nothing of the run is there"
        )


def _described(run: Run) -> str:
    context = run.cluster.get("context")
    return f"{run.cluster.get('address')}{f' (context {context})' if context else ''}"
