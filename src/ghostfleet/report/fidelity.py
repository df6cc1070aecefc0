"""The page about fidelity: what others have published and what was measured on a real control plane, beside ours.

The whole page is made from measurements, so that it can be made again on any machine; nothing in it is typed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ghostfleet.lab.fidelity import (
    LARGEST_ERROR,
    MEAN_ERROR,
    ONE_REQUEST,
    PHASE_ERROR,
    PHASE_SECONDS,
    REQUEST_SECONDS,
    TOTAL_ERROR,
    Compared,
    Comparison,
    Line,
    Origin,
    Size,
    mean_error,
    source,
    worst_first,
)
from ghostfleet.lab.fidelity.stalls import LONGEST_STALL
from ghostfleet.report.published import fitted_table

__all__ = ["fidelity_page", "line_rows", "published_rows", "verdict"]

#: What is less than this is told as nothing, without a sign.
_SMALLEST = 0.0005
#: Seconds below which they are told to the tenth of a millisecond.
_SHORT = 0.1
_TESTS = {"scale-test": "scale test", "stress": "stress test"}
#: So many of the worst figures are told apart.
_WORST = 8


def published_rows(compared: Sequence[Comparison]) -> list[dict[str, object]]:
    """Published figures and ours, a row each."""
    return [
        {
            "mode": each.mode,
            "jobs": each.jobs,
            "published_s": f"{each.published:g}",
            "ours_s": f"{each.ours:.1f}",
            "error": _share(each.error),
        }
        for each in compared
    ]


def line_rows(lines: Sequence[Line]) -> list[dict[str, object]]:
    """Figures of the real cluster and ours, a row each."""
    return [
        {
            "test": line.test,
            "jobs": line.jobs,
            "nodes": line.nodes,
            "figure": line.title,
            "measure": line.measure,
            "real_s": _seconds(line.real),
            "ours_s": _seconds(line.ours),
            "error": _error(line),
            "goal": f"{TOTAL_ERROR:.0%}" if line.total else f"{PHASE_ERROR:.0%} or {line.seconds:g} s",
            "verdict": "met" if line.met else "missed",
        }
        for line in lines
    ]


def verdict(lines: Sequence[Line]) -> str:
    """How many goals are met, in a sentence."""
    missed = [line for line in lines if not line.met]
    totals = max((abs(line.error) for line in lines if line.total), default=0.0)
    return (
        f"{len(lines) - len(missed)} of {len(lines)} figures are within their goals; "
        f"the largest error of a total is {totals:.1%}."
    )


def fidelity_page(
    published: Sequence[Comparison],
    compared: Sequence[Compared],
    fitted: Sequence[Mapping[str, str]],
    command: str,
) -> str:
    """docs/fidelity.md."""
    lines = [line for each in compared for line in each.lines]
    parts = [
        "# Fidelity",
        "How near does the embedded cluster come to real ones? This page is made by one command, which measures both "
        f"and prints the same tables:\n\n```\n{command}\n```",
        "Times are seconds of cluster time. No figure was fitted to the runs on the real control plane: what requests "
        "take was measured on other runs, of other sizes (`tools/record`). Of the models that are compared with "
        "published times, four figures are fitted; what that is worth is told below. `ghostfleet profiles show "
        "kubernetes` prints where each figure comes from.",
        *_against_real(compared, lines),
        *_against_published(published),
        *_with_and_without(fitted),
    ]
    return "\n\n".join(parts) + "\n"


def _against_real(compared: Sequence[Compared], lines: Sequence[Line]) -> list[str]:
    if not compared:
        return []
    parts = [
        "## Against a real control plane",
        "The same tests on fake nodes with 8 GPUs each: on etcd, kube-apiserver, kube-controller-manager and "
        "kube-scheduler as they come, with default flags for all that is about speed, and on the embedded cluster with "
        "the profile `kubernetes` in virtual time. The *scale test* submits plain Jobs of one pod with one GPU, five "
        "each second; the *stress test* applies small Jobs one after another, as fast as `kubectl apply` does it, then "
        "polls. On both, pods live by the stage set `stress`: running 10 to 11 seconds after they were created on "
        "their node, done another 10 to 11 seconds later.",
        f"{_origins([each.real.origin for each in compared])} {_stalls(compared)}".rstrip(),
        f"Goals: totals within {TOTAL_ERROR:.0%}; phases within {PHASE_ERROR:.0%} or {PHASE_SECONDS:g} s; the median "
        f"of a phase that is one request (up to {ONE_REQUEST * 1000:g} ms) within {PHASE_ERROR:.0%} or "
        f"{REQUEST_SECONDS * 1000:g} ms. {verdict(lines)} The worst of them, by how much of its goal each uses up:",
        _worst(lines),
    ]
    for size in dict.fromkeys(Size(each.experiment.jobs, each.experiment.nodes) for each in compared):
        mine = [each for each in compared if (each.experiment.jobs, each.experiment.nodes) == size]
        parts += [f"### {size}", _table(mine)]
    return parts


def _worst(lines: Sequence[Line]) -> str:
    rows = ["| | | real | ours | error | of its goal |", "|---|---|---:|---:|---:|---:|"]
    rows += [
        f"| {_TESTS[line.test]}, {Size(line.jobs, line.nodes)} | {_title(line.title, line.measure)} |"
        f"{_cells(line)} {line.used:.0%} |"
        for line in worst_first(lines)[:_WORST]
    ]
    return "\n".join(rows)


def _origins(origins: Sequence[Origin]) -> str:
    """Where the real figures come from; once for measurements that were made alike."""
    said = []
    for origin in origins:
        made = ", ".join(f"{part} {version}" for part, version in origin.parts.items())
        cores = f"{origin.cores} core{'s' if origin.cores != 1 else ''}"
        said.append(f"Measured on {origin.date} on a machine with {cores}: {made}.")
    return " ".join(dict.fromkeys(said))


def _stalls(compared: Sequence[Compared]) -> str:
    """How fair the measurements are."""
    known = [stalled for each in compared if (stalled := each.real.measurement.stalled) is not None]
    if not known:
        return ""
    which = "these tests" if len(known) == len(compared) else f"{len(known)} of these {len(compared)} tests"
    told = f"In {which} it was looked whether the control plane stands still: for {max(known):.1f} s at most"
    if max(known) <= LONGEST_STALL:
        return f"{told}, which the burst of the Job controller's client makes up for."
    return f"{told}, which is too long: what waits for a client's rate limit comes later by that."


def _table(compared: Sequence[Compared]) -> str:
    """A table with three columns for each test."""
    heads = "".join(f" {_TESTS[each.experiment.test]}: real | ours | error |" for each in compared)
    rows = [f"| |{heads}", "|---|" + "---:|---:|---:|" * len(compared)]
    found = [{(line.title, line.measure): line for line in each.lines} for each in compared]
    for title, measure in dict.fromkeys(key for lines in found for key in lines):
        cells = "".join(_cells(lines.get((title, measure))) for lines in found)
        rows.append(f"| {_title(title, measure)} |{cells}")
    return "\n".join(rows)


def _title(title: str, measure: str) -> str:
    return title if measure == "last" else f"{title}, {measure}"


def _cells(line: Line | None) -> str:
    if line is None:
        return " | | |"
    error = _error(line)
    return f" {_seconds(line.real)} | {_seconds(line.ours)} | {error if line.met else f'**{error}**, missed'} |"


def _seconds(seconds: float) -> str:
    return f"{seconds:.4f}" if seconds < _SHORT else f"{seconds:.2f}"


def _error(line: Line) -> str:
    """As a share where that says something, else in seconds."""
    if abs(line.error) > PHASE_ERROR and abs(line.difference) <= line.seconds:
        return f"{line.difference * 1000:+.1f} ms" if abs(line.difference) < _SHORT else f"{line.difference:+.2f} s"
    return _share(line.error)


def _share(error: float) -> str:
    return f"{error:+.1%}" if abs(error) >= _SMALLEST else "0.0%"


def _against_published(published: Sequence[Comparison]) -> list[str]:
    if not published:
        return []
    parts = [
        "## Against published stress tests",
        "Seconds until all Jobs are complete, on four nodes, as the scripts of those who published them count; ours is "
        f"the average of several trials. Goals: the mean error of a mode within {MEAN_ERROR:.0%}, each within "
        f"{LARGEST_ERROR:.0%}.",
    ]
    for mode in dict.fromkeys(each.mode for each in published):
        mine = [each for each in published if each.mode == mode]
        rows = ["| Jobs | published | ours | error |", "|---:|---:|---:|---:|"]
        rows += [f"| {each.jobs} | {each.published:g} | {each.ours:.1f} | {_share(each.error)} |" for each in mine]
        parts += [f"### {mode}: mean error {mean_error(mine, mode):.1%}", "\n".join(rows), f"Source: {source(mode)}."]
    return parts


def _with_and_without(fitted: Sequence[Mapping[str, str]]) -> list[str]:
    if not fitted:
        return []
    return [
        "### With and without fitted figures",
        "The errors of these tables as they are, and with each fitted figure left at the value that one would take "
        "without them ([stress tests](stress.md) says more):",
        fitted_table(fitted),
    ]
