"""The FuncMap of KWOK's templates: the time, and the addresses of nodes and pods.

`signatures` names the functions that a template for a kind may call, so that others are found when it is compiled;
`FuncMap` answers them while a template is rendered for one object, the *current* one. A pod keeps the addresses it
was given, so that rendering twice gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Clock
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.addresses import Addresses
from ghostfleet.stages.steps import Functions

__all__ = ["KUBELET_PORT", "FuncMap", "nano_time", "signatures"]

#: Where kubelets are asked for logs and the like.
KUBELET_PORT = 10250


def _text() -> str:
    return ""


def _number() -> int:
    return 0


def _of_node(name: str) -> str:
    return name


def _of_pod(node: str, host_network: bool, uid: str, name: str, namespace: str) -> str:
    return f"{node}{host_network}{uid}{name}{namespace}"


_COMMON: Functions = {"Now": _text, "StartTime": _text, "Version": _text}
_NODE: Functions = {**_COMMON, "NodeIP": _text, "NodeName": _text, "NodePort": _number}
_POD: Functions = {
    **_COMMON,
    "NodeIP": _text,
    "NodeIPWith": _of_node,
    "NodeIPsWith": _of_node,
    "PodIP": _text,
    "PodIPWith": _of_pod,
    "PodIPsWith": _of_pod,
}


def signatures(api_version: str, kind: str) -> Functions:
    """The functions that stages for a kind may call beyond those of every template; only their parameters count."""
    if api_version != "v1":
        return _COMMON
    return {"Node": _NODE, "Pod": _POD}.get(kind, _COMMON)


def nano_time(us: int) -> str:
    """A time as Go's RFC3339Nano writes it."""
    fraction = us % SECOND
    return f"{rfc3339(us)[:-1]}.{fraction:06d}".rstrip("0") + "Z" if fraction else rfc3339(us)


class FuncMap:
    """The functions that templates of stages call, answered for the current object."""

    def __init__(
        self, clock: Clock, addresses: Addresses, node_of: Callable[[str], Object | None], version: str = "v0.8.0"
    ) -> None:
        self._clock = clock
        self._addresses = addresses
        self._node_of = node_of
        self._version = version
        self._started = nano_time(clock.now())
        self._object: Object = {}
        self._pod_addresses: list[str] | None = None
        self.functions: dict[str, Callable[..., Any]] = {
            "Now": self.now,
            "now": self.now,
            "StartTime": lambda: self._started,
            "Version": lambda: self._version,
            "NodeIP": self.node_ip,
            "NodeName": self.node_name,
            "NodePort": lambda: KUBELET_PORT,
            "NodeIPWith": lambda name: self.node_ips(name)[0],
            "NodeIPsWith": lambda name: self.node_ips(name),
            "PodIP": lambda: self.pod_ips()[0],
            "PodIPWith": lambda *_: self.pod_ips()[0],
            "PodIPsWith": lambda *_: self.pod_ips(),
        }

    def turn_to(self, obj: Object) -> None:
        """From now on this object is the current one."""
        if obj is not self._object:
            self._object = obj
            self._pod_addresses = None

    def now(self) -> str:
        return nano_time(self._clock.now())

    def node_name(self) -> str:
        name: str = self._object["metadata"]["name"]
        return name

    def node_ip(self) -> str:
        """The current node's own address, or the one of the current pod's node."""
        spec = self._object.get("spec") or {}
        return self.node_ips(spec["nodeName"])[0] if spec.get("nodeName") else self._addresses.of_node(self._object)[0]

    def node_ips(self, name: str) -> list[str]:
        node = self._node_of(name)
        return self._addresses.of_node(node) if node is not None else [self._addresses.given_to(name)]

    def pod_ips(self) -> list[str]:
        """The current pod's addresses."""
        if self._pod_addresses is None:
            name = self._object["spec"].get("nodeName", "")
            node = self._node_of(name) or {"metadata": {"name": name}}
            self._pod_addresses = self._addresses.of_pod(self._object, node)
        return self._pod_addresses
