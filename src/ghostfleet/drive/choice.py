"""Which cluster a command means.

A kubeconfig or a context that is given means the cluster that it names; a name, one that `ghostfleet up` has started.
Otherwise it is the cluster `default` of this user where that is running.
"""

from __future__ import annotations

import os
from pathlib import Path

from ghostfleet.drive.access import Access
from ghostfleet.drive.interface import ConnectionFailed
from ghostfleet.server.instances import Instance, InstanceError
from ghostfleet.server.kubeconfig import default_path

__all__ = ["find_access"]

_DEFAULT = "default"


def find_access(cluster: str = "", kubeconfig: Path | None = None, context: str = "") -> Access:
    """How the cluster that is meant is reached; ConnectionFailed says what to do when there is none."""
    if kubeconfig is not None or context:
        return Access(kubeconfig or default_path(os.environ), context)
    name = cluster or _DEFAULT
    try:
        instance = Instance(name)
    except InstanceError as error:
        raise ConnectionFailed(str(error)) from error
    if not instance.kubeconfig.exists():
        raise ConnectionFailed(
            f"cluster {name} is not running; `ghostfleet up {name if cluster else ''} --detach` starts it, "
            "--kubeconfig names another".replace("  ", " ")
        )
    return Access(instance.kubeconfig)
