"""lightkube: typed resources, generic ones for custom kinds; with its plain and its asyncio client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from client_adapters.protocol import PATCH_MEDIA, Adapter, Event, Object, PatchSort, Refused
from lightkube import ApiError, AsyncClient, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Node, Pod
from lightkube.resources.policy_v1 import PodDisruptionBudget
from lightkube.types import CascadeType, PatchType

_RESOURCES = {
    "Namespace": Namespace,
    "Node": Node,
    "Pod": Pod,
    "ConfigMap": ConfigMap,
    "Deployment": Deployment,
    "PodDisruptionBudget": PodDisruptionBudget,
    "CustomResourceDefinition": CustomResourceDefinition,
    "Widget": create_namespaced_resource("lab.example.com", "v1", "Widget", "widgets"),
}


class Lightkube(Adapter):
    """`lightkube.Client`."""

    name = "lightkube"
    errors = (ApiError,)
    lacks: ClassVar = {
        "bookmarks": "its watch has no option for bookmarks or initial events",
        "deleting by selector": "its deletecollection takes no selector",
    }

    def __init__(self, kubeconfig: Path) -> None:
        self._client: Any = self._connect(KubeConfig.from_file(str(kubeconfig)))

    def _connect(self, config: KubeConfig) -> Any:
        return Client(config, field_manager=None)

    def close(self) -> None:
        self._client.close()

    def run(self, answer: Any) -> Any:
        """What a call answers; here it has answered already."""
        return answer

    def collect(self, iterator: Any, count: int | None = None) -> list[Any]:
        """The items of an iterator, or the first of them."""
        items = list(islice(iterator, count))
        if count is not None and hasattr(iterator, "close"):
            iterator.close()
        return items

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except ApiError as error:
            raise Refused.by(error.status.to_dict()) from error

    def _made(self, obj: Object, part: str = "") -> Any:
        return _resource(obj["kind"], part).from_dict(obj)

    def create(self, namespace: str, obj: Object, *, dry_run: bool = False) -> Object:
        where = {"namespace": namespace} if namespace else {}
        with self._translated():
            return self.run(self._client.create(self._made(obj), **where, dry_run=dry_run)).to_dict()

    def get(self, kind: str, namespace: str, name: str) -> Object:
        with self._translated():
            return self.run(self._client.get(_resource(kind), name, **_where(namespace))).to_dict()

    def list(self, kind: str, namespace: str, *, labels: str = "", fields: str = "") -> tuple[list[Object], str]:
        listed = self._client.list(
            _resource(kind), **_everywhere(kind, namespace), labels=_terms(labels), fields=_terms(fields)
        )
        with self._translated():
            found = [obj.to_dict() for obj in self.collect(listed)]
        return found, listed.resourceVersion

    def pages(self, kind: str, namespace: str, limit: int) -> list[list[Object]]:
        """Its list goes from page to page by itself; told apart by how it fetches them."""
        listed = self._client.list(_resource(kind), **_everywhere(kind, namespace), chunk_size=limit)
        return [[obj.to_dict() for obj in page] for _, page in self.collect(listed._inner_iter)]

    def replace(self, namespace: str, obj: Object, *, subresource: str = "") -> Object:
        name = obj["metadata"]["name"]
        made = self._made(obj, subresource)
        with self._translated():
            return self.run(self._client.replace(made, name, **_where(namespace))).to_dict()

    def patch(
        self,
        kind: str,
        namespace: str,
        name: str,
        patch: Any,
        sort: PatchSort,
        *,
        subresource: str = "",
        manager: str = "",
        force: bool = False,
    ) -> Object:
        options: Object = {"patch_type": PatchType(PATCH_MEDIA[sort]), "field_manager": manager or None, "force": force}
        resource = _resource(kind, subresource)
        with self._translated():
            return self.run(self._client.patch(resource, name, patch, **_where(namespace), **options)).to_dict()

    def delete(self, kind: str, namespace: str, name: str, *, propagation: str = "", grace: int | None = None) -> None:
        cascade = CascadeType(propagation) if propagation else None
        options: Object = {"cascade": cascade, "grace_period": grace}
        with self._translated():
            self.run(self._client.delete(_resource(kind), name, **_where(namespace), **options))

    def delete_all(self, kind: str, namespace: str, *, labels: str) -> None:
        raise AssertionError(self.lacks["deleting by selector"])

    def watch(self, kind: str, namespace: str, since: str, count: int, *, labels: str = "") -> list[Event]:
        watched = self._client.watch(
            _resource(kind), namespace=namespace, resource_version=since, server_timeout=30, labels=_terms(labels)
        )
        with self._translated():
            return [(type_, obj.to_dict()) for type_, obj in self.collect(watched, count)]

    def initial_events(self, kind: str, namespace: str, count: int) -> list[Event]:
        raise AssertionError(self.lacks["bookmarks"])

    def scale(self, kind: str, namespace: str, name: str, replicas: int) -> Object:
        scale = _resource(kind, "scale")
        patch = {"spec": {"replicas": replicas}}
        with self._translated():
            self.run(self._client.patch(scale, name, patch, namespace=namespace, patch_type=PatchType.MERGE))
            return self.run(self._client.get(scale, name, namespace=namespace)).to_dict()

    def bind(self, namespace: str, pod: str, node: str) -> None:
        body = {"metadata": {"name": pod}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        # Servers answer with a Status, which lightkube reads as a Binding; some versions of it stumble over that.
        with self._translated(), _unread_answer():
            self.run(self._client.create(Pod.Binding.from_dict(body), pod, namespace=namespace))

    def evict(self, namespace: str, pod: str) -> None:
        body = {"metadata": {"name": pod}}
        with self._translated():
            self.run(self._client.create(Pod.Eviction.from_dict(body), pod, namespace=namespace))

    def logs(self, namespace: str, pod: str) -> str:
        with self._translated():
            return "".join(self.collect(self._client.log(pod, namespace=namespace)))


class LightkubeAsync(Lightkube):
    """`lightkube.AsyncClient`."""

    name = "lightkube async"

    def __init__(self, kubeconfig: Path) -> None:
        self._runner = asyncio.Runner()
        super().__init__(kubeconfig)

    def _connect(self, config: KubeConfig) -> Any:
        return self.run(_made_in_loop(config))

    def close(self) -> None:
        self.run(self._client.close())
        self._runner.close()

    def run(self, answer: Any) -> Any:
        return self._runner.run(answer)

    def collect(self, iterator: Any, count: int | None = None) -> list[Any]:
        async def collected() -> list[Any]:
            items = []
            async for item in iterator:
                items.append(item)
                if len(items) == count:
                    break
            if count is not None and hasattr(iterator, "aclose"):
                await iterator.aclose()
            return items

        return self.run(collected())


@contextmanager
def _unread_answer() -> Iterator[None]:
    try:
        yield
    except ApiError:
        raise
    except Exception as error:
        if "target" not in str(error):
            raise


async def _made_in_loop(config: KubeConfig) -> AsyncClient:
    return AsyncClient(config)


def _resource(kind: str, part: str = "") -> Any:
    resource = _RESOURCES[kind]
    return getattr(resource, part.capitalize()) if part else resource


def _where(namespace: str) -> dict[str, str]:
    return {"namespace": namespace} if namespace else {}


def _everywhere(kind: str, namespace: str) -> dict[str, str]:
    return {"namespace": namespace or "*"} if kind not in ("Namespace", "Node") else {}


def _terms(selector: str) -> dict[str, Any] | None:
    """A selector as lightkube has it: `a=b,c in (d,e)` is {"a": "b", "c": ["d", "e"]}."""
    if not selector:
        return None
    terms: dict[str, Any] = {}
    for term in selector.replace(" in (", "=(").split(", "):
        key, _, value = term.partition("=")
        terms[key] = value[1:-1].split(",") if value.startswith("(") else value
    return terms
