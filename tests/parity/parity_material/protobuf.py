"""Protobuf: what is asked of a real server, and of ours, about answers in protobuf.

*Forms* are Accept headers, each sent to a few paths: of interest is the status and the media type of the answer.
*Objects* are asked for in JSON and in protobuf, one of every built-in kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from parity_material.kinds import KINDS, Place
from parity_material.playing import prepare
from parity_material.servers import Server

__all__ = ["FORMS", "PROTOBUF", "WATCHES", "ask_forms", "ask_objects"]

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_TABLE = ";as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_PARTIAL_LIST = ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_UNKNOWN = ";as=Table;v=v2;g=meta.k8s.io"

FORMS = (
    JSON,
    YAML,
    PROTOBUF,
    f"{PROTOBUF},{JSON}",
    f"{JSON},{PROTOBUF}",
    f"{PROTOBUF};q=0.5,{JSON};q=0.9",
    f"{JSON};q=0.5,{PROTOBUF};q=0.9",
    f"{PROTOBUF};q=0",
    f"{PROTOBUF};foo=bar",
    f"{PROTOBUF};stream=watch",
    f"{PROTOBUF};stream=other",
    f"{PROTOBUF},*/*",
    "*/*",
    "*",
    "application/*",
    "application/vnd.kubernetes.*",
    "application/cbor",
    f"application/cbor,{PROTOBUF}",
    "text/html",
    f"text/html,{PROTOBUF}",
    f"{PROTOBUF}{_TABLE}",
    f"{PROTOBUF}{_TABLE},{JSON}",
    f"{PROTOBUF}{_TABLE},{PROTOBUF}",
    f"{JSON}{_TABLE},{PROTOBUF}",
    f"{PROTOBUF}{_PARTIAL}",
    f"{PROTOBUF}{_PARTIAL},{JSON}",
    f"{JSON}{_PARTIAL},{PROTOBUF}",
    f"{PROTOBUF}{_PARTIAL_LIST}",
    f"{PROTOBUF}{_PARTIAL_LIST},{JSON}{_PARTIAL_LIST},{JSON}",
    f"{PROTOBUF};as=Other;v=v1;g=meta.k8s.io",
    f"{PROTOBUF}{_UNKNOWN}",
    f"{PROTOBUF}{_UNKNOWN},{PROTOBUF}",
)
_MAPS = "/api/v1/namespaces/default/configmaps"
_WIDGETS = "/apis/parity.example.com/v1/namespaces/default/widgets"
#: Watches that end at once.
WATCHES = "watch=true&timeoutSeconds=1"
_PATHS = (
    f"{_MAPS}/forms",
    _MAPS,
    f"{_MAPS}?{WATCHES}",
    f"{_MAPS}/missing",
    f"{_WIDGETS}/forms",
    _WIDGETS,
    f"{_WIDGETS}?{WATCHES}",
    f"{_WIDGETS}/missing",
    "/api/v1",
    "/apis",
    "/apis/apps",
    "/api/v1/nonsense",
)
_HEADERS = {"user-agent": "parity/1", "content-type": JSON}


def _send(server: Server, method: str, path: str, body: Any = None, accept: str = JSON) -> Any:
    data = b"" if body is None else orjson.dumps(body)
    return server.send(method, path, data, {**_HEADERS, "accept": accept})


def ask_forms(server: Server) -> Iterator[dict[str, Any]]:
    """Send every form to every path."""
    prepare(server)
    _send(server, "POST", _MAPS, {"metadata": {"name": "forms"}})
    widget = {"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "forms"}, "spec": {}}
    _send(server, "POST", _WIDGETS, widget)
    for path in _PATHS:
        for form in FORMS:
            reply = _send(server, "GET", path, accept=form)
            yield {"path": path, "accept": form, "status": reply.status, "media": reply.media}


def _unchanged(server: Server, path: str, accept: str) -> tuple[bytes, bytes]:
    """An answer in JSON and in protobuf, between which nobody wrote."""
    while True:
        before, binary, after = (
            _send(server, "GET", path, accept=f"{media}{accept}").body for media in (JSON, PROTOBUF, JSON)
        )
        if before == after:
            return before, binary
        server.pause()


def ask_objects(server: Server) -> Iterator[tuple[str, bytes, bytes]]:
    """Make an object of every built-in kind and ask for it in JSON and in protobuf, and for its list in protobuf."""
    for kind in KINDS:
        if kind.custom:
            continue
        place = Place(kind, "in protobuf")
        if place.namespace:
            _send(server, "POST", "/api/v1/namespaces", {"metadata": {"name": place.namespace}})
            server.await_account(place.namespace)
        _send(server, "POST", place.collection, place.manifest)
        listed = f"{place.collection}?labelSelector=case%3D{place.own}"
        for path, accept in ((place.item, ""), (listed, ""), (place.item, _PARTIAL), (listed, _PARTIAL_LIST)):
            shown, binary = _unchanged(server, path, accept)
            if orjson.loads(shown)["kind"] == "Status":
                # An object of a version that is off by default.
                continue
            yield f"{kind.title}{accept.partition(';v=')[0]} {path}", shown, binary
        _send(server, "DELETE", place.item)
