"""The official client without types: resources are found by discovery."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kubernetes
from client_adapters.protocol import KINDS, PATCH_MEDIA, Adapter, Event, Object, PatchSort, Refused
from kubernetes.dynamic.exceptions import DynamicApiError


class Dynamic(Adapter):
    """`kubernetes.dynamic`."""

    name = "kubernetes.dynamic"
    errors = (DynamicApiError, kubernetes.client.ApiException)

    def __init__(self, kubeconfig: Path) -> None:
        self._api = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._discovered: Any = None

    @property
    def _client(self) -> Any:
        if self._discovered is None:
            # It asks the server for its version at once.
            self._discovered = kubernetes.dynamic.DynamicClient(self._api)
        return self._discovered

    def close(self) -> None:
        self._api.close()

    @contextmanager
    def _resource(self, kind: str, part: str = "") -> Iterator[Any]:
        about = KINDS[kind]
        try:
            resource = self._client.resources.get(api_version=about.api_version, kind=kind)
            yield resource.subresources[part] if part else resource
        except self.errors as error:
            raise _refused(error) from error

    def create(self, namespace: str, obj: Object, *, dry_run: bool = False) -> Object:
        options = {"dry_run": "All"} if dry_run else {}
        with self._resource(obj["kind"]) as resource:
            return resource.create(body=obj, namespace=namespace, **options).to_dict()

    def get(self, kind: str, namespace: str, name: str) -> Object:
        with self._resource(kind) as resource:
            return resource.get(name=name, namespace=namespace).to_dict()

    def list(self, kind: str, namespace: str, *, labels: str = "", fields: str = "") -> tuple[list[Object], str]:
        found = self._list(kind, namespace, label_selector=labels, field_selector=fields)
        return found["items"], found["metadata"]["resourceVersion"]

    def _list(self, kind: str, namespace: str, **options: Any) -> Object:
        with self._resource(kind) as resource:
            return resource.get(namespace=namespace or None, **options).to_dict()

    def pages(self, kind: str, namespace: str, limit: int) -> list[list[Object]]:
        pages, token = [], None
        while True:
            page = self._list(kind, namespace, limit=limit, _continue=token)
            pages.append(page["items"])
            token = page["metadata"].get("continue")
            if not token:
                return pages

    def replace(self, namespace: str, obj: Object, *, subresource: str = "") -> Object:
        with self._resource(obj["kind"], subresource) as resource:
            return resource.replace(body=obj, namespace=namespace).to_dict()

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
        options = {"field_manager": manager} if manager else {}
        with self._resource(kind, subresource) as resource:
            if sort == "apply":
                apply = self._client.server_side_apply
                done = apply(resource, body=patch, name=name, namespace=namespace, force_conflicts=force, **options)
            else:
                media = PATCH_MEDIA[sort]
                done = resource.patch(body=patch, name=name, namespace=namespace, content_type=media, **options)
            return done.to_dict()

    def delete(self, kind: str, namespace: str, name: str, *, propagation: str = "", grace: int | None = None) -> None:
        with self._resource(kind) as resource:
            resource.delete(
                name=name, namespace=namespace, propagation_policy=propagation or None, grace_period_seconds=grace
            )

    def delete_all(self, kind: str, namespace: str, *, labels: str) -> None:
        with self._resource(kind) as resource:
            resource.delete(namespace=namespace, label_selector=labels)

    def watch(self, kind: str, namespace: str, since: str, count: int, *, labels: str = "") -> list[Event]:
        return self._watch(kind, namespace, count, resource_version=since, label_selector=labels)

    def initial_events(self, kind: str, namespace: str, count: int) -> list[Event]:
        match = {"resource_version_match": "NotOlderThan", "allow_watch_bookmarks": True}
        return self._watch(kind, namespace, count, send_initial_events=True, **match)

    def _watch(self, kind: str, namespace: str, count: int, **options: Any) -> list[Event]:
        watcher = kubernetes.watch.Watch()
        events: list[Event] = []
        with self._resource(kind) as resource:
            for event in resource.watch(namespace=namespace, timeout=30, watcher=watcher, **options):
                events.append((event["type"], event["raw_object"]))
                if len(events) == count:
                    watcher.stop()
        return events

    def scale(self, kind: str, namespace: str, name: str, replicas: int) -> Object:
        patch = {"spec": {"replicas": replicas}}
        with self._resource(kind, "scale") as scale:
            scale.patch(body=patch, name=name, namespace=namespace, content_type=PATCH_MEDIA["merge"])
            return scale.get(name=name, namespace=namespace).to_dict()

    def bind(self, namespace: str, pod: str, node: str) -> None:
        body = {"metadata": {"name": pod}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        with self._resource("Pod", "binding") as resource:
            resource.create(body=body, name=pod, namespace=namespace)

    def evict(self, namespace: str, pod: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        with self._resource("Pod", "eviction") as resource:
            resource.create(body=body, name=pod, namespace=namespace)

    def logs(self, namespace: str, pod: str) -> str:
        with self._resource("Pod", "log") as resource:
            return resource.get(name=pod, namespace=namespace)


def _refused(error: Any) -> Refused:
    if error.body:
        return Refused.by(json.loads(error.body))
    reason, _, message = error.reason.partition(": ")
    return Refused(error.status, reason, message)
