"""Writes the tables of the stress test into the pages that show them: python -m tools.pages

The tests are run (about two minutes), what came out is kept in docs/data/stress.json, and every place between
`<!-- table: NAME -->` and `<!-- end of table -->` in README.md and docs/*.md gets the table of that name. With --check
nothing is run or written; exit code 1 names the pages whose tables are not those of the file.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from ghostfleet.lab.fidelity import Comparison, compare, published_modes
from ghostfleet.lab.fidelity.fitted import worths
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.stress import StressPlan, run_stress
from ghostfleet.report.published import fitted_rows, fitted_table, published_table

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data" / "stress.json"
ITERATIONS = 5
#: A mode that nobody has published figures of.
UNPUBLISHED = "better"
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def measured() -> dict[str, Any]:
    """Everything that the tables need."""
    compared = compare(published_modes(), Silent(), iterations=ITERATIONS)
    jobs = tuple(dict.fromkeys(each.jobs for each in compared))
    trials = run_stress(StressPlan((UNPUBLISHED,), jobs, iterations=ITERATIONS), Silent())
    more = {number: fmean(each.seconds for each in trials if each.jobs == number) for number in jobs}
    return {
        "iterations": ITERATIONS,
        "compared": [asdict(each) for each in compared],
        UNPUBLISHED: more,
        "fitted": fitted_rows(list(worths(published_modes(), Silent(), iterations=ITERATIONS))),
    }


def tables(data: dict[str, Any]) -> dict[str, str]:
    """The tables by name."""
    more = {UNPUBLISHED: {int(jobs): seconds for jobs, seconds in data[UNPUBLISHED].items()}}
    return {
        "stress": published_table([Comparison(**each) for each in data["compared"]], more),
        "fitted": fitted_table(data["fitted"]),
    }


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def filled(text: str, by_name: dict[str, str]) -> str:
    """A page with its tables."""
    return PLACE.sub(lambda place: f"{place[1]}{by_name[place[2]]}\n{place[3]}", text)


def main() -> int:
    if "--check" not in sys.argv:
        DATA.write_text(json.dumps(measured(), indent=1) + "\n")
    by_name = tables(json.loads(DATA.read_text()))
    wrong = [path for path in pages() if filled(path.read_text(), by_name) != path.read_text()]
    for path in wrong:
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)}: its tables are not those of {DATA.relative_to(ROOT)}")
        else:
            path.write_text(filled(path.read_text(), by_name))
            print(f"{path.relative_to(ROOT)}: written")
    return int("--check" in sys.argv and bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
