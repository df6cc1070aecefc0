"""The summary of a report as text: a table of phases, and every workload accounted for."""

from __future__ import annotations

from ghostfleet.report.phases import Counts, PhaseFigures
from ghostfleet.report.words import count_of
from ghostfleet.report.writing import Summary

__all__ = ["summary_lines"]

_HEADER = ("PHASE (seconds)", "SINCE", "COUNT", "MEAN", "P50", "P90", "P99", "MAX")
_WORDS = 2


def summary_lines(summary: Summary) -> list[str]:
    """Lines for a terminal."""
    return [*_phases(summary), "", *_accounts(summary.counts), *summary.notes]


def _phases(summary: Summary) -> list[str]:
    rows = [_HEADER, *(_row(figures) for figures in summary.phases)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADER))]
    return [
        "   ".join(
            cell.ljust(width) if at < _WORDS else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _row(figures: PhaseFigures) -> tuple[str, ...]:
    delays = (figures.mean, figures.p50, figures.p90, figures.p99, figures.max)
    return figures.phase, figures.start, str(figures.count), *(f"{delay:.3f}" for delay in delays)


def _accounts(counts: Counts) -> list[str]:
    """What became of all submissions; what is good is said in one line, each thing that is not in a line of its own."""
    lines = [
        f"{count_of(counts.submitted, 'workload')} submitted, {counts.measured:,} measured"
        f" ({counts.failed:,} failed, {counts.erroneous:,} erroneous, {counts.incomplete:,} incomplete)"
    ]
    if counts.skipped:
        lines.append(f"{counts.skipped:,} with erroneous times are left out; --no-skip-errors keeps them")
    if counts.refused:
        lines.append(f"{count_of(counts.refused, 'submission')} refused by the cluster; submitted.json says why")
    if counts.unsampled:
        lines.append(f"{counts.unsampled:,} not in the sample yet; `ghostfleet sample` takes another")
    if counts.foreign:
        lines.append(f"{counts.foreign:,} in the sample are not of this run and left out")
    return lines
