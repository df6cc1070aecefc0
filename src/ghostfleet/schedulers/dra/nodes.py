"""Which nodes a slice or a device is for: one by name, all, or those that a node selector names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["NodeTest", "node_test"]

Object = Mapping[str, Any]
NodeTest = Callable[[Object], bool]


def node_test(selected: Object) -> NodeTest | None:
    """What tells whether a node is meant by `nodeName`, `allNodes` or `nodeSelector`; None if there is none of them."""
    if name := selected.get("nodeName"):
        return lambda node: bool(node["metadata"]["name"] == name)
    if selected.get("allNodes"):
        return lambda _: True
    selector = selected.get("nodeSelector")
    return None if selector is None else _selector(selector)


def _selector(selector: Object) -> NodeTest:
    """A selector that is wrong is so for each node that is asked about, not for who publishes it."""
    try:
        terms = [_term(term) for term in selector.get("nodeSelectorTerms") or ()]
    except ValueError as error:
        return _refusal(f"failed to parse node selector: {error}")
    return lambda node: any(term(node) for term in terms)


def _refusal(why: str) -> NodeTest:
    def refuse(_: Object) -> bool:
        raise ValueError(why)

    return refuse


def _term(term: Object) -> NodeTest:
    tests = [_requirement(each, _label) for each in term.get("matchExpressions") or ()]
    tests += [_requirement(each, _field) for each in term.get("matchFields") or ()]
    return lambda node: bool(tests) and all(test(node) for test in tests)


def _label(node: Object, key: str) -> str | None:
    found: str | None = (node["metadata"].get("labels") or {}).get(key)
    return found


def _field(node: Object, key: str) -> str | None:
    return str(node["metadata"]["name"]) if key == "metadata.name" else ""


def _requirement(requirement: Object, read: Callable[[Object, str], str | None]) -> NodeTest:
    key: str = requirement.get("key", "")
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return lambda node: read(node, key) in values
        case "NotIn":
            return lambda node: read(node, key) not in values
        case "Exists":
            return lambda node: read(node, key) is not None
        case "DoesNotExist":
            return lambda node: read(node, key) is None
        case "Gt":
            return _ordered(key, values, read, 1)
        case "Lt":
            return _ordered(key, values, read, -1)
    raise ValueError(f'"{requirement.get("operator", "")}" is not a valid label selector operator')


def _ordered(key: str, values: Any, read: Callable[[Object, str], str | None], sign: int) -> NodeTest:
    try:
        (bound,) = map(int, values)
    except ValueError:
        raise ValueError("for 'Gt', 'Lt' operators, exactly one integer value is required") from None

    def test(node: Object) -> bool:
        try:
            return (int(read(node, key) or "") - bound) * sign > 0
        except ValueError:
            return False

    return test
