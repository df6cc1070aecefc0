"""Playing: a case sent to a server, and the answers in their normal form."""

from __future__ import annotations

from typing import Any

import orjson
from parity_material.cases import Case, Step, resolved
from parity_material.kinds import DEFINITION
from parity_material.normal import Normaliser
from parity_material.servers import Server

from support.asgi import Reply

__all__ = ["play", "prepare"]

_PATIENCE = 300
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HEADERS = {"user-agent": "parity/1", "accept": "application/json", "content-type": "application/json"}


def prepare(server: Server) -> None:
    """Give a server what all cases rely on."""
    server.send("POST", _DEFINITIONS, orjson.dumps(DEFINITION), _HEADERS)
    name = DEFINITION["metadata"]["name"]
    widgets = Step("GET", "/apis/parity.example.com/v1/widgets", until=200)
    _ask(server, widgets, [])
    assert server.send("GET", f"{_DEFINITIONS}/{name}", b"", _HEADERS).status == 200


def play(case: Case, server: Server) -> list[dict[str, Any]]:
    """Send the steps one after the other."""
    if case.namespace:
        named = {"metadata": {"name": case.namespace}}
        server.send("POST", "/api/v1/namespaces", orjson.dumps(named), _HEADERS)
        server.await_account(case.namespace)
    normaliser = Normaliser()
    answers: list[Any] = []
    told = []
    for step in case.steps:
        reply = _ask(server, step, answers)
        answers.append(reply.value)
        told.append(normaliser.reply(reply))
    return told


def _ask(server: Server, step: Step, answers: list[Any]) -> Reply:
    path = resolved(step.path, answers)
    body = resolved(step.body, answers)
    payload = b"" if body is None else body.encode() if isinstance(body, str) else orjson.dumps(body)
    headers = {**_HEADERS, "accept": step.accept, "content-type": step.content}
    reply = server.send(step.method, path, payload, headers)
    for _ in range(_PATIENCE if step.until else 0):
        if reply.status == step.until:
            break
        server.pause()
        reply = server.send(step.method, path, payload, headers)
    return reply
