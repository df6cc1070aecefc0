"""Health and version: what anybody may ask, even without a token.

`/healthz`, `/livez` and `/readyz` answer `ok`, or with `?verbose` one line for each *check*; a check can also be
asked alone, as in `/readyz/ping`. A server that can answer at all is healthy: everything it needs lives in its own
process.
"""

from __future__ import annotations

import platform

from ghostfleet.api.builtin import MAJOR, MINOR, VERSION
from ghostfleet.server.negotiation import Form
from ghostfleet.server.responses import Answer, object_answer, page_not_found, text_answer

__all__ = ["PATHS", "health_answer", "version_answer"]

_ENDPOINTS = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd")
PATHS = [path for name in _ENDPOINTS for path in (f"/{name}", *(f"/{name}/{check}" for check in _CHECKS))]
_PRETTY = Form(pretty=True)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def health_answer(parts: list[str], *, verbose: bool) -> Answer | None:
    """The answer to a path's parts; None when it is not about health."""
    if not parts or parts[0] not in _ENDPOINTS:
        return None
    if len(parts) == 1:
        if not verbose:
            return text_answer(200, "ok")
        lines = [f"[+]{check} ok\n" for check in _CHECKS]
        return text_answer(200, "".join(lines) + f"{parts[0]} check passed\n")
    if len(parts) == 2 and parts[1] in _CHECKS:
        return text_answer(200, "ok")
    return page_not_found()


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
