"""`--overwrite-test-config Path.To.Field=value`: single fields of a config, changed before it is read.

The path has Go's names for fields, in any case of letters, and indexes for lists: `Steps[0].Phases[0].TuningSet=fast`.
The value is read as YAML.
"""

from __future__ import annotations

import re
from typing import Any

from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.core.yamltext import YamlError, compose

__all__ = ["overwrite"]

_PART = re.compile(r"([A-Za-z]\w*)((?:\[[0-9]+\])*)\Z")


def overwrite(tree: Any, change: str) -> None:
    """Change one field of a config's tree; a ConfigError says what is wrong with the change."""
    path, equals, text = change.partition("=")
    if not equals:
        raise ConfigError(f"--overwrite-test-config {change!r}: expected Path.To.Field=value")
    steps: list[str | int] = []
    for part in path.split("."):
        match = _PART.match(part)
        if match is None:
            raise ConfigError(f"--overwrite-test-config {change!r}: {part!r} is no name of a field")
        steps += [match[1], *map(int, re.findall(r"[0-9]+", match[2]))]
    try:
        value = next((value for value, _, _ in compose(text)), None)
    except YamlError as error:
        raise ConfigError(f"--overwrite-test-config {change!r}: {error}") from None
    for place, step in enumerate(steps[:-1]):
        tree = _inner(tree, step, steps[place + 1], change)
    last = steps[-1]
    if isinstance(last, int):
        _check_index(tree, last, change)
        tree[last] = value
    else:
        tree[_key(tree, last)] = value


def _inner(tree: Any, step: str | int, following: str | int, change: str) -> Any:
    """The part of a tree to which a step leads; objects that are not there yet are made."""
    if isinstance(step, int):
        _check_index(tree, step, change)
        return tree[step]
    key = _key(tree, step)
    if tree.get(key) is None:
        tree[key] = [] if isinstance(following, int) else {}
    inner = tree[key]
    if not isinstance(inner, list if isinstance(following, int) else dict):
        raise ConfigError(f"--overwrite-test-config {change!r}: {step} holds something else")
    return inner


def _check_index(tree: Any, index: int, change: str) -> None:
    if not isinstance(tree, list) or index >= len(tree):
        count = len(tree) if isinstance(tree, list) else 0
        raise ConfigError(f"--overwrite-test-config {change!r}: there is no [{index}], only {count} of them")


def _key(tree: dict[str, Any], name: str) -> str:
    return next((key for key in tree if key.lower() == name.lower()), name[:1].lower() + name[1:])
