"""Answers in protobuf: objects, lists and events of watches.

Writing a message costs several times what JSON does, and most objects are asked for more than once: by lists, and by
the event that a change of theirs is. *Messages* remembers what it wrote last for each object, by its uid and revision,
as long as all of it fits into its bound; what was written first goes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ghostfleet.api.builtin import kind_type, type_named
from ghostfleet.core.changes import Object
from ghostfleet.core.schema import Type
from ghostfleet.server.protobuf import struct_of
from ghostfleet.server.protoencoding import encoder, envelope, list_message

__all__ = ["Messages", "encode_object"]

_LIMIT = 128 * 1024 * 1024
#: What a remembered message costs besides its bytes; measured.
_OVERHEAD = 400


def encode_object(obj: Object) -> bytes:
    """An object of a built-in kind."""
    api_version, kind = obj.get("apiVersion", ""), obj["kind"]
    return envelope(api_version, kind, encoder(_type_of(api_version, kind))(obj))


@cache
def _type_of(api_version: str, kind: str) -> Type:
    group, _, version = api_version.rpartition("/")
    # Kinds of discovery state no version, and both versions of partial metadata are one.
    found = kind_type(group, version, kind) or kind_type(group, "v1", kind) or _discovery().get(kind)
    if found is None:
        raise LookupError(f"{kind} in {api_version} has no protobuf form")
    return found


@cache
def _discovery() -> dict[str, Type]:
    """Kinds of discovery that the schema does not have; only its two oldest documents are of them."""
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1"
    addresses = _list_of(type_named(f"{meta}.ServerAddressByClientCIDR"))
    versions = struct_of(versions=_list_of(Type("string")), serverAddressByClientCIDRs=addresses)
    groups = struct_of(groups=_list_of(type_named(f"{meta}.APIGroup")))
    return {"APIGroupList": groups, "APIVersions": versions}


def _list_of(items: Type) -> Type:
    made = Type("list")
    made.items = items
    return made


class Messages:
    """The messages of stored objects, remembered."""

    def __init__(self, limit: int = _LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._known: dict[tuple[str, str, str, str], tuple[str, str, bytes]] = {}

    def of(self, api_version: str, kind: str, obj: Object) -> bytes:
        """The message of an object as it is stored in its revision; of a measurement, which is not, none is kept."""
        metadata = obj["metadata"]
        if "uid" not in metadata:
            return encoder(_type_of(api_version, kind))(obj)
        place = (api_version, kind, metadata.get("namespace", ""), metadata["name"])
        uid, revision = metadata["uid"], metadata["resourceVersion"]
        known = self._known.get(place)
        if known is not None and known[1] == revision and known[0] == uid:
            return known[2]
        message = encoder(_type_of(api_version, kind))(obj)
        self._remember(place, (uid, revision, message))
        return message

    def object(self, api_version: str, kind: str, obj: Object) -> bytes:
        """A stored object."""
        return envelope(api_version, kind, self.of(api_version, kind, obj))

    def list(self, api_version: str, kind: str, list_kind: str, metadata: Object, items: Sequence[Object]) -> bytes:
        """A list of stored objects."""
        of = self.of
        about = _type_of(api_version, list_kind).fields["metadata"]
        message = list_message(about, metadata, [of(api_version, kind, obj) for obj in items])
        return envelope(api_version, list_kind, message)

    def _remember(self, place: tuple[str, str, str, str], known: tuple[str, str, bytes]) -> None:
        before = self._known.pop(place, None)
        if before is not None:
            self._size -= len(before[2]) + _OVERHEAD
        self._known[place] = known
        self._size += len(known[2]) + _OVERHEAD
        while self._size > self._limit:
            oldest = self._known.pop(next(iter(self._known)))
            self._size -= len(oldest[2]) + _OVERHEAD
