"""JSON patch (RFC 6902), with the API server's habits.

A patch is a list of operations that are done in turn on a document; one that cannot be done fails the whole patch. A
*pointer* (RFC 6901) names a place: its last *token* is a field or an index in a *container*. As the API server's
library has it, a list may be indexed from its end with negative numbers, and `replace` sets a field of an object
whether it was there or not.

What a patch may do is bounded as there: in the number of its operations, and in the bytes that its copies add up to,
because a few copies of copies can stand for gigabytes. Only the containers on the way to a change are copied, and each
only once in a patch: from then on it is *owned*, and changed as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from ghostfleet.core.errors import ApiError, bad_request, request_too_large
from ghostfleet.core.patch.gotext import cannot_decode
from ghostfleet.core.schema import MISSING
from ghostfleet.core.yamltext import MAX_DEPTH, TOO_DEEP, deeper_than

__all__ = ["MAX_COPIED", "MAX_OPERATIONS", "apply_json_patch"]

#: A longer patch is refused, and one whose copies come to more bytes of JSON: 3 MiB, the most that a request may have.
MAX_OPERATIONS = 10000
MAX_COPIED = 3 * 1024 * 1024
#: Elements of lists that a patch may push aside; as many as all operations can on a list of ten thousand.
_MAX_MOVED = MAX_OPERATIONS * 10_000


class _Inapplicable(Exception):
    """An operation does not fit the document."""


def apply_json_patch(obj: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """The document after all operations; untouched parts are shared, and an empty patch gives the document itself."""
    if not isinstance(operations, list):
        raise bad_request(f"error decoding patch: {cannot_decode(operations, '[]handlers.jsonPatchOp')}")
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_request(f"error decoding patch: {cannot_decode(operation, 'handlers.jsonPatchOp')}")
    if len(operations) > MAX_OPERATIONS:
        raise request_too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    patching = _Patching(obj)
    try:
        for operation in operations:
            patching.do(operation)
    except (_Inapplicable, orjson.JSONEncodeError, RecursionError) as error:
        # The last two: a value that is too deep to be copied or compared.
        message = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", message, {}) from error
    document = patching.document
    if document.__class__ is not dict:
        raise bad_request(cannot_decode(document, "map[string]interface {}"))
    if patching.may_be_deeper and deeper_than(document, MAX_DEPTH):
        raise bad_request(TOO_DEEP)
    return document


class _Patching:
    """A document that is being patched."""

    def __init__(self, document: Any) -> None:
        self.document = document
        #: containers were put into others
        self.may_be_deeper = False
        #: containers that were made here, and that stand in one place of the document only
        self._owned: dict[int, Any] = {}
        self._copied = 0
        self._moved = 0

    def do(self, operation: dict[str, Any]) -> None:
        name = operation.get("op")
        perform = _OPERATIONS.get(name) if isinstance(name, str) else None
        if perform is None:
            raise _Inapplicable(f"Unexpected kind: {name}")
        perform(self, operation)

    def add(self, operation: dict[str, Any]) -> None:
        self._insert(_pointer(operation, "path"), operation.get("value"))

    def remove(self, operation: dict[str, Any]) -> None:
        self._take(_pointer(operation, "path"))

    def replace(self, operation: dict[str, Any]) -> None:
        tokens = _pointer(operation, "path")
        value = operation.get("value")
        if tokens:
            self._set(self._container(tokens), tokens[-1], value)
        elif isinstance(value, dict | list):
            self.document = value
        else:
            raise _Inapplicable("replace operation value must be object or array")

    def move(self, operation: dict[str, Any]) -> None:
        source = _pointer(operation, "from")
        if _found(self.document, source) is MISSING:
            raise _Inapplicable("doc is missing from path")
        self._insert(_pointer(operation, "path"), self._take(source))

    def copy(self, operation: dict[str, Any]) -> None:
        value = _found(self.document, _pointer(operation, "from"))
        tokens = _pointer(operation, "path")
        if value is not MISSING:
            self._copied += len(orjson.dumps(value))
            if self._copied > MAX_COPIED:
                raise _Inapplicable(
                    "Unable to complete the copy, the accumulated size increase of copy is "
                    f"{self._copied}, exceeding the limit {MAX_COPIED}"
                )
        self._insert(tokens, None if value is MISSING else _copy(value))

    def test(self, operation: dict[str, Any]) -> None:
        tokens = _pointer(operation, "path")
        found = _found(self.document, tokens) if tokens else self.document
        if not _identical(None if found is MISSING else found, operation.get("value")):
            raise _Inapplicable("testing value failed")

    def _insert(self, tokens: list[str], value: Any) -> None:
        container, token = self._container(tokens), tokens[-1]
        if isinstance(container, list):
            at = len(container) if token == "-" else _index(token, len(container) + 1)
            self._push(len(container) - at)
            container.insert(at, None)
            token = str(at)
        self._set(container, token, value)

    def _set(self, container: Any, token: str, value: Any) -> None:
        if isinstance(container, dict):
            container[token] = value
        elif isinstance(container, list):
            container[_index(token, len(container))] = value
        else:
            raise _Inapplicable("doc is missing path")
        self.may_be_deeper = self.may_be_deeper or isinstance(value, dict | list)

    def _take(self, tokens: list[str]) -> Any:
        container, token = self._container(tokens), tokens[-1]
        if isinstance(container, list):
            at = _index(token, len(container))
            self._push(len(container) - at)
            return container.pop(at)
        if not isinstance(container, dict) or token not in container:
            raise _Inapplicable(f"Unable to remove nonexistent key: {token}")
        return container.pop(token)

    def _push(self, count: int) -> None:
        self._moved += count
        if self._moved > _MAX_MOVED:
            raise _Inapplicable("too many elements of lists change their places")

    def _container(self, tokens: list[str]) -> Any:
        """What holds the place; it and all above it are owned from now on."""
        if not tokens:
            raise _Inapplicable("the pointer names no place in the document")
        container = self.document = self._own(self.document)
        for token in tokens[:-1]:
            inner = _got(container, token)
            if inner is None or inner is MISSING:
                raise _Inapplicable("doc is missing path")
            owned = self._own(inner)
            if owned is not inner:
                container[token if isinstance(container, dict) else _index(token, len(container))] = owned
            container = owned
        return container

    def _own(self, container: Any) -> Any:
        if id(container) in self._owned or not isinstance(container, dict | list):
            return container
        made = container.copy()
        self._owned[id(made)] = made
        return made


_OPERATIONS: dict[str, Callable[[_Patching, dict[str, Any]], None]] = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}


def _copy(value: Any) -> Any:
    """A copy that shares no container: what is owned must not stand in two places."""
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value


def _pointer(operation: dict[str, Any], key: str) -> list[str]:
    """The tokens of a pointer; none of them for the whole document."""
    text = operation.get(key)
    if not isinstance(text, str) or (text and text[0] != "/" and "/" not in text):
        raise _Inapplicable(f"failed to decode {key}")
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _found(document: Any, tokens: list[str]) -> Any:
    """What is at the place, MISSING if a field is not there; the containers on the way must be."""
    if not tokens:
        raise _Inapplicable("the pointer names no place in the document")
    *way, last = tokens
    for token in way:
        document = _got(document, token)
        if document is None or document is MISSING:
            raise _Inapplicable("doc is missing path")
    return _got(document, last)


def _got(container: Any, token: str) -> Any:
    if isinstance(container, dict):
        return container.get(token, MISSING)
    if isinstance(container, list):
        return container[_index(token, len(container))]
    raise _Inapplicable("doc is missing path")


def _index(token: str, length: int) -> int:
    """Where in a list of this length (one more, to insert) the token points."""
    try:
        index = int(token)
    except ValueError:
        raise _Inapplicable(f"value was not a proper array index: '{token}'") from None
    # Python takes spaces, underscores and foreign digits for numbers.
    if not token.lstrip("+-").isascii() or not token.lstrip("+-").isdigit() or not -length <= index < length:
        raise _Inapplicable(f"Unable to access invalid index: {index}")
    return index + length if index < 0 else index


def _identical(one: Any, other: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true are three values."""
    if one is other:
        return True
    if one != other:
        return False
    return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
