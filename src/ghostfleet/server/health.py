"""Health and version: what anybody may ask, even without a token.

`/healthz`, `/livez` and `/readyz` answer `ok`, or with `?verbose` one line for each *check*; a check can also be
asked alone, as in `/readyz/ping`. A server that can answer at all is healthy: everything it needs lives in its own
process. It is ready if besides its clock does not lag and no component has failed; if not, it answers 500 with a line
for each check, as the real server does, and says what is wrong.
"""

from __future__ import annotations

import platform

from ghostfleet.api.builtin import MAJOR, MINOR, VERSION
from ghostfleet.core.clock import Clock, WallClock
from ghostfleet.core.watchdog import LAGGING_AFTER
from ghostfleet.server.negotiation import MediaType
from ghostfleet.server.responses import Answer, object_answer, page_not_found, text_answer

__all__ = ["CLOCK", "COMPONENTS", "PATHS", "health_answer", "version_answer"]

_ENDPOINTS = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd")
PATHS = [path for name in _ENDPOINTS for path in (f"/{name}", *(f"/{name}/{check}" for check in _CHECKS))]
#: What only readiness depends on: that the clock is on time, and that no component has failed.
CLOCK, COMPONENTS = "clock", "components"
_PRETTY = MediaType(pretty=True)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def health_answer(parts: list[str], clock: Clock, *, verbose: bool) -> Answer | None:
    """The answer to a path's parts; None when it is not about health."""
    if not parts or parts[0] not in _ENDPOINTS:
        return None
    checks = dict.fromkeys(_CHECKS, "")
    if parts[0] == "readyz" and isinstance(clock, WallClock):
        checks |= {CLOCK: _lagging(clock), COMPONENTS: ", ".join(clock.watchdog.failures)}
    if len(parts) == 1:
        return _summary(parts[0], checks, verbose=verbose)
    if len(parts) > 2 or parts[1] not in checks:
        return page_not_found()
    wrong = checks[parts[1]]
    return text_answer(500, f"internal server error: {wrong}\n") if wrong else text_answer(200, "ok")


def _summary(endpoint: str, checks: dict[str, str], *, verbose: bool) -> Answer:
    """All checks, each with what is wrong."""
    good = not any(checks.values())
    if good and not verbose:
        return text_answer(200, "ok")
    lines = [f"[-]{check} failed: {wrong}\n" if wrong else f"[+]{check} ok\n" for check, wrong in checks.items()]
    return text_answer(200 if good else 500, "".join(lines) + f"{endpoint} check {'passed' if good else 'failed'}\n")


def _lagging(clock: WallClock) -> str:
    behind, component = clock.lag()
    return f"lagging ({behind * clock.scale:.0f} s behind, in {component})" if behind >= LAGGING_AFTER else ""


def version_answer() -> Answer:
    """What `kubectl version` shows as the server's; some clients choose how to talk by it."""
    machine = platform.machine()
    return object_answer(
        200,
        {
            "major": MAJOR,
            "minor": MINOR,
            "emulationMajor": MAJOR,
            "emulationMinor": MINOR,
            "minCompatibilityMajor": MAJOR,
            "minCompatibilityMinor": str(int(MINOR) - 1),
            "gitVersion": VERSION,
            "gitCommit": "0" * 40,
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "go1.26.8",
            "compiler": "gc",
            "platform": f"linux/{_ARCHITECTURES.get(machine, machine)}",
        },
        _PRETTY,
    )
