"""The audit log of kube-apiserver: who asked what, when the request came in, and when its answer was complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import yaml

__all__ = ["AuditedRequest", "audit_flags", "audited_requests"]

#: All requests but watches, which never end, and the heartbeats of nodes; each once, when it is answered.
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "None", "verbs": ["watch"]},
        {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "Metadata"},
    ],
}


class AuditedRequest(NamedTuple):
    """One request that was answered well; times are seconds of the server's clock."""

    program: str
    verb: str
    #: With its subresource: `pods/binding`.
    resource: str
    received: float
    answered: float


def audit_flags(directory: Path) -> tuple[str, ...]:
    """What kube-apiserver is told, to keep its audit log in a directory."""
    policy = directory / "policy.yaml"
    policy.write_text(yaml.safe_dump(_POLICY))
    return f"--audit-policy-file={policy}", f"--audit-log-path={_log(directory)}"


def audited_requests(directory: Path) -> Iterator[AuditedRequest]:
    """The requests of all programs, in the order of their answers."""
    with _log(directory).open() as log:
        for line in log:
            event = json.loads(line)
            place = event.get("objectRef") or {}
            if place and event["responseStatus"]["code"] < 300:
                yield AuditedRequest(
                    event["userAgent"].partition("/")[0],
                    event["verb"],
                    "/".join(place[part] for part in ("resource", "subresource") if place.get(part)),
                    _seconds(event["requestReceivedTimestamp"]),
                    _seconds(event["stageTimestamp"]),
                )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _log(directory: Path) -> Path:
    return directory / "audit.log"
