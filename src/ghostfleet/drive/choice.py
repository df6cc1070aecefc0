"""Which cluster a command means.

A kubeconfig or a context that is given means the cluster that it names; a name, one that `ghostfleet up` has started.
Otherwise $KUBECONFIG counts, as it does for kubectl, and where it is not set or its files do not exist, the cluster
`default` of this user.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ghostfleet.drive.access import Access
from ghostfleet.drive.interface import ConnectionFailed
from ghostfleet.server.instances import Instance, InstanceError
from ghostfleet.server.kubeconfig import kubeconfig_files

__all__ = ["find_access"]

_DEFAULT = "default"


def find_access(
    cluster: str = "",
    kubeconfig: Path | None = None,
    context: str = "",
    environment: Mapping[str, str] | None = None,
) -> Access:
    """How the cluster that is meant is reached; ConnectionFailed says what to do when there is none."""
    environment = os.environ if environment is None else environment
    if kubeconfig is not None:
        return Access(kubeconfig, context)
    files = kubeconfig_files(environment)
    if context or (environment.get("KUBECONFIG") and not cluster and any(file.exists() for file in files)):
        return Access(files, context)
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
