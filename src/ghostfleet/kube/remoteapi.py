"""The verbs on a foreign cluster: what stages do goes there as requests, just as they say it.

The answer that a caller gets is what the mirror would make of the request; what the cluster made of it, the mirror
shows when the cluster tells.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import replace
from typing import Any

from ghostfleet.api.kinds import Registry, Resource, Version, storage_key
from ghostfleet.api.options import DeleteOptions, PatchType, WriteOptions
from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.randomness import Streams
from ghostfleet.kube.mirror import MERGE_PATCH, Mirror, path_of
from ghostfleet.kube.sender import Sender, Write

__all__ = ["RemoteApi"]

_MEDIA: dict[PatchType, str] = {
    "json": "application/json-patch+json",
    "merge": MERGE_PATCH,
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class RemoteApi(Api):
    """Verbs that read a mirror and write to the cluster behind it."""

    def __init__(self, mirror: Mirror, registry: Registry, streams: Streams, sender: Sender) -> None:
        super().__init__(mirror, registry, streams)
        self._sender = sender

    def create(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        obj: Any,
        options: WriteOptions,
        *,
        name: str = "",
        subresource: str = "",
    ) -> Object:
        """Create an object; one that is there already is applied over."""
        called = name or str((obj.get("metadata") or {}).get("name") or "")
        create = self._write(resource, version, namespace, called, "POST", obj, "application/json", subresource)
        if called and not subresource:
            path = path_of(resource, namespace, called, version.name) + _query(replace(options, force=True), "apply")
            create.instead = {409: Write(create.key, "PATCH", path, obj, _MEDIA["apply"])}
        self._sender.send(create)
        return dict(obj)

    def patch(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        patch_type: PatchType,
        patch: Any,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Object, bool]:
        try:
            outcome = super().patch(
                resource, version, namespace, name, patch_type, patch, replace(options, dry_run=True), subresource
            )
        except ApiError:
            # The cluster may see it differently, or hold what the mirror does not.
            if options.dry_run:
                raise
            outcome = (self.store.find(storage_key(resource), namespace, name) or {}, False)
        if not options.dry_run:
            write = self._write(resource, version, namespace, name, "PATCH", patch, _MEDIA[patch_type], subresource)
            write.path += _query(options, patch_type)
            self._sender.send(write)
        return outcome

    def delete(
        self, resource: Resource, version: Version, namespace: str, name: str, options: DeleteOptions
    ) -> tuple[Object, bool]:
        asked: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if options.grace_seconds is not None:
            asked["gracePeriodSeconds"] = options.grace_seconds
        found = self.store.find(storage_key(resource), namespace, name)
        if found is not None:
            # Not another one of the same name that came meanwhile.
            asked["preconditions"] = {"uid": found["metadata"]["uid"]}
        self._sender.send(self._write(resource, version, namespace, name, "DELETE", asked, "application/json"))
        return found or {}, True

    def _write(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        method: str,
        body: Any,
        media: str,
        subresource: str = "",
    ) -> Write:
        at = name if method != "POST" or subresource else ""
        path = path_of(resource, namespace, at, version.name, subresource)
        return Write((storage_key(resource), namespace, name), method, path, body, media)


def _query(options: WriteOptions, patch_type: PatchType) -> str:
    asked = {"fieldManager": options.manager} if options.manager else {}
    if patch_type == "apply":
        asked = {"fieldManager": options.manager or "ghostfleet", "force": "true" if options.force else "false"}
    return f"?{urllib.parse.urlencode(asked)}" if asked else ""
