"""What commands of containers tell about how long they run."""

from __future__ import annotations

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.stages.commands import ENDLESS, time_of, times_of


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (["sleep", "10"], 10),
        (["sh", "-c", "sleep 30\n"], 30),
        (["/bin/bash", "-c", "--", "sleep 10;"], 10),
        (["/bin/sh", "-c", "exec /bin/sleep 1.5m"], 90),
        (["sleep", "1d"], 86_400),
        (["python", "train.py"], None),
        (["sh", "-c", "sleep 10; exit 1"], None),
        (["sleep", "a while"], None),
        (["sleep", "1.2.3"], None),
        ([], None),
    ],
)
def test_sleeping_is_a_matter_of_seconds(words, seconds):
    assert time_of({"command": words}) == (None if seconds is None else seconds * SECOND)
    assert time_of({"command": words[:1], "args": words[1:]}) == time_of({"command": words})


@pytest.mark.parametrize(
    "words",
    [
        ["sleep", "infinity"],
        ["sh", "-c", "sleep infinity    \n"],
        ["sleep", "inf"],
        ["tail", "-f", "/dev/null"],
        ["/bin/sh", "-c", "while true; do sleep 10; done"],
        ["bash", "-c", "while :; do date; sleep 5; done"],
    ],
)
def test_some_commands_never_end(words):
    assert time_of({"command": words}) == ENDLESS


def test_a_pod_runs_as_long_as_its_longest_container():
    short, long, forever, unknown = ({"command": ["sleep", each]} for each in ("5", "9", "infinity", "x"))
    assert times_of([short, long]) == 9 * SECOND
    assert times_of([short, forever]) == times_of([unknown, forever]) == ENDLESS
    assert times_of([short, unknown]) is None
    assert times_of([]) is None
