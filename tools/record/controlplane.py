"""A real control plane, started to be recorded: etcd, kube-apiserver and three controllers of kube-controller-manager.

It is made as like an embedded cluster without controllers as it goes: nothing but namespaces, service accounts and
garbage is looked after, and every kind in every version that we serve is switched on. The admission that protects
volumes in use is off, since in our cluster the controllers see to that. Everything is on free ports of this machine and
in a directory that goes with it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from parity_material.servers import Remote

__all__ = ["control_plane", "program_version", "running"]

_CONTROLLERS = ("serviceaccount-controller", "garbage-collector-controller", "namespace-controller")
_WITHOUT = "StorageObjectInUseProtection"
_VERSIONS = "resource.k8s.io/v1beta2=true"
_PATIENCE = 60


@contextlib.contextmanager
def control_plane(binaries: Path, *, controllers: bool = True, more: Sequence[str] = ()) -> Iterator[Path]:
    """A running control plane; its kubeconfig. Without `controllers`, pods need no service account either; `more` are
    controllers that look after something else."""
    without = _WITHOUT if controllers else f"{_WITHOUT},ServiceAccount"
    with tempfile.TemporaryDirectory(prefix="ghostfleet-record-") as made, contextlib.ExitStack() as stack:
        directory = Path(made)
        etcd, peer, api, manager = _free_ports(4)
        key = directory / "sa.key"
        key.write_bytes(_private_key())
        (directory / "tokens.csv").write_text('recorder,kubernetes-admin,kubernetes-admin,"system:masters"\n')
        kubeconfig = _kubeconfig(directory, api)
        at = f"http://127.0.0.1:{etcd}"
        stack.enter_context(
            running(
                binaries / "etcd",
                directory / "etcd.log",
                f"--data-dir={directory / 'etcd'}",
                f"--listen-client-urls={at}",
                f"--advertise-client-urls={at}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                "--unsafe-no-fsync",
            )
        )
        stack.enter_context(
            running(
                binaries / "kube-apiserver",
                directory / "apiserver.log",
                f"--etcd-servers={at}",
                "--bind-address=127.0.0.1",
                f"--secure-port={api}",
                f"--cert-dir={directory / 'apiserver'}",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--token-auth-file={directory / 'tokens.csv'}",
                "--endpoint-reconciler-type=none",
                "--allow-privileged=true",
                f"--disable-admission-plugins={without}",
                f"--runtime-config={_VERSIONS}",
            )
        )
        _await(kubeconfig, directory / "apiserver.log")
        if controllers:
            stack.enter_context(
                running(
                    binaries / "kube-controller-manager",
                    directory / "manager.log",
                    f"--kubeconfig={kubeconfig}",
                    "--bind-address=127.0.0.1",
                    f"--secure-port={manager}",
                    f"--cert-dir={directory / 'manager'}",
                    "--leader-elect=false",
                    f"--service-account-private-key-file={key}",
                    f"--controllers={','.join((*_CONTROLLERS, *more))}",
                )
            )
        yield kubeconfig


@contextlib.contextmanager
def running(binary: Path, log: Path, *arguments: str) -> Iterator[None]:
    """A program of the control plane, ended when nobody needs it any more."""
    if not binary.exists():
        raise SystemExit(f"{binary}: no such program; --bin-dir must hold the programs of a control plane")
    with log.open("wb") as output:
        process = subprocess.Popen([binary, *arguments], stdout=output, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def program_version(program: Path) -> str:
    """What a program says of itself, such as `v1.36.3`."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return next(word for word in said.split() if word[0] == "v" and word[1:2].isdigit())


def _await(kubeconfig: Path, log: Path) -> None:
    server = Remote(kubeconfig)
    for _ in range(_PATIENCE * 10):
        with contextlib.suppress(OSError):
            if server.send("GET", "/readyz", b"", {}).status == 200:
                return
        time.sleep(0.1)
    raise SystemExit(f"kube-apiserver is not ready after {_PATIENCE} seconds:\n{log.read_text()[-2000:]}")


def _kubeconfig(directory: Path, port: int) -> Path:
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": cluster}],
        "users": [{"name": "real", "user": {"token": "recorder"}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "real"}}],
        "current-context": "real",
    }
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def _private_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
