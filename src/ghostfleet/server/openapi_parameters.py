"""Parameters that operations take, as OpenAPI writes them.

A *set* of parameters belongs to a sort of operation: listing, writing, patching, deleting, reading a log.
"""

from __future__ import annotations

from typing import Any

__all__ = ["DELETE", "LIST", "LOG", "PATCH", "WRITE", "parameter_v2", "parameter_v3"]

LIST = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
)
WRITE = ("dryRun", "fieldManager", "fieldValidation")
PATCH = (*WRITE, "force")
DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
LOG = (
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
)

_BOOLEANS = frozenset(
    {
        "allowWatchBookmarks",
        "follow",
        "force",
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "insecureSkipTLSVerifyBackend",
        "orphanDependents",
        "previous",
        "sendInitialEvents",
        "timestamps",
        "watch",
    }
)
_INTEGERS = frozenset({"gracePeriodSeconds", "limit", "limitBytes", "sinceSeconds", "tailLines", "timeoutSeconds"})
_IN_PATH = frozenset({"name", "namespace"})
_TEXTS = {
    "allowWatchBookmarks": "Send events of type BOOKMARK in a watch, which carry nothing but a resource version.",
    "container": "The container to read; needed where the pod has several.",
    "continue": "The continue token of the page before, to get the next one.",
    "dryRun": "Check and answer as usual, but store nothing. The only valid value is All.",
    "fieldManager": "Name of who makes the change, under which server-side apply records the fields.",
    "fieldSelector": "Only objects whose fields match this selector.",
    "fieldValidation": "What to do about unknown or duplicate fields: Ignore, Warn (the default) or Strict.",
    "follow": "Keep sending the log as it grows.",
    "force": "Take over fields that others own; server-side apply only.",
    "gracePeriodSeconds": "Seconds before the object is deleted; zero deletes it at once.",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "Delete the object even if it cannot be read.",
    "insecureSkipTLSVerifyBackend": "Do not check the certificate of the kubelet.",
    "labelSelector": "Only objects whose labels match this selector.",
    "limit": "Answer at most this many objects, and a continue token if there are more.",
    "limitBytes": "Send at most this many bytes.",
    "namespace": "object name and auth scope, such as for teams and projects",
    "orphanDependents": "Deprecated, use propagationPolicy: whether dependents are left as orphans.",
    "pretty": "If true, the answer is indented.",
    "previous": "Read the log of the container's previous run.",
    "propagationPolicy": "What becomes of dependents: Orphan, Background or Foreground.",
    "resourceVersion": "The version to list, or to watch from.",
    "resourceVersionMatch": "How resourceVersion is meant in a list: Exact or NotOlderThan.",
    "sendInitialEvents": "Begin a watch with the objects that exist, and mark their end with a bookmark.",
    "shardSelector": "Only objects of this shard.",
    "sinceSeconds": "Only lines younger than this.",
    "stream": "Which stream to read: All, Stdout or Stderr.",
    "tailLines": "Only this many lines from the end.",
    "timeoutSeconds": "End the call or watch after this time.",
    "timestamps": "Begin each line with its time.",
    "watch": "Send changes as they happen instead of a list.",
}


def _type(name: str) -> str:
    return "boolean" if name in _BOOLEANS else "integer" if name in _INTEGERS else "string"


def _place(name: str) -> dict[str, Any]:
    return {"in": "path", "required": True} if name in _IN_PATH else {"in": "query"}


def parameter_v3(name: str, kind: str) -> dict[str, Any]:
    text = f"name of the {kind}" if name == "name" else _TEXTS[name]
    schema = {"type": _type(name), "uniqueItems": True}
    return {"name": name, **_place(name), "description": text, "schema": schema}


def parameter_v2(name: str) -> dict[str, Any]:
    """The same in swagger; without words, which nobody reads there."""
    return {"name": name, **_place(name), "type": _type(name), "uniqueItems": True}
