"""Two tables of the stress test: published times beside ours, and what the fitted figures are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ghostfleet.lab.fidelity import Comparison, mean_error
from ghostfleet.lab.fidelity.fitted import Worth

__all__ = ["fitted_rows", "fitted_table", "published_table"]


def published_table(compared: Sequence[Comparison], more: Mapping[str, Mapping[int, float]]) -> str:
    """One line for each number of Jobs; `more` are modes of which nothing is published."""
    modes = list(dict.fromkeys(each.mode for each in compared))
    found = {(each.mode, each.jobs): each for each in compared}
    heads = [f"{mode}, published | ours" for mode in modes] + [f"{mode}, ours" for mode in more]
    rows = [f"| Jobs | {' | '.join(heads)} |", "|---:" * (1 + 2 * len(modes) + len(more)) + "|"]
    for jobs in dict.fromkeys(each.jobs for each in compared):
        cells = [f"{found[mode, jobs].published:g} | {found[mode, jobs].ours:.1f}" for mode in modes]
        cells += [f"{times[jobs]:.1f}" for times in more.values()]
        rows.append(f"| {jobs} | {' | '.join(cells)} |")
    errors = "".join(f" | {mean_error(compared, mode):.1%} |" for mode in modes)
    rows.append(f"| mean error |{errors}{' |' * len(more)}")
    return "\n".join(rows)


def fitted_rows(worths: Sequence[Worth]) -> list[dict[str, str]]:
    """A row for each mode as it is shipped, and for each of its fitted figures at its independent value."""
    return [
        {
            "mode": each.mode,
            "figure": each.figure.figure if each.figure is not None else "all as shipped",
            "fitted": each.figure.fitted if each.figure is not None else "",
            "independent": each.figure.independent if each.figure is not None else "",
            "mean_error": f"{mean_error(each.comparisons, each.mode):.1%}",
            "largest": f"{max(abs(one.error) for one in each.comparisons):.1%}",
            "independent_value_from": each.figure.reason if each.figure is not None else "",
        }
        for each in worths
    ]


def fitted_table(rows: Sequence[Mapping[str, str]]) -> str:
    """The same as Markdown."""
    lines = [
        "| mode | figure | fitted to | independent value | mean error with it | largest | that value comes from |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row.values())} |" for row in rows)])
