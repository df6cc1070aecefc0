"""The configuration of a cluster that is launched: what it is made of, how it runs and how it is reached.

Each field has its flag: `ghostfleet up` takes its options from here, and a cluster in the background is asked for with
the same words. This module is loaded for every `--help`, and so imports little.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from ghostfleet.cluster.config import ClusterConfig
from ghostfleet.core.flags import Flag, arguments

__all__ = ["LaunchConfig", "Runtime"]


class Runtime(StrEnum):
    """What a cluster is made of."""

    EMBEDDED = "embedded"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class LaunchConfig(ClusterConfig):
    """A cluster, and how it is to run and to be reached."""

    name: str = "default"
    port: Annotated[int, Flag("Port to listen on; 0 takes a free one.", least=0, most=65535)] = 0
    address: Annotated[str, Flag("Address to listen on; loopback only, unless TLS is on.")] = "127.0.0.1"
    clock: Annotated[str, Flag("Pace of cluster time; scaled:10 runs ten times as fast.", metavar="wall|scaled:N")] = (
        "wall"
    )
    tls: Annotated[
        bool, Flag("Serve HTTPS with a certificate authority of its own; kubectl sends tokens only there.")
    ] = True
    seed: Annotated[str, Flag("Seed of all that is random in the cluster; empty draws one.")] = ""
    runtime: Annotated[Runtime, Flag("Our own cluster in one process, or a real control plane on this machine.")] = (
        Runtime.EMBEDDED
    )
    bin_dir: Annotated[
        Path | None, Flag("Where the programs of a real control plane are; else where `make kube` put them.")
    ] = None
    component_arg: Annotated[
        tuple[str, ...],
        Flag(
            "A flag for a program of a real control plane, kube-scheduler=--v=4; may be given several times.",
            metavar="PROGRAM=--FLAG=VALUE",
        ),
    ] = ()

    def arguments(self) -> list[str]:
        """The words of a command line that asks for the same, whatever the user's settings say of TLS."""
        return [*(["--tls"] if self.tls else []), *arguments(self)]
