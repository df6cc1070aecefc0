"""Semantic versions: `semver("1.2.3").isLessThan(...)`.

A version is three numbers, a *pre-release* that makes it lower than the version itself, and a *build* that is of no
consequence. The errors are those of the Go package that Kubernetes reads versions with (blang/semver).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.checked.values import name_type
from ghostfleet.languages.cel.values import CelError

__all__ = ["SEMVERS", "Semver", "parse_semver"]

_S = "kubernetes.Semver"
_UINT64 = 1 << 64


@dataclass(frozen=True, slots=True)
class Semver:
    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and compare(self, other) == 0

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.patch, self.pre))


name_type(Semver, _S)


def compare(one: Semver, other: Semver) -> int:
    numbers, others = (one.major, one.minor, one.patch), (other.major, other.minor, other.patch)
    if numbers != others:
        return 1 if numbers > others else -1
    if not one.pre or not other.pre:
        return bool(other.pre) - bool(one.pre)
    for part, counterpart in zip(one.pre, other.pre, strict=False):
        if part == counterpart and type(part) is type(counterpart):
            continue
        if type(part) is not type(counterpart):
            # A number is lower than a word.
            return -1 if isinstance(part, int) else 1
        return 1 if part > counterpart else -1  # type: ignore[operator]
    return (len(one.pre) > len(other.pre)) - (len(one.pre) < len(other.pre))


@lru_cache(maxsize=4096)
def parse_semver(text: str) -> Semver:
    """The version that a text is; a ValueError in the words of the Go package if it is none."""
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "Major"), _number(parts[1], "Minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    return Semver(
        major,
        minor,
        _number(patch, "Patch"),
        tuple(_pre(each) for each in pre.split(".")) if dash else (),
        tuple(_build(each) for each in build.split(".")) if plus else (),
    )


def _number(text: str, noun: str) -> int:
    if not re.fullmatch(r"[0-9]*", text):
        raise ValueError(f'Invalid character(s) found in {noun.lower()} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f'{noun} number must not contain leading zeroes "{text}"')
    return _uint(text)


def _uint(text: str) -> int:
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if int(text) >= _UINT64:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _pre(text: str) -> int | str:
    if not text:
        raise ValueError("Prerelease is empty")
    if re.fullmatch(r"[0-9]+", text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(f'Numeric PreRelease version must not contain leading zeroes "{text}"')
        return _uint(text)
    if not re.fullmatch(r"[0-9A-Za-z-]+", text):
        raise ValueError(f'Invalid character(s) found in prerelease "{text}"')
    return text


def _build(text: str) -> str:
    if not text:
        raise ValueError("Build meta data is empty")
    if not re.fullmatch(r"[0-9A-Za-z-]+", text):
        raise ValueError(f'Invalid character(s) found in build meta data "{text}"')
    return text


def _normalized(text: str) -> str:
    """The text without `v` in front, without leading zeros, and with all three numbers."""
    parts = text.removeprefix("v").split(".", 2)
    for place, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[place] = stripped if stripped[:1].isdigit() else "0" + stripped
    if len(parts) < 3:
        if re.search(r"[+-]", parts[-1]):
            raise ValueError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return parse_semver(_normalized(text) if normalize else text)
    except ValueError as error:
        raise CelError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelError:
        return False
    return True


SEMVERS: list[Function] = [
    function("semver", overload(f"(string) -> {_S}", _semver), overload(f"(string, bool) -> {_S}", _semver)),
    function("isSemver", overload("(string) -> bool", _is_semver), overload("(string, bool) -> bool", _is_semver)),
    function("isGreaterThan", overload(f"{_S}.({_S}) -> bool", lambda one, other: compare(one, other) > 0)),
    function("isLessThan", overload(f"{_S}.({_S}) -> bool", lambda one, other: compare(one, other) < 0)),
    function("compareTo", overload(f"{_S}.({_S}) -> int", compare)),
    function("major", overload(f"{_S}.() -> int", lambda version: version.major)),
    function("minor", overload(f"{_S}.() -> int", lambda version: version.minor)),
    function("patch", overload(f"{_S}.() -> int", lambda version: version.patch)),
]
