"""Problems of a test: what is wrong with its files, all of it, with file, line and field.

A problem is an *error*, with which nothing is run, or a *warning*, which `--strict` makes an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ghostfleet.lab.errors import LabError

__all__ = ["ConfigError", "Problem", "Problems"]

#: Shown in a message; a loop in a template can repeat one thousands of times.
_SHOWN = 20


class ConfigError(LabError):
    """What is wrong with the files of a test, a line for each, and what else is strange about them."""

    def __init__(self, message: str, warnings: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.warnings = tuple(warnings)


class Problem(NamedTuple):
    """One thing that is wrong."""

    file: str
    #: 0 where it is not known.
    line: int
    #: Where in the file's content: `steps[0].phases[1].tuningSet`.
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}: line {self.line}" if self.line else self.file
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


class Problems:
    """All that was found so far."""

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def error(self, problem: Problem) -> None:
        if problem not in self.errors:
            self.errors.append(problem)

    def warn(self, problem: Problem) -> None:
        if self._strict:
            self.error(problem)
        elif problem not in self.warnings:
            self.warnings.append(problem)

    def check(self) -> None:
        """Raise all errors together."""
        if not self.errors:
            return
        lines = [str(each) for each in self.errors[:_SHOWN]]
        if len(self.errors) > _SHOWN:
            lines.append(f"and {len(self.errors) - _SHOWN} more")
        raise ConfigError("\n".join(lines), [str(each) for each in self.warnings[:_SHOWN]])
