"""Changes to an object by path: `spec.containers[0].name`, `metadata.labels["a.b/c"]`; `$delete` removes what is there."""

from __future__ import annotations

import copy
import re
from typing import Any

__all__ = ["changed"]

_STEP = re.compile(r'\["([^"]+)"\]|\[(\d+)\]|([^.\[\]]+)')


def changed(obj: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(obj)
    for path, value in changes.items():
        *steps, last = [quoted or name or int(index) for quoted, index, name in _STEP.findall(path)]
        at: Any = result
        for step in steps:
            at = at[step] if isinstance(at, list) else at.setdefault(step, {})
        if value == "$delete":
            at.pop(last, None)
        elif isinstance(at, list) and last >= len(at):
            at.append(value)
        else:
            at[last] = value
    return result
