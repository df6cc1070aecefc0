"""A connection to a cluster by its kubeconfig: plain requests over one kept HTTP connection.

This is for our own commands, which need few requests of few kinds; it understands kubeconfigs with a bearer token or a
client certificate, as `ghostfleet up`, kind and kwokctl write them.
"""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

import orjson
import yaml

__all__ = ["Connection", "ConnectionFailed", "Refused"]

_PATIENCE_SECONDS = 30.0
_MERGE_PATCH = "application/merge-patch+json"


class ConnectionFailed(Exception):
    """The cluster cannot be reached; the message says why."""


class Refused(Exception):
    """The cluster answered with an error."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class Connection:
    """Requests to one cluster."""

    def __init__(self, kubeconfig: Path, context: str = "") -> None:
        cluster, user = _chosen(kubeconfig, context)
        place = urllib.parse.urlsplit(cluster["server"])
        self.url: str = cluster["server"]
        self._prefix = place.path.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "ghostfleet"}
        if user.get("token"):
            self._headers["Authorization"] = f"Bearer {user['token']}"
        if place.scheme == "https":
            tls = _tls(kubeconfig, cluster, user)
            self._http: http.client.HTTPConnection = http.client.HTTPSConnection(
                place.hostname or "", place.port, timeout=_PATIENCE_SECONDS, context=tls
            )
        else:
            self._http = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_PATIENCE_SECONDS)

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def create(self, path: str, obj: Any) -> Any:
        return self._ask("POST", path, obj)

    def patch(self, path: str, patch: Any) -> Any:
        """Change an object by a merge patch."""
        return self._ask("PATCH", path, patch, _MERGE_PATCH)

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path)

    def items(self, path: str, chunk: int = 2000) -> list[Any]:
        """Everything that a list holds, in pages."""
        found: list[Any] = []
        token = ""
        while True:
            query = urllib.parse.urlencode({"limit": chunk, **({"continue": token} if token else {})})
            page = self.get(f"{path}{'&' if '?' in path else '?'}{query}")
            found += page["items"]
            token = page["metadata"].get("continue") or ""
            if not token:
                return found

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Any:
        headers = {**self._headers, "Content-Type": media} if body is not None else self._headers
        try:
            self._http.request(method, self._prefix + path, orjson.dumps(body) if body is not None else None, headers)
            answer = self._http.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            raise ConnectionFailed(f"{self.url} does not answer: {error or type(error).__name__}") from error
        try:
            read = orjson.loads(text)
        except orjson.JSONDecodeError:
            read = {"message": text.decode(errors="replace").strip()}
        if answer.status >= 400:
            raise Refused(answer.status, read.get("reason", ""), read.get("message", f"HTTP {answer.status}"))
        return read


def _chosen(kubeconfig: Path, context: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cluster and user of a context, by default the current one."""
    try:
        config = yaml.safe_load(kubeconfig.read_text())
        wanted = context or config["current-context"]
        chosen = _named(config["contexts"], wanted, "context")["context"]
        cluster = _named(config["clusters"], chosen["cluster"], "cluster")["cluster"]
        user = _named(config["users"], chosen["user"], "user")["user"]
        return cluster, user or {}
    except OSError as error:
        raise ConnectionFailed(f"cannot read {kubeconfig}: {error.strerror}") from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ConnectionFailed(f"{kubeconfig} is not a kubeconfig that can be used here: {error}") from error


def _named(entries: list[dict[str, Any]], name: str, sort: str) -> dict[str, Any]:
    for entry in entries or ():
        if entry.get("name") == name:
            return entry
    known = ", ".join(str(entry.get("name")) for entry in entries or ()) or "none"
    raise ConnectionFailed(f"the kubeconfig has no {sort} {name}; it has: {known}")


def _tls(kubeconfig: Path, cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        context = ssl._create_unverified_context()
    else:
        authority = _content(kubeconfig, cluster, "certificate-authority")
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    certificate, key = _content(kubeconfig, user, "client-certificate"), _content(kubeconfig, user, "client-key")
    if certificate and key:
        # The ssl module reads certificates from files only; the file is private and gone at once.
        handle, name = tempfile.mkstemp()
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(certificate + b"\n" + key)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
    return context


def _content(kubeconfig: Path, entry: dict[str, Any], field: str) -> bytes | None:
    """A certificate or key that a kubeconfig holds or points to."""
    if entry.get(f"{field}-data"):
        return base64.b64decode(entry[f"{field}-data"])
    if entry.get(field):
        path: Path = kubeconfig.parent / entry[field]
        return path.read_bytes()
    return None
