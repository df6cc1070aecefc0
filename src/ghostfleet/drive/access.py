"""Access: how a kubeconfig says that its cluster is reached, and as whom.

A user shows a bearer token (in the file, in another file, or told by a *credential plugin*, a program that clouds have
kubectl run), a client certificate, or a name and password. This is written by hand because the client libraries that
know kubeconfigs bring an HTTP client several times slower than the standard library's, which a scale test cannot use.
"""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

import orjson
import yaml

from ghostfleet.drive.interface import ConnectionFailed

__all__ = ["Access"]

_PLUGIN_PATIENCE_SECONDS = 60.0
Entry = dict[str, Any]


class Access:
    """One context of a kubeconfig."""

    def __init__(self, kubeconfig: Path, context: str = "") -> None:
        self._file = kubeconfig
        self._cluster, self._user = _chosen(kubeconfig, context)
        self.url: str = str(self._cluster["server"]).rstrip("/")
        place = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.prefix = place.hostname or "", place.port, place.path.rstrip("/")
        #: What certificates are checked with and shown; None for plain HTTP.
        self.tls = _tls(kubeconfig, self._cluster, self._user) if place.scheme == "https" else None
        self._authorization: str | None = None

    def authorization(self) -> str:
        """The header's value that shows who asks; "" where a certificate does."""
        if self._authorization is None:
            self._authorization = self._shown()
        return self._authorization

    def forget(self) -> bool:
        """Ask for credentials anew next time; false when they could not change."""
        self._authorization = None
        return "exec" in self._user or "tokenFile" in self._user

    def _shown(self) -> str:
        user = self._user
        if user.get("exec"):
            token = _told_by_plugin(user["exec"], self._file.parent)
        elif user.get("tokenFile"):
            token = _read(self._file.parent / user["tokenFile"]).decode().strip()
        else:
            token = user.get("token") or ""
        if token:
            return f"Bearer {token}"
        if user.get("username"):
            pair = f"{user['username']}:{user.get('password', '')}"
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
        return ""


def _chosen(kubeconfig: Path, context: str) -> tuple[Entry, Entry]:
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


def _named(entries: list[Entry], name: str, sort: str) -> Entry:
    for entry in entries or ():
        if entry.get("name") == name:
            return entry
    known = ", ".join(str(entry.get("name")) for entry in entries or ()) or "none"
    raise ConnectionFailed(f"the kubeconfig has no {sort} {name}; it has: {known}")


def _told_by_plugin(plugin: Entry, directory: Path) -> str:
    """The token that a credential plugin prints."""
    command = str(plugin["command"])
    version = str(plugin.get("apiVersion") or "client.authentication.k8s.io/v1")
    asked = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    given = {str(entry["name"]): str(entry["value"]) for entry in plugin.get("env") or ()}
    try:
        done = subprocess.run(
            [str(directory / command) if command.startswith(".") else command, *map(str, plugin.get("args") or ())],
            env={**os.environ, **given, "KUBERNETES_EXEC_INFO": orjson.dumps(asked).decode()},
            capture_output=True,
            timeout=_PLUGIN_PATIENCE_SECONDS,
            check=True,
        )
        return str(orjson.loads(done.stdout)["status"]["token"])
    except FileNotFoundError:
        hint = plugin.get("installHint") or f"install {command}, or use a kubeconfig with a token"
        raise ConnectionFailed(f"the kubeconfig's credential plugin {command} is not there; {hint}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise ConnectionFailed(f"the credential plugin {command} failed: {said[-1] if said else error}") from None
    except (OSError, subprocess.TimeoutExpired, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ConnectionFailed(f"the credential plugin {command} gave no token: {error}") from None


def _tls(kubeconfig: Path, cluster: Entry, user: Entry) -> ssl.SSLContext:
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


def _content(kubeconfig: Path, entry: Entry, field: str) -> bytes | None:
    """A certificate or key that a kubeconfig holds or points to."""
    if entry.get(f"{field}-data"):
        return base64.b64decode(entry[f"{field}-data"])
    return _read(kubeconfig.parent / entry[field]) if entry.get(field) else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConnectionFailed(f"cannot read {path}, which the kubeconfig points to: {error.strerror}") from error
