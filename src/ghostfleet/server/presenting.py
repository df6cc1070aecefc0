"""Presenting: objects and lists in the form that a client asked for.

Objects of built-in kinds come in lists without their apiVersion and kind, which those of the list say already; custom
ones keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.api.options import Page
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import ApiError
from ghostfleet.server.calls import Call
from ghostfleet.server.negotiation import PROTOBUF, MediaType
from ghostfleet.server.protoanswers import Messages
from ghostfleet.server.responses import Answer, object_answer
from ghostfleet.server.tables import include_object_of, table

__all__ = ["Presenter"]


class Presenter:
    """Makes answers; the clock tells how old things are."""

    def __init__(self, clock: Clock, messages: Messages) -> None:
        self._clock = clock
        self._messages = messages

    def object(self, call: Call, form: MediaType, status: int, obj: Object, warnings: Iterable[str] = ()) -> Answer:
        """One object; a Status comes as it is."""
        if form.conversion and obj.get("kind") != "Status":
            obj = self._converted(call, form, obj)
        return object_answer(status, obj, form, warnings)

    def page(self, call: Call, form: MediaType, page: Page) -> Answer:
        """A list."""
        if form.conversion == "Table":
            return object_answer(200, self._table(call, form, page), form)
        resource = call.resource
        kind, api_version = resource.list_kind or f"{resource.kind}List", resource.api_version(call.version.name)
        items = page.items
        if form.conversion == "PartialObjectMetadata":
            raise _not_acceptable(f"PartialObjectMetadata, but the requested object is a list ({kind})")
        if form.conversion:
            kind, api_version = form.conversion, _meta(form)
            items = [_partial(obj, api_version) for obj in items]
        metadata = _list_metadata(page, always=resource.custom and not form.conversion)
        if form.media == PROTOBUF and not form.conversion:
            body = self._messages.list(api_version, resource.kind, kind, metadata, items)
            return Answer(200, body, PROTOBUF)
        if not resource.custom and not form.conversion:
            items = [_bare(obj) for obj in items]
        shown = {"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items}
        return object_answer(200, shown, form)

    def _converted(self, call: Call, form: MediaType, obj: Object) -> Object:
        if form.conversion == "PartialObjectMetadata":
            return _partial(obj, _meta(form))
        if form.conversion != "Table":
            raise _not_acceptable(f"{form.conversion}, but the requested object is not a list ({obj['kind']})")
        return table(
            call.resource,
            call.version,
            [obj],
            revision=obj["metadata"].get("resourceVersion", ""),
            now_us=self._clock.now(),
            include_object=include_object_of(call.request.parameter("includeObject")),
            api=_meta(form),
            subresource=call.target.subresource,
        )

    def _table(self, call: Call, form: MediaType, page: Page) -> Object:
        return table(
            call.resource,
            call.version,
            page.items,
            revision=str(page.revision),
            now_us=self._clock.now(),
            continue_=page.continue_,
            remaining=page.remaining,
            include_object=include_object_of(call.request.parameter("includeObject")),
            api=_meta(form),
        )


def _meta(form: MediaType) -> str:
    return f"meta.k8s.io/{form.version}"


def _partial(obj: Object, api_version: str) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj["metadata"]}


def _bare(obj: Object) -> Object:
    bare = obj.copy()
    bare.pop("kind", None)
    bare.pop("apiVersion", None)
    return bare


def _list_metadata(page: Page, *, always: bool) -> Object:
    """What a list says of itself; that of a custom resource always tells where it goes on, be it nowhere."""
    metadata: Object = {"resourceVersion": str(page.revision)}
    if page.continue_ or always:
        metadata["continue"] = page.continue_
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def _not_acceptable(what: str) -> ApiError:
    return ApiError(406, "NotAcceptable", f"you requested {what}")
