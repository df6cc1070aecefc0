"""Flags: how a field of a dataclass is asked for on a command line, said once, where the field is.

    processes: Annotated[int, Flag("Number of parallel submissions.", "--num-processes", "-p", least=1)] = 8

The command line makes its options from that (`cli.groups`), and `arguments` makes a command line from the fields again,
for a process that is to do the same. Nothing here knows which library parses the options.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

__all__ = ["Flag", "FlagField", "arguments", "flags_of"]


class Flag:
    """What a user reads and types; without names, the option is called as the field."""

    __slots__ = ("completion", "file", "help", "joined", "least", "metavar", "most", "names", "shows_default")

    def __init__(
        self,
        help: str,
        *names: str,
        metavar: str | None = None,
        least: float | None = None,
        most: float | None = None,
        shows_default: bool = True,
        completion: str = "",
        file: bool = False,
        joined: bool = False,
    ) -> None:
        self.help = help
        #: The long one first.
        self.names = names
        self.metavar = metavar
        self.least = least
        self.most = most
        self.shows_default = shows_default
        #: Which names a shell may offer: the name of a function in `cli.completion`.
        self.completion = completion
        #: The path of a file, which counts from where it was typed.
        self.file = file
        #: Several values in one, with commas between, instead of one option for each.
        self.joined = joined


class FlagField(NamedTuple):
    """A field and its flag."""

    name: str
    #: Without the flag.
    type: Any
    default: Any
    flag: Flag

    @property
    def option(self) -> str:
        """The option's long name."""
        return self.flag.names[0] if self.flag.names else f"--{self.name.replace('_', '-')}"

    @property
    def several(self) -> type | None:
        """In what several values are held; None for a single one."""
        held = get_origin(self.type)
        return held if held in (tuple, frozenset) else None


def flags_of(owner: type) -> list[FlagField]:
    """The fields of a dataclass that have a flag, in their order."""
    hints = get_type_hints(owner, include_extras=True)
    found = []
    for each in fields(owner):
        plain, *more = get_args(hints[each.name]) if hasattr(hints[each.name], "__metadata__") else (None,)
        flag = next((one for one in more if isinstance(one, Flag)), None)
        if flag is not None:
            assert each.default is not MISSING, f"a field with a flag has a default: {each.name}"
            found.append(FlagField(each.name, plain, each.default, flag))
    return found


def arguments(settings: Any) -> list[str]:
    """The words of a command line that asks for these settings; what is as by default is left out."""
    words: list[str] = []
    for each in flags_of(type(settings)):
        value = getattr(settings, each.name)
        if value == each.default:
            continue
        if isinstance(value, bool):
            words.append(each.option if value else f"--no-{each.option.removeprefix('--')}")
        elif each.flag.joined:
            words += [each.option, ",".join(sorted(value))]
        else:
            words += [word for item in (value if each.several else [value]) for word in (each.option, str(item))]
    return words
