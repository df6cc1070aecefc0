"""`junit.xml`: the tests of a suite with their steps, as CI systems read them.

The names and texts are ClusterLoader2's. Its own file says that there were no tests at all; ours counts them, unless
it is to be *compatible* to the letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from ghostfleet.clusterloader.results import TestResult
from ghostfleet.core.clock import SECOND

__all__ = ["junit"]

_SUITE = "ClusterLoaderV2"


class _Case(NamedTuple):
    name: str
    errors: list[str]
    microseconds: int


def junit(results: Sequence[TestResult], *, compatible: bool = False) -> str:
    """The text of the file."""
    cases = [case for result in results for case in _cases(result)]
    failures = sum(bool(case.errors) for case in cases)
    suite = ElementTree.Element(
        "testsuite",
        name=_SUITE,
        tests="0" if compatible else str(len(cases)),
        failures=str(failures),
        errors="0",
        time=_seconds(sum(result.modelled for result in results)),
    )
    for case in cases:
        element = ElementTree.SubElement(
            suite, "testcase", name=case.name, classname=_SUITE, time=_seconds(case.microseconds)
        )
        if case.errors:
            failure = ElementTree.SubElement(element, "failure", type="Failure")
            failure.text = _legal(f":0\n[{' '.join(case.errors)}]\n:0" if compatible else _lines(case.errors))
    ElementTree.indent(suite, "    ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _cases(result: TestResult) -> Iterator[_Case]:
    yield _Case(f"{result.name} overall ({result.path})", result.all_errors(), result.modelled)
    for step in result.steps:
        if not step.substeps:
            yield _Case(f"{result.name}: {step.name}", step.errors, step.modelled)
        for name, errors in step.substeps:
            yield _Case(f"{result.name}: {step.name} {name}", errors, step.modelled)


def _lines(errors: list[str]) -> str:
    return ":0\n[" + "\n".join(errors) + "]\n:0"


def _seconds(microseconds: int) -> str:
    return f"{microseconds / SECOND:.3f}"


def _legal(text: str) -> str:
    """Without the characters that XML cannot have."""
    return "".join(each for each in text if each >= " " or each in "\n\t")
