"""Filling: how absent values get into objects that nobody may change, and the rules that many kinds share.

A *rule* takes one JSON value and gives it back with what was missing; when nothing was, it gives back the very same
value, and otherwise a copy along the changed path which shares all the rest. Rules are made from tables, once, at
import. A table tells four sorts of missing apart, as Go's types do: a *zero* field counts as missing while it is
empty ("", 0), an *absent* field only when it is not there (or null), a *null* field is shown as null when nothing is
known, and *parts* are fields whose values have rules of their own. Values in tables are shared by all objects they
are put into, which is safe because objects are frozen.

A *resource list* maps names of resources to quantities; the API server keeps them in their canonical form and, since
no smaller part of a resource can be given out, rounds them up to thousandths. *Requirements* are the limits and
requests of one container. An image is pulled always when its tag is `latest`, which it also is when it has neither tag
nor digest; anything else, a name that is no image name included, is pulled only if it is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Amount, from_milli, milli, parse

__all__ = [
    "ObjectRule",
    "each",
    "each_value",
    "fill_pod_requirements",
    "fill_requirements",
    "fill_resource_list",
    "pull_policy",
    "replaced",
    "rule",
    "without",
]

ObjectRule = Callable[[Object], Object]
_ListRule = Callable[[list[Any]], list[Any]]

_NOTHING: Mapping[str, Any] = {}
_NANO_PER_MILLI = 10**6
#: Texts of quantities that are kept as they are.
_seen: set[str] = set()
_MAX_SEEN = 16384
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_STEP = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?P<host>{_HOST})/)?{_STEP}(?:/{_STEP})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
#: Sixty-four hex digits are the identifier of an image, not a name.
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


def rule(
    *,
    zero: Mapping[str, Any] = _NOTHING,
    absent: Mapping[str, Any] = _NOTHING,
    null: tuple[str, ...] = (),
    parts: Mapping[str, Callable[[Any], Any]] = _NOTHING,
    last: ObjectRule | None = None,
) -> ObjectRule:
    """The rule of one kind of object. `last` sees the object after all else is filled in."""
    zeros = tuple(zero.items())
    # What a part's rule would add to an absent value is known now: no need to find it out object by object.
    absents = tuple((key, parts[key](value) if key in parts else value) for key, value in absent.items())
    inner = tuple(parts.items())

    def apply(obj: Object) -> Object:
        added: Object | None = None
        get = obj.get
        for key, default in zeros:
            if not get(key):
                added = added or {}
                added[key] = default
        for key, default in absents:
            if get(key) is None:
                added = added or {}
                added[key] = default
        for key in null:
            if key not in obj:
                added = added or {}
                added[key] = None
        for key, part in inner:
            value = get(key)
            if value is not None:
                new = part(value)
                if new is not value:
                    added = added or {}
                    added[key] = new
        if added is not None:
            obj = {**obj, **added}
        return obj if last is None else last(obj)

    return apply


def each(item_rule: Callable[[Any], Any]) -> _ListRule:
    """The rule of a list whose items have `item_rule`."""

    def apply(items: list[Any]) -> list[Any]:
        for index, item in enumerate(items):
            new = item_rule(item)
            if new is not item:
                return [*items[:index], new, *map(item_rule, items[index + 1 :])]
        return items

    return apply


def each_value(value_rule: Callable[[Any], Any]) -> ObjectRule:
    """The rule of a map whose values have `value_rule`."""

    def apply(values: Object) -> Object:
        changed = {key: new for key, value in values.items() if (new := value_rule(value)) is not value}
        return {**values, **changed} if changed else values

    return apply


def replaced(obj: Object, key: str, value: Any) -> Object:
    """`obj` with `value` at `key`: itself, when it is there already; without the key, when `value` is None."""
    if value is None:
        return without(obj, key)
    return obj if obj.get(key) is value else {**obj, key: value}


def without(obj: Object, *keys: str) -> Object:
    """`obj` less the given keys."""
    if obj.keys().isdisjoint(keys):
        return obj
    return {key: value for key, value in obj.items() if key not in keys}


def _stored(amount: Amount) -> Amount:
    """The amount as it is kept; what is no quantity stays as it is, for validation to complain about."""
    try:
        quantity = parse(amount)
    except ValueError:
        return amount
    if quantity.nano % _NANO_PER_MILLI:
        quantity = from_milli(milli(quantity), quantity.format)
    return str(quantity)


def fill_resource_list(amounts: Object) -> Object:
    # The same few texts come again and again; one look tells whether all of them are known to be right.
    if _seen.issuperset(amounts.values()):
        return amounts
    stored = {name: _stored(amount) for name, amount in amounts.items()}
    if len(_seen) > _MAX_SEEN:
        _seen.clear()
    _seen.update(text for text in stored.values() if isinstance(text, str))
    return amounts if stored == amounts else stored


fill_requirements = rule(parts={"limits": fill_resource_list, "requests": fill_resource_list})


def fill_pod_requirements(requirements: Object) -> Object:
    """A container's requirements in a pod: what is limited but not requested is requested in full."""
    requirements = fill_requirements(requirements)
    limits = requirements.get("limits")
    if not limits:
        return requirements
    requests = requirements.get("requests")
    if not requests:
        return {**requirements, "requests": limits}
    if limits.keys() <= requests.keys():
        return requirements
    missing = {name: amount for name, amount in limits.items() if name not in requests}
    return {**requirements, "requests": {**requests, **missing}}


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """`Always` or `IfNotPresent`."""
    found = _REFERENCE.fullmatch(image)
    if found is None or _IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    latest = found["tag"] == "latest" or (found["tag"] is None and found["digest"] is None)
    return "Always" if latest else "IfNotPresent"
