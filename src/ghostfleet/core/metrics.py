"""Metrics: what the components of a cluster tell about themselves, in the text format of Prometheus.

A *family* is one metric: its name, sort, meaning and the names of its labels. Its *samples* are numbers, one for each
combination of the labels' values. Counters and gauges are read from their owners when somebody asks, so that they cost
nothing before that; *histograms* count as things happen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

__all__ = ["Family", "Histogram", "Metrics", "exposition", "histogram_samples"]

Labels = tuple[str, ...]
#: A suffix of the family's name, labels besides the family's own, and a number.
Sample = tuple[str, Labels, str, float]
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Family:
    """A counter or gauge whose samples are read when they are asked for; those of the same labels are added up."""

    def __init__(self, name: str, sort: Literal["counter", "gauge"], meaning: str, labels: Labels) -> None:
        self.name = name
        self.sort = sort
        self.meaning = meaning
        self.labels = labels
        self._readers: list[Callable[[], Mapping[Labels, float]]] = []

    def read_from(self, reader: Callable[[], Mapping[Labels, float]]) -> None:
        """Read samples from one more owner."""
        self._readers.append(reader)

    def samples(self) -> Iterator[Sample]:
        found: dict[Labels, float] = {}
        for reader in self._readers:
            for values, number in reader().items():
                found[values] = found.get(values, 0) + number
        for values in sorted(found):
            yield "", values, "", found[values]


class Histogram:
    """How often something was in which range."""

    sort = "histogram"

    def __init__(self, name: str, meaning: str, labels: Labels, bounds: tuple[float, ...]) -> None:
        """`bounds` are the upper ends of the ranges, rising; the last range has none."""
        self.name = name
        self.meaning = meaning
        self.labels = labels
        self.bounds = bounds
        #: By labels: how often in each range, and the sum of all.
        self._counts: dict[Labels, tuple[list[int], list[float]]] = {}

    def observe(self, values: Labels, number: float, times: int = 1) -> None:
        """Something was of this size, so many times."""
        found = self._counts.get(values)
        if found is None:
            found = self._counts[values] = ([0] * (len(self.bounds) + 1), [0.0])
        found[0][bisect_left(self.bounds, number)] += times
        found[1][0] += number * times

    def samples(self) -> Iterator[Sample]:
        for values in sorted(self._counts):
            counts, total = self._counts[values]
            yield from histogram_samples(values, self.bounds, counts, total[0])


def histogram_samples(
    values: Labels, bounds: tuple[float, ...], counts: Iterable[int], total: float
) -> Iterator[Sample]:
    """The samples of one histogram, from how often something was in each range."""
    so_far = 0
    for bound, count in zip((*bounds, float("inf")), counts, strict=True):
        so_far += count
        yield "_bucket", values, _number(bound), so_far
    yield "_sum", values, "", total
    yield "_count", values, "", so_far


class Metrics:
    """The families of one cluster, by name."""

    def __init__(self) -> None:
        self._families: dict[str, Family | Histogram] = {}

    def family(self, name: str, sort: Literal["counter", "gauge"], meaning: str, *labels: str) -> Family:
        """A counter or gauge, made when it is first named."""
        found = self._families.get(name)
        if not isinstance(found, Family):
            found = self._families[name] = Family(name, sort, meaning, labels)
        return found

    def histogram(self, name: str, meaning: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
        """A histogram, made when it is first named."""
        found = self._families.get(name)
        if not isinstance(found, Histogram):
            found = self._families[name] = Histogram(name, meaning, labels, bounds)
        return found

    def lines(self) -> Iterator[str]:
        """All families as Prometheus reads them."""
        for name in sorted(self._families):
            family = self._families[name]
            yield from exposition(name, family.sort, family.meaning, family.labels, family.samples())


def exposition(name: str, sort: str, meaning: str, labels: Labels, samples: Iterable[Sample]) -> Iterator[str]:
    """One family in the text format."""
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {sort}"
    for suffix, values, bound, number in samples:
        pairs = [f'{label}="{value.translate(_ESCAPES)}"' for label, value in zip(labels, values, strict=True)]
        if bound:
            pairs.append(f'le="{bound}"')
        shown = f"{{{','.join(pairs)}}}" if pairs else ""
        yield f"{name}{suffix}{shown} {_number(number)}"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
