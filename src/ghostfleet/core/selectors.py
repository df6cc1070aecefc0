"""Selectors: which objects a list, a watch or a controller is about.

A *label selector* looks at an object's labels, and comes as text (`app=web,tier in (a,b),!old`) or as the object that
stands in specs (`matchLabels`, `matchExpressions`). A *field selector* looks at a few fields (`spec.nodeName=n1`);
which ones, and where they lie, is said for each resource by its `FieldLabels`. One condition of either is a
*requirement*. Selectors are compiled once into closures, since a watch asks them about every event. Errors are
ValueErrors in Kubernetes' words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from ghostfleet.core.errors import FieldError
from ghostfleet.core.names import is_label_value, is_qualified_name

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "FieldLabels",
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "ObjectTest",
    "Requirement",
    "custom_field_labels",
    "field_labels",
    "matcher",
    "parse_field_selector",
    "parse_label_selector",
    "selector_from_object",
]

Labels = Mapping[str, str]
LabelTest = Callable[[Labels | None], bool]
ObjectTest = Callable[[Mapping[str, Any]], bool]
Reader = Callable[[Mapping[str, Any]], str]
Subject = TypeVar("Subject")

_OBJECT_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_SYMBOLS = {"gt": ">", "lt": "<"}
_OPERATOR_OF = {name: name for name in ("in", "notin", "=", "==", "!=")} | {">": "gt", "<": "lt"}
_AFTER_VALUE, _AFTER_COMMA = "',' or ')'", "',', or identifier"
_NO_VALUES = "values set must be empty for exists and does not exist"
_WHOLE_NUMBER = "for 'Gt', 'Lt' operators, the value must be an integer"
_REFUSAL = "field label not supported: {}"
_INT64 = re.compile(r"[+-]?[0-9]{1,30}")


class Requirement(NamedTuple):
    """One condition on labels; the operators are Kubernetes' own names (`=`, `in`, `exists`, `!`, `gt` ...)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator in ("exists", "!"):
            return self.key if self.operator == "exists" else f"!{self.key}"
        listed = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({listed})"
        return f"{self.key}{_SYMBOLS.get(self.operator, self.operator)}{listed}"


class LabelSelector:
    """A compiled label selector. `matches` takes labels (or None, for an object without); `str()` is canonical."""

    __slots__ = ("empty", "matches", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = (), *, nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.empty = not self.requirements and not nothing
        self.matches: LabelTest = (lambda _: False) if nothing else _every(map(_label_test, self.requirements))

    def equalities(self) -> dict[str, str]:
        """Labels that every match has with exactly this value; indexes look objects up by them."""
        exact = [one for one in self.requirements if one.operator in ("=", "==", "in") and len(one.values) == 1]
        return {one.key: one.values[0] for one in reversed(exact)}

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _every(tests: Iterable[Callable[[Subject], bool]]) -> Callable[[Subject], bool]:
    match tuple(tests):
        case ():
            return lambda _: True
        case (only,):
            return only
        case (first, second):
            return lambda subject: first(subject) and second(subject)
        case several:
            return lambda subject: all(test(subject) for test in several)


def _label_test(requirement: Requirement) -> LabelTest:
    key, operator, values = requirement
    wanted = frozenset(values)
    if operator in ("=", "==", "in"):
        if len(values) == 1:
            value = values[0]
            return lambda labels: labels is not None and labels.get(key) == value
        return lambda labels: labels is not None and labels.get(key) in wanted
    if operator in ("notin", "!="):
        return lambda labels: labels is None or labels.get(key) not in wanted
    if operator == "exists":
        return lambda labels: labels is not None and key in labels
    if operator == "!":
        return lambda labels: labels is None or key not in labels
    bound = _int64(values[0]) or 0
    if operator == "gt":
        return lambda labels: (number := _int64((labels or {}).get(key, ""))) is not None and number > bound
    return lambda labels: (number := _int64((labels or {}).get(key, ""))) is not None and number < bound


def _int64(text: str) -> int | None:
    return number if _INT64.fullmatch(text) and -(1 << 63) <= (number := int(text)) < 1 << 63 else None


def _checked(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """The requirement, if its key and values may stand in a selector."""
    errors = [FieldError.invalid("key", key, "; ".join(problems))] if (problems := is_qualified_name(key)) else []
    if operator in ("in", "notin") and not values:
        errors.append(FieldError.invalid("values", [], "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in ("exists", "!") and values:
        errors.append(FieldError.invalid("values", list(values), _NO_VALUES))
    elif operator in ("gt", "lt") and _int64(values[0]) is None:
        errors.append(FieldError.invalid("values[0]", values[0], _WHOLE_NUMBER))
    for index, value in enumerate(values):
        if problems := is_label_value(value):
            errors.append(FieldError.invalid(f"values[{index}][{key}]", value, "; ".join(problems)))
    if errors:
        texts = list(dict.fromkeys(map(str, errors)))
        raise ValueError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return Requirement(key, operator, values)


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(nothing=True)


def selector_from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Compile a `metav1.LabelSelector`. An absent one selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    requirements = [_checked(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise ValueError(f'"{expression.get("operator", "")}" is not a valid label selector operator')
        requirements.append(_checked(expression.get("key", ""), operator, tuple(expression.get("values") or ())))
    return LabelSelector(requirements)


@lru_cache(maxsize=1024)
def parse_label_selector(text: str) -> LabelSelector:
    """Compile the text form of a label selector; the empty text selects everything."""
    return LabelSelector(_Parser(text).requirements()) if text else EVERYTHING


class _Parser:
    """Reads `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`. Whether `in` is an operator or a value depends on its place."""

    _TOKEN = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")
    _MARKS = frozenset({"", "==", "!=", "=", "!", "(", ")", ",", "<", ">"})

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [*self._TOKEN.findall(text), ""]
        self.position = 0

    @property
    def next(self) -> str:
        return self.tokens[self.position]

    @property
    def at_word(self) -> bool:
        return self.next not in self._MARKS

    def take(self) -> str:
        token = self.next
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self.at_word or self.next == "!":
            try:
                found.append(self.requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            if not (separator := self.take()):
                return found
            if separator != ",":
                raise ValueError(f"found '{separator}', expected: ',' or 'end of string'")
            if not self.at_word and self.next != "!":
                raise ValueError(f"found '{self.next}', expected: identifier after ','")
        if self.next:
            raise ValueError(f"found '{self.next}', expected: !, identifier, or 'end of string'")
        return found

    def requirement(self) -> Requirement:
        absent = self.next == "!" and bool(self.take())
        if not self.at_word:
            raise ValueError(f"found '{self.next}', expected: identifier")
        key = self.take()
        if problems := is_qualified_name(key):
            raise ValueError(str(FieldError.invalid("<nil>", key, "; ".join(problems))))
        if absent or self.next in ("", ","):
            return _checked(key, "!" if absent else "exists", ())
        operator = _OPERATOR_OF.get(token := self.take())
        if operator is None:
            raise ValueError(f"found '{token}', expected: {', '.join(_OPERATOR_OF.values())}")
        values = self.value_set() if operator in ("in", "notin") else {self.exact_value()}
        return _checked(key, operator, tuple(sorted(values)))

    def value_set(self) -> set[str]:
        if (token := self.take()) != "(":
            raise ValueError(f"found '{token}' expected: '('")
        if not (self.at_word or self.next in (",", ")")):
            raise ValueError(f"found '{self.next}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            named = self.at_word
            values.add(self.take() if named else "")
            token = self.take()
            if token == ")":
                return values
            if token != ",":
                raise ValueError(f"found '{token}', expected: {_AFTER_VALUE if named else _AFTER_COMMA}")

    def exact_value(self) -> str:
        if self.next in ("", ","):
            return ""
        if not self.at_word:
            raise ValueError(f"found '{self.next}', expected: identifier")
        return self.take()


class FieldRequirement(NamedTuple):
    """One condition on a field; the operator is `=` or `!=`."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return self.label + self.operator + re.sub(r"[\\,=]", r"\\\g<0>", self.value)


class FieldLabels:
    """The field labels that one resource supports, and how it refuses the others."""

    def __init__(self, labels: Iterable[str], refusal: str = _REFUSAL) -> None:
        self._readers = {label: _reader(label) for label in labels}
        self._refusal = refusal

    def reader(self, label: str) -> Reader:
        """What reads this field of an object; a ValueError if the resource does not support it."""
        if label not in self._readers:
            raise ValueError(self._refusal.format(label))
        return self._readers[label]


_NAMED = "metadata.name metadata.namespace"
_EVENT_SUBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_DEFAULT_REFUSAL = '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'

#: Field labels by resource key. What is not here has the name and the namespace only.
_SUPPORTED = {
    "pods": f"{_NAMED} spec.nodeName spec.host spec.restartPolicy spec.schedulerName spec.serviceAccountName "
    "spec.hostNetwork status.phase status.podIP status.podIPs status.nominatedNodeName",
    "nodes": "metadata.name spec.unschedulable",
    "namespaces": "metadata.name status.phase",
    "secrets": f"{_NAMED} type",
    "services": f"{_NAMED} spec.clusterIP spec.type",
    "replicationcontrollers": f"{_NAMED} status.replicas",
    "events": f"{_NAMED} reason reportingComponent source type "
    + " ".join(f"involvedObject.{part}" for part in _EVENT_SUBJECT),
    "events.events.k8s.io": f"{_NAMED} reason reportingController type "
    + " ".join(f"regarding.{part}" for part in _EVENT_SUBJECT),
    "jobs.batch": f"{_NAMED} status.successful",
    "certificatesigningrequests.certificates.k8s.io": "metadata.name spec.signerName",
    "clustertrustbundles.certificates.k8s.io": "metadata.name spec.signerName",
    "podcertificaterequests.certificates.k8s.io": "metadata.name spec.signerName spec.podName spec.nodeName",
    "resourceslices.resource.k8s.io": "metadata.name spec.nodeName spec.driver",
}
_OLD_NAMES = {"spec.host": "spec.nodeName"}
_REFUSALS = {
    "jobs.batch": 'field label "{}" not supported for Job',
    "resourceslices.resource.k8s.io": "field label not supported for resource.k8s.io/VERSION, Kind=ResourceSlice: {}",
}
#: Where a field lies if not where its label says; the first place with a value counts. Both APIs of events see the same
#: events, so each label is looked for under the names of both.
_PLACES: dict[str, tuple[str, ...]] = {
    "spec.host": ("spec.nodeName",),
    "status.podIPs": (),
    "status.successful": ("status.succeeded",),
    "reportingComponent": ("reportingComponent", "reportingController"),
    "reportingController": ("reportingController", "reportingComponent"),
    "source": ("source.component", "deprecatedSource.component", "reportingComponent", "reportingController"),
} | {
    f"{one}.{part}": (f"{one}.{part}", f"{other}.{part}")
    for one, other in (("involvedObject", "regarding"), ("regarding", "involvedObject"))
    for part in _EVENT_SUBJECT
}
#: What an absent field counts as, if not as the empty text.
_ABSENT = {"spec.hostNetwork": "false", "spec.unschedulable": "false", "status.replicas": "0", "status.successful": "0"}


@lru_cache(maxsize=1024)
def field_labels(resource_key: str, version: str = "v1") -> FieldLabels:
    """The field labels of a built-in resource, by its key (`pods`, `jobs.batch`)."""
    if resource_key not in _SUPPORTED:
        return FieldLabels(_NAMED.split(), _DEFAULT_REFUSAL)
    refusal = _REFUSALS.get(resource_key, _REFUSAL).replace("VERSION", version)
    return FieldLabels(_SUPPORTED[resource_key].split(), refusal)


def custom_field_labels(selectable_fields: Iterable[str], namespaced: bool) -> FieldLabels:
    """The field labels of a custom resource: its names, and the `selectableFields` of its definition."""
    own = (path.removeprefix(".") for path in selectable_fields)
    return FieldLabels((*(_NAMED if namespaced else "metadata.name").split(), *own))


def _reader(label: str) -> Reader:
    absent = _ABSENT.get(label, "")
    paths = [tuple(place.split(".")) for place in _PLACES.get(label, (label,))]

    def read(obj: Mapping[str, Any]) -> str:
        for path in paths:
            found: Any = obj
            for key in path:
                found = found.get(key) if isinstance(found, dict) else None
            if isinstance(found, str) and found:
                return found
            if isinstance(found, (bool, int, float)):
                return str(found).lower()
        return absent

    return read


class FieldSelector:
    """A compiled field selector; `matches` takes an object."""

    __slots__ = ("empty", "matches", "requirements")

    def __init__(self, requirements: Sequence[FieldRequirement], labels: FieldLabels) -> None:
        self.requirements = tuple(requirements)
        self.empty = not self.requirements
        self.matches: ObjectTest = _every([_field_test(labels.reader(one.label), one) for one in requirements])

    def equalities(self) -> dict[str, str]:
        """Fields that every match has with exactly this value."""
        exact = [one for one in self.requirements if one.operator == "="]
        return {_OLD_NAMES.get(one.label, one.label): one.value for one in reversed(exact)}

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _field_test(read: Reader, requirement: FieldRequirement) -> ObjectTest:
    value = requirement.value
    return (lambda obj: read(obj) == value) if requirement.operator == "=" else (lambda obj: read(obj) != value)


def parse_field_selector(text: str, labels: FieldLabels) -> FieldSelector:
    """Compile the text of a field selector (`a=b,c!=d`) for a resource with these field labels."""
    requirements = []
    # Kubernetes sorts the terms, which shows in messages.
    for term in sorted(re.findall(r"(?:[^\\,]|\\.|\\$)+", text, re.DOTALL)):
        match = re.fullmatch(r"(.*?)(!=|==?)(.*)", term, re.DOTALL)
        if match is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        label, operator, value = match.groups()
        requirements.append(FieldRequirement(label, "!=" if operator == "!=" else "=", _unescape(value)))
    return FieldSelector(requirements, labels)


def _unescape(value: str) -> str:
    pieces = re.findall(r"\\.|.|\\", value, re.DOTALL)
    for piece in pieces:
        if piece in (",", "="):
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(piece)}")
        if piece[0] == "\\" and piece not in (r"\\", r"\,", r"\="):
            raise ValueError(f"invalid field selector: invalid escape sequence: {piece}")
    return "".join(piece[-1] for piece in pieces)


def matcher(labels: LabelSelector, fields: FieldSelector) -> ObjectTest:
    """Both selectors at once, for whole objects: what one list or watch asks for."""
    by_labels, by_fields = labels.matches, fields.matches
    if labels.empty:
        return by_fields
    return lambda obj: by_labels(obj["metadata"].get("labels")) and by_fields(obj)
