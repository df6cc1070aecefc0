"""CEL's standard library: operators, conversions, texts and times.

What the operators and functions do is the same as everywhere in this package; here they have their signatures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ghostfleet.languages.cel.checked.declarations import Cost, Function, Overload, function, overload
from ghostfleet.languages.cel.checked.plan import is_in_list
from ghostfleet.languages.cel.checked.values import size_of, type_of
from ghostfleet.languages.cel.functions import FUNCTIONS, MEMBERS
from ghostfleet.languages.cel.operators import ARITHMETIC, COMPARISONS, NEGATIONS, is_key
from ghostfleet.languages.cel.values import CelError, Duration, Quantity, Timestamp, Uint

__all__ = ["STANDARD", "matching_cost"]

_NAMES: dict[Any, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    Timestamp: "timestamp",
    Duration: "duration",
    list: "list(A)",
    dict: "map(A, B)",
}
_FULL_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}
_RESULTS = {("timestamp", "timestamp"): "duration", ("duration", "timestamp"): "timestamp"}
_NUMBERS = ("int", "uint", "double")
_ORDERED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
#: how much of a text's length going through it costs, and of a pattern's (cel-go, common/cost.go)
_TRAVERSAL, _PATTERN = 0.1, 0.25


def _unevaluated(*_: Any) -> Any:
    raise AssertionError("made by the plan")


def _shorter(values: Sequence[Any]) -> int:
    return math.ceil(min(size_of(values[0]), size_of(values[1])) * _TRAVERSAL)


def _both(values: Sequence[Any]) -> int:
    return math.ceil((size_of(values[0]) + size_of(values[1])) * _TRAVERSAL)


def _first(values: Sequence[Any]) -> int:
    return math.ceil(size_of(values[0]) * _TRAVERSAL)


def _product(values: Sequence[Any]) -> int:
    return math.ceil(size_of(values[0]) * _TRAVERSAL) * math.ceil(size_of(values[1]) * _TRAVERSAL)


def matching_cost(values: Sequence[Any]) -> int:
    return math.ceil((1 + size_of(values[0])) * _TRAVERSAL) * math.ceil(size_of(values[1]) * _PATTERN)


def _arithmetic(operator: str) -> Function:
    overloads = []
    for (left, right), call in ARITHMETIC[operator].items():
        if Quantity in (left, right):
            continue
        one, other = _NAMES[left], _NAMES[right]
        result = _RESULTS.get((one, other), one)
        cost = _both if operator == "+" and one in ("string", "bytes") else None
        overloads.append(overload(f"({one}, {other}) -> {result}", call, cost))
    return function(f"_{operator}_", *overloads)


def _comparison(operator: str) -> Function:
    call = COMPARISONS[operator]
    pairs = [(each, each) for each in _ORDERED]
    pairs += [(one, other) for one in _NUMBERS for other in _NUMBERS if one != other]
    return function(
        f"_{operator}_",
        *(
            overload(f"({one}, {other}) -> bool", call, _shorter if one in ("string", "bytes") else None)
            for one, other in pairs
        ),
    )


def _listed(values: Sequence[Any]) -> int:
    return size_of(values[1])


_OPERATORS = [
    function("_?_:_", overload("(bool, A, A) -> A", _unevaluated)),
    function("_&&_", overload("(bool, bool) -> bool", _unevaluated)),
    function("_||_", overload("(bool, bool) -> bool", _unevaluated)),
    function("@not_strictly_false", overload("(bool) -> bool", _unevaluated)),
    function("_==_", overload("(A, A) -> bool", _unevaluated)),
    function("_!=_", overload("(A, A) -> bool", _unevaluated)),
    function("!_", overload("(bool) -> bool", lambda value: not value)),
    function("-_", overload("(double) -> double", NEGATIONS[float]), overload("(int) -> int", NEGATIONS[int])),
    *(_arithmetic(operator) for operator in ARITHMETIC),
    *(_comparison(operator) for operator in COMPARISONS),
    function("_[_]", overload("(list(A), int) -> A", _unevaluated), overload("(map(A, B), A) -> B", _unevaluated)),
    function(
        "@in",
        overload("(A, list(A)) -> bool", is_in_list, _listed),
        overload("(A, map(A, B)) -> bool", is_key),
    ),
]


def _conversion(name: str) -> Function:
    """A conversion to a type; what cannot be converted is an error that names the types only."""
    overloads = []
    for (source,), (call, _) in FUNCTIONS[name].items():
        given = _NAMES[source]
        cost = _first if (name, given) in (("string", "bytes"), ("bytes", "string")) else None
        overloads.append(overload(f"({given}) -> {name}", _checked(call, given, name), cost))
    return function(name, *overloads)


def _checked(call: Callable[[Any], Any], given: str, name: str) -> Callable[[Any], Any]:
    words = f"type conversion error from '{_FULL_NAMES.get(given, given)}' to '{_FULL_NAMES.get(name, name)}'"

    def convert(value: Any) -> Any:
        try:
            return call(value)
        except CelError as error:
            if str(error).startswith("type conversion error"):
                raise CelError(words) from None
            raise

    return convert


def _members(name: str) -> list[Overload]:
    costs: dict[str, Cost] = {"matches": matching_cost, "contains": _product, "startsWith": _first, "endsWith": _first}
    found = []
    for types, (call, result) in MEMBERS[name].items():
        target, *arguments = (_NAMES[each] for each in types)
        signature = f"{target}.({', '.join(arguments)}) -> {_NAMES[result]}"
        found.append(overload(signature, call, costs.get(name)))
    return found


_SIZES = [overload(f"({each}) -> int", len) for each in ("bytes", "list(A)", "map(A, B)", "string")]
_KWOK_ONLY = ("UnixSecond", "Quantity", "size", "matches")
_FUNCTIONS = [
    *(_conversion(name) for name in ("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint")),
    function("dyn", overload("(A) -> dyn", lambda value: value)),
    function("type", overload("(A) -> type(A)", type_of)),
    function("size", *_SIZES, *_members("size")),
    function(
        "matches",
        *(overload("(string, string) -> bool", FUNCTIONS["matches"][str, str][0], matching_cost),),
        *_members("matches"),
    ),
    *(function(name, *_members(name)) for name in MEMBERS if name not in _KWOK_ONLY),
]

STANDARD: list[Function] = [*_OPERATORS, *_FUNCTIONS]
