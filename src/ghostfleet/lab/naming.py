"""Names of runs and of their workloads.

A workload is called `j-` and six hexadecimal digits. Its name follows from the run's id and its number alone, so that
a run that was cut short knows which workloads it still owes. Numbers are scattered over all six-digit names by
a mapping that never gives the same name twice; where a name is taken by something else in the cluster, the workload has
further *attempts*, each with a name that no other workload of the run can have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ghostfleet.lab.errors import LabError

__all__ = ["ATTEMPTS", "MOST", "namer", "run_id"]

_BITS = 24
_SPACE = 1 << _BITS
_HALF = _BITS // 2
#: Names that a workload may try.
ATTEMPTS = 8
#: Workloads that a run may have.
MOST = _SPACE // ATTEMPTS

#: The name of a workload's number and attempt.
Namer = Callable[[int, int], str]


def run_id(*facts: object) -> str:
    """Eight hexadecimal digits that follow from the facts of a run; the cluster's time should be among them."""
    return hashlib.blake2b("\0".join(map(str, facts)).encode(), digest_size=4).hexdigest()


def namer(run: str, count: int) -> Namer:
    """The names of a run's workloads."""
    if count > MOST:
        raise LabError(f"a run has at most {MOST:,} workloads, since their names have six digits; asked for {count:,}")
    digest = hashlib.blake2b(run.encode(), digest_size=9).digest()
    first, second, shift = (int.from_bytes(digest[start : start + 3]) for start in (0, 3, 6))
    # Odd factors and shifts downwards can both be undone, so no two numbers meet.
    first, second = first | 1, second | 1

    def name(number: int, attempt: int = 0) -> str:
        mixed = (number + attempt * count) ^ shift
        mixed = mixed * first % _SPACE
        mixed ^= mixed >> _HALF
        mixed = mixed * second % _SPACE
        mixed ^= mixed >> _HALF
        return f"j-{mixed:06x}"

    return name
