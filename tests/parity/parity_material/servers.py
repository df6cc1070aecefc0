"""Servers: where requests are sent, a real control plane by its kubeconfig or an embedded cluster in this process.

Both answer in the same form. On the embedded one the clock is virtual and run after each request, so that controllers
have always finished; on the other one a step says until when it asks again.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import ssl
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import yaml

from ghostfleet.cluster import BARE, Cluster, ClusterConfig
from ghostfleet.core.clock import VirtualClock
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from support.asgi import Reply, call

__all__ = ["Embedded", "Remote", "Server"]

_TOKEN = "a-token"


class Server(Protocol):
    """Something that answers requests."""

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply: ...

    def pause(self) -> None:
        """Let some time pass before the same is asked again."""

    def await_account(self, namespace: str) -> None:
        """Wait until pods may be made in a new namespace, where they need its service account."""


class Embedded:
    """A cluster of the API alone, called without a socket."""

    def __init__(self, config: ClusterConfig = BARE) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, config)
        self._app = App(self.cluster.api, Authenticator(_TOKEN))
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def pause(self) -> None:
        self.clock.advance(1_000_000)

    def await_account(self, namespace: str) -> None:
        """Nobody needs it here."""

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        named = {**headers, "authorization": f"Bearer {_TOKEN}"}
        reply = self._runner.run(call(self._app, method, path, named.items(), body))
        self.clock.settle()
        return reply


class Remote:
    """A control plane behind a kubeconfig, over one kept connection."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        names = next(each for each in config["contexts"] if each["name"] == config["current-context"])["context"]
        cluster = next(each for each in config["clusters"] if each["name"] == names["cluster"])["cluster"]
        user = next(each for each in config["users"] if each["name"] == names["user"])["user"]
        self._headers = {"authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._url = urlsplit(cluster["server"])
        self._tls = _context(cluster, user)
        self._connection: http.client.HTTPConnection | None = None

    def pause(self) -> None:
        time.sleep(0.1)

    def await_account(self, namespace: str) -> None:
        while self.send("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default", b"", {}).status != 200:
            time.sleep(0.02)

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        if self._connection is None:
            self._connection = self._connect()
        try:
            self._connection.request(method, path, body or None, {**headers, **self._headers})
            response = self._connection.getresponse()
            answered = response.read()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            self._connection = None
            raise
        return Reply(response.status, response.getheaders(), answered)

    def _connect(self) -> http.client.HTTPConnection:
        port = self._url.port or 443
        if self._url.scheme == "http":
            return http.client.HTTPConnection(self._url.hostname or "", port, timeout=60)
        return http.client.HTTPSConnection(self._url.hostname or "", port, timeout=60, context=self._tls)


def _context(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif "certificate-authority-data" in cluster:
        context.load_verify_locations(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    elif "certificate-authority" in cluster:
        context.load_verify_locations(cluster["certificate-authority"])
    with tempfile.TemporaryDirectory() as directory:
        files = [_file(user, name, Path(directory)) for name in ("client-certificate", "client-key")]
        if files[0] and files[1]:
            context.load_cert_chain(files[0], files[1])
    return context


def _file(user: dict[str, Any], name: str, directory: Path) -> str:
    """Where a part of the user's certificate is, written to a file if the kubeconfig holds it."""
    if f"{name}-data" in user:
        path = directory / name
        path.write_bytes(base64.b64decode(user[f"{name}-data"]))
        return str(path)
    return str(user.get(name, ""))
