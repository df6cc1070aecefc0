"""Findings: what is wrong with the values of a custom resource, in the words of Kubernetes' OpenAPI validator.

A value is judged at a *path* (`spec.items[0].name`). The findings of one judgement are kept by their text, since the
same thing is said only once, and with a *score*: the number of checks that were made and passed, by which alternatives
(`anyOf`, `oneOf`) choose the one that came closest.
"""

from __future__ import annotations

from typing import Any

import orjson

from ghostfleet.core.errors import FieldError

__all__ = ["Findings", "MistypedValue", "number_text"]


class MistypedValue(FieldError):
    """A value of the wrong type: told like any invalid value, but with a reason of its own."""

    __slots__ = ()

    def cause(self) -> dict[str, str]:
        return {"reason": "FieldValueTypeInvalid", "message": self.body, "field": self.field}


class Findings:
    """The outcome of judging one value."""

    __slots__ = ("errors", "score")

    def __init__(self) -> None:
        self.errors: dict[str, FieldError] = {}
        self.score = 0

    def merge(self, other: Findings) -> None:
        for text, error in other.errors.items():
            self.errors.setdefault(text, error)
        self.score += other.score

    def invalid(self, path: str, value: Any, what: str) -> None:
        """A bad value; `what` is said of the path."""
        self.say(path, value, f"{path} in body {what}")

    def say(self, path: str, value: Any, text: str) -> None:
        self.errors.setdefault(text, FieldError.invalid(_field(path), value, text))

    def mistyped(self, path: str, wanted: str, found: str) -> None:
        text = f"{path} in body must be of type {wanted}: {orjson.dumps(found).decode()}"
        self.errors.setdefault(text, MistypedValue("Invalid value", _field(path), found, text))

    def required(self, path: str) -> None:
        self.errors.setdefault(f"{path} in body is required", FieldError.required(_field(path)))

    def unsupported(self, path: str, value: Any, allowed: list[Any]) -> None:
        words = [each if isinstance(each, str) else orjson.dumps(each).decode() for each in allowed]
        text = f"{path} in body should be one of {words}"
        self.errors.setdefault(text, FieldError.unsupported(_field(path), value, words))

    def too_long(self, path: str, limit: int) -> None:
        text = f"{path} in body should be at most {limit} chars long"
        self.errors.setdefault(text, FieldError.too_long(_field(path), limit))

    def too_many(self, path: str, found: int, limit: int, unit: str) -> None:
        text = f"{path} in body should have at most {limit} {unit}"
        self.errors.setdefault(text, FieldError.too_many(_field(path), found, limit))

    def nowhere(self, text: str) -> None:
        """A finding that Kubernetes ties to no field."""
        self.errors.setdefault(text, FieldError.invalid("<nil>", "", text))


def _field(path: str) -> str:
    return path.removeprefix(".") if path else "<nil>"


def number_text(number: float) -> str:
    """A number as Go prints it: without a fraction that says nothing, with an exponent only when it is long."""
    if isinstance(number, int):
        return str(number)
    if number == int(number) and abs(number) < 1e21:
        return str(int(number))
    text = repr(number)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    sign, digits = exponent[:1], exponent.lstrip("+-")
    return f"{mantissa.removesuffix('.0')}e{sign if sign == '-' else '+'}{digits.zfill(2)}"
