"""Compiles the tree of a jq program to a code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.jq import syntax
from ghostfleet.languages.jq.calls import defined, native, parameter
from ghostfleet.languages.jq.codes import (
    Break,
    Code,
    Environment,
    alternative,
    chain,
    choice,
    comma,
    guarded,
    identity,
    indexed,
    iterated,
    labelled,
    literal,
    logic,
    many,
    one,
    operation,
    pipe,
)
from ghostfleet.languages.jq.formats import FORMATS
from ghostfleet.languages.jq.functions import FUNCTIONS
from ghostfleet.languages.jq.loops import bound, folded, scanned
from ghostfleet.languages.jq.operators import OPERATORS, add, negate, plus
from ghostfleet.languages.jq.parser import parse
from ghostfleet.languages.jq.patterns import compile_pattern
from ghostfleet.languages.jq.prelude import PRELUDE
from ghostfleet.languages.jq.scopes import CLOCK, Function, Scope, root_scope, slot_value, up
from ghostfleet.languages.jq.special import SPECIAL
from ghostfleet.languages.jq.updates import assigned, assigned_at, modified
from ghostfleet.languages.jq.values import JqError, described, index, slice_of

__all__ = ["compile_filter"]

_REFUSED = {"input", "inputs", "debug", "stderr", "input_filename", "modulemeta", "builtins"}


def compile_filter(node: syntax.Filter, scope: Scope) -> Code:
    """The code of a part of a program."""
    # What stands behind several patterns is compiled for each of them, which may double again and again.
    BUDGET.step()
    return _COMPILERS[type(node)](node, scope)


def _variable(node: syntax.Variable, scope: Scope) -> Code:
    found = scope.find(node.name, 0)
    if found is None:
        if node.name == "$ENV":
            return literal({})
        raise Unsupported(f"variable not defined: {node.name}")
    return slot_value(scope.depth - found.depth)


def _index(node: syntax.Index, scope: Scope) -> Code:
    names: list[str] = []
    target: syntax.Filter = node
    while isinstance(target, syntax.Index) and isinstance(target.key, syntax.Literal) and type(target.key.value) is str:
        names.append(target.key.value)
        target = target.target
    if names:
        return chain(compile_filter(target, scope), tuple(reversed(names)))
    return indexed(compile_filter(node.target, scope), compile_filter(node.key, scope), index)


def _slice(node: syntax.Slice, scope: Scope) -> Code:
    start, end = compile_filter(node.start, scope), compile_filter(node.end, scope)

    def keys(environment: Environment, value: Any) -> Iterator[dict[str, Any]]:
        for first in start.many(environment, value):
            for last in end.many(environment, value):
                yield {"start": first, "end": last}

    def lookup(value: Any, key: dict[str, Any]) -> Any:
        return slice_of(value, key["start"], key["end"])

    return indexed(compile_filter(node.target, scope), many(keys), lookup)


def _pipe(node: syntax.Pipe, scope: Scope) -> Code:
    # From the left, although it reads to the right: one filter more then costs one call per output.
    made = compile_filter(node.left, scope)
    rest = node.right
    while isinstance(rest, syntax.Pipe):
        made = pipe(made, compile_filter(rest.left, scope))
        rest = rest.right
    return pipe(made, compile_filter(rest, scope))


def _condition(node: syntax.Condition, scope: Scope) -> Code:
    return choice(*(compile_filter(part, scope) for part in (node.test, node.then, node.otherwise)))


def _unary(node: syntax.Unary, scope: Scope) -> Code:
    function = negate if node.operator == "-" else plus
    return pipe(compile_filter(node.operand, scope), one(lambda _, value: function(value)))


def _binary(node: syntax.Binary, scope: Scope) -> Code:
    left, right = compile_filter(node.left, scope), compile_filter(node.right, scope)
    match node:
        case syntax.Binary("==", syntax.Index(syntax.Identity(), syntax.Literal(str(name))), syntax.Literal(str(text))):
            return _field_equals(name, text)
    return operation(OPERATORS[node.operator], left, right)


def _field_equals(name: str, text: str) -> Code:
    """`.name == "text"`, what nearly all selectors ask."""

    def equals(_: Environment, value: Any) -> bool:
        found = value.get(name) if type(value) is dict else index(value, name)
        # A JSON number is no text, though Python takes it for one.
        return type(found) is str and found == text

    return one(equals)


def _update(node: syntax.Update, scope: Scope) -> Code:
    target = compile_filter(node.left, scope)
    if node.operator == "=":
        path, source = _constant_path(node.left), compile_filter(node.right, scope)
        return assigned(target, source) if path is None else assigned_at(path, source)
    if node.operator == "|=":
        return modified(target, compile_filter(node.right, scope))
    function: Callable[[Any, Any], Any] = OPERATORS.get(node.operator[:-1], _alternative_value)
    amount = compile_filter(node.right, scope)

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for output in amount.many(environment, value):
            change = one(lambda _, old, output=output: function(old, output))  # type: ignore[misc]
            yield from modified(target, change).many(environment, value)

    return many(run)


def _constant_path(node: syntax.Filter) -> list[Any] | None:
    """The path that a filter leads to whatever its input, or None if that depends."""
    match node:
        case syntax.Identity():
            return []
        case syntax.Index(target, syntax.Literal(key)):
            path = _constant_path(target)
            return None if path is None else [*path, key]
        case syntax.Slice(target, syntax.Literal(start), syntax.Literal(end)):
            path = _constant_path(target)
            return None if path is None else [*path, {"start": start, "end": end}]
    return None


def _alternative_value(value: Any, other: Any) -> Any:
    return other if value is None or value is False else value


def _bind(node: syntax.Bind, scope: Scope) -> Code:
    source = compile_filter(node.source, scope)
    names = [name for pattern in node.patterns for name in pattern.names()] if len(node.patterns) > 1 else []
    ways = []
    for pattern in node.patterns:
        inner = scope
        for name in names:
            inner = inner.slot(name, "variable")
        binder, inner = compile_pattern(pattern, inner, compile_filter)
        ways.append((binder, compile_filter(node.body, inner)))
    return bound(source, ways, len(names), simple=bool(node.patterns[0].name) and len(ways) == 1)


def _reduce(node: syntax.Reduce, scope: Scope) -> Code:
    source, start = compile_filter(node.source, scope), compile_filter(node.start, scope)
    binder, inner = compile_pattern(node.pattern, scope, compile_filter)
    return folded(source, start, binder, compile_filter(node.update, inner))


def _foreach(node: syntax.Foreach, scope: Scope) -> Code:
    source, start = compile_filter(node.source, scope), compile_filter(node.start, scope)
    binder, inner = compile_pattern(node.pattern, scope, compile_filter)
    return scanned(source, start, binder, compile_filter(node.update, inner), compile_filter(node.extract, inner))


def _label(node: syntax.Label, scope: Scope) -> Code:
    return labelled(compile_filter(node.body, scope.slot(f"%{node.name}", "label")))


def _break(node: syntax.Break, scope: Scope) -> Code:
    found = scope.find(f"%{node.name}", 0)
    if found is None:
        raise Unsupported(f"label not defined: {node.name}")
    outer = up(scope.depth - found.depth)

    def leave(environment: Environment, _: Any) -> Iterable[Any]:
        raise Break(outer(environment)[0])

    return many(leave, leave)


def _array(node: syntax.Array, scope: Scope) -> Code:
    if node.body is None:
        return one(lambda _, __: [])
    body = compile_filter(node.body, scope)
    return one(lambda environment, value: list(body.many(environment, value)))


def _object(node: syntax.Object, scope: Scope) -> Code:
    made = one(lambda _, __: {})
    for key_node, value_node in node.entries:
        key = compile_filter(key_node, scope)
        value = compile_filter(value_node, scope) if value_node else None
        made = _with_entry(made, key, value)
    return made


def _with_entry(made: Code, key: Code, part: Code | None) -> Code:
    def run(environment: Environment, value: Any) -> Iterator[dict[str, Any]]:
        for base in made.many(environment, value):
            for name in key.many(environment, value):
                outputs = part.many(environment, value) if part else (index(value, name),)
                for output in outputs:
                    BUDGET.step(1 + len(base) // 8)
                    if type(name) is not str:
                        raise JqError(f"expected a string for object key but got: {described(name)}")
                    yield base | {name: output}

    before, name_one, part_one = made.one, key.one, part.one if part else None
    if before is None or name_one is None or (part and part_one is None):
        return many(run)
    return one(lambda environment, value: next(run(environment, value)))


def _interpolation(node: syntax.Interpolation, scope: Scope) -> Code:
    write = _format(node.format)
    made: Code | None = None
    for part in node.parts:
        code = literal(part) if isinstance(part, str) else pipe(compile_filter(part, scope), write)
        made = code if made is None else operation(add, made, code)
    return made or literal("")


def _format(name: str) -> Code:
    if name not in FORMATS:
        raise Unsupported(f"format not defined: {name}")
    function = FORMATS[name]
    return one(lambda _, value: function(value))


def _definition(node: syntax.Definition, scope: Scope) -> Code:
    inner = _defined(node, scope)
    return compile_filter(node.rest, inner)


def _defined(node: syntax.Definition, scope: Scope) -> Scope:
    """A scope with the function in it, whose code is compiled."""
    function = Function(node.parameters, scope.depth)
    named = Scope(node.name, "function", scope.depth, scope, function)
    inner = named
    for name in node.parameters:
        inner = inner.slot(name.removeprefix("$"), "parameter")
    for name in node.parameters:
        if name.startswith("$"):
            inner = inner.slot(name, "variable")
    function.code = compile_filter(node.body, inner)
    return named


def _call(node: syntax.Call, scope: Scope) -> Code:
    arity = len(node.arguments)
    found = scope.find(node.name, arity)
    if found is not None and found.sort == "parameter":
        return parameter(scope.depth - found.depth)
    arguments = [compile_filter(argument, scope) for argument in node.arguments]
    if found is not None and found.function is not None:
        return defined(found.function, arguments, scope.depth)
    name = f"{node.name}/{arity}"
    if node.name in _REFUSED:
        raise Unsupported(f"{name} is not allowed")
    if node.name == "env" and not arity:
        return literal({})
    if name == "now/0":
        clock = scope.find(CLOCK, 0)
        assert clock is not None
        return pipe(slot_value(scope.depth - clock.depth), one(lambda _, micros: micros / 1e6))
    if name in SPECIAL:
        return SPECIAL[name](*arguments)
    if name in FUNCTIONS:
        return native(FUNCTIONS[name], arguments)
    if name in PRELUDE:
        return defined(_prelude_function(name), arguments, scope.depth)
    raise Unsupported(f"function not defined: {name}")


@cache
def _prelude_function(name: str) -> Function:
    definition = parse(f"{PRELUDE[name]} .")
    assert isinstance(definition, syntax.Definition)
    function = _defined(definition, root_scope()).function
    assert function is not None
    return function


_COMPILERS: dict[type[syntax.Filter], Callable[[Any, Scope], Code]] = {
    syntax.Identity: lambda _, __: identity,
    syntax.Literal: lambda node, _: literal(node.value),
    syntax.Index: _index,
    syntax.Slice: _slice,
    syntax.Iterate: lambda node, scope: iterated(compile_filter(node.target, scope)),
    syntax.Pipe: _pipe,
    syntax.Comma: lambda node, scope: comma(compile_filter(node.left, scope), compile_filter(node.right, scope)),
    syntax.Binary: _binary,
    syntax.Logic: lambda node, scope: logic(
        node.operator, compile_filter(node.left, scope), compile_filter(node.right, scope)
    ),
    syntax.Alternative: lambda node, scope: alternative(
        compile_filter(node.left, scope), compile_filter(node.right, scope)
    ),
    syntax.Update: _update,
    syntax.Unary: _unary,
    syntax.Condition: _condition,
    syntax.Try: lambda node, scope: guarded(
        compile_filter(node.body, scope), compile_filter(node.handler, scope) if node.handler else None
    ),
    syntax.Bind: _bind,
    syntax.Reduce: _reduce,
    syntax.Foreach: _foreach,
    syntax.Definition: _definition,
    syntax.Label: _label,
    syntax.Break: _break,
    syntax.Call: _call,
    syntax.Variable: _variable,
    syntax.Array: _array,
    syntax.Object: _object,
    syntax.Interpolation: _interpolation,
    syntax.Format: lambda node, _: _format(node.name),
}
