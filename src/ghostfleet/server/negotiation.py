"""Negotiation: in which form a client wants its answer, and in which it sends its request.

An answer's *form* is a media type (JSON, YAML or protobuf) and, if asked for, a conversion: a *Table* of printed
columns, or the *partial* form that has an object's metadata only. Clauses of an Accept header are tried by their
q-values, then from the specific to the general; a clause that asks for what is not served is passed over. Tables have
no protobuf form, custom resources have one of their metadata only.

In front of the built-in kinds stands a *router* that knows no conversions and takes no `application/*`; what it
refuses is told in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ghostfleet.core.errors import ApiError, not_acceptable, unsupported_media_type

__all__ = [
    "JSON",
    "PATCHES",
    "PLAIN",
    "PROTOBUF",
    "YAML",
    "Clause",
    "MediaType",
    "body_media",
    "check_route",
    "clauses",
    "error_form",
    "negotiate",
    "negotiate_plain",
    "patch_type",
]

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_ALL = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")

#: Media types of patches and our names for them.
PATCHES = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_CONVERSIONS = frozenset(("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))
_META_VERSIONS = frozenset(("v1", "v1beta1"))


class Clause(NamedTuple):
    """One alternative of an Accept header."""

    type: str
    subtype: str
    quality: float
    parameters: dict[str, str]

    def allows(self, media: str) -> bool:
        kind, _, subkind = media.partition("/")
        return (self.type == kind and self.subtype in (subkind, "*")) or (self.type == "*" and self.subtype == "*")


class MediaType(NamedTuple):
    """How to write an answer."""

    media: str = JSON
    #: Table, PartialObjectMetadata or PartialObjectMetadataList; "" is the object as it is.
    conversion: str = ""
    #: the version of meta.k8s.io that the conversion is in
    version: str = ""
    pretty: bool = False


PLAIN = MediaType()
_INDENTED = MediaType(pretty=True)
_LONGEST_REMEMBERED = 1024


def clauses(accept: str) -> list[Clause]:
    """The alternatives of an Accept header, best first; malformed ones are left out."""
    found = list(_parsed(accept))
    found.sort(key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    return found


def _parsed(accept: str) -> Iterator[Clause]:
    for part in accept.split(","):
        media, *attributes = part.split(";")
        kind, slash, subkind = (word.strip(" ") for word in media.partition("/"))
        if not slash and kind == "*":
            subkind = "*"
        if not subkind or "/" in subkind:
            continue
        quality, parameters = 1.0, {}
        for attribute in attributes:
            name, equals, value = (word.strip(" ") for word in attribute.partition("="))
            if not equals or not value or "=" in value:
                continue
            if name == "q":
                quality = _quality(value)
            else:
                parameters[name] = value
        yield Clause(kind, subkind, quality, parameters)


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0


@lru_cache(maxsize=512)
def _form(accept: str, custom: bool) -> MediaType | None:
    for clause in clauses(accept):
        for media in _ALL:
            if clause.allows(media):
                form = _converted(clause.parameters, media)
                if form is not None and not _lacks_protobuf(form, custom):
                    return form
    return None


def _lacks_protobuf(form: MediaType, custom: bool) -> bool:
    return form.media == PROTOBUF and (form.conversion == "Table" or (custom and not form.conversion))


@lru_cache(maxsize=512)
def _plain_form(accept: str) -> MediaType | None:
    for clause in clauses(accept):
        for media in _ALL:
            form = _converted(clause.parameters, media) if clause.allows(media) else None
            if form is not None and not form.conversion:
                return form
    return None


@lru_cache(maxsize=512)
def _is_routed(accept: str) -> bool:
    asked = {part.partition(";")[0].strip() for part in accept.split(",")}
    return not asked.isdisjoint(("*/*", *_ALL))


def _converted(parameters: dict[str, str], media: str) -> MediaType | None:
    """The form a clause asks for in this media type; None when that is not served."""
    if parameters.get("stream", "watch") != "watch" or parameters.get("sv", "v1") != "v1":
        return None
    pretty = parameters.get("pretty") == "1"
    if not ("as" in parameters or "g" in parameters or "v" in parameters):
        return MediaType(media, pretty=pretty)
    conversion, version = parameters.get("as", ""), parameters.get("v", "")
    if parameters.get("g") != "meta.k8s.io" or version not in _META_VERSIONS or conversion not in _CONVERSIONS:
        return None
    return MediaType(media, conversion, version, pretty)


def check_route(accept: str, *, listing: bool = False) -> None:
    """Refuse a request that does not get past the router; only where lists are there are streams too."""
    if accept and accept != JSON and not _remembered(_is_routed, accept):
        offered = (*_ALL, *_STREAMS) if listing else _ALL
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}"
        raise ApiError(406, "NotAcceptable", message, {})


def negotiate(accept: str, *, stream: bool = False, custom: bool = False) -> MediaType:
    """The form of an answer to this Accept header; 406 when there is none. Streams come in JSON and protobuf only."""
    if not accept or accept == JSON:
        return PLAIN
    form: MediaType | None = _remembered(_form, accept, custom)
    if form is None:
        raise not_acceptable(_ALL)
    if stream and form.media == YAML:
        raise not_acceptable(_STREAMS)
    return form


def negotiate_plain(accept: str) -> MediaType:
    """The form of an answer that has no conversions; 406 when there is none."""
    form: MediaType | None = _remembered(_plain_form, accept) if accept else PLAIN
    if form is None:
        raise not_acceptable(_ALL)
    return form


def error_form(accept: str) -> MediaType:
    """The form of an error: what the client asked for, without any conversion, or else JSON to be read by people."""
    form: MediaType | None = _remembered(_plain_form, accept) if accept else PLAIN
    return form or _INDENTED


def _remembered(work: Any, accept: str, *more: object) -> Any:
    """The outcome of one of the functions above, which remember it; but not for headers that are long."""
    return (work if len(accept) <= _LONGEST_REMEMBERED else work.__wrapped__)(accept, *more)


def _media(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def body_media(content_type: str) -> str:
    """The media type of an object that a client sends: json, yaml or protobuf; 415 for others."""
    media = _media(content_type)
    if not media or media == JSON:
        return "json"
    if media == YAML:
        return "yaml"
    if media == PROTOBUF:
        return "protobuf"
    raise _unsupported(_ALL)


def patch_type(content_type: str, *, custom: bool) -> str:
    """The sort of a patch; custom resources have no strategic merge."""
    found = PATCHES.get(_media(content_type))
    if custom and found in (None, "strategic"):
        raise _unsupported(tuple(media for media, sort in PATCHES.items() if sort != "strategic"))
    if found is None:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return found


def _unsupported(offered: tuple[str, ...]) -> ApiError:
    listed = ", ".join(offered)
    return unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {listed}"
    )
