"""Arguments: flags of the user's own for the programs of a real control plane.

A *component argument* names a program and one of its flags, `kube-scheduler=--kube-api-qps=5000`. A program gets those
that are for it after our own flags, in the order in which they were given; one that we set too takes the place of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ghostfleet.kube.programs import CONTROLLERS, ETCD, KWOK, SCHEDULER, SERVER

__all__ = ["COMPONENTS", "ArgumentError", "Arguments", "flag_name", "parse_arguments"]

COMPONENTS = (ETCD, SERVER, CONTROLLERS, SCHEDULER, KWOK)
_FORM = re.compile(r"([a-z][a-z-]*)=(--[A-Za-z0-9][A-Za-z0-9._-]*(?:=.*)?)", re.DOTALL)
#: The words for each program.
Arguments = Mapping[str, Sequence[str]]


class ArgumentError(ValueError):
    """A component argument that cannot be used; the message says why and what would be right."""


def parse_arguments(given: Iterable[str], running: Iterable[str]) -> Arguments:
    """The words for each program that runs, from `PROGRAM=--FLAG=VALUE` each."""
    running = tuple(running)
    words: dict[str, list[str]] = {}
    for text in given:
        found = _FORM.fullmatch(text)
        if found is None:
            raise ArgumentError(f"{text!r}: expected PROGRAM=--FLAG=VALUE, like {SCHEDULER}=--kube-api-qps=5000")
        program, word = found.groups()
        if program not in COMPONENTS:
            raise ArgumentError(f"{text!r}: there is no {program}; expected one of {', '.join(COMPONENTS)}")
        if program not in running:
            raise ArgumentError(f"{text!r}: {program} is not part of this cluster; it has {', '.join(running)}")
        words.setdefault(program, []).append(word)
    return words


def flag_name(word: str) -> str:
    """The name of the flag that a word gives."""
    return word.removeprefix("--").partition("=")[0]
