"""The interface to a cluster, whichever it is: what every tool of the lab is written against, once.

A *cluster* takes the verbs of the Kubernetes API and has a time of its own. Tools are coroutines: `cluster.run(tool)`
plays one, `await cluster.sleep(...)` lets cluster time pass, and `await cluster.together(...)` does several things at
once. On an embedded cluster with a virtual clock no real time passes in a sleep; on a real one it does; the tool does
not know. All times are microseconds since the epoch, in cluster time.

A *kind* says where objects of one sort are found: group, version and plural. An answer that is an error is raised as
`Refused`, a cluster that does not answer as `ConnectionFailed`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from ghostfleet.core.changes import Object
from ghostfleet.core.ratelimit import Saturated

__all__ = [
    "DEPLOYMENTS",
    "EVENTS",
    "JOBS",
    "NAMESPACES",
    "NODES",
    "PERSISTENT_VOLUME_CLAIMS",
    "PODS",
    "Cluster",
    "ClusterInfo",
    "ConnectionFailed",
    "Kind",
    "Refused",
    "Seen",
]

T = TypeVar("T")
#: What a watch calls: the cluster's time, ADDED / MODIFIED / DELETED, and the object.
Seen = Callable[[int, str, Object], None]


class ConnectionFailed(Exception):
    """The cluster cannot be reached; the message says why."""


class Refused(Exception):
    """The cluster answered with an error."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class Kind(NamedTuple):
    """Where objects of one sort are found."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of one object, or of all in a namespace, or of all."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{place}/{self.plural}{f'/{name}' if name else ''}"


NAMESPACES = Kind("", "v1", "namespaces", namespaced=False)
NODES = Kind("", "v1", "nodes", namespaced=False)
PODS = Kind("", "v1", "pods")
EVENTS = Kind("", "v1", "events")
PERSISTENT_VOLUME_CLAIMS = Kind("", "v1", "persistentvolumeclaims")
JOBS = Kind("batch", "v1", "jobs")
DEPLOYMENTS = Kind("apps", "v1", "deployments")


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What a cluster is, for reports and for messages."""

    #: Where it is: `embedded`, or its address.
    address: str
    #: `virtual`, `wall` or `scaled:N`.
    clock: str
    #: The Kubernetes version that it says it has.
    version: str
    #: True when ghostfleet made it (then its workload controllers and stages are ours).
    ghostfleet: bool
    #: How fast its components are modelled: the profile's name; "" on a real cluster.
    profile: str = ""
    #: The dispatcher in front of its scheduler; "" where none is known.
    dispatcher: str = ""
    #: What else makes a cluster of ghostfleet's what it is: schedulers and their configuration, stages ...
    made: Mapping[str, Any] = field(default_factory=dict)
    #: What tells it from every other cluster: the uid of its namespace kube-system; "" where that cannot be read.
    uid: str = ""
    #: The kubeconfig and the context by which it was reached; "" where none was needed.
    kubeconfig: str = ""
    context: str = ""


class Cluster(Protocol):
    """A cluster, embedded or real, by the verbs of its API. `kind` objects carry their namespace in their metadata."""

    @property
    def info(self) -> ClusterInfo: ...

    def now(self) -> int:
        """The cluster's time."""
        ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Play a coroutine to its end. Ctrl-C cancels it (it sees CancelledError) and is then raised."""
        ...

    async def sleep(self, microseconds: int) -> None:
        """Let cluster time pass."""
        ...

    async def together(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Do several things at once; answers their results in order when all are done.

        When one fails, the others still end; then the first error is raised.
        """
        ...

    async def resolve(self, api_version: str, kind: str) -> Kind | None:
        """Where objects of a manifest's apiVersion and kind are found; None when the cluster does not serve them."""
        ...

    async def create(self, kind: Kind, obj: Object) -> Object: ...

    async def get(self, kind: Kind, namespace: str, name: str) -> Object: ...

    async def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        """All objects of a namespace (or of all), by a label selector where one is given."""
        ...

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        """Change an object by a merge patch."""
        ...

    async def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Delete an object, and in the background what it owns."""
        ...

    async def delete_all(self, kind: Kind, namespace: str, labels: str) -> None:
        """Delete all objects of a namespace that a label selector finds, and in the background what they own."""
        ...

    async def saturation(self) -> Sequence[Saturated] | None:
        """How long each limit of its modelled components held something up so far; None on a real cluster."""
        ...

    def watch(self, kind: Kind, namespace: str, labels: str, seen: Seen) -> Callable[[], None]:
        """Call `seen` for what is there and for every change from now on; answers how to stop that."""
        ...

    def close(self) -> None: ...
