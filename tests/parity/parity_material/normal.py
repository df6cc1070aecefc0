"""Normal form: answers without what differs from run to run.

Uids, revisions and drawn names become numbers in the order in which they come up within a case, so that it still shows
which are the same. Times, addresses and ports that the server chose become words for their sort; times before 2020 are
a manifest's own and stay. Left out are prose (descriptions of columns), hashes, how far two answers are apart in
seconds, and the objects and Go structs that some messages quote. Lists whose order is chance are sorted.
"""

from __future__ import annotations

import re
from typing import Any

from support.asgi import Reply

__all__ = ["Normaliser"]

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_NUMBER = re.compile(r"(?<![\w-])\d+(?![\w-])")
_AGE = re.compile(r"(<invalid>|<1s|(\d+[dhms])+)")
_AGE_COLUMNS = ("Age", "Last Seen", "First Seen", "LastSchedule", "Last Schedule", "Duration")
#: The service networks: 10.0.0.0/24 there, 10.96.0.0/12 here.
_ADDRESS = re.compile(r"\b10\.(0\.0|9[6-9]\.\d+|10\d\.\d+|11[01]\.\d+)\.\d+(/24|/12)?\b")
#: What changed, as Go prints it there and as JSON here.
_CHANGES = re.compile(r"\n(@@|-\{|\+\{|  core\.|-\[|\s+).*", re.DOTALL)
#: Ours end early when they are long.
_OBJECT = re.compile(r'Invalid value: "\{.*(\}|\.\.\. \([\d,]+ characters\))": ')
_NEWEST = re.compile(r"current: \d+$")
_STRUCT = re.compile(r"Invalid value: \{(?:(?!Invalid value).)*\}: field is immutable")
_KEY = re.compile(r"Key: /registry/\S+,")
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_ENTRY_ORDER = ("operation", "manager", "apiVersion", "subresource")
_LEFT_OUT = frozenset(("storageVersionHash", "serverAddressByClientCIDRs", "selfLink"))


class Normaliser:
    """Brings the answers of one case to their normal form, one after the other."""

    def __init__(self) -> None:
        self._columns: list[Any] = []
        self._uids: dict[str, str] = {}
        self._revisions: dict[str, str] = {}
        self._drawn: dict[str, str] = {}

    def reply(self, reply: Reply) -> dict[str, Any]:
        answer: dict[str, Any] = {"status": reply.status, "body": self.value(reply.value)}
        if warnings := reply.all("warning"):
            answer["warnings"] = [self._text(each) for each in warnings]
        media = reply.media.partition(";")[0]
        if media != "application/json":
            answer["media"] = media
        return answer

    def value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.value(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, obj: dict[str, Any]) -> dict[str, Any]:
        if obj.get("kind") == "Table":
            # Only the first table of a watch tells its columns.
            self._columns = obj.get("columnDefinitions") or self._columns
            obj = _without_prose_and_ages(obj, self._columns)
        metadata = obj.get("metadata")
        if isinstance(metadata, dict) and "generateName" in metadata and "name" in metadata:
            self._drawn[metadata["name"]] = f"{metadata['generateName']}DRAWN"
        if isinstance(obj.get("metadata"), dict) and ("items" in obj or "rows" in obj):
            # Others write too, so a list's revision tells nothing.
            obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": "REVISION"}}
        made = {self._key(key): self._field(key, obj[key]) for key in sorted(obj) if key not in _LEFT_OUT}
        if obj.get("kind") == "Status" and "causes" in (made.get("details") or {}):
            causes = sorted(made["details"]["causes"], key=lambda cause: sorted(cause.items()))
            made["details"] = {**made["details"], "causes": causes}
            made["message"] = _in_order(made["message"], causes)
        return made

    def _key(self, key: str) -> str:
        return self._text(key) if '"uid"' in key else key

    def _field(self, key: str, value: Any) -> Any:
        if key == "resourceVersion" and isinstance(value, str) and value.isdigit():
            return self._revisions.setdefault(value, f"revision-{len(self._revisions) + 1}")
        if key == "managedFields" and isinstance(value, list):
            entries = [self.value(each) for each in value]
            return sorted(entries, key=lambda entry: [str(entry.get(name, "")) for name in _ENTRY_ORDER])
        if key == "continue" and value:
            return "CONTINUE"
        if key == "nodePort" and isinstance(value, int) and value >= 30000:
            return "PORT"
        return self.value(value)

    def _text(self, text: str) -> str:
        if "Forbidden" in text:
            text = _CHANGES.sub("", text)
        text = _OBJECT.sub('Invalid value: "OBJECT": ', text)
        for name, word in self._drawn.items():
            text = text.replace(name, word)
        text = _NEWEST.sub("current: REVISION", text)
        text = _STRUCT.sub("Invalid value: OBJECT: field is immutable", text)
        text = _KEY.sub("Key: KEY,", text)
        text = _UID.sub(lambda match: self._uids.setdefault(match[0], f"uid-{len(self._uids) + 1}"), text)
        text = _TIME.sub(lambda match: "MICROTIME" if match[1] else "TIME", text)
        text = _TOKEN.sub("TOKEN", _ADDRESS.sub("ADDRESS", text))
        return _NUMBER.sub(lambda match: self._revisions.get(match[0], match[0]), text) if len(text) > 20 else text


def _in_order(message: str, causes: list[dict[str, str]]) -> str:
    """The message with its findings in the order of the causes: which comes first is mere habit of a kind."""
    told = list(dict.fromkeys(f"{each.get('field')}: {each.get('message')}" for each in causes))
    head, bracket, findings = message.partition(" is invalid: [")
    if not bracket or sorted(findings[:-1]) != sorted(", ".join(told)):
        return message
    return f"{head}{bracket}{', '.join(told)}]"


def _without_prose_and_ages(table: dict[str, Any], columns: list[Any]) -> dict[str, Any]:
    aging = [number for number, column in enumerate(columns) if column["name"] in _AGE_COLUMNS]
    rows = []
    for row in table.get("rows") or []:
        cells = list(row["cells"])
        for number in aging:
            if isinstance(cells[number], str) and _AGE.fullmatch(cells[number]):
                cells[number] = "AGE"
        rows.append({**row, "cells": cells})
    told = table.get("columnDefinitions") or []
    plain = [{key: value for key, value in column.items() if key != "description"} for column in told]
    return {**table, "columnDefinitions": plain, "rows": rows}
