"""Count how far our cluster does as real Kubernetes does: `python tests/parity [topic ...] [--verbose]`.

Topics are `api`, `scheduler`, `devices` and `kubectl`; the last needs the kubectl whose output is recorded, on PATH or in
the user's cache, and is passed over where there is none. Every difference that is not known is printed; the exit code
says whether there was one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# Python puts this directory on its path, but not what all tests share.
sys.path.insert(0, str(Path(__file__).parents[1]))

from parity_material.comparison import Comparison
from parity_material.served import find_kubectl, kubectl_comparison
from parity_material.verdicts import compare_api, compare_devices, compare_scheduler

TOPICS = ("api", "scheduler", "devices", "kubectl")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="tell the reasons of known differences too")
    parser.add_argument("topics", nargs="*", metavar="topic", help=", ".join(TOPICS))
    arguments = parser.parse_args()
    unknown = [topic for topic in arguments.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"{unknown[0]}: no such topic; there are {', '.join(TOPICS)}")
    failed = False
    for comparison in comparisons(arguments.topics or TOPICS):
        print(comparison)
        for difference in comparison.different:
            print(f"  {difference}")
        if arguments.verbose:
            for what, cases in (("explained", comparison.explained), ("not compared", comparison.not_compared)):
                reasons = Counter(reason for found in cases.values() for reason in found)
                for reason, count in reasons.most_common():
                    print(f"  {count:4} {what}: {reason}")
        failed = failed or bool(comparison.different)
    return int(failed)


def comparisons(topics: list[str] | tuple[str, ...]) -> Iterator[Comparison]:
    if "api" in topics:
        yield compare_api()
    if "scheduler" in topics:
        yield compare_scheduler()
    if "devices" in topics:
        yield compare_devices()
    if "kubectl" in topics:
        kubectl = find_kubectl()
        if kubectl is None:
            print("kubectl commands: passed over, for the kubectl that was recorded is not here; `make e2e` gets it")
        else:
            yield kubectl_comparison(kubectl)


if __name__ == "__main__":
    sys.exit(main())
