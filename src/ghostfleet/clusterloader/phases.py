"""Phases: bring objects to a number of replicas.

What a test has made is its *state*: for each namespace, basename and kind the number of *replicas*, which have the
indexes from 0. For a bundle that has C replicas and is to have D, those from D on are deleted (the objects of a bundle
in reverse order), those from C on are created, and where C is D all are rendered anew and patched. So creating,
updating and deleting are all phases, and only the number says which.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from ghostfleet.clusterloader.compiling import CompiledTest
from ghostfleet.clusterloader.config import Object, Phase
from ghostfleet.clusterloader.mapping import TemplateMapping, template_value
from ghostfleet.clusterloader.objects import ObjectClient, ObjectError
from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.clusterloader.tuningsets import Action, TuningSets
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.drive.interface import Cluster, ConnectionFailed, Refused
from ghostfleet.languages.gotemplate.values import Int

__all__ = ["PhaseExecutor"]

#: Errors of one phase that are told one by one.
_MOST_ERRORS = 20
#: What one phase may be asked for; far above any cluster that has been tested.
_MOST_ACTIONS = 1_000_000
Operation = Callable[[Object, str, int], Coroutine[Any, Any, None]]


class _Identifier(NamedTuple):
    """What tells the objects of a state apart."""

    namespace: str
    basename: str
    kind: str
    group: str


class PhaseExecutor:
    """Carries out the phases of one test."""

    def __init__(
        self,
        cluster: Cluster,
        test: CompiledTest,
        client: ObjectClient,
        tuning_sets: TuningSets,
        advance: Callable[[int, int], None],
    ) -> None:
        self._cluster = cluster
        self._test = test
        self._client = client
        self._tuning_sets = tuning_sets
        self._advance = advance
        self._done = self._total = 0
        self._replicas: dict[_Identifier, int] = {}
        #: Those of no namespace, and their templates.
        self._cluster_objects: dict[_Identifier, str] = {}
        self._fill_maps: dict[int, tuple[Object, TemplateMapping]] = {}

    def begin_step(self) -> None:
        """Count actions anew: those of all phases of a step are told together."""
        self._done = self._total = 0

    async def execute(self, phase: Phase) -> list[str]:
        """Carry out a phase; answers what went wrong."""
        errors = _Errors()
        try:
            actions = await self._actions(phase, errors)
        except (ConfigError, ObjectError, Refused, ConnectionFailed) as error:
            return [str(error)]
        self._total += len(actions)

        def counted(action: Action) -> Action:
            async def run() -> None:
                await action()
                self._done += 1
                self._advance(self._done, self._total)

            return run

        await self._tuning_sets.execute(phase.tuning_set, [counted(action) for action in actions])
        return errors.messages()

    async def delete_cluster_objects(self) -> None:
        """Delete what the test has made outside of namespaces; with these everything else goes."""
        for identifier, path in self._cluster_objects.items():
            for index in range(self._replicas.get(identifier, 0)):
                for kind in self._test.templates.kinds(path):
                    await self._client.delete(kind, "", f"{identifier.basename}-{index}")
            self._replicas[identifier] = 0

    async def _actions(self, phase: Phase, errors: _Errors) -> list[Action]:
        actions: list[Action] = []
        bundle, wanted = phase.object_bundle, phase.replicas_per_namespace
        for namespace in self._namespaces(phase):
            if not bundle:
                continue
            identifiers = [self._identifier(namespace, each) for each in bundle]
            counts = [await self._count(*pair) for pair in zip(identifiers, bundle, strict=True)]
            for each, count in zip(bundle, counts, strict=True):
                if count != counts[0]:
                    raise ObjectError(
                        f"bundle error: {each.basename} has {count} replicas while {bundle[0].basename} has {counts[0]}"
                    )
            there = counts[0]
            if len(actions) + max(wanted, there) > _MOST_ACTIONS:
                raise ObjectError(f"expected at most {_MOST_ACTIONS:,} replicas in a phase")
            operation, indexes = self._create, range(there, wanted)
            if wanted < there:
                operation, indexes = self._delete, range(wanted, there)
            elif wanted == there:
                operation, indexes = self._patch, range(wanted)
            actions += [self._action(bundle, namespace, index, operation, errors) for index in indexes]
            for identifier, each in zip(identifiers, bundle, strict=True):
                self._replicas[identifier] = wanted
                if not namespace and each.list_unknown_object_options is None:
                    self._cluster_objects[identifier] = each.object_template_path
        return actions

    def _namespaces(self, phase: Phase) -> list[str]:
        if phase.namespace_list is not None:
            return phase.namespace_list
        spaces = phase.namespace_range
        if spaces is None:
            return [""]
        basename = self._test.config.namespace.prefix if spaces.basename is None else spaces.basename
        return [f"{basename}-{number}" for number in range(spaces.min, spaces.max + 1)]

    def _identifier(self, namespace: str, each: Object) -> _Identifier:
        first = self._test.templates.kinds(each.object_template_path)[0]
        return _Identifier(namespace, each.basename, first.kind, first.api_version.rpartition("/")[0])

    async def _count(self, identifier: _Identifier, each: Object) -> int:
        """The replicas that there are, of the test's own or, where it is asked for, of whoever made them."""
        known = self._replicas.get(identifier)
        if known is not None:
            return known
        if each.list_unknown_object_options is None:
            return 0
        matches = selector_from_object(each.list_unknown_object_options.label_selector).matches
        kind = await self._client.kind_of(self._test.templates.kinds(each.object_template_path)[0])
        found = await self._cluster.list(kind, identifier.namespace)
        return sum(matches(obj["metadata"].get("labels") or {}) for obj in found)

    def _action(
        self,
        bundle: list[Object],
        namespace: str,
        index: int,
        operation: Operation,
        errors: _Errors,
    ) -> Action:
        """One replica of a bundle. The first error ends it, but for deletion, which goes the other way round."""
        deletes = operation == self._delete

        async def run() -> None:
            for each in reversed(bundle) if deletes else bundle:
                try:
                    await operation(each, namespace, index)
                except (ConfigError, ObjectError, Refused, ConnectionFailed) as error:
                    where = f"namespace {namespace} " if namespace else ""
                    errors.add(f"{where}object {each.basename}-{index}: {error}")
                    if not deletes:
                        return

        return run

    async def _create(self, each: Object, namespace: str, index: int) -> None:
        for obj in self._rendered(each, namespace, index):
            await self._client.create(namespace, f"{each.basename}-{index}", obj)

    async def _patch(self, each: Object, namespace: str, index: int) -> None:
        for obj in self._rendered(each, namespace, index):
            await self._client.patch(namespace, f"{each.basename}-{index}", obj)

    async def _delete(self, each: Object, namespace: str, index: int) -> None:
        for kind in self._test.templates.kinds(each.object_template_path):
            await self._client.delete(kind, namespace, f"{each.basename}-{index}")

    def _rendered(self, each: Object, namespace: str, index: int) -> list[Any]:
        known = self._fill_maps.get(id(each))
        if known is None:
            mapping = {**self._test.mapping, **template_value(each.template_fill_map), "BaseName": each.basename}
            known = self._fill_maps[id(each)] = (each, mapping)
        own = {"Name": f"{each.basename}-{index}", "Index": Int(index), "Namespace": namespace}
        return self._test.templates.objects(each.object_template_path, {**known[1], **own})


class _Errors:
    """What went wrong in a phase; equal reasons are told for the first objects only."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._count = 0

    def add(self, message: str) -> None:
        self._count += 1
        if len(self._messages) < _MOST_ERRORS:
            self._messages.append(message)

    def messages(self) -> list[str]:
        more = self._count - len(self._messages)
        return [*self._messages, *([f"and {more} more objects"] if more else [])]
