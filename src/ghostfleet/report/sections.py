"""The sections of the page that are plain HTML: headline figures, facts, phases, the slowest, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ghostfleet.lab.records import Run
from ghostfleet.report.breakdown import Breakdown, chain_steps
from ghostfleet.report.markup import Markup, element, joined, table
from ghostfleet.report.phases import Measured, PhaseFigures, WorkloadCounts
from ghostfleet.report.series import Slices
from ghostfleet.report.usage import Usage
from ghostfleet.report.why import held_up, knows_limits
from ghostfleet.report.words import amount, count_of, percent, span

__all__ = [
    "breakdown_bars",
    "cards",
    "facts",
    "limit_table",
    "phase_table",
    "problem_table",
    "slowest_table",
    "speeds",
    "subtitle",
]

_SLOWEST = 20
_MOST_PROBLEMS = 100
_MOST_LIMITS = 20


def subtitle(run: Run | None, counts: WorkloadCounts) -> str:
    """One line that says what was run where."""
    if run is None:
        return count_of(counts.submitted + counts.refused, "workload")
    number = counts.submitted + counts.refused
    pieces = [f"{number:,} {run.what}" if run.mix else count_of(number, f"{run.type} workload")]
    if run.type == "distributed":
        pieces.append(f"{count_of(run.workers, 'worker')} each")
    if not run.mix:
        pieces.append(f"{count_of(run.gpus, 'GPU')} a pod")
    cluster = run.cluster
    if cluster.get("nodes"):
        pieces.append(f"{count_of(int(cluster['nodes']), 'node')}, {count_of(int(cluster.get('gpus') or 0), 'GPU')}")
    return " · ".join(pieces)


def cards(measured: Measured, over: Slices | None, usage: Usage | None) -> Markup:
    """The few figures that matter most."""
    counts = measured.counts
    shown: list[tuple[str, str, str]] = []
    for figures in measured.figures:
        if figures.key in ("totalDecided", "totalRunning"):
            what = "until scheduling is decided" if figures.key == "totalDecided" else "until the last pod runs"
            shown.append((span(figures.p50), f"median {what}", f"p99 {span(figures.p99)}, longest {span(figures.max)}"))
    if over is not None:
        bound = "bound" if measured.workloads.knows("bound") else "decided"
        rates = np.array(over.counted(measured.workloads.at(bound))) / over.width
        busy = rates[rates > 0]
        if len(busy):
            beside = f"in the best {span(over.width)}; {amount(float(busy.mean()))} a second while any are"
            shown.append((f"{amount(float(busy.max()))}/s", "workloads scheduled", beside))
    if usage is not None:
        shown += _gpu_cards(usage)
    wrong = counts.troubled
    beside = f"{counts.failed:,} failed, {counts.refused:,} refused, {counts.erroneous:,} with erroneous times"
    shown.append((f"{wrong:,}", "workloads with problems" if wrong != 1 else "workload with problems", beside))
    return joined(*(_card(*each, bad=each[1].endswith("problems") and wrong > 0) for each in shown))


def _gpu_cards(usage: Usage) -> list[tuple[str, str, str]]:
    peak, worst = usage.peak, usage.worst
    if not peak.there:
        return [(amount(peak.in_use), "GPUs in use", f"at the peak; {amount(usage.mean('inUse'))} on average")]
    beside = f"at the peak, of {amount(peak.there)}; {percent(usage.utilisation)} on average"
    found = [(percent(peak.utilisation), "of all GPUs in use", beside)]
    if worst.stranded:
        beside = (
            f"too few on one node for {usage.request}, at the worst moment; largest free block {worst.largest_block}; "
            f"fragmentation {percent(usage.fragmentation)} on average"
        )
        found.append((f"{worst.stranded:,} of {worst.free:,}", "free GPUs stranded", beside))
    return found


def _card(figure: str, what: str, beside: str, *, bad: bool) -> Markup:
    return element(
        "li",
        element("strong", figure),
        element("span", what),
        element("small", beside),
        class_="bad" if bad else None,
    )


def speeds(run: Run | None, over: Slices | None) -> Markup:
    """Cluster time and lab time, told apart."""
    cluster_time = span(over.length) if over is not None else "none yet"
    cluster = run.cluster if run is not None else {}
    profile, clock = str(cluster.get("profile") or ""), str(cluster.get("clock") or "")
    if profile == "instant":
        said = "Modelled: the profile “instant” gives no component any delay, so only waiting for GPUs takes time."
    elif profile:
        said = f"Modelled: the profile “{profile}” says how fast the API, controllers, scheduler and kubelets act."
    elif cluster:
        said = f"Measured on the cluster at {cluster.get('address', 'an unknown address')}."
    else:
        said = "As the timestamps of the cluster tell."
    if clock.startswith("virtual"):
        said += " Its clock is virtual, so this machine's speed does not matter."
    elif profile:
        said += f" Its clock runs in real time ({clock}), so the time this machine needs is part of it."
    pieces = [_speed("Cluster time", cluster_time, f"{said} All delays and rates on this page are in cluster time.")]
    if run is not None and run.labSeconds:
        ratio = over.length / run.labSeconds if over is not None else 0.0
        faster = f", {amount(ratio)} times faster than cluster time" if ratio > 1.5 else ""
        pieces.append(
            _speed("Lab time", span(run.labSeconds), f"What this machine needed to submit and measure it all{faster}.")
        )
    return joined(*pieces)


def _speed(title: str, figure: str, text: str) -> Markup:
    return element("div", element("h3", title), element("strong", figure), element("p", text), class_="speed")


def limit_table(run: Run | None, usage: Usage | None) -> Markup:
    """Which limits held things up, and for how long."""
    limits = held_up(run, usage)
    if knows_limits(run):
        said = "How long somebody waited for a limit of a component, in cluster time. What overlaps counts once."
        if not limits:
            return element("p", "Nothing: no limit of a component was ever reached.", class_="good")
    else:
        said = "Which limits of its components held things up is told by clusters of ghostfleet's own only."
    if not limits:
        return element("p", said)
    rows = [[each.component, each.limit, each.detail or "–", span(each.seconds)] for each in limits[:_MOST_LIMITS]]
    head = ["Component", "Limit", "Who waited", "Saturated for"]
    return joined(element("p", said), table("Limits that were reached", head, rows, texts=3, stacks=True))


def phase_table(figures: Sequence[PhaseFigures]) -> Markup:
    """Each phase with its percentiles."""
    rows = [
        [
            each.phase,
            each.start,
            f"{each.count:,}",
            *(span(value) for value in (each.mean, each.p50, each.p90, each.p99, each.max)),
        ]
        for each in figures
    ]
    head = ["Phase", "Measured from", "WorkloadTable", "Mean", "p50", "p90", "p99", "Longest"]
    return table("Time that each phase took", head, rows, texts=2, stacks=True)


def breakdown_bars(breakdown: Breakdown) -> Markup:
    """A stacked bar for each group of workloads, with its steps as parts."""
    longest = max(group.total for group in breakdown.groups) or 1.0
    rows = []
    for group in breakdown.groups:
        parts = [
            element("i", class_=f"s{at}", style=f"width:{step / longest:.4%}", title=f"{title}: {span(step)}")
            for at, (title, step) in enumerate(zip(breakdown.titles, group.steps, strict=True), 1)
        ]
        words = ", ".join(
            f"{title} {span(step)}" for title, step in zip(breakdown.titles, group.steps, strict=True) if step > 0
        )
        rows.append(
            element(
                "div",
                element("dt", group.title, element("small", count_of(group.workloads, "workload"))),
                element(
                    "dd",
                    element("div", *parts, class_="bar", role="img", aria_label=words or "no time at all"),
                    element("span", span(group.total)),
                ),
            )
        )
    key = [
        element("li", element("i", class_=f"s{at}"), title, element("small", span(step)))
        for at, (title, step) in enumerate(zip(breakdown.titles, breakdown.groups[0].steps, strict=True), 1)
    ]
    return joined(element("dl", *rows, class_="bars"), element("ul", *key, class_="key"))


def slowest_table(measured: Measured) -> Markup:
    """The workloads with the longest total, and the steps that made it so."""
    leading = measured.leading
    if leading is None:
        return element("p", "Nothing has been scheduled yet.")
    workloads, totals = measured.workloads, measured.delays[leading.key]
    steps = chain_steps(measured)
    order = np.argsort(-np.nan_to_num(totals, nan=-np.inf), kind="stable")[:_SLOWEST]
    first = float(workloads.at("submitted").min())
    rows = [
        [
            workloads.names[row],
            workloads.nodes[row] or "–",
            _number(workloads.pods[row]),
            _number(workloads.gpus[row]),
            span(float(workloads.at("submitted")[row]) - first),
            span(float(totals[row])),
            *_steps([float(column[row]) for _, column in steps]),
        ]
        for row in order
        if not np.isnan(totals[row])
    ]
    head = ["Workload", "Node", "Pods", "GPUs", "Submitted after", "Total", *(title for title, _ in steps)]
    return table(f"The slowest workloads, by {leading.sentence[0].lower()}{leading.sentence[1:]}", head, rows, texts=2)


def _steps(delays: Sequence[float]) -> list[str]:
    """Delays in words, the longest of them made to stand out."""
    longest = max((delay for delay in delays if not np.isnan(delay)), default=np.nan)
    words = ["–" if np.isnan(delay) else span(delay) for delay in delays]
    return [element("b", word) if delay == longest else word for word, delay in zip(words, delays, strict=True)]


def _number(value: float) -> str:
    return "–" if np.isnan(value) else amount(float(value))


def problem_table(measured: Measured) -> Markup:
    """What went wrong, workload by workload; the first of them when they are many."""
    text = element("p", _accounts(measured.counts))
    if not measured.problems:
        return joined(text, element("p", "Every submitted workload went through as it should.", class_="good"))
    shown = [list(each) for each in measured.problems[:_MOST_PROBLEMS]]
    caption = "Workloads with problems"
    if len(shown) < len(measured.problems):
        caption += f": the first {len(shown)} of {len(measured.problems):,}"
    return joined(text, table(caption, ["Workload", "What", "Why"], shown, texts=3, stacks=True))


def _accounts(counts: WorkloadCounts) -> str:
    """Every submission accounted for, in words."""
    left_out = "they are left out of every figure above" if counts.skipped else "they are part of every figure above"
    said = [
        (counts.refused, f"{counts.refused:,} more were refused."),
        (counts.failed, f"{counts.failed:,} failed."),
        (counts.incomplete, f"For {counts.incomplete:,} the scheduler has not found a node yet."),
        (counts.unsampled, f"{counts.unsampled:,} are not in the sample."),
        (counts.erroneous, f"{counts.erroneous:,} have times that contradict one another; {left_out}."),
        (counts.foreign, f"{counts.foreign:,} in the sample are not of this run and left out."),
        (counts.chosen_away, f"By --head and --tail, {counts.measured:,} of them were looked at."),
    ]
    taken = f"The cluster took {count_of(counts.submitted, 'workload')}."
    return " ".join([taken, *(sentence for number, sentence in said if number)])


def facts(run: Run | None, measured: Measured) -> Markup:
    """What was asked for, and of which cluster."""
    counts = measured.counts
    if counts.recorded == counts.measured and counts.measured:
        resolution = "microseconds, by a recorder that ran alongside"
    elif counts.recorded:
        resolution = f"microseconds for {counts.recorded:,} workloads, whole seconds for the others"
    else:
        resolution = "whole seconds, by the timestamps of the cluster's objects"
    pairs = [("Times are known to", resolution)]
    if run is not None:
        cluster = run.cluster
        products = cluster.get("gpuProducts") or {}
        pairs = [
            ("Run", run.run),
            ("Started", run.started),
            ("Workload type", run.type),
            ("WorkloadTable", f"{run.count:,}"),
            ("Workers of each", f"{run.workers}" if run.type == "distributed" else ""),
            ("GPUs a pod", amount(run.gpus) if not run.mix else ""),
            ("Volume claim", "one each" if run.pvc else "none"),
            ("Submitted", _manner(run)),
            ("Template", run.template),
            ("Mix", f"{run.mix} ({run.mixDigest})" if run.mix else ""),
            ("Running time", run.runtime),
            ("Project and namespace", f"{run.project}, {run.namespace}"),
            ("Seed", str(run.seed)),
            ("Made with ghostfleet", run.version),
            ("Cluster", str(cluster.get("address") or "")),
            ("Clock", str(cluster.get("clock") or "")),
            ("Kubernetes", str(cluster.get("version") or "")),
            ("Profile of modelled speed", str(cluster.get("profile") or "none: a real cluster")),
            ("Schedulers", ", ".join(cluster.get("schedulers") or ())),
            ("Scheduler configuration", str((cluster.get("schedulerConfiguration") or {}).get("file", ""))),
            ("Dispatcher", str(cluster.get("dispatcher") or "")),
            ("Stages", ", ".join(cluster.get("stages") or ())),
            ("Commands of containers", str(cluster.get("commands") or "")),
            ("Parts left out", ", ".join(cluster.get("without") or ())),
            ("Nodes", amount(float(cluster.get("nodes") or 0))),
            ("GPUs", amount(float(cluster.get("gpus") or 0))),
            ("GPU products", ", ".join(f"{name}: {amount(float(number))}" for name, number in products.items())),
            *pairs,
        ]
    items = [element("div", element("dt", name), element("dd", value)) for name, value in pairs if value]
    return element("dl", *items, class_="facts")


def _manner(run: Run) -> str:
    if run.rate:
        return f"at a rate of {run.rate}"
    return f"{run.processes} at once, then {span(run.delay)} of rest" if run.delay else f"{run.processes} at once"
