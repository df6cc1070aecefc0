"""The functions of ClusterLoader2's templates, besides Go's own (`pkg/config/template_functions.go`).

All arithmetic goes through float64; functions that end in Int cut off towards zero. Texts that are numbers count as
numbers. A value that comes through a pipe is the *last* argument, so `.X | DefaultParam 30` is 30, whatever `.X` is.
Random values come from a stream of the test's, so that a test is the same each time it is rendered.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.core.yamltext import emit
from ghostfleet.languages.budget import BUDGET, LONGEST_TEMPLATE
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.values import type_name

__all__ = ["Functions", "template_functions"]

Functions = dict[str, Callable[..., Any]]
#: Random texts are long where somebody wants large objects; an object has at most 3 MiB.
_LONGEST_RANDOM = 3 << 20
_LONGEST_LOOP = 1_000_000


def template_functions(root: Path, random: Random) -> Functions:
    """All functions by name; files are read from a directory, random values from a stream."""

    def rand_int(limit: Any) -> int:
        return random.randint(0, max(0, _integer(limit)))

    def rand_int_range(low: Any, high: Any) -> int:
        first, last = _integer(low), _integer(high)
        return first if first >= last else random.randint(first, last)

    def rand_data(size: Any) -> str:
        return _random_text(random, size)

    def include_file(name: Any) -> str:
        return _included(root, name)

    return {
        **_FUNCTIONS,
        "RandInt": rand_int,
        "RandIntRange": rand_int_range,
        "RandData": rand_data,
        "IncludeFile": include_file,
        "IncludeEmbedFile": include_file,
    }


# -- numbers ---------------------------------------------------------------------------------------------------------


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a number, found {_named(value)}")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"expected a number, found {_named(value)}") from None


def _named(value: Any) -> str:
    if value is None:
        return "nothing: the value is not set"
    return f"{shortened(printed(value))!r} ({type_name(value)})"


def _integer(value: Any) -> int:
    number = _number(value)
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, found {_named(value)}")
    return int(number)


def _divided(first: Any, second: Any) -> float:
    divisor = _number(second)
    if divisor == 0:
        raise ValueError("division by zero")
    return _number(first) / divisor


def _whole(number: float) -> int:
    if not math.isfinite(number):
        raise ValueError("the result is no finite number")
    return int(number)


def _sum(numbers: tuple[Any, ...]) -> float:
    return math.fsum(map(_number, numbers))


def _product(numbers: tuple[Any, ...]) -> float:
    return math.prod(map(_number, numbers))


def _most(numbers: tuple[Any, ...]) -> float:
    return max(map(_number, _some(numbers)))


def _least(numbers: tuple[Any, ...]) -> float:
    return min(map(_number, _some(numbers)))


def _some(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    if not numbers:
        raise ValueError("expected at least one number")
    return numbers


def _mod(first: Any, second: Any) -> int:
    divisor = _integer(second)
    if divisor == 0:
        raise ValueError("modulo division by zero")
    # As in Go, the result has the sign of the dividend.
    return int(math.fmod(_integer(first), divisor))


# -- lists and texts -------------------------------------------------------------------------------------------------


def _loop(count: Any) -> list[int]:
    return list(range(_bounded(count)))


def _zeros(count: Any) -> list[int]:
    return [0] * _bounded(count)


def _bounded(count: Any) -> int:
    """A number of rounds, which are charged for before the list is made."""
    number = _integer(count)
    if number > _LONGEST_LOOP:
        raise ValueError(f"expected at most {_LONGEST_LOOP:,} rounds, found {number:,}")
    BUDGET.step(max(0, number) // 8)
    return max(0, number)


def _default_param(value: Any, default: Any) -> Any:
    return default if value is None else value


def _if_then_else(condition: Any, then: Any, otherwise: Any) -> Any:
    if not isinstance(condition, bool):
        raise ValueError(f"expected a bool, found {_named(condition)}")
    return then if condition else otherwise


def _concat(*texts: Any) -> str:
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"expected texts, found {_named(text)}")
    BUDGET.handle(sum(map(len, texts)))
    return "".join(texts)


def _yaml_quote(text: Any, tabs: Any) -> str:
    if not isinstance(text, str):
        raise ValueError(f"expected a text, found {_named(text)}")
    # Writing YAML takes long.
    BUDGET.step(len(text) // 4)
    lines = emit(text).removesuffix("\n").removesuffix("\n...").split("\n")
    indent = "  " * min(64, max(0, _integer(tabs)))
    return f"\n{indent}".join(lines)


def _string_split(text: Any) -> list[str]:
    if not isinstance(text, str):
        raise ValueError(f"expected a text, found {_named(text)}")
    BUDGET.handle(len(text))
    return [part for part in text.split(",") if part]


def _lowercase(text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError(f"expected a text, found {_named(text)}")
    BUDGET.handle(len(text))
    return text.lower()


def _random_text(random: Random, size: Any) -> str:
    length = _integer(size)
    if not 0 <= length <= _LONGEST_RANDOM:
        raise ValueError(f"expected a length of 0 to {_LONGEST_RANDOM:,}, found {length:,}")
    BUDGET.handle(length)
    return base64.b64encode(random.randbytes(length))[:length].decode()


def _random_with_seed(size: Any, seed: Any) -> str:
    if not isinstance(seed, str):
        raise ValueError(f"expected a text as the seed, found {_named(seed)}")
    return _random_text(Random(int.from_bytes(hashlib.sha256(seed.encode()).digest())), size)


def _included(root: Path, name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"expected the path of a file, found {_named(name)}")
    path = root / os.path.expandvars(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text"
        raise ValueError(f"cannot read {path}: {why}") from None
    if len(text) > LONGEST_TEMPLATE:
        raise ValueError(f"{path}: expected at most {LONGEST_TEMPLATE:,} characters, found {len(text):,}")
    BUDGET.handle(len(text))
    return text


_FUNCTIONS: Functions = {
    "AddInt": lambda *numbers: _whole(_sum(numbers)),
    "AddFloat": lambda *numbers: _sum(numbers),
    "SubtractInt": lambda first, second: _whole(_number(first) - _number(second)),
    "SubtractFloat": lambda first, second: _number(first) - _number(second),
    "MultiplyInt": lambda *numbers: _whole(_product(numbers)),
    "MultiplyFloat": lambda *numbers: _product(numbers),
    "DivideInt": lambda first, second: _whole(_divided(first, second)),
    "DivideFloat": _divided,
    "MaxInt": lambda *numbers: _whole(_most(numbers)),
    "MaxFloat": lambda *numbers: _most(numbers),
    "MinInt": lambda *numbers: _whole(_least(numbers)),
    "MinFloat": lambda *numbers: _least(numbers),
    "Ceil": lambda number: float(math.ceil(_number(number))),
    "Mod": _mod,
    "Loop": _loop,
    "Seq": _zeros,
    "SliceOfZeros": _zeros,
    "DefaultParam": _default_param,
    "IfThenElse": _if_then_else,
    "Concat": _concat,
    "YamlQuote": _yaml_quote,
    "StringSplit": _string_split,
    "Lowercase": _lowercase,
    "RandDataWithSeed": _random_with_seed,
    "StructuralData": lambda value: value,
}
