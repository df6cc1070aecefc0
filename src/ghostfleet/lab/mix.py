"""A mix: classes of workloads that one run submits together, and what is drawn for each of its workloads.

A *class* says what its workloads are (a type, or a template of the user's), how many of the run's are its own (its
*weight*), and how large and long they are, where the GPUs and workers of a workload, its duration, namespace and queue
are drawn. `Mix.workloads` is a function of the mix, the number of workloads and a seed, and of nothing else: each value
is drawn by a number that follows from the seed, the workload's number and the name of the value. So the same seed gives
the same workloads on every machine, the first hundred of a thousand are those of a run of a hundred, and another size
of one class leaves the others as they are. When workloads *arrive* is said by the mix, by each class for itself (then
the rates of the classes take the place of weights), or not at all: then the run's own options say it.

A *draw* makes a value from a number in [0, 1); who has the number has the value, so that what is drawn for a workload
depends on the seed and its number alone. Values are written as one value that is always taken, as a list of which each
is as likely as the other (what was measured somewhere may stand there as it is: an empirical distribution), as an
object of values with their weights, or as a distribution in words: `uniform(1, 8)` for whole numbers, and for durations
all that `stages.distributions` knows, `lognormal(5m, 0.8)`.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, repeat
from typing import NamedTuple, TypeVar

from ghostfleet.core.durations import format_duration, parse_duration
from ghostfleet.lab.arrivals import Arrivals
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.types import WorkloadType
from ghostfleet.stages.distributions import LONGEST, chance

__all__ = [
    "MOST_PODS",
    "QUEUE_LABEL",
    "Draw",
    "Mix",
    "Workload",
    "WorkloadClass",
    "always",
    "one_of",
    "read_duration",
    "uniform_in_words",
]

T = TypeVar("T")
#: A value from a number in [0, 1).
Draw = Callable[[float], T]

_UNIFORM = re.compile(r"uniform\(\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*\)")
#: The label by which the KAI scheduler finds the queue of a pod.
QUEUE_LABEL = "kai.scheduler/queue"
#: Pods that a run may ask for; estimated: at about 2 KiB each they fill the memory of a large machine.
MOST_PODS = 10_000_000


def always(value: T) -> Draw[T]:
    """The same value each time."""
    return lambda _: value


def one_of(values: Sequence[T], weights: Sequence[float] | None = None) -> Draw[T]:
    """One of several values, as likely as its weight says; without weights all are alike."""
    if len(values) == 1:
        return always(values[0])
    if weights is None:
        return lambda point: values[int(point * len(values))]
    bounds = list(accumulate(weights))
    return lambda point: values[min(bisect_right(bounds, point * bounds[-1]), len(values) - 1)]


def uniform_in_words(text: str) -> Draw[int]:
    """A whole number between two, both included, from `uniform(LEAST, MOST)`; a ValueError if it is not that."""
    match = _UNIFORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a whole number, a list, weights or uniform(LEAST, MOST), found {text!r}")
    least, most = int(match[1]), int(match[2])
    if most < least:
        raise ValueError(f"expected the smaller number first, found {text!r}")
    return lambda point: least + int(point * (most - least + 1))


def read_duration(text: object) -> int:
    """Microseconds in a duration such as `90s`, from 0 to ten years."""
    try:
        span = parse_duration(text) if isinstance(text, str) else -1
    except ValueError:
        span = -1
    if not 0 <= span <= LONGEST:
        raise ValueError(f"expected a duration from 0s to ten years such as 90s or 2h, found {text!r}")
    return span


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """One class of a mix; "" and None stand for what is not asked for."""

    name: str
    kind: WorkloadType
    gpus: Draw[int]
    workers: Draw[int]
    namespaces: Draw[str]
    #: Microseconds for which all pods of a workload run; None where they stay.
    duration: Draw[int] | None = None
    #: The same in words, where each pod is to draw for itself.
    runtime: str = ""
    weight: float = 1.0
    arrivals: Arrivals | None = None
    queues: Draw[str] | None = None
    queue_label: str = QUEUE_LABEL
    priority_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def alike(
        cls, kind: WorkloadType, namespace: str, *, gpus: int = 1, workers: int = 1, runtime: str = ""
    ) -> WorkloadClass:
        """The class of a run that has no other: it has no name, and all its workloads are alike."""
        return cls("", kind, always(gpus), always(workers), always(namespace), runtime=runtime)

    @property
    def ends(self) -> bool:
        """Whether its workloads end by themselves."""
        return self.kind.ends or self.duration is not None


class Workload(NamedTuple):
    """One workload of a run, before it is submitted."""

    of: WorkloadClass
    gpus: int
    workers: int
    namespace: str
    #: Microseconds; None where nothing was drawn for it.
    duration: int | None = None
    queue: str = ""
    #: Microseconds after the start of the run; None where the run's options say when.
    time: int | None = None

    @property
    def pods(self) -> int:
        return self.of.kind.pods(self.workers)

    @property
    def runtime(self) -> str | None:
        """How long its pods run, in the words of an annotation; None where they stay."""
        if self.duration is not None:
            return format_duration(self.duration)
        return self.of.runtime or None


@dataclass(frozen=True, slots=True)
class Mix:
    """Classes of workloads that one run submits together."""

    classes: tuple[WorkloadClass, ...]
    arrivals: Arrivals | None = None

    def workloads(self, count: int, seed: int) -> list[Workload]:
        """The workloads of a run, in the order in which they are submitted."""
        arriving = list(islice(self._arriving(seed), count))
        if len(arriving) < count:
            raise LabError(
                f"the mix has {len(arriving):,} arrivals, but {count:,} workloads are asked for: add times, or ask for "
                f"fewer with --num-workloads {len(arriving)}"
            )
        made = [_drawn(each, time, number, seed) for number, (time, each) in enumerate(arriving)]
        pods = sum(each.pods for each in made)
        if pods > MOST_PODS:
            raise LabError(f"the {count:,} workloads of the mix have {pods:,} pods; a run has at most {MOST_PODS:,}")
        return made

    def _arriving(self, seed: int) -> Iterator[tuple[int | None, WorkloadClass]]:
        """Each workload's time and class, without an end where the mix has none."""
        if any(each.arrivals is not None for each in self.classes):
            streams = [_times(each, place, seed) for place, each in enumerate(self.classes)]
            yield from ((time, self.classes[place]) for time, place in heapq.merge(*streams))
            return
        chosen = one_of(self.classes, [each.weight for each in self.classes])
        times: Iterable[int | None] = self.arrivals.times(seed) if self.arrivals is not None else repeat(None)
        for number, time in enumerate(times):
            yield time, chosen(_point(seed, number, "class"))


def _times(of: WorkloadClass, place: int, seed: int) -> Iterator[tuple[int, int]]:
    assert of.arrivals is not None
    return ((time, place) for time in of.arrivals.times(f"{seed}/{of.name}"))


def _point(seed: int, number: int, value: str) -> float:
    return chance(seed, "mix", value, str(number))


def _drawn(of: WorkloadClass, time: int | None, number: int, seed: int) -> Workload:
    return Workload(
        of,
        gpus=of.gpus(_point(seed, number, "gpus")),
        workers=of.workers(_point(seed, number, "workers")),
        namespace=of.namespaces(_point(seed, number, "namespace")),
        duration=of.duration(_point(seed, number, "duration")) if of.duration is not None else None,
        queue=of.queues(_point(seed, number, "queue")) if of.queues is not None else "",
        time=time,
    )
