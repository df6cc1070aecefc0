"""Kubeconfig: the file that tells kubectl and every client library where a cluster is and who to be there.

A cluster called `lab` gets one *entry* in each of the lists `clusters`, `users` and `contexts`, all three named
`ghostfleet-lab`. Such a config can be a file of its own, or be merged into the user's. Merging works on YAML's nodes,
not on values, so whatever else the file holds is written back as it was spelled (a password `0123` stays that); only
comments are lost. While a file is changed, `<file>.lock` keeps kubectl and other writers away, as kubectl does itself.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from ghostfleet.server.secretfile import write_secret

__all__ = ["KubeconfigError", "default_path", "entry_name", "kubeconfig_files", "merge", "remove", "render", "write"]

_LISTS = ("clusters", "users", "contexts")


class KubeconfigError(Exception):
    """A kubeconfig that cannot be read or changed; the file is as it was."""


def entry_name(name: str) -> str:
    """Name of a cluster's entries."""
    return f"ghostfleet-{name}"


def render(name: str, server_url: str, token: str, ca_pem: bytes | None) -> dict[str, Any]:
    """The config of one cluster; `ca_pem` is None where it is served without TLS."""
    entry = entry_name(name)
    cluster = {"server": server_url}
    if ca_pem is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": entry, "cluster": cluster}],
        "users": [{"name": entry, "user": {"token": token}}],
        "contexts": [{"name": entry, "context": {"cluster": entry, "user": entry}}],
        "current-context": entry,
    }


def default_path(environment: Mapping[str, str]) -> Path:
    """The file kubectl would change: the first of KUBECONFIG, else `~/.kube/config`."""
    return kubeconfig_files(environment)[0]


def kubeconfig_files(environment: Mapping[str, str]) -> list[Path]:
    """The files kubectl would read, which count as one config."""
    listed = [Path(path) for path in environment.get("KUBECONFIG", "").split(os.pathsep) if path]
    return listed or [Path("~/.kube/config").expanduser()]


def write(path: Path, config: Mapping[str, Any]) -> None:
    """Write a config as a file of its own, over what is there."""
    write_secret(path, yaml.safe_dump(dict(config), sort_keys=False).encode())


def merge(into_path: Path, config: Mapping[str, Any]) -> None:
    """Add the config's entries to a file, over those of the same names, and make its context the current one."""
    with _locked(into_path):
        root = _read(into_path)
        for key in _LISTS:
            _put_entries(_list(root, key, into_path), config[key])
        for key in ("apiVersion", "kind"):
            if _get(root, key) is None:
                _set(root, key, _node(config[key]))
        _set(root, "current-context", _node(config["current-context"]))
        _save(into_path, root)


def remove(from_path: Path, name: str) -> None:
    """Drop a cluster's entries from a file, and the current context if it was this cluster's."""
    if not from_path.exists():
        return
    entry = entry_name(name)
    with _locked(from_path):
        root = _read(from_path)
        for key in _LISTS:
            entries = _list(root, key, from_path)
            entries.value = [item for item in entries.value if _text(item, "name") != entry]
        if _text(root, "current-context") == entry:
            _set(root, "current-context", _node(""))
        _save(from_path, root)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise KubeconfigError(f"{path} is being changed by somebody else; if not so, delete {lock}") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _read(path: Path) -> yaml.MappingNode:
    """The file's root; an empty one if there is no file or nothing in it."""
    try:
        root = yaml.compose(path.read_bytes(), Loader=yaml.SafeLoader)
    except FileNotFoundError:
        root = None
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise KubeconfigError(f"{path} is not valid YAML: {error}") from error
    if root is None or _is_null(root):
        return _mapping()
    if not isinstance(root, yaml.MappingNode) or _text(root, "kind") not in (None, "Config"):
        raise KubeconfigError(f"{path} is not a kubeconfig")
    return root


def _save(path: Path, root: yaml.MappingNode) -> None:
    write_secret(path, yaml.serialize(root, Dumper=yaml.SafeDumper, allow_unicode=True).encode())


def _mapping() -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", [], flow_style=False)


def _node(value: Any) -> yaml.Node:
    node: yaml.Node = yaml.SafeDumper(io.StringIO()).represent_data(value)
    return node


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _get(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    found: yaml.Node | None = next((value for name, value in mapping.value if name.value == key), None)
    return found


def _set(mapping: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    for index, (name, _) in enumerate(mapping.value):
        if name.value == key:
            mapping.value[index] = (name, value)
            return
    mapping.value.append((_node(key), value))


def _text(mapping: yaml.Node, key: str) -> str | None:
    value = _get(mapping, key) if isinstance(mapping, yaml.MappingNode) else None
    return str(value.value) if isinstance(value, yaml.ScalarNode) and not _is_null(value) else None


def _list(root: yaml.MappingNode, key: str, path: Path) -> yaml.SequenceNode:
    """One of the lists of entries, made if it is absent or null."""
    found = _get(root, key)
    if found is None or _is_null(found):
        found = yaml.SequenceNode("tag:yaml.org,2002:seq", [], flow_style=False)
        _set(root, key, found)
    if not isinstance(found, yaml.SequenceNode):
        raise KubeconfigError(f"{path} is not a kubeconfig: {key} is not a list")
    return found


def _put_entries(entries: yaml.SequenceNode, new: list[dict[str, Any]]) -> None:
    """Replace entries in their place, or append them."""
    # `clusters: []` was written in flow style; entries read better in block style.
    entries.flow_style = False
    for item in new:
        places = [index for index, old in enumerate(entries.value) if _text(old, "name") == item["name"]]
        if places:
            entries.value[places[0]] = _node(item)
        else:
            entries.value.append(_node(item))
