"""Fitting: the quick answer to whether a value has nothing wrong with it.

A schema is compiled to a table from Python types to *tests*: a function, or True where the type alone is enough; a
type that is not in the table does not fit. Tables are compiled when a field is first met. A value that fits is right;
one that does not may still be (a float that is an integer is), so whoever needs certainty asks `values.judge`, as this
module does itself inside alternatives, where a wrong no would become a wrong yes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ghostfleet.api.customresources.formats import is_format, string_format
from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.api.customresources.values import equals_enum, format_of, judge, types_of
from ghostfleet.core.goregex import compile_regex

__all__ = ["Table", "compile_table", "fits"]

Test = Callable[[Any], bool]
Table = Mapping[type, "Test | bool"]

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_ALL_TYPES = (str, int, float, bool, dict, list)
_NONE = type(None)
_ANYTHING: Table = {**dict.fromkeys(_ALL_TYPES, True), _NONE: True}
_INT64 = 2**63


def fits(table: Table, value: Any) -> bool:
    test = table.get(type(value))
    if test is None or isinstance(test, bool):
        return test is True
    return test(value)


def compile_table(raw: Raw) -> Table:
    types, form = types_of(raw), format_of(raw)
    allowed = tuple(kind for name in types for kind in _PYTHON_TYPES.get(name, ())) if types else _ALL_TYPES
    if form and not types:
        allowed = (str,)
    common = [*_enum_tests(raw), *_alternative_tests(raw)]
    table: dict[type, Test | bool] = {}
    for kind in allowed:
        table[kind] = _joined([*_OWN_TESTS.get(kind, _no_tests)(raw, form), *common])
    if not types or raw.get("nullable"):
        table[_NONE] = "enum" not in raw
    return table


def _joined(tests: list[Test]) -> Test | bool:
    if not tests:
        return True
    if len(tests) == 1:
        return tests[0]
    return lambda value: all(test(value) for test in tests)


def _no_tests(_raw: Raw, _form: str) -> list[Test]:
    return []


def _enum_tests(raw: Raw) -> list[Test]:
    allowed = raw.get("enum")
    if not allowed:
        return []
    if all(type(each) is str for each in allowed):
        words = frozenset(allowed)
        return [lambda value: type(value) is str and value in words]
    return [lambda value: any(equals_enum(each, value) for each in allowed)]


def _alternative_tests(raw: Raw) -> list[Test]:
    tests: list[Test] = []
    if any_of := raw.get("anyOf"):
        tables = [compile_table(each) for each in any_of]
        tests.append(lambda value: any(fits(table, value) for table in tables))
    if all_of := raw.get("allOf"):
        tests += [_fitting(compile_table(each)) for each in all_of]
    if one_of := raw.get("oneOf"):
        exact = [_exact(each) for each in one_of]
        tests.append(lambda value: sum(test(value) for test in exact) == 1)
    if "not" in raw:
        refused = _exact(raw["not"])
        tests.append(lambda value: not refused(value))
    return tests


def _fitting(table: Table) -> Test:
    return lambda value: fits(table, value)


def _exact(raw: Raw) -> Test:
    table = compile_table(raw)
    return lambda value: fits(table, value) or not judge(raw, value, "").errors


# What each Python type is asked.


def _string_tests(raw: Raw, form: str) -> list[Test]:
    tests: list[Test] = []
    least, most = raw.get("minLength"), raw.get("maxLength")
    if least:
        tests.append(lambda value: len(value) >= least)
    if most is not None:
        tests.append(lambda value: len(value) <= most)
    if pattern := raw.get("pattern"):
        search = compile_regex(pattern).search
        tests.append(lambda value: search(value) is not None)
    if form and (name := string_format(form)):
        tests.append(lambda value: is_format(name, value))
    return tests


def _integer_tests(raw: Raw, form: str) -> list[Test]:
    limit = 2**31 if form == "int32" else _INT64
    tests: list[Test] = [lambda value: -limit <= value < limit]
    return tests + _number_tests(raw, form)


def _number_tests(raw: Raw, form: str) -> list[Test]:
    if (
        "multipleOf" in raw
        or form == "float"
        or any(raw.get(bound) is not None and raw[bound] != int(raw[bound]) for bound in ("minimum", "maximum"))
    ):
        # Rounding has rules of its own.
        return [lambda value: not judge(raw, value, "").errors]
    tests: list[Test] = []
    least, most = raw.get("minimum"), raw.get("maximum")
    if least is not None:
        tests.append((lambda value: value > least) if raw.get("exclusiveMinimum") else (lambda value: value >= least))
    if most is not None:
        tests.append((lambda value: value < most) if raw.get("exclusiveMaximum") else (lambda value: value <= most))
    return tests


def _list_tests(raw: Raw, _form: str) -> list[Test]:
    tests: list[Test] = []
    least, most, items = raw.get("minItems"), raw.get("maxItems"), raw.get("items")
    if least:
        tests.append(lambda value: len(value) >= least)
    if most is not None:
        tests.append(lambda value: len(value) <= most)
    if isinstance(items, Mapping):
        tests.append(_items_test(items))
    return tests


def _items_test(raw: Raw) -> Test:
    table: Table | None = None

    def fit(value: list[Any]) -> bool:
        nonlocal table
        if table is None:
            table = compile_table(raw)
        for item in value:
            test = table.get(type(item))
            if test is not True and (not test or not test(item)):
                return False
        return True

    return fit


def _object_tests(raw: Raw, _form: str) -> list[Test]:
    tests: list[Test] = []
    least, most = raw.get("minProperties"), raw.get("maxProperties")
    if least:
        tests.append(lambda value: len(value) >= least)
    if most is not None:
        tests.append(lambda value: len(value) <= most)
    if required := tuple(raw.get("required") or ()):
        needed = frozenset(required)
        tests.append(lambda value: value.keys() >= needed)
    if raw.get("properties") or raw.get("additionalProperties") not in (None, True):
        tests.append(_fields_test(raw))
    return tests


def _fields_test(raw: Raw) -> Test:
    tables = _Tables(raw)

    def fit(value: dict[str, Any]) -> bool:
        for key, item in value.items():
            test = tables[key].get(type(item))
            if test is not True and (not test or not test(item)):
                return False
        return True

    return fit


class _Tables(dict[str, Table]):
    """The tables of an object's fields, each compiled when it is first met."""

    def __init__(self, raw: Raw) -> None:
        self.known: Mapping[str, Raw] = raw.get("properties") or {}
        additional = raw.get("additionalProperties")
        if isinstance(additional, Mapping):
            self.other = compile_table(additional)
        else:
            self.other = {} if additional is False else _ANYTHING

    def __missing__(self, key: str) -> Table:
        child = self.known.get(key)
        if child is None:
            return self.other
        table = self[key] = compile_table(child)
        return table


_OWN_TESTS: Mapping[type, Callable[[Raw, str], list[Test]]] = {
    str: _string_tests,
    int: _integer_tests,
    float: _number_tests,
    list: _list_tests,
    dict: _object_tests,
}
