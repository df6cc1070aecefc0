"""The control plane: which parts a real one has, and how each is told to run on loopback, for one user.

Everything is in one directory: certificates, the token, the data of etcd, logs. The API server, its etcd and their
clients know each other by certificates of an authority that belongs to this cluster alone; people and parts use the
token of the kubeconfig. etcd does not wait for the disk, for what it stores ends with the cluster.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ghostfleet.kube.arguments import Arguments, flag_name
from ghostfleet.kube.processes import Program
from ghostfleet.kube.programs import CONTROLLERS, ETCD, KWOK, SCHEDULER, SERVER
from ghostfleet.server.secretfile import write_secret
from ghostfleet.server.tls import Certificates

__all__ = ["AGENT", "ControlPlane", "Ports", "free_ports"]

AGENT = "agent"
_HOST = "127.0.0.1"
_ISSUER = "https://kubernetes.default.svc.cluster.local"
_SERVICES = "10.96.0.0/16"
#: A node with this label has failed; kwok leaves it alone.
_NOT_FAILED = "ghostfleet.dev/failed!=true"
_LEASE_SECONDS = 40


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the parts listen."""

    server: int
    etcd: int
    etcd_peers: int
    controllers: int
    scheduler: int


def free_ports(count: int) -> list[int]:
    """Ports that no one has at the moment."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((_HOST, 0))
        return [each.getsockname()[1] for each in sockets]


class ControlPlane:
    """A real control plane in one directory."""

    def __init__(
        self,
        directory: Path,
        programs: Mapping[str, Path],
        ports: Ports,
        certificates: Certificates,
        *,
        address: str = _HOST,
        token: str,
        arguments: Arguments | None = None,
    ) -> None:
        self._directory = directory
        self._programs = programs
        self._ports = ports
        self._certificates = certificates
        self._address = address
        self._arguments = arguments or {}
        self._kubeconfig = directory / "kubeconfig"
        self._accounts = directory / "accounts.key"
        self._tokens = directory / "tokens.csv"
        write_secret(self._accounts, _new_key())
        write_secret(self._tokens, f'{token},admin,admin,"system:masters"\n'.encode())

    def etcd(self) -> Program:
        files, ports = self._certificates, self._ports
        clients, peers = f"https://{_HOST}:{ports.etcd}", f"https://{_HOST}:{ports.etcd_peers}"
        flags: dict[str, Any] = {
            "name": "ghostfleet",
            "data-dir": self._directory / "etcd",
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"ghostfleet={peers}",
            "unsafe-no-fsync": True,
            "quota-backend-bytes": 8 << 30,
            "auto-compaction-retention": 1,
        }
        for whom in ("", "peer-"):
            flags |= {
                f"{whom}cert-file": files.certificate,
                f"{whom}key-file": files.key,
                f"{whom}trusted-ca-file": files.authority,
                f"{whom}client-cert-auth": True,
            }
        return self._part(ETCD, flags)

    def server(self) -> Program:
        files = self._certificates
        return self._part(
            SERVER,
            {
                "etcd-servers": f"https://{_HOST}:{self._ports.etcd}",
                "etcd-cafile": files.authority,
                "etcd-certfile": files.certificate,
                "etcd-keyfile": files.key,
                "bind-address": self._address,
                "secure-port": self._ports.server,
                "tls-cert-file": files.certificate,
                "tls-private-key-file": files.key,
                "client-ca-file": files.authority,
                "token-auth-file": self._tokens,
                "service-account-key-file": self._accounts,
                "service-account-signing-key-file": self._accounts,
                "service-account-issuer": _ISSUER,
                "service-cluster-ip-range": _SERVICES,
                "authorization-mode": "Node,RBAC",
                "allow-privileged": True,
                "endpoint-reconciler-type": "none",
            },
        )

    def controllers(self) -> Program:
        return self._part(
            CONTROLLERS,
            {
                **self._client(self._ports.controllers),
                "service-account-private-key-file": self._accounts,
                "root-ca-file": self._certificates.authority,
            },
        )

    def scheduler(self, configuration: Path | None = None) -> Program:
        flags = self._client(self._ports.scheduler)
        if configuration is not None:
            flags["config"] = self._scheduler_configuration(configuration)
        return self._part(SCHEDULER, flags)

    def kwok(self) -> Program:
        """kwok, which takes its stages from the cluster."""
        return self._part(
            KWOK,
            {
                "kubeconfig": self._kubeconfig,
                "config": "",
                "enable-crds": "Stage",
                "manage-all-nodes": False,
                "manage-nodes-with-label-selector": _NOT_FAILED,
                "node-lease-duration-seconds": _LEASE_SECONDS,
                "node-ip": "",
                "server-address": "",
            },
        )

    def agent(self, stages: Iterable[str]) -> Program:
        """Our own stage engine in the place of kwok."""
        words = [word for stage in stages for word in ("--stages", stage)]
        program = [sys.executable, "-m", "ghostfleet", "agent"]
        return Program(AGENT, [*program, "--kubeconfig", str(self._kubeconfig), *words])

    def _client(self, port: int) -> dict[str, Any]:
        """Flags of a part that works for the API server."""
        return {
            "kubeconfig": self._kubeconfig,
            "authorization-always-allow-paths": "/healthz,/readyz,/livez,/metrics",
            "bind-address": _HOST,
            "secure-port": port,
            "tls-cert-file": self._certificates.certificate,
            "tls-private-key-file": self._certificates.key,
            "leader-elect": False,
        }

    def _part(self, name: str, flags: Mapping[str, Any]) -> Program:
        given = self._arguments.get(name, ())
        theirs = {flag_name(word) for word in given}
        ours = [
            f"--{flag}={str(value).lower() if isinstance(value, bool) else value}"
            for flag, value in flags.items()
            if flag not in theirs
        ]
        return Program(name, [self._programs[name], *ours, *given])

    def _scheduler_configuration(self, given: Path) -> Path:
        """The user's configuration, with the access to this cluster put in: the program then ignores the flags."""
        read = yaml.safe_load(given.read_text())
        connection = {**(read.get("clientConnection") or {}), "kubeconfig": str(self._kubeconfig)}
        path = self._directory / "scheduler.yaml"
        changed = {**read, "clientConnection": connection, "leaderElection": {"leaderElect": False}}
        write_secret(path, yaml.safe_dump(changed, sort_keys=False).encode())
        return path


def _new_key() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    # In this form Kubernetes takes it for its public half too.
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
