"""Request figures: how many requests there were, and how long they took, as the real API server counts them.

Requests are told apart by the labels that it has: verb, group, version, resource, subresource, scope, and whether they
were only tried out. A watch counts as what it is, with the time that it lasted. Names that clients invent are not
counted under those names, so that nobody can fill the memory with them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ghostfleet.api.kinds import Resource
from ghostfleet.core.metrics import exposition, histogram_samples
from ghostfleet.server.paths import Target
from ghostfleet.server.requests import Request

__all__ = ["Key", "RequestFigures", "key_of"]

#: The bounds of the real server's histograms, in seconds; that of the objectives leaves the first two out.
_BOUNDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
_LEFT_OUT = 2
_VERBS = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
    "": "",
}
_APPLY = "application/apply-patch"
_LABELS = ("component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version")
_DURATION_LABELS = ("component", "group", "resource", "scope", "subresource", "verb", "version")

#: dry_run, group, resource, scope, subresource, verb, version
Key = tuple[str, str, str, str, str, str, str]


class _Record:
    """What is known of requests of one sort."""

    __slots__ = ("codes", "counts", "total")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0


class RequestFigures:
    """Counts the requests of one server."""

    def __init__(self) -> None:
        self._records: dict[Key, _Record] = {}

    def count(self, key: Key, code: int, seconds: float) -> None:
        """A request was answered, after so many seconds."""
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record()
        record.codes[code] = record.codes.get(code, 0) + 1
        record.counts[bisect_left(_BOUNDS, seconds)] += 1
        record.total += seconds

    def lines(self) -> Iterator[str]:
        records = sorted(self._records.items())
        totals = (
            ("", ("apiserver", str(code), *key), "", record.codes[code])
            for key, record in records
            for code in sorted(record.codes)
        )
        labels = ("component", "code", *_LABELS[1:])
        yield from exposition("apiserver_request_total", "counter", "Requests that were answered.", labels, totals)
        yield from exposition(
            "apiserver_request_duration_seconds",
            "histogram",
            "How long requests took.",
            _LABELS,
            (
                sample
                for key, record in records
                for sample in histogram_samples(("apiserver", *key), _BOUNDS, record.counts, record.total)
            ),
        )
        yield from exposition(
            "apiserver_request_sli_duration_seconds",
            "histogram",
            "How long requests took, as service level objectives count it.",
            _DURATION_LABELS,
            (
                sample
                for key, counts, total in self._by_objective()
                for sample in histogram_samples(("apiserver", *key), _BOUNDS[_LEFT_OUT:], counts, total)
            ),
        )

    def _by_objective(self) -> Iterator[tuple[tuple[str, ...], list[int], float]]:
        """The same durations, whether tried out or not, with the first ranges joined."""
        joined: dict[tuple[str, ...], tuple[list[int], float]] = {}
        for key, record in self._records.items():
            counts = [sum(record.counts[: _LEFT_OUT + 1]), *record.counts[_LEFT_OUT + 1 :]]
            known, total = joined.get(key[1:], ([0] * len(counts), 0.0))
            summed = [one + other for one, other in zip(known, counts, strict=True)]
            joined[key[1:]] = (summed, total + record.total)
        for labels in sorted(joined):
            yield labels, *joined[labels]


def key_of(verb: str, target: Target, resource: Resource, request: Request) -> Key:
    """Under which labels a request is counted."""
    shown = _VERBS[verb]
    if verb == "patch" and request.content_type.startswith(_APPLY):
        shown = "APPLY"
    group, version, plural, namespace, name, part, _ = target
    if part and part not in resource.subresources:
        part = ""
    scope = "resource" if name or verb == "create" else "namespace" if namespace else "cluster"
    return ("All" if "dryRun" in request.query else "", group, plural, scope, part, shown, version)
