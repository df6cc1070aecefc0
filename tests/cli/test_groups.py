"""Options that are made from the flags of a dataclass, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from typer.testing import CliRunner

from ghostfleet.core.flags import Flag, arguments, flags_of


@dataclass
class Wishes:
    given: int = 0
    number: Annotated[int, Flag("How many.", "--how-many", "-n", least=1)] = 2
    word: Annotated[str, Flag("A word.")] = ""
    good: Annotated[bool, Flag("Whether.")] = True
    names: Annotated[tuple[str, ...], Flag("Names.", "--name")] = ("fast",)
    parts: Annotated[frozenset[str], Flag("Parts.", joined=True)] = frozenset()
    file: Annotated[Path | None, Flag("A file.", file=True)] = None


def test_fields_without_a_flag_are_no_options():
    assert [each.name for each in flags_of(Wishes)] == ["number", "word", "good", "names", "parts", "file"]
    assert [each.option for each in flags_of(Wishes)] == [
        "--how-many",
        "--word",
        "--good",
        "--name",
        "--parts",
        "--file",
    ]


def test_what_is_as_by_default_needs_no_words():
    assert arguments(Wishes(given=7)) == []


def test_the_words_of_a_command_line_ask_for_what_is_not_as_by_default(tmp_path):
    wishes = Wishes(number=3, word="a b", good=False, names=("x", "y"), parts=frozenset("qp"), file=tmp_path)
    assert arguments(wishes) == [
        "--how-many", "3", "--word", "a b", "--no-good", "--name", "x", "--name", "y", "--parts", "p,q",
        "--file", str(tmp_path),
    ]  # fmt: skip


@pytest.fixture
def parsed():
    """What a command that takes the flags makes of words."""
    import typer

    from ghostfleet.cli.groups import flag_group, taking

    def parse(*words, **defaults):
        made = []
        app = typer.Typer()

        @app.command()
        @taking(wishes=flag_group(Wishes, Wishes, **defaults))
        def command(*, wishes: Wishes) -> None:
            made.append(wishes)

        done = CliRunner().invoke(app, list(words))
        return made[0] if made else done.output

    return parse


def test_options_and_words_are_the_inverse_of_each_other(parsed, tmp_path):
    file = tmp_path / "file"
    file.touch()
    for wishes in (Wishes(), Wishes(0, 3, "a b", False, ("x", "y"), frozenset("pq"), file)):
        assert parsed(*arguments(wishes)) == wishes


def test_a_command_may_have_defaults_of_its_own(parsed):
    assert parsed(number=9) == Wishes(number=9)
    assert parsed("-n", "1", number=9) == Wishes(number=1)


@pytest.mark.parametrize("words", [["-n", "0"], ["--file", "/nowhere"]])
def test_what_a_flag_does_not_take_is_refused(parsed, words):
    assert "Invalid value for" in parsed(*words)
