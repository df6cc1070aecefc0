"""The languages of stages: jq, Go templates and CEL, each for one pod.

A query is compared with the same lookup written by hand, a template with the reading of the YAML that it gives, a
condition in CEL with the same condition in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

from benchmarks.figures import Baseline, Figure, at_most, best, seconds_of
from ghostfleet.core.yamltext import compose
from ghostfleet.languages.cel import compile_cel
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate import compile_template, render_yaml
from ghostfleet.languages.jq import compile_jq

__all__ = ["run"]

_ROUNDS = 20_000
_FIELD = '.metadata.annotations["stage.example.com/delay"]'
_CONDITION = '.status.conditions[] | select(.type == "Ready") | .status'
_OWNER = ".metadata.ownerReferences[].kind"
_CEL = "self.status.phase == 'Bound' && !has(self.metadata.deletionTimestamp)"
_TYPES = ("PodScheduled", "Initialized", "Ready", "ContainersReady")
_POD: dict[str, Any] = {
    "metadata": {"name": "web-0", "uid": "u", "namespace": "default", "annotations": {"stage.example.com/delay": "5s"}},
    "spec": {"nodeName": "node-0", "containers": [{"name": "main", "image": "busybox"}], "priority": 0},
    "status": {"phase": "Bound", "conditions": [{"type": sort, "status": "True"} for sort in _TYPES]},
}
_TEMPLATE = """
{{ $now := Now }}
conditions:
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: Initialized
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: Ready
{{ range .spec.readinessGates }}
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: {{ .conditionType | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- image: {{ .image | Quote }}
  name: {{ .name | Quote }}
  ready: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $now | Quote }}
{{ end }}
{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
phase: Running
startTime: {{ $now | Quote }}
"""


def run() -> Iterator[Figure]:
    yield from _queries()
    yield from _templates()
    condition = compile_cel(_CEL)
    by_hand = Baseline("by hand", _micros(lambda: _bound(_POD)))
    yield Figure("cel, two clauses", _micros(lambda: condition.evaluate(0, self=_POD)), "us", by_hand, at_most(10))


def _queries() -> Iterator[Figure]:
    field, condition, owner = compile_jq(_FIELD), compile_jq(_CONDITION), compile_jq(_OWNER)
    by_hand = Baseline("by hand", _micros(lambda: _annotation(_POD)))
    yield Figure("jq, a field", _micros(lambda: field.run(_POD)), "us", by_hand, at_most(1))
    by_hand = Baseline("by hand", _micros(lambda: _ready(_POD)))
    yield Figure("jq, the status of a condition", _micros(lambda: condition.run(_POD)), "us", by_hand, at_most(3))

    def absent() -> None:
        with suppress(EvaluationError):
            owner.run(_POD)

    yield Figure("jq, a list that is not there", _micros(absent), "us", by_hand)


def _templates() -> Iterator[Figure]:
    ticks = count()

    def pod_ips(*_: object) -> list[str]:
        return [f"10.0.{next(ticks) % 250}.1"]

    functions: dict[str, Callable[..., Any]] = {
        "Now": lambda: f"2026-01-01T00:00:{next(ticks) % 60:02d}Z",
        "PodIPsWith": pod_ips,
    }
    template = compile_template(_TEMPLATE, functions)
    text = template.render(_POD)
    reading = Baseline("reading its YAML", _micros(lambda: next(compose(text, lenient=True)), 500))
    yield Figure("template, rendered", _micros(lambda: template.render(_POD), 2_000), "us", reading, at_most(100))
    made = _micros(lambda: render_yaml(template, _POD), 2_000)
    yield Figure("template, as an object", made, "us", reading, at_most(100))


def _micros(work: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """Microseconds for one round of work."""

    def repeated() -> None:
        for _ in range(rounds):
            work()

    return best(lambda: seconds_of(repeated), lowest=True) / rounds * 1e6


def _annotation(obj: dict[str, Any]) -> object:
    return ((obj.get("metadata") or {}).get("annotations") or {}).get("stage.example.com/delay")


def _ready(obj: dict[str, Any]) -> list[object]:
    return [each.get("status") for each in obj["status"]["conditions"] if each.get("type") == "Ready"]


def _bound(obj: dict[str, Any]) -> bool:
    return obj["status"]["phase"] == "Bound" and "deletionTimestamp" not in obj["metadata"]
