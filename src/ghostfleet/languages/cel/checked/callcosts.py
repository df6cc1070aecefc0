"""What calls of functions may cost at most, and how large their results may be: the estimates of cel-go and Kubernetes.

Costs and sizes are whole numbers up to `UNLIMITED`, where they stay. A *size* is a least and a most: characters of a
text, elements of a list or map, 1 for a number. A text of n characters costs a tenth of n to go through.

The figures are those of cel-go v0.26 (checker/cost.go, ext/lists.go, ext/sets.go) and of Kubernetes 1.36
(k8s.io/apiserver pkg/cel/library/cost.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ghostfleet.languages.cel.checked.declarations import Overload
from ghostfleet.languages.cel.checked.expressions import Const, Expr
from ghostfleet.languages.cel.checked.types import Type

__all__ = ["UNLIMITED", "CallEstimate", "Operand", "Size", "add", "call_estimate", "multiply", "scaled"]

UNLIMITED = 2**64 - 1
_TRAVERSAL, _REGEX = 0.1, 0.25
_LIST_CREATION = 10
_LONGEST_FORMAT = 128
#: Values of a list attribute that a device selector goes through.
_MOST_VALUES = 48


def add(one: int, other: int) -> int:
    return min(one + other, UNLIMITED)


def multiply(one: int, other: int) -> int:
    return min(one * other, UNLIMITED)


def scaled(amount: int, factor: float) -> int:
    """So much for each, rounded up."""
    found = float(amount) * factor
    return UNLIMITED if found >= 2.0**64 else math.ceil(found)


class Size(NamedTuple):
    least: int
    most: int

    def union(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))

    def plus(self, other: Size) -> Size:
        return Size(add(self.least, other.least), add(self.most, other.most))

    def times(self, other: Size) -> Size:
        return Size(multiply(self.least, other.least), multiply(self.most, other.most))


UNKNOWN = Size(0, UNLIMITED)


class Operand(NamedTuple):
    """A target or an argument: its type, its size if that is known, and that of its elements."""

    expr: Expr
    type: Type
    size: Size | None
    element_size: Size

    @property
    def sized(self) -> Size:
        return self.size or UNKNOWN


class CallEstimate(NamedTuple):
    """What a call costs apart from its operands, and the size of its result, None where nothing is said of it."""

    cost: int
    result: Size | None = None


_Estimator = Callable[[Operand | None, Sequence[Operand]], CallEstimate | None]


def call_estimate(function: str, overload: Overload, target: Operand | None, args: Sequence[Operand]) -> CallEstimate:
    """The estimate for one overload of a function, all that is not known to cost more costs 1."""
    estimator = _ESTIMATORS.get(function)
    found = estimator(target, args) if estimator is not None else None
    if found is None:
        found = _standard(function, overload, target, args)
    return found or CallEstimate(1)


# -- Kubernetes' and the extensions' functions ------------------------------------------------------------------------


def _one(_: Operand | None, __: Sequence[Operand]) -> CallEstimate:
    return CallEstimate(1)


def _read(factor: float, *, keeps: bool = False) -> _Estimator:
    """The first argument is gone through."""

    def estimate(_: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
        if not args:
            return None
        return CallEstimate(scaled(args[0].sized.most, factor), args[0].sized if keeps else None)

    return estimate


def _same_text(target: Operand | None, _: Sequence[Operand]) -> CallEstimate | None:
    return CallEstimate(scaled(target.sized.most, _TRAVERSAL), target.sized) if target is not None else None


def _over_list(target: Operand | None, _: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    if not target.type.parameters:
        return CallEstimate(scaled(target.sized.most, _TRAVERSAL))
    each = 1
    if target.type.parameters[0].kind in ("string", "bytes"):
        each = add(1, scaled(target.element_size.most, _TRAVERSAL))
    return CallEstimate(multiply(target.sized.most, each))


def _replace(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.sized, args[0].sized, args[1].sized
    if old.least == 0:
        count, kept = add(size.most, 1), size.most
    elif new.most <= old.least:
        count, kept = 0, size.most
    else:
        count, kept = scaled(size.most, 1 / old.least), 0
    return CallEstimate(scaled(size.most, 2 * _TRAVERSAL), Size(0, add(multiply(count, new.most), kept)))


def _split(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    most = _whole(args[1], target.sized.most) if len(args) > 1 else target.sized.most
    return CallEstimate(scaled(target.sized.most, 2 * _TRAVERSAL), Size(0, most))


def _join(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    listed = target.sized
    size = listed.times(target.element_size) if target.type.parameters else Size(0, 0)
    if args:
        size = size.plus(args[0].sized.times(Size(max(listed.least - 1, 0), max(listed.most - 1, 0))))
    return CallEstimate(scaled(size.most, _TRAVERSAL), size)


def _find(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is None or not args:
        return None
    return CallEstimate(_by_pattern(target.sized, args[0].sized), Size(0, target.sized.most))


def _by_pattern(text: Size, pattern: Size) -> int:
    return multiply(scaled(add(text.most, 1), _TRAVERSAL), scaled(pattern.most, _REGEX))


def _ip(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    return CallEstimate(1) if target is not None else _read(_TRAVERSAL)(target, args)


def _contains_address(more: int) -> _Estimator:
    def estimate(_: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
        if not args:
            return None
        parsed = scaled(args[0].sized.most, _TRAVERSAL) if args[0].type.kind == "string" else 0
        return CallEstimate(add(scaled(32, _TRAVERSAL) + more, parsed))

    return estimate


def _validate(_: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if not args:
        return None
    return CallEstimate(scaled(scaled(args[0].sized.most, _TRAVERSAL), _LONGEST_FORMAT * _REGEX))


def _sets(factor: float) -> _Estimator:
    def estimate(_: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
        if len(args) != 2:
            return None
        return CallEstimate(add(scaled(multiply(args[0].sized.most, args[1].sized.most), factor), 1))

    return estimate


def _new_list(size: Size, factor: float = 1.0) -> CallEstimate:
    return CallEstimate(add(scaled(size.most, factor), 1 + _LIST_CREATION), size)


def _slice(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is None or len(args) != 2:
        return None
    count = (_whole(args[1], target.sized.most) - _whole(args[0], 0)) % 2**64
    return _new_list(Size(count, count))


def _range(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is not None or len(args) != 1:
        return None
    count = _whole(args[0], UNLIMITED)
    return _new_list(Size(count, count))


def _reverse(target: Operand | None, _: Sequence[Operand]) -> CallEstimate | None:
    return _new_list(target.sized) if target is not None else None


def _flatten(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    return _new_list(target.sized, float(_whole(args[0], UNLIMITED)) if args else 1.0)


def _distinct(target: Operand | None, _: Sequence[Operand]) -> CallEstimate | None:
    return _new_list(target.sized.times(target.sized), 2.0) if target is not None else None


def _sort(target: Operand | None, args: Sequence[Operand]) -> CallEstimate | None:
    keys = args[0] if args else target
    if keys is None or not keys.type.parameters or keys.type.parameters[0].is_open:
        return None
    texts = keys.type.parameters[0].kind in ("string", "bytes")
    return _new_list(keys.sized.times(keys.sized), 2.0 + (_TRAVERSAL if texts else 0.0))


def _whole(operand: Operand, otherwise: int) -> int:
    """The number that an operand is, if it is one that is written out."""
    value = operand.expr.value if isinstance(operand.expr, Const) else None
    return max(value, 0) if type(value) is int else otherwise


_SIMPLE_CALLS = """
    sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch
    getScheme getHostname getHost getPort getEscapedPath getQuery masked prefixLength family isUnspecified isLoopback
    isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named
"""
_ESTIMATORS: dict[str, _Estimator] = {
    **dict.fromkeys(_SIMPLE_CALLS.split(), _one),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_list),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_text),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver", "cidr", "isIP", "isCIDR"), _read(_TRAVERSAL)),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _read(_TRAVERSAL, keeps=True)),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    "sets.equivalent": _sets(2),
    "includes": lambda _target, _args: CallEstimate(_MOST_VALUES),
    "ip.isCanonical": _read(2 * _TRAVERSAL),
    "ip": _ip,
    "containsIP": _contains_address(0),
    "containsCIDR": _contains_address(scaled(16, _TRAVERSAL) + 1),
    "validate": _validate,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort,
}


# -- the language's own functions -------------------------------------------------------------------------------------

_COMPARISONS = ("_<_", "_<=_", "_>_", "_>=_")
#: Types whose values are compared at the price of one step.
_SIMPLE = ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR")


def _standard(
    function: str, overload: Overload, target: Operand | None, args: Sequence[Operand]
) -> CallEstimate | None:
    first = overload.arguments[0].kind if overload.arguments else ""
    if function == "_==_" and args[0].type == args[1].type and args[0].type.name in _SIMPLE:
        return CallEstimate(1)
    if function in ("_==_", "_!=_") or (function in _COMPARISONS and first in ("string", "bytes")):
        return CallEstimate(scaled(min(args[0].sized.most, args[1].sized.most), _TRAVERSAL))
    if function == "_+_" and first in ("string", "bytes", "list"):
        size = args[0].sized.plus(args[1].sized)
        return CallEstimate(1 if first == "list" else scaled(size.most, _TRAVERSAL), size)
    if function == "@in" and overload.arguments[1].kind == "list":
        return CallEstimate(args[1].sized.most)
    if target is not None and first == "string":
        return _of_text(function, target, args)
    if len(args) == 1 and function == "bytes" and first == "string":
        size = args[0].sized
        return CallEstimate(scaled(size.most, _TRAVERSAL), Size(size.least, multiply(size.most, 4)))
    if len(args) == 1 and function == "string" and first == "bytes":
        size = args[0].sized
        return CallEstimate(scaled(size.most, _TRAVERSAL), Size(size.least // 4, size.most))
    if function == "strings.quote" and args:
        size = args[0].sized
        return CallEstimate(scaled(size.most, _TRAVERSAL), Size(size.least + 2, add(multiply(size.most, 2), 2)))
    return None


def _of_text(function: str, target: Operand, args: Sequence[Operand]) -> CallEstimate | None:
    if function == "format":
        return CallEstimate(scaled(target.sized.most, _TRAVERSAL))
    if function in ("startsWith", "endsWith") and args:
        return CallEstimate(scaled(args[0].sized.most, _TRAVERSAL))
    if function == "matches" and args:
        return CallEstimate(_by_pattern(target.sized, args[0].sized))
    if function == "contains" and args:
        parts = (scaled(each.sized.most, _TRAVERSAL) for each in (target, args[0]))
        return CallEstimate(multiply(*parts))
    return None
