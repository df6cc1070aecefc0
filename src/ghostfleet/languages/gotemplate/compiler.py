"""Compiles the parts of a Go template to functions.

A *step* carries out a part: it appends pieces of text to the output. An *expression* gives a value. Both take a
*frame*, the list of variables of the template that is being carried out, and the *dot*. The first slot of a frame holds
the functions of the caller, the second one `$`; every other variable has a slot of its own, known at compile
time.

Every sequence of parts is charged for as a whole before it is carried out: a step for each word in it, and for each
piece of `CHUNK` characters of its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ghostfleet.languages.budget import BUDGET, CHUNK, BudgetExceeded
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.functions import Function, checked, constant, items, made
from ghostfleet.languages.gotemplate.loops import Break, Frame, Step, continues, continuing, leaving
from ghostfleet.languages.gotemplate.methods import field_of
from ghostfleet.languages.gotemplate.syntax import Action, Branch, Invocation, Leave, Operand, Part, Pipeline, Text
from ghostfleet.languages.gotemplate.values import MISSING, Quoted, TemplateError, is_true

__all__ = ["FUNCTIONS", "ROOT", "compile_parts"]

Expression = Callable[[Frame, Any], Any]
Command = Callable[[Frame, Any, Any], Any]

#: slots of a frame
FUNCTIONS, ROOT = 0, 1
#: no value comes through the pipe
_NO_FINAL = object()


def compile_parts(
    parts: tuple[Part, ...],
    functions: Mapping[str, Function],
    provided: Mapping[str, Function],
    templates: Mapping[str, tuple[int, Step]],
) -> tuple[int, Step]:
    """The step for a template, and how many slots its frame has."""
    compiler = _Compiler(functions, provided, templates)
    step = compiler.sequence(parts)
    return compiler.slots, step


class _Compiler:
    def __init__(
        self,
        functions: Mapping[str, Function],
        provided: Mapping[str, Function],
        templates: Mapping[str, tuple[int, Step]],
    ) -> None:
        self.functions = functions
        self.provided = provided
        self.templates = templates
        self.slots = 2
        self.names = [("$", ROOT)]
        #: words of the sequence that is being compiled
        self.words = 0

    def slot(self, name: str) -> int:
        return next(slot for known, slot in reversed(self.names) if known == name)

    def declare(self, name: str) -> int:
        self.names.append((name, self.slots))
        self.slots += 1
        return self.slots - 1

    # Parts

    def sequence(self, parts: tuple[Part, ...]) -> Step:
        pairs: list[tuple[str, Step]] = []
        text = ""
        outer, self.words = self.words, 1
        size = 0
        for part in parts:
            if isinstance(part, Text):
                text += part.text
                size += len(part.text)
            else:
                pairs.append((text, self.part(part)))
                text = ""
        rest = text
        weight = self.words + size // CHUNK
        self.words = outer

        def run(frame: Frame, dot: Any, out: list[str]) -> None:
            BUDGET.steps += weight
            if BUDGET.steps > BUDGET.limit:
                BUDGET.exceeded()
            for before, step in pairs:
                if before:
                    out.append(before)
                step(frame, dot, out)
            if rest:
                out.append(rest)

        return run

    def part(self, part: Part) -> Step:
        match part:
            case Text():
                return self.sequence((part,))
            case Action(pipeline):
                return self.action(pipeline)
            case Branch():
                return self.branch(part)
            case Invocation(name, pipeline):
                return self.invocation(name, pipeline)
            case Leave(sort):
                return leaving(sort)

    def action(self, pipeline: Pipeline) -> Step:
        value_of = self.pipeline(pipeline)
        if pipeline.variables:

            def store(frame: Frame, dot: Any, _: list[str]) -> None:
                value_of(frame, dot)

            return store

        def show(frame: Frame, dot: Any, out: list[str]) -> None:
            value = value_of(frame, dot)
            if type(value) is Quoted:
                # It was charged for when it was made.
                out.append(value)
                return
            text = value if isinstance(value, str) else "<no value>" if value is MISSING else printed(value)
            if len(text) >= CHUNK:
                BUDGET.handle(len(text))
            out.append(text)

        return show

    def branch(self, part: Branch) -> Step:
        known = len(self.names)
        step = self.loop(part) if part.sort == "range" else self.condition(part)
        del self.names[known:]
        return step

    def condition(self, part: Branch) -> Step:
        value_of = self.pipeline(part.pipeline)
        body, otherwise = self.sequence(part.body), self.sequence(part.otherwise)
        changes_dot = part.sort == "with"

        def run(frame: Frame, dot: Any, out: list[str]) -> None:
            value = value_of(frame, dot)
            if is_true(value):
                body(frame, value if changes_dot else dot, out)
            else:
                otherwise(frame, dot, out)

        return run

    def loop(self, part: Branch) -> Step:
        plain = replace(part.pipeline, variables=(), assigns=False)
        value_of = self.pipeline(plain)
        place = self.slot if part.pipeline.assigns else self.declare
        slots = [place(name) for name in part.pipeline.variables]
        body = self.sequence(part.body)
        otherwise = self.sequence(part.otherwise)
        if continues(part.body):
            body = continuing(body)

        def run(frame: Frame, dot: Any, out: list[str]) -> None:
            try:
                count, pairs = items(value_of(frame, dot), len(slots))
                if not count:
                    otherwise(frame, dot, out)
                    return
                for index, element in pairs:
                    if slots:
                        frame[slots[-1]] = element
                        if len(slots) > 1:
                            frame[slots[0]] = index
                    body(frame, element, out)
            except Break:
                return
            except EvaluationError as error:
                raise _placed(error, plain) from None

        return run

    def invocation(self, name: str, pipeline: Pipeline | None) -> Step:
        value_of = self.pipeline(pipeline) if pipeline else (lambda *_: MISSING)
        templates = self.templates

        def run(frame: Frame, dot: Any, out: list[str]) -> None:
            if name not in templates:
                raise TemplateError(f"template {name!r} not defined")
            slots, step = templates[name]
            inner = value_of(frame, dot)
            BUDGET.enter()
            try:
                BUDGET.handle(slots)
                step([frame[FUNCTIONS], inner, *[MISSING] * (slots - 2)], inner, out)
            finally:
                BUDGET.leave()

        return run

    # Expressions

    def pipeline(self, pipeline: Pipeline) -> Expression:
        first = self.first(pipeline.commands[0])
        rest = [self.command(command) for command in pipeline.commands[1:]]
        # The variables come into being only now: they are not known in their own pipeline.
        place = self.slot if pipeline.assigns else self.declare
        slots = [place(name) for name in pipeline.variables]

        def run(frame: Frame, dot: Any) -> Any:
            try:
                value = first(frame, dot)
                if value is None:
                    value = MISSING
                for command in rest:
                    value = command(frame, dot, value)
                    if value is None:
                        value = MISSING
            except EvaluationError as error:
                raise _placed(error, pipeline) from None
            for slot in slots:
                frame[slot] = value
            return value

        return run

    def first(self, operands: tuple[Operand, ...]) -> Expression:
        """The first command of a pipeline, which nothing is piped into."""
        word = operands[0]
        self.words += len(operands)
        if word.fields and len(operands) == 1:
            return self.plain_fields(word)
        command = self.command(operands)
        return lambda frame, dot: command(frame, dot, _NO_FINAL)

    def command(self, operands: tuple[Operand, ...]) -> Command:
        word, arguments = operands[0], operands[1:]
        self.words += len(operands)
        if word.sort == "function" and not word.fields:
            return self.call(word.value, arguments)
        if word.fields:
            return self.fields(word, arguments)
        if word.sort == "nil":
            return _failing("nil is not a command")
        value_of = self.argument(word, "v")

        def run(frame: Frame, dot: Any, final: Any) -> Any:
            if arguments or final is not _NO_FINAL:
                raise TemplateError("can't give argument to non-function")
            return value_of(frame, dot)

        return run

    def plain_fields(self, word: Operand) -> Expression:
        """`.a.b`, `$x.a`, `(...).a` without arguments."""
        names = word.fields
        slot = self.slot(word.value) if word.sort == "variable" else -1
        target = self.target(word) if word.sort not in ("field", "variable") else None

        def run(frame: Frame, dot: Any) -> Any:
            value = dot if slot < 0 else frame[slot]
            if target is not None:
                value = target(frame, dot)
            for name in names:
                value = value.get(name, MISSING) if type(value) is dict else field_of(value, name, [])
            return value

        return run

    def fields(self, word: Operand, arguments: tuple[Operand, ...]) -> Command:
        """Fields of which the last one may be a method that takes arguments."""
        target = self.plain_fields(Operand(word.sort, word.value, word.fields[:-1]))
        last = word.fields[-1]
        given = [self.argument(operand, "v") for operand in arguments]

        def run(frame: Frame, dot: Any, final: Any) -> Any:
            value = target(frame, dot)
            values = [argument(frame, dot) for argument in given]
            return field_of(value, last, values if final is _NO_FINAL else [*values, final])

        return run

    def target(self, word: Operand) -> Expression:
        if word.sort == "field":
            return lambda _, dot: dot
        return self.argument(Operand(word.sort, word.value), "v")

    def argument(self, operand: Operand, letter: str) -> Expression:
        """An argument for a parameter of some type."""
        if operand.fields:
            return _checking(self.plain_fields(operand), letter)
        match operand.sort:
            case "dot":
                return _checking(lambda _, dot: dot, letter)
            case "variable":
                slot = self.slot(operand.value)
                return _checking(lambda frame, _: frame[slot], letter)
            case "pipeline":
                return _checking(self.pipeline(operand.value), letter)
            case "function":
                call = self.call(operand.value, ())
                return _checking(lambda frame, dot: call(frame, dot, _NO_FINAL), letter)
            case "nil":
                return _checking(lambda *_: None, letter)
        try:
            value = constant(operand.value, letter)
        except TemplateError as error:
            return _raising(str(error))
        return lambda *_: value

    def call(self, name: str, operands: tuple[Operand, ...]) -> Command:
        if name in ("and", "or"):
            return self.logic(name, operands)
        if name in self.provided:
            return self.provided_call(self.provided[name], operands)
        function = self.functions[name]
        if not operands and len(function.signature) == 1:
            return _piped(function)
        arguments = [self.argument(operand, function.letter(place)) for place, operand in enumerate(operands)]
        call = function.call
        return _called(function, arguments, lambda _, values: call(*values))

    def provided_call(self, function: Function, operands: tuple[Operand, ...]) -> Command:
        """A call of a function that is looked up anew each time the template is carried out."""
        name = function.name

        def call(frame: Frame, values: list[Any]) -> Any:
            return made(frame[FUNCTIONS][name](*values))

        arguments = [self.argument(operand, function.letter(place)) for place, operand in enumerate(operands)]
        return _called(function, arguments, call)

    def logic(self, name: str, operands: tuple[Operand, ...]) -> Command:
        arguments = [self.argument(operand, "v") for operand in operands]
        decisive = name == "or"

        def run(frame: Frame, dot: Any, final: Any) -> Any:
            if not arguments and final is _NO_FINAL:
                raise TemplateError(f"wrong number of args for {name}: want at least 1 got 0")
            value = MISSING
            for argument in arguments:
                value = argument(frame, dot)
                if is_true(value) == decisive:
                    return value
            return value if final is _NO_FINAL else final

        return run


def _placed(error: EvaluationError, pipeline: Pipeline) -> EvaluationError:
    """The error, with the place of the innermost action in which it came up."""
    if not error.line:
        error.line, error.action = pipeline.line, pipeline.action
    return error


def _piped(function: Function) -> Command:
    """A function of one argument, which comes through the pipe: `x | Quote`."""
    name, call, letter, alone = function.name, function.call, function.letter(0), function.misfit(0)

    def run(_: Frame, __: Any, final: Any) -> Any:
        if final is _NO_FINAL:
            raise TemplateError(alone)
        value = checked(final, letter)
        try:
            return call(value)
        except BudgetExceeded:
            raise
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise TemplateError(f"error calling {name}: {error}") from error

    return run


def _called(function: Function, arguments: list[Expression], call: Callable[[Frame, list[Any]], Any]) -> Command:
    name, last = function.name, function.letter(len(arguments))
    alone, piped = function.misfit(len(arguments)), function.misfit(len(arguments) + 1)

    def run(frame: Frame, dot: Any, final: Any) -> Any:
        if final is _NO_FINAL:
            if alone:
                raise TemplateError(alone)
            values = [argument(frame, dot) for argument in arguments]
        else:
            if piped:
                raise TemplateError(piped)
            values = [argument(frame, dot) for argument in arguments]
            values.append(checked(final, last))
        try:
            return call(frame, values)
        except BudgetExceeded:
            raise
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise TemplateError(f"error calling {name}: {error}") from error

    return run


def _checking(value_of: Expression, letter: str) -> Expression:
    if letter == "v":
        return value_of
    return lambda frame, dot: checked(value_of(frame, dot), letter)


def _raising(why: str) -> Expression:
    def run(*_: Any) -> Any:
        raise TemplateError(why)

    return run


def _failing(why: str) -> Command:
    def run(*_: Any) -> Any:
        raise TemplateError(why)

    return run
