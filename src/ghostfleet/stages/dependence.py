"""What the outcome of a template depends on.

A template is *traced* without data: each value in it stands for the *paths* in the object that it may have come from.
`.spec.containers` is a path; `[]` in one stands for every item of a list. What a template does with a value decides how
much of it matters: of a list that is only counted its size does, of what is only tested its truth, of all else the
value itself. So the outcome for two objects is the same if all that matters is, and need not be worked out twice. What
is only *printed* is told apart: another value would come out in its place.

The time and the addresses of nodes and pods differ from object to object; they are *volatile*. As long as a template
only prints them they can be put into a finished outcome; one that looks into them cannot be cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ghostfleet.languages.gotemplate.syntax import Action, Branch, Invocation, Operand, Part, Pipeline
from ghostfleet.languages.gotemplate.values import is_true

__all__ = ["Dependence", "Path", "dependence_of", "extract", "replaced"]

Path = tuple[str, ...]
_Value = frozenset[Path]

_EACH, _SIZE, _TRUTH = "[]", "[#]", "[?]"
#: First step of the paths of volatile values; no field is called so.
_VOLATILE = "[!]"
#: Functions whose answer differs from object to object, and those that are the same for all objects of a run.
_VOLATILE_FUNCTIONS = frozenset(("Now", "NodeIPWith", "NodeIPsWith", "PodIP", "PodIPWith", "PodIPsWith"))
_OWN_FUNCTIONS = frozenset(("NodeIP", "NodeName"))
_FIXED_FUNCTIONS = frozenset(("StartTime", "Version", "NodePort", "NodeConditions", "dict", "list"))
#: Functions that print their arguments as they are.
_PRINTING = frozenset(("Quote", "quote", "squote", "print", "printf", "println", "YAML", "toString"))
#: Functions that give one of their arguments.
_CHOOSING = frozenset(("or", "and", "default", "coalesce"))
#: Functions that ask only whether their argument is empty.
_TESTING = frozenset(("not", "empty"))
#: Functions whose outcome depends on nothing but their arguments; any other could be random.
_PURE = frozenset(
    (
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "len",
        "index",
        "add",
        "sub",
        "mul",
        "div",
        "mod",
        "max",
        "min",
        "upper",
        "lower",
        "title",
        "trim",
        "trimPrefix",
        "trimSuffix",
        "replace",
        "contains",
        "hasPrefix",
        "hasSuffix",
        "split",
        "splitList",
        "join",
        "first",
        "last",
        "has",
        "hasKey",
        "get",
        "keys",
        "toJson",
        "int",
        "int64",
        "float64",
        "ternary",
        "trunc",
        "indent",
        "nindent",
        "kindIs",
        "typeIs",
        "b64enc",
        "b64dec",
        "sha256sum",
        "atoi",
        "ceil",
        "floor",
        "round",
        "until",
    )
)
_FORMATTING = re.compile("%[^svd%]")
_NOTHING: _Value = frozenset()


class Dependence(NamedTuple):
    """What matters to a template."""

    #: paths in the object of what the template looks into
    paths: tuple[Path, ...]
    #: paths of what it only prints
    printed: tuple[Path, ...]
    #: names of the volatile functions that it calls
    volatile: tuple[str, ...]


def dependence_of(templates: dict[str, tuple[Part, ...]]) -> Dependence | None:
    """What a parsed text depends on; None if that cannot be found out."""
    tracer = _Tracer(templates)
    try:
        tracer.parts(templates[""], frozenset([()]))
    except _Unforeseeable:
        return None
    printed = tracer.printed - tracer.paths
    return Dependence(tuple(sorted(tracer.paths)), tuple(sorted(printed)), tuple(sorted(tracer.volatile)))


class _Unforeseeable(Exception):
    pass


class _Tracer:
    def __init__(self, templates: dict[str, tuple[Part, ...]]) -> None:
        self.templates = templates
        self.paths: set[Path] = set()
        self.printed: set[Path] = set()
        self.volatile: set[str] = set()
        self.variables: dict[str, _Value] = {"$": frozenset([()])}
        self.depth = 0

    # -- what is done with values --------------------------------------------------------------------------------------

    def needs(self, value: _Value, how: str = "") -> None:
        """A value matters: all of it, or its size or truth."""
        for path in value:
            if path[:1] == (_VOLATILE,):
                continue
            if path == () and not how:
                raise _Unforeseeable
            self.paths.add((*path, how) if how else path)

    def prints(self, value: _Value) -> None:
        for path in value:
            if path[:1] == (_VOLATILE,):
                continue
            if path == ():
                raise _Unforeseeable
            self.printed.add(path)

    def looks_into(self, value: _Value) -> None:
        if any(path[:1] == (_VOLATILE,) for path in value):
            raise _Unforeseeable
        self.needs(value)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def parts(self, parts: Iterable[Part], dot: _Value) -> None:
        for part in parts:
            match part:
                case Action(pipeline):
                    value = self.pipeline(pipeline, dot)
                    if not pipeline.variables:
                        self.prints(value)
                case Branch():
                    self.branch(part, dot)
                case Invocation(name, pipeline):
                    self.invocation(name, pipeline, dot)

    def branch(self, part: Branch, dot: _Value) -> None:
        before = dict(self.variables)
        self.enter(part, dot)
        # Whether the branch was taken is not known, nor whether its variables are others of the same names.
        for name, value in before.items():
            self.variables[name] = value | self.variables[name]

    def enter(self, part: Branch, dot: _Value) -> None:
        value = self.pipeline(Pipeline(part.pipeline.commands) if part.sort == "range" else part.pipeline, dot)
        if part.sort != "range":
            self.needs(value, _TRUTH)
            self.parts(part.body, value if part.sort == "with" else dot)
        else:
            self.needs(value, _SIZE)
            items = frozenset((*path, _EACH) for path in value)
            for name in part.pipeline.variables:
                self.variables[name] = _NOTHING
            if part.pipeline.variables:
                self.variables[part.pipeline.variables[-1]] = items
            # What one turn of the loop sets, the next one may use.
            self.parts(part.body, items)
            self.parts(part.body, items)
        self.parts(part.otherwise, dot)

    def invocation(self, name: str, pipeline: Pipeline | None, dot: _Value) -> None:
        value = self.pipeline(pipeline, dot) if pipeline is not None else _NOTHING
        self.depth += 1
        if self.depth > 20 or name not in self.templates:
            raise _Unforeseeable
        outer, self.variables = self.variables, {"$": value}
        self.parts(self.templates[name], value)
        self.variables = outer
        self.depth -= 1

    # -- values --------------------------------------------------------------------------------------------------------

    def pipeline(self, pipeline: Pipeline, dot: _Value) -> _Value:
        value: _Value | None = None
        for command in pipeline.commands:
            value = self.command(command, dot, value)
        result = value or _NOTHING
        for name in pipeline.variables:
            self.variables[name] = result | self.variables.get(name, _NOTHING) if pipeline.assigns else result
        return result

    def command(self, operands: tuple[Operand, ...], dot: _Value, final: _Value | None) -> _Value:
        word = operands[0]
        if word.sort == "function" and not word.fields:
            return self.call(word.value, operands[1:], dot, final)
        if len(operands) > 1 or final is not None:
            # A method with arguments: only times have any.
            raise _Unforeseeable
        return self.operand(word, dot)

    def operand(self, operand: Operand, dot: _Value) -> _Value:
        match operand.sort:
            case "field" | "dot":
                value = dot
            case "variable":
                value = self.variables.get(operand.value, _NOTHING)
            case "pipeline":
                value = self.pipeline(operand.value, dot)
            case "function":
                value = self.call(operand.value, (), dot, None)
            case _:
                return _NOTHING
        return frozenset((*path, *operand.fields) for path in value)

    def call(self, name: str, operands: tuple[Operand, ...], dot: _Value, final: _Value | None) -> _Value:
        if name in _VOLATILE_FUNCTIONS or name in _OWN_FUNCTIONS:
            # Its arguments say which object it is about; whoever fills in the answer checks that it is this one.
            self.volatile.add(name)
            return frozenset([(_VOLATILE,)])
        values = [self.operand(operand, dot) for operand in operands]
        if final is not None:
            values.append(final)
        if name == "index" and final is None and values:
            return self.indexed(values, operands)
        if name in _CHOOSING:
            for value in values:
                self.needs(value, _TRUTH)
            return _NOTHING.union(*values)
        if (name in _PRINTING and _prints_plainly(name, operands)) or name in _TESTING:
            for value in values:
                if name in _TESTING:
                    self.needs(value, _TRUTH)
                else:
                    self.prints(value)
            printed = any(path[:1] == (_VOLATILE,) for value in values for path in value)
            return frozenset([(_VOLATILE,)]) if printed and name in _PRINTING else _NOTHING
        if name not in _PURE and name not in _FIXED_FUNCTIONS and name not in _PRINTING:
            raise _Unforeseeable
        for value in values:
            self.looks_into(value)
        return _NOTHING

    def indexed(self, values: list[_Value], operands: tuple[Operand, ...]) -> _Value:
        """`index x "a" 0`: what is found there, if the keys are literals; the keys matter, if they are not."""
        value = values[0]
        for key, operand in zip(values[1:], operands[1:], strict=True):
            self.looks_into(key)
            self.needs(value, _SIZE)
            step = operand.value if operand.sort == "string" else _EACH
            value = frozenset((*path, step) for path in value)
        return value


def _prints_plainly(name: str, operands: tuple[Operand, ...]) -> bool:
    """Whether arguments come out as they are: `printf` can also pad, quote and cut them."""
    if name != "printf":
        return True
    return bool(operands) and operands[0].sort == "string" and not _FORMATTING.search(operands[0].value)


def extract(value: Any, path: Path) -> Any:
    """What is found at a path: JSON that is the same for two objects if they do not differ there."""
    for place, step in enumerate(path):
        if step == _EACH:
            rest = path[place + 1 :]
            if type(value) is list:
                return [extract(item, rest) for item in value]
            return {key: extract(value[key], rest) for key in sorted(value)} if type(value) is dict else None
        if step == _SIZE:
            return sorted(value) if type(value) is dict else len(value) if type(value) is list else None
        if step == _TRUTH:
            return is_true(value)
        value = value.get(step) if type(value) is dict else None
        if value is None:
            return False if path[-1] == _TRUTH else None
    return value


def replaced(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """A copy of the value with what is found at a path changed."""
    if not path:
        return change(value)
    step, rest = path[0], path[1:]
    if step == _EACH:
        if type(value) is list:
            return [replaced(item, rest, change) for item in value]
        return {key: replaced(value[key], rest, change) for key in sorted(value)} if type(value) is dict else value
    if type(value) is not dict or value.get(step) is None:
        return value
    return {**value, step: replaced(value[step], rest, change)}
