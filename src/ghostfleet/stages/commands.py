"""Commands of containers, as far as they tell how long a container runs.

Nothing is executed on a fake node, but some commands do nothing else than take time: `sleep 10`, alone or in a shell,
and those that never end, `sleep infinity`, `tail -f /dev/null` or a loop on `true`. What is made of them is a matter of
settings: they are *ignored*, as KWOK does; only *endless* ones count, so that a pod which waits for its deletion is not
ended by a stage; or they are *played*, and a pod runs as long as its containers say.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import parse_duration

__all__ = ["COMMANDS", "ENDLESS", "Commands", "time_of", "times_of"]

Commands = Literal["ignored", "endless", "played"]
COMMANDS: tuple[Commands, ...] = get_args(Commands)

#: Longer than any run.
ENDLESS = 1 << 62
_SHELLS = ("sh", "bash", "ash", "dash")
_SLEEP = re.compile(r"(?:exec )?(?:/(?:usr/)?bin/)?sleep ([0-9.]+)([smhd]?)")
_UNITS = {"": "s", "s": "s", "m": "m", "h": "h"}
_FOREVER = re.compile(
    r"(?:exec )?(?:/(?:usr/)?bin/)?(?:sleep inf(?:inity)?|tail -f /dev/null)"
    r"|while (?:true|:|\[ 1 \]) ?; ?do .* ?; ?done",
    re.DOTALL,
)


def times_of(containers: list[Object]) -> int | None:
    """How long the longest of some containers that run side by side takes; None where one of them does not say."""
    times = [time_of(container) for container in containers]
    if ENDLESS in times:
        return ENDLESS
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def time_of(container: Object) -> int | None:
    """How long a container runs by its command, in microseconds; None if that does not say."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if len(words) > 2 and words[0].rpartition("/")[2] in _SHELLS and words[1] == "-c":
        words = words[3:] if words[2] == "--" else words[2:]
    text = " ".join(words).strip().rstrip(";").strip()
    if _FOREVER.fullmatch(text):
        return ENDLESS
    match = _SLEEP.fullmatch(text)
    if match is None:
        return None
    if match[2] == "d":
        return int(float(match[1]) * 86_400 * SECOND)
    try:
        return parse_duration(match[1] + _UNITS[match[2]])
    except ValueError:
        return None
