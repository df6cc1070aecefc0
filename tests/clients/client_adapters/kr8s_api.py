"""kr8s, with its asyncio interface: objects that know their API, and `call_api` for what they have no method for."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar

import kr8s
from client_adapters.protocol import KINDS, PATCH_MEDIA, Adapter, Event, Object, PatchSort, Refused
from kr8s.asyncio import api as connect
from kr8s.asyncio.objects import APIObject, Deployment, Pod, new_class


class Kr8s(Adapter):
    """`kr8s.asyncio`."""

    name = "kr8s"
    errors = (kr8s.ServerError, kr8s.NotFoundError)
    lacks: ClassVar = {
        "bookmarks": "its watch has no option for bookmarks or initial events",
        "expiry": "its watch hides a 410: it tries again from the same revision, without end",
        "revision of a list": "its lists do not tell their revision",
    }

    def __init__(self, kubeconfig: Path) -> None:
        self._runner = asyncio.Runner()
        self._api = self._runner.run(self._connect(kubeconfig))

    async def _connect(self, kubeconfig: Path) -> Any:
        with warnings.catch_warnings():
            # It names the versions that it was tested with, and ours is newer.
            warnings.filterwarnings("ignore", "Kubernetes version .* is not supported", UserWarning)
            return await connect(kubeconfig=str(kubeconfig))

    def close(self) -> None:
        self._runner.run(self._api._session.aclose())
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._runner.run(work)
        except kr8s.ServerError as error:
            raise _refused(error) from error
        except kr8s.NotFoundError as error:
            # It has a class of its own for this, which says nothing but its message.
            raise Refused(404, "NotFound", str(error)) from error

    def _object(self, kind: str, namespace: str, obj: Object) -> APIObject:
        return _class(kind)(obj, namespace=namespace or None, api=self._api)

    def _named(self, kind: str, namespace: str, name: str) -> APIObject:
        return self._object(kind, namespace, {"metadata": {"name": name}})

    async def _send(self, method: str, kind: str, namespace: str, path: str, body: Any, **options: Any) -> Any:
        about = KINDS[kind]
        async with self._api.call_api(
            method,
            version=about.api_version,
            url=f"{about.plural}{path}",
            namespace=namespace if about.namespaced else None,
            content=json.dumps(body) if body is not None else None,
            **options,
        ) as response:
            return response.json()

    def create(self, namespace: str, obj: Object, *, dry_run: bool = False) -> Object:
        if dry_run:
            return self._run(self._send("POST", obj["kind"], namespace, "", obj, params={"dryRun": "All"}))

        async def created() -> Object:
            made = self._object(obj["kind"], namespace, obj)
            await made.create()
            return made.to_dict()

        return self._run(created())

    def get(self, kind: str, namespace: str, name: str) -> Object:
        async def got() -> Object:
            found = self._named(kind, namespace, name)
            await found.refresh()
            return found.to_dict()

        return self._run(got())

    def list(self, kind: str, namespace: str, *, labels: str = "", fields: str = "") -> tuple[list[Object], str]:
        async def listed() -> list[Object]:
            return [
                obj.to_dict()
                async for obj in self._api.get(
                    _class(kind), namespace=namespace or kr8s.ALL, label_selector=labels, field_selector=fields
                )
            ]

        return self._run(listed()), ""

    def pages(self, kind: str, namespace: str, limit: int) -> list[list[Object]]:
        pages: list[list[Object]] = []
        params: dict[str, Any] = {"limit": limit}
        while True:
            page = self._run(self._send("GET", kind, namespace, "", None, params=params))
            pages.append(page["items"])
            params["continue"] = page["metadata"].get("continue")
            if not params["continue"]:
                return pages

    def replace(self, namespace: str, obj: Object, *, subresource: str = "") -> Object:
        path = f"/{obj['metadata']['name']}" + (f"/{subresource}" if subresource else "")
        return self._run(self._send("PUT", obj["kind"], namespace, path, obj))

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
        if sort in ("json", "merge") and not manager:

            async def patched() -> Object:
                obj = self._named(kind, namespace, name)
                await obj.patch(patch, type=sort, subresource=subresource or None)
                return obj.to_dict()

            return self._run(patched())
        params = ({"fieldManager": manager} if manager else {}) | ({"force": "true"} if force else {})
        path = f"/{name}" + (f"/{subresource}" if subresource else "")
        headers = {"Content-Type": PATCH_MEDIA[sort]}
        return self._run(self._send("PATCH", kind, namespace, path, patch, headers=headers, params=params))

    def delete(self, kind: str, namespace: str, name: str, *, propagation: str = "", grace: int | None = None) -> None:
        obj = self._named(kind, namespace, name)
        options: Object = {"force": True} if grace == 0 else {"grace_period": grace}
        self._run(obj.delete(propagation_policy=propagation or None, **options))

    def delete_all(self, kind: str, namespace: str, *, labels: str) -> None:
        self._run(self._send("DELETE", kind, namespace, "", None, params={"labelSelector": labels}))

    def watch(self, kind: str, namespace: str, since: str, count: int, *, labels: str = "") -> list[Event]:
        async def watched() -> list[Event]:
            events: list[Event] = []
            about = KINDS[kind]
            name = f"{about.kind.lower()}.{about.api_version}" if about.group else about.plural
            stream = self._api.watch(name, namespace=namespace, label_selector=labels or None, since=since)
            async for type_, obj in stream:
                events.append((type_, obj.to_dict()))
                if len(events) == count:
                    break
            await stream.aclose()
            return events

        return self._run(watched())

    def initial_events(self, kind: str, namespace: str, count: int) -> list[Event]:
        raise AssertionError(self.lacks["bookmarks"])

    def scale(self, kind: str, namespace: str, name: str, replicas: int) -> Object:
        async def scaled() -> Object:
            obj = self._named(kind, namespace, name)
            await obj.scale(replicas)
            return await self._send("GET", kind, namespace, f"/{name}/scale", None)

        return self._run(scaled())

    def bind(self, namespace: str, pod: str, node: str) -> None:
        body = {"metadata": {"name": pod}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        self._run(self._send("POST", "Pod", namespace, f"/{pod}/binding", body))

    def evict(self, namespace: str, pod: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        self._run(self._send("POST", "Pod", namespace, f"/{pod}/eviction", body))

    def logs(self, namespace: str, pod: str) -> str:
        async def lines() -> str:
            obj = Pod({"metadata": {"name": pod}}, namespace=namespace, api=self._api)
            return "".join([f"{line}\n" async for line in obj.logs()])

        return self._run(lines())


def _class(kind: str) -> type[APIObject]:
    if kind == "Deployment":
        return Deployment
    about = KINDS[kind]
    known: dict[str, type[APIObject]] = {"Pod": Pod}
    return known.get(kind) or new_class(
        kind, version=about.api_version, namespaced=about.namespaced, plural=about.plural, scalable=kind == "Widget"
    )


def _refused(error: kr8s.ServerError) -> Refused:
    if isinstance(error.status, dict):
        return Refused.by(error.status)
    assert error.response is not None
    return Refused(error.response.status_code, "", str(error))
