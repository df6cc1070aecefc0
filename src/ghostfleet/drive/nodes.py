"""Fake nodes of a served cluster: add, scale, remove, fail and recover them by requests.

A *pool* is all nodes whose names have one prefix, followed by a number. Nodes are made with the next free numbers and
removed from the highest down, so that scaling up and down again leaves the pool as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.drive.connection import Connection
from ghostfleet.drive.devices import Driver, driver_of, publish_classes, publish_slices
from ghostfleet.stages.nodes import FAILED_ANNOTATION, NodeShape, fake_nodes

__all__ = ["add", "from_template", "mark_failed", "numbers", "remove", "scale"]

_NODES = "/api/v1/nodes"
Progress = Callable[[], Any]


def numbers(connection: Connection, prefix: str) -> list[int]:
    """The numbers of a pool's nodes, sorted."""
    pattern = re.compile(re.escape(prefix) + r"(\d+)\Z")
    names = (node["metadata"]["name"] for node in connection.items(_NODES))
    return sorted(int(found[1]) for name in names if (found := pattern.match(name)))


def add(connection: Connection, nodes: Iterable[Object], progress: Progress, driver: Driver | None = None) -> int:
    """Create nodes, and what their DRA driver publishes; answers how many."""
    count = 0
    if driver is not None:
        publish_classes(connection, driver)
    for node in nodes:
        made = connection.create(_NODES, node)
        if driver is not None:
            publish_slices(connection, driver, made)
        count += 1
        progress()
    return count


def scale(connection: Connection, shape: NodeShape, there: list[int], progress: Progress) -> int:
    """Bring a pool, of which these numbers are there, to `shape.count` nodes; answers by how many it grew or shrank."""
    missing = shape.count - len(there)
    if missing >= 0:
        first = there[-1] + 1 if there else shape.first
        made = fake_nodes(replace(shape, count=missing, first=first))
        return add(connection, made, progress, driver_of(shape))
    for number in there[missing:]:
        connection.delete(f"{_NODES}/{shape.prefix}{number}")
        progress()
    return missing


def remove(connection: Connection, names: Iterable[str], progress: Progress) -> int:
    """Delete nodes; answers how many."""
    count = 0
    for name in names:
        connection.delete(f"{_NODES}/{name}")
        count += 1
        progress()
    return count


def mark_failed(connection: Connection, name: str, failed: bool) -> None:
    """A node stops, or goes on: no heartbeat and no lease come from one that is marked.

    The annotation is for our own fleet, the label for KWOK, which chooses its nodes by labels.
    """
    mark = {FAILED_ANNOTATION: "true" if failed else None}
    connection.patch(f"{_NODES}/{name}", {"metadata": {"annotations": mark, "labels": mark}})


def from_template(template: Object, count: int, first: int) -> Iterator[Object]:
    """Copies of a node from a manifest, numbered when there is more than one or it has only a generateName."""
    metadata = template.get("metadata") or {}
    name, prefix = metadata.get("name"), metadata.get("generateName")
    for offset in range(count):
        own = name if name and count == 1 else f"{prefix or f'{name}-'}{first + offset}"
        labels = {**metadata.get("labels", {}), "kubernetes.io/hostname": own}
        named = {key: value for key, value in metadata.items() if key != "generateName"}
        yield {**template, "metadata": {**named, "name": own, "labels": labels}}
