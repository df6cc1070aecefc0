"""Declarative tests in the format of kuttl, played on a virtual clock.

A test is a directory of numbered files. Those of one number make a *step*: what `NN-name.yaml` holds is applied,
`NN-assert.yaml` is what must be found in the end and `NN-errors.yaml` what must not; a TestStep among the applied
objects can delete things first, and name more files. Expected objects are parts of the real ones; lists must be as
long as the real ones. An expected object without a name is found by its kind and labels. Objects without a namespace
are in the one of the test. Commands are not run: a test has no shell here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ghostfleet.api.kinds import storage_key
from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.cluster import Cluster
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError

Object = dict[str, Any]
_FILE = re.compile(r"(\d+)-([a-z0-9-]+)\.yaml")
_NAMESPACE = "declared"


def is_part(expected: Any, found: Any) -> bool:
    """Whether all that is expected is there, as kuttl 0.15 compares."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(key in found and is_part(value, found[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(is_part, expected, found))
    return bool(type(expected) is type(found) and expected == found)


class Step:
    """What is done and expected under one number."""

    def __init__(self, directory: Path, number: int) -> None:
        self.directory, self.number = directory, number
        self.deletes: list[Object] = []
        self.applies: list[Object] = []
        self.asserts: list[Object] = []
        self.errors: list[Object] = []

    def read(self, path: Path, name: str) -> None:
        for document in yaml.safe_load_all(path.read_text()):
            if not document:
                continue
            if name in ("assert", "errors"):
                (self.asserts if name == "assert" else self.errors).append(document)
            elif document["kind"] == "TestStep":
                assert not document.get("commands"), f"{path}: commands are not run here"
                self.deletes += document.get("delete") or ()
                for field, kind in (("apply", "install"), ("assert", "assert"), ("error", "errors")):
                    for other in document.get(field) or ():
                        self.read(self.directory / other, kind)
            else:
                self.applies.append(document)


def read_steps(directory: Path) -> list[Step]:
    steps: dict[int, Step] = {}
    for path in sorted(directory.iterdir()):
        match = _FILE.fullmatch(path.name)
        assert match is not None, f"{path}: expected NN-name.yaml"
        number = int(match[1])
        steps.setdefault(number, Step(directory, number)).read(path, match[2])
    return [steps[number] for number in sorted(steps)]


class Play:
    """Plays tests on one cluster."""

    def __init__(self, cluster: Cluster, timeout: int = 240) -> None:
        self._cluster = cluster
        self._timeout = timeout
        self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})

    def run(self, directory: Path) -> None:
        for step in read_steps(directory):
            for each in step.deletes:
                self._delete(each)
            for each in step.applies:
                self._apply(each)
            self._wait(step)

    def _wait(self, step: Step) -> None:
        wrong: list[str] = []
        for _ in range(self._timeout):
            wrong = list(self._differences(step))
            if not wrong:
                return
            self._advance(1)
        raise AssertionError(f"{step.directory.name}, step {step.number}: " + "; ".join(wrong))

    def _differences(self, step: Step) -> Iterator[str]:
        for expected in step.asserts:
            found = list(self._found(expected))
            if not any(is_part(expected, each) for each in found):
                states = [each.get("status") for each in found]
                yield f"expected {expected['kind']} {expected['metadata']} {expected.get('status')}, found {states}"
        for expected in step.errors:
            if any(is_part(expected, each) for each in self._found(expected)):
                yield f"there is a {expected['kind']} {expected['metadata']}, and there should not be"

    def _found(self, expected: Object) -> Iterator[Object]:
        """The objects that an expectation may be about, in its version."""
        metadata = expected["metadata"]
        resource, _, namespace = self._place(expected)
        for obj in self._cluster.store.list(storage_key(resource), namespace or None):
            if metadata.get("name") in (None, obj["metadata"]["name"]):
                yield {**obj, "apiVersion": expected["apiVersion"], "kind": expected["kind"]}

    def _place(self, obj: Object) -> tuple[Any, Any, str]:
        found = self._cluster.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert found is not None, f"{obj['apiVersion']} {obj['kind']} is not served"
        resource, version = found
        stated = (obj.get("metadata") or obj).get("namespace", _NAMESPACE)
        return resource, version, stated if resource.namespaced else ""

    def _apply(self, obj: Object) -> None:
        resource, version, namespace = self._place(obj)
        name = obj["metadata"]["name"]
        try:
            self._cluster.api.create(resource, version, namespace, obj, WriteOptions())
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            self._cluster.api.patch(resource, version, namespace, name, "merge", obj, WriteOptions())

    def _delete(self, reference: Object) -> None:
        """Delete what a reference is about, by name or labels, and wait until it has gone."""
        resource, version, namespace = self._place(reference)
        wanted = {key: reference[key] for key in ("name", "labels") if key in reference}
        expected = {"apiVersion": reference["apiVersion"], "kind": reference["kind"]}
        expected["metadata"] = {**wanted, "namespace": namespace} if namespace else wanted
        doomed = [each["metadata"] for each in self._found(expected) if is_part(expected, each)]
        for each in doomed:
            self._cluster.api.delete(resource, version, namespace, each["name"], DeleteOptions())
        uids = {each["uid"] for each in doomed}
        for _ in range(self._timeout):
            if not uids.intersection(each["metadata"]["uid"] for each in self._found(expected)):
                return
            self._advance(1)
        raise AssertionError(f"{reference} has not gone")

    def _advance(self, seconds: int) -> None:
        self._cluster.clock.advance(seconds * SECOND)  # type: ignore[attr-defined]  # a virtual clock
