"""DRA devices in a report: how many were allocated over time, and how long claims waited for theirs.

Both come from what a recorder saw of slices and claims (`devices.jsonl`, see `lab.deviceoccupancy`). The delays are
those of the claims in the run's namespaces: from a claim's creation to its allocation, and from that until it was
reserved for a first pod, which kube-scheduler writes in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ghostfleet.core.timestamps import MICRO
from ghostfleet.lab.deviceoccupancy import CLAIM_TIMES, COLUMNS
from ghostfleet.lab.errors import LabError
from ghostfleet.report.markup import Markup, element, table
from ghostfleet.report.phases import PhaseFigures, delay_figures
from ghostfleet.report.usage import Usage, joined_series
from ghostfleet.report.words import amount, span

__all__ = ["DeviceFigures", "device_section", "recorded_devices"]


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """What is known of devices and claims."""

    #: Devices in the place of GPUs: those there, and those allocated.
    usage: Usage
    #: The most claims that waited at once.
    most_waiting: int
    #: Claims that came while they were watched.
    claims: int
    delays: Sequence[PhaseFigures]

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        peak, mean = self.usage.peak, amount(self.usage.mean("inUse"))
        said = f"Devices: {peak.in_use:,} of {peak.there:,} published ones allocated at the peak, {mean} on average"
        if self.claims:
            waited = self.delays[0]
            said += f"; {waited.count:,} of {self.claims:,} claims allocated"
            said += f", p50 {span(waited.p50)}, p99 {span(waited.p99)}" if waited.count else ""
        return said

    def as_json(self) -> dict[str, Any]:
        peak = self.usage.peak
        return {
            "peakAllocated": peak.in_use,
            "peakOf": peak.there,
            "meanAllocated": self.usage.mean("inUse"),
            "claims": self.claims,
            "mostWaitingClaims": self.most_waiting,
            "delays": [each.as_json() for each in self.delays],
        }


def recorded_devices(series: Sequence[Mapping[str, Any]]) -> DeviceFigures | None:
    """What recorders saw, one after the other; None when there were no devices."""
    timed = [each for each in series if each.get("time")]
    if not timed:
        return None
    try:
        columns, spans = joined_series(timed, COLUMNS)
        created, allocated, reserved = (
            np.concatenate([np.asarray(each["claimTimes"][name], dtype=np.float64) for each in timed])
            for name in CLAIM_TIMES
        )
    except (KeyError, ValueError, TypeError) as error:
        raise LabError(f"devices.jsonl does not tell how devices were used: {error!r}") from None
    held = columns["allocated"]
    usage = Usage(
        columns["time"] / MICRO, {"there": columns["there"], "inUse": held, "byRun": held}, spans, recorded=True
    )
    delays = (
        _delays("claimAllocation", "Claim Allocation", "Claim Creation", created, allocated),
        _delays("claimReservation", "Claim Reservation", "Claim Allocation", allocated, reserved),
    )
    return DeviceFigures(usage, int(columns["waitingClaims"].max()), len(created), delays)


def _delays(key: str, title: str, since: str, start: Any, end: Any) -> PhaseFigures:
    return delay_figures(key, title, since, (end - start)[(end > 0) & (start > 0)] / MICRO)


def device_section(figures: DeviceFigures | None) -> Markup:
    """The section of the page; empty where no devices were seen."""
    if figures is None:
        return Markup("")
    rows = [
        [
            each.phase,
            each.start,
            f"{each.count:,}",
            *(span(delay) for delay in each.delays().values()),
        ]
        for each in figures.delays
    ]
    head = ["Step", "Measured from", "Claims", "Mean", "p50", "p90", "p99", "Longest"]
    return element(
        "section",
        element("h2", "Devices", id="devices"),
        element("p", f"{figures.sentence}. At most {figures.most_waiting:,} claims waited at once."),
        table("How long claims waited", head, rows, texts=2, stacks=True),
        aria_labelledby="devices",
    )
