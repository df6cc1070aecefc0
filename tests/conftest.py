"""Settings and helpers shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The quick profile draws the same examples in every run; the thorough one draws new ones, and more of them.
settings.register_profile(
    "quick", max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be the commands that the tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from ghostfleet.core.compilation import is_compiled

    if is_compiled():
        for item in items:
            if "replaces" in item.keywords:
                item.add_marker(
                    pytest.mark.skip(reason="replaces a part of a module, which a compiled one does not allow")
                )


@pytest.fixture(autouse=True)
def _consistent_clusters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After a test, the state of every cluster that it made must agree with itself."""
    from ghostfleet.cluster import Cluster
    from support.consistency import validate_state

    made: list[Cluster] = []
    begin = Cluster.__init__

    def noted(self: Cluster, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(Cluster, "__init__", noted)
    yield
    for cluster in made:
        validate_state(cluster)


class Lab:
    """An embedded cluster on a virtual clock, with the verbs by short names."""

    def __init__(self) -> None:
        from ghostfleet.cluster import BARE, Cluster

        self.cluster = Cluster(config=BARE)
        self.api = self.cluster.api
        self.store = self.cluster.store
        self.clock: Any = self.cluster.clock

    def at(self, plural: str) -> tuple[Any, Any]:
        """The resource of a key such as `pods` or `jobs.batch`, in its storage version."""
        resource = self.cluster.registry.by_key(plural)
        assert resource is not None, plural
        return resource, resource.storage

    def create(self, plural: str, obj: dict[str, Any], namespace: str = "default", **options: Any) -> dict[str, Any]:
        from ghostfleet.api.options import WriteOptions

        resource, version = self.at(plural)
        made = self.api.create(
            resource, version, namespace if resource.namespaced else "", obj, WriteOptions(manager="tests", **options)
        )
        self.clock.settle()
        return made

    def get(self, plural: str, name: str, namespace: str = "default") -> dict[str, Any]:
        resource, version = self.at(plural)
        return self.api.get(resource, version, namespace if resource.namespaced else "", name)

    def patch(
        self, plural: str, name: str, patch: Any, kind: Any = "merge", namespace: str = "default", **more: Any
    ) -> Any:
        from ghostfleet.api.options import WriteOptions

        subresource = more.pop("subresource", "")
        resource, version = self.at(plural)
        options = WriteOptions(**{"manager": "tests", **more})
        where = namespace if resource.namespaced else ""
        patched = self.api.patch(resource, version, where, name, kind, patch, options, subresource)[0]
        self.clock.settle()
        return patched

    def delete(self, plural: str, name: str, namespace: str = "default", **options: Any) -> tuple[Any, bool]:
        from ghostfleet.api.options import DeleteOptions

        resource, version = self.at(plural)
        where = namespace if resource.namespaced else ""
        answer = self.api.delete(resource, version, where, name, DeleteOptions(**options))
        self.clock.settle()
        return answer

    def names(self, plural: str, namespace: str | None = None) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.store.list(plural, namespace)]


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture(scope="session")
def lab_factory() -> type[Lab]:
    """For tests that need several clusters."""
    return Lab
