"""Values: whether an object has the values that its schema asks for, and what is wrong if not.

`judge` walks a value by the OpenAPI form of its schema and tells everything that it finds, as Kubernetes' validator
does, oddities included: clients and users know these messages. It is exact and slow; `fitting` answers the common
case.

An update is *ratcheted*: what was stored before and has not changed is not held against the object, even if the schema
would refuse it now. For that a value comes with its *past*, the old value in the same place, found by field name or by
the keys of a list that is a map.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ghostfleet.api.customresources.findings import Findings, number_text
from ghostfleet.api.customresources.formats import is_format, string_format
from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.api.customresources.past import Past
from ghostfleet.core.goregex import compile_regex

__all__ = ["equals_enum", "format_of", "judge", "types_of"]

_INT_RANGES = {"int32": 2**31}
_MOST_FLOAT32 = 3.4028235677973366e38
_MOST_JSON_INTEGER = 2**53 - 1


def types_of(raw: Raw) -> tuple[str, ...]:
    """The JSON types that a schema allows; none means any."""
    if raw.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    stated = raw.get("type")
    return (stated,) if stated else ()


def format_of(raw: Raw) -> str:
    """The format of a schema, if its type has such a format."""
    form = raw.get("format")
    if not form:
        return ""
    types = types_of(raw)
    if types == ("integer",):
        return form if form in ("int32", "int64") else ""
    if types == ("number",):
        return form if form in ("float", "double") else ""
    return form if (types == ("string",) or len(types) != 1) and string_format(form) else ""


def judge(raw: Raw, value: Any, path: str, past: Past | None = None) -> Findings:
    """All that is wrong with a value."""
    found = Findings()
    types, form = types_of(raw), format_of(raw)
    if value is None:
        if types and not raw.get("nullable"):
            found.mistyped(path, ",".join(types), "null")
        else:
            found.score += 1
        _judge_enum(found, raw, value, path)
        return found
    if types or form:
        found.score += 1 + _judge_type(found, types, form, value, path)
    _judge_alternatives(found, raw, value, path, past)
    found.score += 2
    if isinstance(value, str):
        _judge_string(found, raw, form, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _judge_number(found, raw, types, form, value, path)
    elif isinstance(value, list):
        _judge_list(found, raw, value, path, past)
    _judge_enum(found, raw, value, path)
    found.score += 1
    if isinstance(value, dict):
        _judge_object(found, raw, value, path, past)
        found.score += 1
    found.score += 1
    return found


def _judge_inner(found: Findings, raw: Raw, value: Any, path: str, past: Past | None) -> None:
    inner = judge(raw, value, path, past)
    if inner.errors and past is not None and past.is_unchanged(value):
        inner.errors.clear()
    found.merge(inner)


# Types


def _judge_type(found: Findings, types: tuple[str, ...], form: str, value: Any, path: str) -> bool:
    actual, actual_form = _type_of(value)
    fits = (
        actual in types
        or (actual == "number" and "integer" in types and _is_integral(value))
        or (actual == "integer" and "number" in types)
    )
    textual = isinstance(value, str | list)
    if not textual and form and not fits and actual_form != form:
        found.mistyped(path, form, actual_form)
        return False
    if textual and form and "number" not in types and "integer" not in types:
        return True
    if not fits:
        found.mistyped(path, ",".join(types), actual)
    return fits


def _type_of(value: Any) -> tuple[str, str]:
    """JSON's name for the type of a value, and the format that Go gives it."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    if isinstance(value, str):
        return "string", ""
    return ("array", "") if isinstance(value, list) else ("object", "")


def _is_integral(number: float) -> bool:
    """Whether a number is as good as an integer: rounding errors of a division are forgiven."""
    if not math.isfinite(number) or abs(number) > _MOST_JSON_INTEGER:
        return False
    whole = float(int(number))
    return number == whole or abs(number - whole) / (abs(number) + abs(whole)) < 1e-9


# Scalars


def _judge_enum(found: Findings, raw: Raw, value: Any, path: str) -> None:
    allowed = raw.get("enum")
    if allowed and not any(equals_enum(each, value) for each in allowed):
        found.unsupported(path, value, allowed)


def equals_enum(allowed: Any, value: Any) -> bool:
    if type(allowed) is int and type(value) is float:
        return math.isfinite(value) and int(value) == allowed
    if type(allowed) is float and type(value) is int:
        return float(value) == allowed
    return type(allowed) is type(value) and value is not None and bool(allowed == value)


def _judge_string(found: Findings, raw: Raw, form: str, value: str, path: str) -> None:
    most, least, pattern = raw.get("maxLength"), raw.get("minLength"), raw.get("pattern")
    if most is not None and len(value) > most:
        found.too_long(path, most)
    elif least is not None and len(value) < least:
        found.invalid(path, value, f"should be at least {least} chars long")
    elif pattern and not compile_regex(pattern).search(value):
        found.invalid(path, value, f"should match '{pattern}'")
    found.score += 1
    if form and string_format(form):
        if not is_format(string_format(form), value):
            found.mistyped(path, form, value)
        found.score += 1


def _judge_number(found: Findings, raw: Raw, types: tuple[str, ...], form: str, value: float, path: str) -> None:
    single = types[0] if len(types) == 1 else ""
    _judge_range(found, single, form, value, "Checked", path)
    factor = raw.get("multipleOf")
    if factor is not None:
        native = _judge_range(found, single, form, factor, "MultipleOf", path)
        _judge_multiple(found, value, factor, path, isinstance(value, int) and native)
    for bound, exclusive, prefix in (
        ("minimum", "exclusiveMinimum", "Minimum boundary"),
        ("maximum", "exclusiveMaximum", "Maximum boundary"),
    ):
        limit = raw.get(bound)
        if limit is not None:
            native = _judge_range(found, single, form, limit, prefix, path)
            limit = int(limit) if isinstance(value, int) and native else float(limit)
            _judge_bound(found, value, limit, bound == "minimum", raw.get(exclusive, False), path)
    found.score += 2


def _judge_range(found: Findings, type_: str, form: str, number: float, prefix: str, path: str) -> bool:
    """Whether a number, of the object or of the schema itself, can be of the type and format."""
    if type_ == "integer":
        limit = _INT_RANGES.get(form, 2**63)
        fits = math.isfinite(number) and number == int(number) and -limit <= number < limit
    else:
        fits = form != "float" or abs(number) <= _MOST_FLOAT32
    if not fits:
        sort = f"with format {form}" if form else "(default format)"
        found.nowhere(f"{prefix} value must be of type {type_} {sort} in {path}")
    return fits


def _judge_multiple(found: Findings, value: float, factor: float, path: str, native: bool) -> None:
    factor = int(factor) if native else float(factor)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number_text(factor)}"
        found.say(path, factor, text)
        return
    if native:
        fits = value % factor == 0
    else:
        fits = _is_integral(1 / factor * value if factor < 1 else value / factor)
    if not fits:
        found.invalid(path, value, f"should be a multiple of {number_text(factor)}")


def _judge_bound(found: Findings, value: float, limit: float, is_low: bool, exclusive: bool, path: str) -> None:
    beyond = value < limit if is_low else value > limit
    if beyond or (exclusive and value == limit):
        word = "greater" if is_low else "less"
        relation = f"{word} than" if exclusive else f"{word} than or equal to"
        found.invalid(path, value, f"should be {relation} {number_text(limit)}")


# Lists and objects


def _judge_list(found: Findings, raw: Raw, value: list[Any], path: str, past: Past | None) -> None:
    items = raw.get("items")
    if isinstance(items, Mapping):
        for index, item in enumerate(value):
            item_past = None if past is None else past.item(item)
            _judge_inner(found, items, item, f"{path}[{index}]", item_past)
    least, most = raw.get("minItems"), raw.get("maxItems")
    if least is not None and len(value) < least:
        found.invalid(path, len(value), f"should have at least {least} items")
    if most is not None and len(value) > most:
        found.too_many(path, len(value), most, "items")
    found.score += 2


def _judge_object(found: Findings, raw: Raw, value: Mapping[str, Any], path: str, past: Past | None) -> None:
    least, most = raw.get("minProperties"), raw.get("maxProperties")
    if least is not None and len(value) < least:
        found.invalid(path, len(value), f"should have at least {least} properties")
    if most is not None and len(value) > most:
        found.too_many(path, len(value), most, "properties")
    known, additional = raw.get("properties") or {}, raw.get("additionalProperties")
    if additional is False:
        for key in value:
            if key not in known:
                text = f"{path}.{key} in body is a forbidden property"
                found.say(path, key, text)
    elif isinstance(additional, Mapping):
        for key, item in value.items():
            if key not in known:
                _judge_inner(found, additional, item, f"{path}.{key}", None if past is None else past.field(key))
    for key, child in known.items():
        if key in value:
            # Kind and apiVersion are the server's own doing.
            child_past = None if past is None or (not path and key in ("kind", "apiVersion")) else past.field(key)
            _judge_inner(found, child, value[key], f"{path}.{key}" if path else key, child_past)
    for key in raw.get("required") or ():
        if key not in value:
            found.required(f"{path}.{key}")


# Alternatives


def _judge_alternatives(found: Findings, raw: Raw, value: Any, path: str, past: Past | None) -> None:
    any_of, one_of, all_of = raw.get("anyOf"), raw.get("oneOf"), raw.get("allOf")
    if any_of:
        _judge_any(found, any_of, value, path, past)
    if one_of:
        _judge_one(found, one_of, value, path, past)
    if all_of:
        outcomes = [judge(each, value, path, past) for each in all_of]
        for outcome in outcomes:
            found.merge(outcome)
        if any(outcome.errors for outcome in outcomes):
            none = "" if any(not outcome.errors for outcome in outcomes) else ". None validated"
            found.nowhere(f'"{path}" must validate all the schemas (allOf){none}')
    if "not" in raw and not judge(raw["not"], value, path, past).errors:
        found.nowhere(f'"{path}" must not validate the schema (not)')


def _judge_any(found: Findings, schemas: list[Raw], value: Any, path: str, past: Past | None) -> None:
    best: Findings | None = None
    for each in schemas:
        outcome = judge(each, value, path, past)
        if not outcome.errors:
            found.merge(outcome)
            return
        if best is None or outcome.score > best.score:
            best = outcome
    found.nowhere(f'"{path}" must validate at least one schema (anyOf)')
    if best is not None:
        found.merge(best)


def _judge_one(found: Findings, schemas: list[Raw], value: Any, path: str, past: Past | None) -> None:
    outcomes = [judge(each, value, path, past) for each in schemas]
    valid = [outcome for outcome in outcomes if not outcome.errors]
    if len(valid) == 1:
        found.merge(valid[0])
        return
    why = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    found.nowhere(f'"{path}" must validate one and only one schema (oneOf). {why}')
    if not valid:
        found.merge(max(outcomes, key=lambda outcome: outcome.score))
