"""Access: how a kubeconfig says that its cluster is reached, and as whom.

Several files count as one, as in kubectl: of entries with one name the first is taken, and so is the first current
context; a path in an entry starts from the entry's own file.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import yaml

from ghostfleet.drive.interface import ConnectionFailed

__all__ = ["Access"]

_PLUGIN_PATIENCE_SECONDS = 60.0
Entry = dict[str, Any]


class _Found(NamedTuple):
    """An entry, and the directory of the file that it stands in."""

    entry: Entry
    directory: Path


class Access:
    """One context of a kubeconfig, or of several files that make up one."""

    def __init__(self, kubeconfig: Path | Sequence[Path], context: str = "") -> None:
        #: The files, and the context that was chosen of them.
        self.files = (kubeconfig,) if isinstance(kubeconfig, Path) else tuple(kubeconfig)
        self.context, cluster, user = _chosen(self.files, context)
        self._cluster, self._user, self._directory = cluster.entry, user.entry, user.directory
        self.url: str = str(self._cluster["server"]).rstrip("/")
        place = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.prefix = place.hostname or "", place.port, place.path.rstrip("/")
        #: What certificates are checked with and shown; None for plain HTTP.
        self.tls = _tls(cluster, user) if place.scheme == "https" else None
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
            token = _plugin_token(user["exec"], self._directory)
        elif user.get("tokenFile"):
            token = _read(self._directory / user["tokenFile"]).decode().strip()
        else:
            token = user.get("token") or ""
        if token:
            return f"Bearer {token}"
        if user.get("username"):
            pair = f"{user['username']}:{user.get('password', '')}"
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
        return ""


def _chosen(files: Sequence[Path], context: str) -> tuple[str, _Found, _Found]:
    """The name of a context, by default the current one, and its cluster and user."""
    configs = _loaded(files)
    place = ", ".join(map(str, files))
    try:
        wanted = context or next((each for _, config in configs if (each := config.get("current-context"))), "")
        if not wanted:
            raise ConnectionFailed(f"{place} has no current-context; name one by --context")
        chosen = _named(configs, "contexts", wanted).entry
        cluster = _named(configs, "clusters", chosen["cluster"])
        if "server" not in cluster.entry:
            raise ConnectionFailed(f"{place}: cluster {chosen['cluster']} has no server")
        return wanted, cluster, _named(configs, "users", chosen["user"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ConnectionFailed(f"{place} is not a kubeconfig that can be used here: {error}") from error


def _loaded(files: Sequence[Path]) -> list[tuple[Path, Entry]]:
    """The files that there are, each with its directory; one must be."""
    configs, problem = [], ""
    for file in files:
        try:
            config = yaml.safe_load(file.read_text())
        except OSError as error:
            problem = problem or f"cannot read {file}: {error.strerror}"
            continue
        except (yaml.YAMLError, UnicodeError) as error:
            raise ConnectionFailed(f"{file} is not a kubeconfig that can be used here: {error}") from error
        if config is not None:
            configs.append((file.parent, config))
    if not configs:
        raise ConnectionFailed(problem or f"{', '.join(map(str, files))} is not a kubeconfig: nothing is in it")
    return configs


def _named(configs: list[tuple[Path, Entry]], sort: str, name: str) -> _Found:
    entries = [(directory, entry) for directory, config in configs for entry in config.get(sort) or ()]
    for directory, entry in entries:
        if entry.get("name") == name:
            return _Found(entry[sort[:-1]] or {}, directory)
    known = ", ".join(str(entry.get("name")) for _, entry in entries) or "none"
    raise ConnectionFailed(f"the kubeconfig has no {sort[:-1]} {name}; it has: {known}")


def _plugin_token(plugin: Entry, directory: Path) -> str:
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


def _tls(cluster: _Found, user: _Found) -> ssl.SSLContext:
    if cluster.entry.get("insecure-skip-tls-verify"):
        context = ssl._create_unverified_context()
    else:
        authority = _content(cluster, "certificate-authority")
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    certificate, key = _content(user, "client-certificate"), _content(user, "client-key")
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


def _content(found: _Found, field: str) -> bytes | None:
    """A certificate or key that a kubeconfig holds or points to."""
    entry = found.entry
    if entry.get(f"{field}-data"):
        return base64.b64decode(entry[f"{field}-data"])
    return _read(found.directory / entry[field]) if entry.get(field) else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConnectionFailed(f"cannot read {path}, which the kubeconfig points to: {error.strerror}") from error
