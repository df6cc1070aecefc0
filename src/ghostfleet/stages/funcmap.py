"""The FuncMap of KWOK's templates: the time, and the addresses of nodes and pods.

`signatures` names the functions that a template for a kind may call, so that others are found when it is compiled;
`FuncMap` answers them while a template is rendered for one object, the *current* one. A pod keeps the addresses it
was given, so that rendering twice gives the same.

A *pool* hands out the addresses of one range in order, beginning with the second, and takes back those of pods that are
gone; it goes on past the end of its range rather than running dry, as KWOK's does. A node that states no address of its
own is given one. A pod gets an address from the range of its node, or from the common one, and keeps it; pods on the
host's network have those of their node.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Callable
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Clock
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.steps import Functions

__all__ = ["Addresses", "FuncMap", "nano_time", "signatures"]

_POD_RANGE = "10.0.0.0/24"
_NODE_RANGE = "172.16.0.0/12"
#: Where kubelets are asked for logs and the like.
_KUBELET_PORT = 10250


class _Pool:
    """The addresses of one range."""

    __slots__ = ("_base", "_free", "_index", "_taken", "_version")

    def __init__(self, cidr: str) -> None:
        network = ipaddress.ip_network(cidr, strict=False)
        self._version = network.version
        self._base = int(network.network_address)
        self._index = 0
        self._free: deque[int] = deque()
        #: numbers that were not handed out here but are in use
        self._taken: set[int] = set()

    def get(self) -> str:
        if self._free:
            number = self._free.popleft()
        else:
            self._index += 1
            while self._base + self._index in self._taken:
                self._index += 1
            number = self._base + self._index
        return _dotted(number) if self._version == 4 else str(ipaddress.IPv6Address(number))

    def put(self, address: str) -> None:
        number = self._number(address)
        if self._base < number <= self._base + self._index:
            self._free.append(number)
        self._taken.discard(number)

    def use(self, address: str) -> None:
        number = self._number(address)
        if number > self._base + self._index:
            self._taken.add(number)

    def _number(self, address: str) -> int:
        parts = address.split(".")
        if len(parts) == 4 and address.isascii() and all(map(str.isdigit, parts)):
            number = int(parts[0]) << 24 | int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3])
            # Only what is written just as it is handed out; a part beyond 255, or with a nought in front, is not.
            return number if _dotted(number) == address else -1
        try:
            return int(ipaddress.ip_address(address))
        except ValueError:
            return -1


def _dotted(number: int) -> str:
    return f"{number >> 24 & 255}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


class Addresses:
    """All addresses of one fleet."""

    def __init__(self, pod_range: str = _POD_RANGE, node_range: str = _NODE_RANGE) -> None:
        self._pod_range = (pod_range,)
        self._pools: dict[str, _Pool] = {}
        self._node_pool = _Pool(node_range)
        self._given: dict[str, str] = {}
        self._hosts: dict[str, tuple[Any, list[str]]] = {}

    # -- nodes -------------------------------------------------------------------------------------------------------

    def of_node(self, node: Object) -> list[str]:
        """The addresses of a node: the first it states, one more of the other family, or the one it is given."""
        name = node["metadata"]["name"]
        stated = (node.get("status") or {}).get("addresses")
        known = self._hosts.get(name)
        if known is None or known[0] is not stated:
            known = self._hosts[name] = (stated, _stated_addresses(stated or ()) or [self.given_to(name)])
        return known[1]

    def given_to(self, node: str) -> str:
        """The address of a node that has none of its own."""
        address = self._given.get(node)
        if address is None:
            address = self._given[node] = self._node_pool.get()
        return address

    def forget_node(self, name: str) -> None:
        self._hosts.pop(name, None)
        given = self._given.pop(name, None)
        if given is not None:
            self._node_pool.put(given)

    # -- pods --------------------------------------------------------------------------------------------------------

    def of_pod(self, pod: Object, node: Object) -> list[str]:
        """The addresses of a pod, new ones if it has none yet."""
        if pod["spec"].get("hostNetwork"):
            return self.of_node(node)
        status = pod.get("status") or {}
        if status.get("podIPs"):
            return [each["ip"] for each in status["podIPs"]]
        if status.get("podIP"):
            return [status["podIP"]]
        return [self._pool(cidr).get() for cidr in self._ranges(node)]

    def use(self, pod: Object, node: Object) -> None:
        """Note that a pod has its addresses already, wherever they are from."""
        for pool, address in self._own(pod, node):
            pool.use(address)

    def release(self, pod: Object, node: Object | None) -> None:
        """Take back the addresses of a pod that is gone."""
        for pool, address in self._own(pod, node):
            pool.put(address)

    def _own(self, pod: Object, node: Object | None) -> list[tuple[_Pool, str]]:
        status = pod.get("status") or {}
        if not status.get("podIP") or pod["spec"].get("hostNetwork"):
            return []
        addresses = [each["ip"] for each in status.get("podIPs") or ({"ip": status["podIP"]},)]
        return [(self._pool(cidr), address) for cidr, address in zip(self._ranges(node), addresses, strict=False)]

    def _ranges(self, node: Object | None) -> tuple[str, ...]:
        spec = node.get("spec") if node is not None else None
        if not spec or "podCIDR" not in spec:
            return tuple(spec["podCIDRs"]) if spec and spec.get("podCIDRs") else self._pod_range
        return tuple(spec.get("podCIDRs") or ()) or (spec["podCIDR"],)

    def _pool(self, cidr: str) -> _Pool:
        pool = self._pools.get(cidr)
        if pool is None:
            pool = self._pools[cidr] = _Pool(cidr)
        return pool


def _stated_addresses(stated: Any) -> list[str]:
    """Internal addresses before external ones; the first of them, and the first of the other family."""
    found = [
        each["address"]
        for kind in ("InternalIP", "ExternalIP")
        for each in stated
        if each.get("type") == kind and _is_address(each.get("address", ""))
    ]
    return found[:1] + next(([each] for each in found[1:] if (":" in each) != (":" in found[0])), [])


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


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
            "NodePort": lambda: _KUBELET_PORT,
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
