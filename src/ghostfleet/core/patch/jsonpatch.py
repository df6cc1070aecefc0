"""JSON patch (RFC 6902), with the API server's habits.

A patch is a list of operations that are done in turn on a document; one that cannot be done fails the whole patch. A
*pointer* (RFC 6901) names a place: its last *token* is a field or an index in a *container*. Only the containers on the
way to a change are copied. As the API server's library has it, a list may be indexed from its end with negative
numbers, and `replace` sets a field of an object whether it was there or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from ghostfleet.core.errors import ApiError, bad_request
from ghostfleet.core.patch.gotext import cannot_decode
from ghostfleet.core.schema import MISSING

__all__ = ["MAX_OPERATIONS", "apply_json_patch"]

#: A longer patch is refused.
MAX_OPERATIONS = 10000


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
        why = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise ApiError(413, "RequestEntityTooLarge", why)
    document: Any = obj
    try:
        for operation in operations:
            document = _done(document, operation)
    except _Inapplicable as error:
        message = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", message, {}) from error
    if document.__class__ is not dict:
        raise bad_request(cannot_decode(document, "map[string]interface {}"))
    return document


def _done(document: Any, operation: dict[str, Any]) -> Any:
    name = operation.get("op")
    perform = _OPERATIONS.get(name) if isinstance(name, str) else None
    if perform is None:
        raise _Inapplicable(f"Unexpected kind: {name}")
    return perform(document, operation)


def _add(document: Any, operation: dict[str, Any]) -> Any:
    return _changed(document, _pointer(operation, "path"), _inserted, operation.get("value"))


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    return _changed(document, _pointer(operation, "path"), _removed, None)


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    tokens = _pointer(operation, "path")
    value = operation.get("value")
    if not tokens:
        if not isinstance(value, dict | list):
            raise _Inapplicable("replace operation value must be object or array")
        return value
    return _changed(document, tokens, _set, value)


def _move(document: Any, operation: dict[str, Any]) -> Any:
    source = _pointer(operation, "from")
    value = _found(document, source)
    if value is MISSING:
        raise _Inapplicable("doc is missing from path")
    return _changed(_changed(document, source, _removed, None), _pointer(operation, "path"), _inserted, value)


def _copy(document: Any, operation: dict[str, Any]) -> Any:
    value = _found(document, _pointer(operation, "from"))
    return _changed(document, _pointer(operation, "path"), _inserted, None if value is MISSING else value)


def _test(document: Any, operation: dict[str, Any]) -> Any:
    tokens = _pointer(operation, "path")
    found = _found(document, tokens) if tokens else document
    if not _identical(None if found is MISSING else found, operation.get("value")):
        raise _Inapplicable("testing value failed")
    return document


_OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


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


_Change = Callable[[Any, str, Any], Any]


def _changed(document: Any, tokens: list[str], change: _Change, value: Any) -> Any:
    """The document with the container of the place changed; containers above it are copied."""
    if not tokens:
        raise _Inapplicable("the pointer names no place in the document")
    token = tokens[0]
    if len(tokens) == 1:
        return change(document, token, value)
    inner = _got(document, token)
    if inner is None or inner is MISSING:
        raise _Inapplicable("doc is missing path")
    return _set(document, token, _changed(inner, tokens[1:], change, value))


def _set(container: Any, token: str, value: Any) -> Any:
    if isinstance(container, dict):
        return {**container, token: value}
    if isinstance(container, list):
        result = container.copy()
        result[_index(token, len(container))] = value
        return result
    raise _Inapplicable("doc is missing path")


def _inserted(container: Any, token: str, value: Any) -> Any:
    if isinstance(container, list):
        at = len(container) if token == "-" else _index(token, len(container) + 1)
        return [*container[:at], value, *container[at:]]
    return _set(container, token, value)


def _removed(container: Any, token: str, _: Any) -> Any:
    if isinstance(container, list):
        at = _index(token, len(container))
        return container[:at] + container[at + 1 :]
    if not isinstance(container, dict) or token not in container:
        raise _Inapplicable(f"Unable to remove nonexistent key: {token}")
    return {key: value for key, value in container.items() if key != token}


def _identical(one: Any, other: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true are three values."""
    if one is other:
        return True
    if one != other:
        return False
    return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
