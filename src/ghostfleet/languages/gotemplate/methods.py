"""What stands behind a dot in a template: a key of a map, or a method of a number or a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.languages.gotemplate.literals import integer
from ghostfleet.languages.gotemplate.values import (
    MISSING,
    Float,
    Int,
    Int64,
    TemplateError,
    is_data_number,
    number_text,
    type_name,
)
from ghostfleet.languages.gotimes import Time, format_time

__all__ = ["field_of"]


def _int64(number: Any) -> Int64:
    value = integer(number_text(number))
    if value is None:
        raise TemplateError(f'error calling Int64: parsing "{number_text(number)}": invalid syntax')
    return Int64(value)


_NUMBER_METHODS: dict[str, Callable[[Any], Any]] = {
    "String": number_text,
    "Int64": _int64,
    "Float64": lambda number: Float(number_text(number)),
}
_TIME_METHODS: dict[str, Callable[..., Any]] = {
    "Format": lambda time, layout: format_time(time, layout),
    "String": str,
    "Unix": lambda time: Int64(time.nanoseconds // 1_000_000_000),
    "UnixMilli": lambda time: Int64(time.nanoseconds // 1_000_000),
    "UnixMicro": lambda time: Int64(time.nanoseconds // 1_000),
    "UnixNano": lambda time: Int64(time.nanoseconds),
    "UTC": lambda time: Time(time.nanoseconds),
    "Local": lambda time: Time(time.nanoseconds),
    "Year": lambda time: Int(time.clock.year),
    "Day": lambda time: Int(time.clock.day),
    "Hour": lambda time: Int(time.clock.hour),
    "Minute": lambda time: Int(time.clock.minute),
    "Second": lambda time: Int(time.clock.second),
    "Nanosecond": lambda time: Int(time.nanoseconds % 1_000_000_000),
    "YearDay": lambda time: Int(time.clock.timetuple().tm_yday),
}


def field_of(value: Any, name: str, arguments: list[Any]) -> Any:
    """`value.name`, with arguments if it is a method."""
    if value is MISSING:
        return MISSING
    if value is None:
        raise TemplateError(f"nil pointer evaluating interface {{}}.{name}")
    methods = _NUMBER_METHODS if is_data_number(value) else _TIME_METHODS if type(value) is Time else {}
    if name in methods:
        try:
            return methods[name](value, *arguments)
        except TypeError:
            raise TemplateError(f"wrong number of args for {name}") from None
    if type(value) is dict:
        if arguments:
            raise TemplateError(f"{name} is not a method but has arguments")
        return value.get(name, MISSING)
    raise TemplateError(f"can't evaluate field {name} in type {type_name(value)}")
