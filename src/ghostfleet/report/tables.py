"""The summary of a report as text: a table of phases, and every workload accounted for."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.report.classes import ClassFigures
from ghostfleet.report.phases import PhaseFigures, WorkloadCounts
from ghostfleet.report.words import amount, count_of, percent
from ghostfleet.report.writing import Summary

__all__ = ["summary_lines"]

_HEADER = ("PHASE (seconds)", "SINCE", "COUNT", "MEAN", "P50", "P90", "P99", "MAX")
_CLASS_HEADER = ("CLASS (waiting, seconds)", "COUNT", "FAILED", "GPU HOURS", "MEAN", "P50", "P90", "P99", "MAX")
_MOST_LIMITS = 3


def summary_lines(summary: Summary) -> list[str]:
    """Lines for a terminal."""
    notes = [*_usage(summary), *_evictions(summary), *_limits(summary), *_accounts(summary.counts), *summary.notes]
    return [*_phases(summary), "", *_classes(summary.classes), *notes]


def _phases(summary: Summary) -> list[str]:
    return _aligned([_HEADER, *(_row(figures) for figures in summary.phases)], words=2)


def _classes(classes: Sequence[ClassFigures]) -> list[str]:
    """The classes of a mix, by how long their workloads waited."""
    return [*_aligned([_CLASS_HEADER, *(_class_row(each) for each in classes)], words=1), ""] if classes else []


def _aligned(rows: Sequence[Sequence[str]], words: int) -> list[str]:
    """Rows as lines: the first columns are words, all others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "   ".join(
            cell.ljust(width) if at < words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _row(figures: PhaseFigures) -> tuple[str, ...]:
    return figures.phase, figures.start, str(figures.count), *_delays(figures)


def _class_row(each: ClassFigures) -> tuple[str, ...]:
    waiting = _delays(each.waiting) if each.waiting is not None else ("-",) * 5
    return each.name, str(each.workloads), str(each.failed), f"{each.gpu_hours:.1f}", *waiting


def _delays(figures: PhaseFigures) -> tuple[str, ...]:
    delays = (figures.mean, figures.p50, figures.p90, figures.p99, figures.max)
    return tuple(f"{delay:.3f}" for delay in delays)


def _usage(summary: Summary) -> list[str]:
    """The use of GPUs and of devices, in a few lines."""
    devices = [summary.devices.sentence] if summary.devices is not None else []
    used = summary.figures.get("utilisation")
    if used is None or (devices and not used.get("peakOfGpus", used["peakGpus"])):
        # Where GPUs are devices, nodes have none besides.
        return devices
    if "peak" not in used:
        return [f"GPUs: {used['peakGpus']:,} in use at the peak, {amount(used['meanGpus'])} on average", *devices]
    peak, mean = percent(used["peak"]), percent(used["mean"])
    lines = [f"GPUs: {peak} of {used['peakOfGpus']:,} in use at the peak, {mean} on average", *devices]
    broken = summary.figures["fragmentation"]
    if broken["worstStrandedGpus"]:
        lines.append(
            f"Fragmentation: {percent(broken['mean'])} on average; at worst {broken['worstStrandedGpus']:,} of "
            f"{broken['worstFreeGpus']:,} free GPUs could not be used by a request for {broken['request']} "
            f"(largest free block {broken['worstLargestFreeBlock']})"
        )
    return lines


def _evictions(summary: Summary) -> list[str]:
    """What evictions cost, where there were any."""
    told = summary.figures.get("evictions")
    if not told or not told["pods"]:
        return []
    return [
        f"Evictions: {count_of(told['pods'], 'pod')}, {amount(told['gpuHoursLost'])} GPU hours of work lost, "
        f"{count_of(told['barePodsLost'], 'bare pod')} lost, {told['protectedPods']:,} under a full budget"
    ]


def _limits(summary: Summary) -> list[str]:
    """What held things up most."""
    lines = [
        f"Held up by {each.sentence}{f' ({each.detail})' if each.detail else ''}"
        for each in summary.limits[:_MOST_LIMITS]
    ]
    if len(summary.limits) > _MOST_LIMITS:
        lines.append(f"... and by {len(summary.limits) - _MOST_LIMITS} more; report.html has them all")
    return lines


def _accounts(counts: WorkloadCounts) -> list[str]:
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
