"""Why time went where it went: which limits held things up, and for how long.

On a cluster of ghostfleet's own, each modelled component adds up how long somebody waited for one of its limits (see
`core.ratelimit`). On any cluster a recorder sees how long there were pods that no node had room for. A real cluster's
components tell nothing of the kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ghostfleet.lab.records import Run
from ghostfleet.report.usage import Usage
from ghostfleet.report.words import count_of, span

__all__ = ["HeldUp", "held_up", "knows_limits"]


class HeldUp(NamedTuple):
    """One limit that held things up."""

    component: str
    limit: str
    seconds: float
    detail: str

    @property
    def sentence(self) -> str:
        return f"{self.component}: {self.limit}, saturated for {span(self.seconds)}"


def knows_limits(run: Run | None) -> bool:
    """Whether the components of the run's cluster told which of their limits held things up."""
    return run is not None and run.limits is not None


def held_up(run: Run | None, usage: Usage | None) -> list[HeldUp]:
    """The limits that held things up, the worst first."""
    found = [_limit(each) for each in (run.limits if run is not None else None) or ()]
    if usage is not None and usage.refused_seconds:
        most = int(usage.columns["refusedPods"].max())
        found.append(HeldUp("Nodes", "room for pods", usage.refused_seconds, f"up to {count_of(most, 'pod')} at once"))
    return sorted(found, key=lambda each: -each.seconds)


def _limit(limit: dict[str, Any]) -> HeldUp:
    waits = int(limit.get("waits") or 0)
    detail = f"{count_of(waits, 'request')} had to wait" if waits else ""
    return HeldUp(str(limit["component"]), str(limit["limit"]), float(limit["seconds"]), detail)
