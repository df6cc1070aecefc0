"""The two clients that are generated from Kubernetes' OpenAPI, official and asyncio: the same names, in two colours."""

from __future__ import annotations

import asyncio
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import kubernetes
import kubernetes_asyncio
from client_adapters.protocol import KINDS, PATCH_MEDIA, Adapter, Event, Object, PatchSort, Refused

_GROUPS = {
    "v1": "CoreV1Api",
    "apps/v1": "AppsV1Api",
    "policy/v1": "PolicyV1Api",
    "apiextensions.k8s.io/v1": "ApiextensionsV1Api",
}


class OpenApi(Adapter):
    """Typed calls such as `create_namespaced_pod`; custom objects by their own API."""

    module: ClassVar[Any]
    client: Any

    @abstractmethod
    def run(self, call: Callable[[], Any]) -> Any:
        """What a call answers."""

    @abstractmethod
    def stream(self, call: Callable[..., Any], count: int, **options: Any) -> list[Event]:
        """The first events of a watch."""

    def _method(self, verb: str, kind: str, namespace: str, part: str = "") -> Callable[..., Any]:
        """The method for a verb on a kind, with everything filled in that says where."""
        about = KINDS[kind]
        if about.api_version not in _GROUPS:
            spelled = {"read": "get"}.get(verb, verb)
            api = self.module.client.CustomObjectsApi(self.client)
            method = getattr(api, f"{spelled}_namespaced_custom_object{f'_{part}' if part else ''}")
            return partial(method, about.group, about.version, namespace, about.plural)
        api = getattr(self.module.client, _GROUPS[about.api_version])(self.client)
        words = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
        if about.namespaced and not namespace:
            return getattr(api, f"{verb}_{words}_for_all_namespaces")
        where = "namespaced_" if about.namespaced else ""
        if verb == "delete_collection":
            return partial(getattr(api, f"delete_collection_{where}{words}"), namespace)
        return getattr(api, f"{verb}_{where}{words}{f'_{part}' if part else ''}")

    def _place(self, kind: str, namespace: str) -> dict[str, str]:
        about = KINDS[kind]
        return {"namespace": namespace} if about.namespaced and namespace and about.api_version in _GROUPS else {}

    def _call(self, method: Callable[..., Any], **options: Any) -> Any:
        with self._translated():
            return self.client.sanitize_for_serialization(self.run(partial(method, **options)))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            raise _refused(error) from error

    def create(self, namespace: str, obj: Object, *, dry_run: bool = False) -> Object:
        kind = obj["kind"]
        options = {"dry_run": "All"} if dry_run else {}
        method = self._method("create", kind, namespace)
        return self._call(method, body=obj, **self._place(kind, namespace), **options)

    def get(self, kind: str, namespace: str, name: str) -> Object:
        return self._call(self._method("read", kind, namespace), name=name, **self._place(kind, namespace))

    def list(self, kind: str, namespace: str, *, labels: str = "", fields: str = "") -> tuple[list[Object], str]:
        found = self._list(kind, namespace, label_selector=labels, field_selector=fields)
        return found["items"], found["metadata"]["resourceVersion"]

    def _list(self, kind: str, namespace: str, **options: Any) -> Object:
        return self._call(self._method("list", kind, namespace), **self._place(kind, namespace), **options)

    def pages(self, kind: str, namespace: str, limit: int) -> list[list[Object]]:
        pages, token = [], ""
        while True:
            more = {"_continue": token} if token else {}
            page = self._list(kind, namespace, limit=limit, **more)
            pages.append(page["items"])
            token = page["metadata"].get("continue", "")
            if not token:
                return pages

    def replace(self, namespace: str, obj: Object, *, subresource: str = "") -> Object:
        kind = obj["kind"]
        method = self._method("replace", kind, namespace, subresource)
        return self._call(method, name=obj["metadata"]["name"], body=obj, **self._place(kind, namespace))

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
        options: Object = {"_content_type": PATCH_MEDIA[sort]}
        options |= {"field_manager": manager} if manager else {}
        options |= {"force": True} if force else {}
        method = self._method("patch", kind, namespace, subresource)
        return self._call(method, name=name, body=patch, **self._place(kind, namespace), **options)

    def delete(self, kind: str, namespace: str, name: str, *, propagation: str = "", grace: int | None = None) -> None:
        options: Object = {"propagation_policy": propagation} if propagation else {}
        options |= {"grace_period_seconds": grace} if grace is not None else {}
        self._call(self._method("delete", kind, namespace), name=name, **self._place(kind, namespace), **options)

    def delete_all(self, kind: str, namespace: str, *, labels: str) -> None:
        self._call(self._method("delete_collection", kind, namespace), label_selector=labels)

    def watch(self, kind: str, namespace: str, since: str, count: int, *, labels: str = "") -> list[Event]:
        options = {"resource_version": since, "label_selector": labels}
        method = self._method("list", kind, namespace)
        with self._translated():
            return self.stream(method, count, **self._place(kind, namespace), **options, timeout_seconds=30)

    def initial_events(self, kind: str, namespace: str, count: int) -> list[Event]:
        method = self._method("list", kind, namespace)
        options = {"send_initial_events": True, "resource_version_match": "NotOlderThan", "allow_watch_bookmarks": True}
        with self._translated():
            return self.stream(method, count, **self._place(kind, namespace), **options, timeout_seconds=30)

    def scale(self, kind: str, namespace: str, name: str, replicas: int) -> Object:
        options = {"name": name, **self._place(kind, namespace)}
        patch = {"spec": {"replicas": replicas}}
        media = PATCH_MEDIA["merge"]
        self._call(self._method("patch", kind, namespace, "scale"), body=patch, **options, _content_type=media)
        return self._call(self._method("read", kind, namespace, "scale"), **options)

    def bind(self, namespace: str, pod: str, node: str) -> None:
        body = {"metadata": {"name": pod}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        method = self._method("create", "Pod", namespace, "binding")
        # The answer is a Status, which the client would try to read as a Binding.
        self._call(method, name=pod, namespace=namespace, body=body, _preload_content=False)

    def evict(self, namespace: str, pod: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        method = self._method("create", "Pod", namespace, "eviction")
        self._call(method, name=pod, namespace=namespace, body=body, _preload_content=False)

    def logs(self, namespace: str, pod: str) -> str:
        return self._call(self._method("read", "Pod", namespace, "log"), name=pod, namespace=namespace)


def _refused(error: Any) -> Refused:
    if error.body:
        return Refused.by(json.loads(error.body))
    # An error inside a watch has no body; both clients make its reason "<reason>: <message>".
    reason, _, message = error.reason.partition(": ")
    return Refused(error.status, reason, message)


class Official(OpenApi):
    """`kubernetes`, typed."""

    name = "kubernetes"
    module = kubernetes
    errors = (kubernetes.client.ApiException,)

    def __init__(self, kubeconfig: Path) -> None:
        self.client = kubernetes.config.new_client_from_config(str(kubeconfig))

    def close(self) -> None:
        self.client.close()

    def run(self, call: Callable[[], Any]) -> Any:
        answer = call()
        status = getattr(answer, "status", None)
        if isinstance(status, int):
            # A response that the client has not read: it leaves the judging to us.
            body = answer.read() if hasattr(answer, "read") else answer.data
            if status >= 300:
                raise kubernetes.client.ApiException(status=status, reason="", body=body.decode())
            return json.loads(body)
        return answer

    def stream(self, call: Callable[..., Any], count: int, **options: Any) -> list[Event]:
        watch = kubernetes.watch.Watch()
        events: list[Event] = []
        for event in watch.stream(call, **options):
            events.append((event["type"], event["raw_object"]))
            if len(events) == count:
                watch.stop()
        return events


class Asyncio(OpenApi):
    """`kubernetes_asyncio`."""

    name = "kubernetes_asyncio"
    module = kubernetes_asyncio
    errors = (kubernetes_asyncio.client.ApiException,)

    def __init__(self, kubeconfig: Path) -> None:
        self._runner = asyncio.Runner()
        self.client = self._runner.run(kubernetes_asyncio.config.new_client_from_config(str(kubeconfig)))

    def close(self) -> None:
        self._runner.run(self.client.close())
        self._runner.close()

    def run(self, call: Callable[[], Any]) -> Any:
        async def answered() -> Any:
            answer = await call()
            if hasattr(answer, "read") and hasattr(answer, "status"):
                body = await answer.read()
                if answer.status >= 300:
                    error = kubernetes_asyncio.client.ApiException(status=answer.status, reason="")
                    error.body = body.decode()
                    raise error
                return json.loads(body)
            return answer

        return self._runner.run(answered())

    def stream(self, call: Callable[..., Any], count: int, **options: Any) -> list[Event]:
        async def watched() -> list[Event]:
            events: list[Event] = []
            async with kubernetes_asyncio.watch.Watch().stream(call, **options) as stream:
                async for event in stream:
                    events.append((event["type"], event["raw_object"]))
                    if len(events) == count:
                        break
            return events

        return self._runner.run(watched())
