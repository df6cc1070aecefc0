"""Compiling a test: from its file to a sound Config in which modules are replaced by their steps.

A module sees the values of the test and the params of its own step, not those of a module around it. All paths are
relative to the directory of the test's config. What is wrong anywhere is told all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from ghostfleet.clusterloader.config import Config, Duration, Module, Step
from ghostfleet.clusterloader.decoding import Decoder
from ghostfleet.clusterloader.mapping import TemplateMapping, template_value
from ghostfleet.clusterloader.overwriting import overwrite
from ghostfleet.clusterloader.problems import ConfigError, Problem, Problems
from ghostfleet.clusterloader.templates import Document, FieldPath, TemplateProvider
from ghostfleet.clusterloader.validation import Known, check_config, check_step
from ghostfleet.core.durations import format_duration

__all__ = ["CompiledTest", "compile_test", "generated_config"]

#: Modules within modules.
_DEPTH = 20
_MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class CompiledTest:
    """A test that is ready to run."""

    path: Path
    config: Config
    mapping: TemplateMapping
    templates: TemplateProvider
    #: What is strange about its files, but no error.
    warnings: tuple[str, ...]


def compile_test(
    path: Path,
    mapping: TemplateMapping,
    random: Random,
    known: Known,
    *,
    overwrites: Sequence[str] = (),
    skip_steps: Sequence[str] = (),
    strict: bool = False,
) -> CompiledTest:
    """The test in a file; a ConfigError has all that is wrong with it, a line each."""
    templates = TemplateProvider(path.parent, random)
    problems = Problems(strict=strict)
    document = templates.document(path.name, mapping)
    if not isinstance(document.value, dict):
        raise ConfigError(f"{path}: expected a test config with name, steps and tuningSets")
    for change in overwrites:
        overwrite(document.value, change)
    decoder = Decoder(document, problems)
    config = decoder.decode(Config, document.value)
    check_config(config, decoder, known)
    names = {each.name for each in config.tuning_sets}
    flattening = _Flattening(templates, mapping, problems, known, names)
    steps = flattening.flat(config.steps, document, ())
    problems.check()
    kept = [step for step in steps if step.name not in skip_steps]
    namespace = config.namespace
    if config.automanaged_namespaces > 0:
        namespace = replace(namespace, number=config.automanaged_namespaces)
    if not namespace.prefix:
        namespace = replace(namespace, prefix=f"test-{_letters(random)}")
    compiled = replace(config, steps=kept, namespace=namespace)
    return CompiledTest(path, compiled, mapping, templates, tuple(map(str, problems.warnings)))


class _Flattening:
    """Puts the steps of modules in the place of those that name them."""

    def __init__(
        self,
        templates: TemplateProvider,
        mapping: TemplateMapping,
        problems: Problems,
        known: Known,
        tuning_sets: set[str],
    ) -> None:
        self._templates = templates
        self._mapping = mapping
        self._problems = problems
        self._known = known
        self._tuning_sets = tuning_sets
        self._count = 0

    def flat(self, steps: Sequence[Step], document: Document, trail: tuple[str, ...]) -> list[Step]:
        """The steps of a document, with those of its modules; the trail names the modules around it."""
        decoder = Decoder(document, self._problems)
        found: list[Step] = []
        for index, step in enumerate(steps):
            path: FieldPath = ("steps", index)
            self._count += 1
            if self._count > _MOST_STEPS:
                raise ConfigError(f"{document.file}: expected at most {_MOST_STEPS:,} steps with those of modules")
            check_step(step, decoder, path, self._tuning_sets, self._templates, self._known)
            if step.module is None:
                found.append(step)
            else:
                found += self._module(step, decoder, path, trail)
        return found

    def _module(self, step: Step, decoder: Decoder, path: FieldPath, trail: tuple[str, ...]) -> list[Step]:
        assert step.module is not None
        name = step.module.path
        place: FieldPath = (*path, "module", "path")
        if not self._templates.exists(name):
            decoder.error(place, f"there is no file {self._templates.path(name)}")
            return []
        if len(trail) >= _DEPTH:
            decoder.error(place, f"expected at most {_DEPTH} modules within each other: {' -> '.join(trail[-3:])}")
            return []
        try:
            document = self._templates.document(name, {**self._mapping, **template_value(step.module.params)})
        except ConfigError as error:
            self._problems.error(Problem(str(error), 0, "", "which a module of the test names"))
            return []
        module = Decoder(document, self._problems).decode(Module, document.value)
        return self.flat(module.steps, document, (*trail, name))


def generated_config(config: Config) -> dict[str, Any]:
    """The compiled config as ClusterLoader2 writes it down: Go's names of fields in lower case."""
    written: dict[str, Any] = _written(config)
    return written


def _written(value: Any, kind: Any = None) -> Any:
    if is_dataclass(value):
        return {
            each.name.replace("_", ""): _written(getattr(value, each.name), each.type)
            for each in fields(value)
            if getattr(value, each.name) is not None
        }
    if isinstance(value, list):
        return [_written(each) for each in value]
    return format_duration(value) if kind in (Duration, "Duration") else value


def _letters(random: Random) -> str:
    """Six of a-z and 0-9."""
    return "".join("abcdefghijklmnopqrstuvwxyz0123456789"[random.getrandbits(16) % 36] for _ in range(6))
