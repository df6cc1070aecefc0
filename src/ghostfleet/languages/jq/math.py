"""The mathematical functions of jq: floats in, floats out, with Go's answers where Python would raise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ghostfleet.languages.govalues import truncated
from ghostfleet.languages.jq.values import to_float, wrong_type

__all__ = ["MATH"]


def _function(name: str, function: Callable[..., float]) -> Callable[..., float]:
    def apply(value: Any, *arguments: Any) -> float:
        numbers = []
        for one in arguments or (value,):
            if (as_float := to_float(one)) is None:
                raise wrong_type(name, one)
            numbers.append(as_float)
        try:
            return float(function(*numbers))
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return apply


def _rounded(number: float) -> float:
    """Halves away from zero."""
    return math.copysign(math.floor(abs(number) + 0.5), number) if math.isfinite(number) else number


def _even(number: float) -> float:
    return math.copysign(round(number), number) if math.isfinite(number) else number


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda number: math.copysign(function(number), number) if math.isfinite(number) else number


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda number: -math.inf if number == 0 else function(number)


def _pow(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        odd = exponent == int(exponent) and exponent % 2 == 1 if math.isfinite(exponent) else False
        return math.copysign(math.inf, base) if odd else math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _cube_root(number: float) -> float:
    root = math.cbrt(number)
    # The C library is off by the last digit here and there.
    return root - (root * root * root - number) / (3 * root * root) if math.isfinite(root) and root else root


def _infinite_at_poles(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda number: math.copysign(math.inf, number) if number == 0 else function(number)


def _significand(number: float) -> float:
    return math.frexp(number)[0] * 2 if math.isfinite(number) else number


def _logb(number: float) -> float:
    if number == 0:
        return -math.inf
    return math.frexp(number)[1] - 1.0 if math.isfinite(number) else abs(number)


def _drem(left: float, right: float) -> float:
    rest = math.remainder(left, right)
    return math.copysign(rest, left) if rest == 0 else rest


def _frexp(value: Any) -> list[Any]:
    number = to_float(value)
    if number is None:
        raise wrong_type("frexp", value)
    fraction, exponent = math.frexp(number)
    return [fraction, exponent]


def _modf(value: Any) -> list[Any]:
    number = to_float(value)
    if number is None:
        raise wrong_type("modf", value)
    fraction, whole = math.modf(number)
    return [fraction, whole]


def _is_nan(value: Any) -> bool:
    number = to_float(value)
    if number is None:
        if value is None:
            return False
        raise wrong_type("isnan", value)
    return math.isnan(number)


def _is_infinite(value: Any) -> bool:
    number = to_float(value)
    return number is not None and math.isinf(number)


def _is_finite(value: Any) -> bool:
    number = to_float(value)
    return number is not None and not math.isinf(number)


def _is_normal(value: Any) -> bool:
    number = to_float(value)
    return number is not None and math.isfinite(number) and abs(number) >= 2.2250738585072014e-308


def _larger(left: float, right: float) -> float:
    return right if left != left else left if right != right else max(left, right)


def _smaller(left: float, right: float) -> float:
    return right if left != left else left if right != right else min(left, right)


_ONE: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
    **{name: getattr(math, name) for name in ("asinh", "acosh", "sqrt", "exp", "expm1", "erf", "erfc")},
    "atanh": lambda number: math.copysign(math.inf, number) if abs(number) == 1 else math.atanh(number),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "round": _rounded,
    "nearbyint": _even,
    "rint": _even,
    "fabs": abs,
    "cbrt": _cube_root,
    "exp2": lambda number: math.exp2(number),
    "exp10": lambda number: _pow(10.0, number),
    "log": _log(math.log),
    "log10": _log(math.log10),
    "log2": _log(math.log2),
    "log1p": lambda number: -math.inf if number == -1 else math.log1p(number),
    "logb": _logb,
    "gamma": _infinite_at_poles(math.gamma),
    "tgamma": _infinite_at_poles(math.gamma),
    "lgamma": _infinite_at_poles(math.lgamma),
    "significand": _significand,
}
_TWO: dict[str, Callable[[float, float], float]] = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "drem": _drem,
    "fdim": lambda left, right: max(left - right, 0.0),
    "fmax": _larger,
    "fmin": _smaller,
    "fmod": math.fmod,
    "hypot": math.hypot,
    "ldexp": lambda number, exponent: math.ldexp(number, truncated(exponent)),
    "scalb": lambda number, exponent: math.ldexp(number, truncated(exponent)),
    "scalbln": lambda number, exponent: math.ldexp(number, truncated(exponent)),
    "nextafter": math.nextafter,
    "nexttoward": math.nextafter,
    "pow": _pow,
    "remainder": math.remainder,
}

MATH: dict[str, Callable[..., Any]] = (
    {f"{name}/0": _function(name, function) for name, function in _ONE.items()}
    | {f"{name}/2": _function(name, function) for name, function in _TWO.items()}
    | {
        "fma/3": _function("fma", lambda x, y, z: x * y + z),
        "frexp/0": _frexp,
        "modf/0": _modf,
        "infinite/0": lambda _: math.inf,
        "nan/0": lambda _: math.nan,
        "isinfinite/0": _is_infinite,
        "isfinite/0": _is_finite,
        "isnan/0": _is_nan,
        "isnormal/0": _is_normal,
    }
)
