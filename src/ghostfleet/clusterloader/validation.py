"""Validation of a config: everything that is wrong with it, before anything is run (`api/validation.go`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from ghostfleet.clusterloader.config import Config, Dependency, Measurement, Object, Phase, Step, TuningSet
from ghostfleet.clusterloader.decoding import Decoder, camel_case
from ghostfleet.clusterloader.templates import FieldPath, TemplateProvider
from ghostfleet.core.names import is_dns1123_subdomain

__all__ = ["Known", "check_config", "check_step", "loads_of"]


class Known:
    """The names that a config may refer to."""

    def __init__(self, measurements: Collection[str], dependencies: Collection[str]) -> None:
        self.measurements = measurements
        self.dependencies = dependencies


def loads_of(tuning_set: TuningSet) -> list[tuple[str, Any]]:
    """The kinds of load that a tuning set has; exactly one, if it is sound."""
    found = []
    for each in fields(tuning_set):
        value = getattr(tuning_set, each.name)
        if each.name.endswith("_load") and value is not None:
            found.append((each.metadata.get("name") or camel_case(each.name), value))
    return found


def check_config(config: Config, decoder: Decoder, known: Known) -> None:
    """Check all of a config but its steps."""
    if not config.name:
        decoder.error(("name",), "expected a name for the test")
    if config.namespace.number <= 0:
        decoder.error(("namespace", "number"), f"expected a number above 0, found {config.namespace.number}")
    if not config.steps:
        decoder.error(("steps",), "expected at least one step")
    names: set[str] = set()
    for index, tuning_set in enumerate(config.tuning_sets):
        _check_tuning_set(tuning_set, decoder, ("tuningSets", index))
        if tuning_set.name in names:
            decoder.error(("tuningSets", index, "name"), f"there are two tuning sets {tuning_set.name!r}")
        names.add(tuning_set.name)
    for index, dependency in enumerate(config.dependencies):
        _check_dependency(dependency, decoder, ("dependencies", index), known)
    failure = config.chaos_monkey.node_failure
    if failure is not None:
        path: FieldPath = ("chaosMonkey", "nodeFailure")
        if not 0 < failure.failure_rate <= 1:
            decoder.error((*path, "failureRate"), f"expected a number above 0, up to 1, found {failure.failure_rate:g}")
        if failure.interval <= 0:
            decoder.error((*path, "interval"), "expected a duration above 0")


def _check_tuning_set(tuning_set: TuningSet, decoder: Decoder, path: FieldPath) -> None:
    if not tuning_set.name:
        decoder.error((*path, "name"), "expected a name")
    loads = loads_of(tuning_set)
    if len(loads) != 1:
        found = ", ".join(key for key, _ in loads) or "none"
        decoder.error(path, f"expected exactly one kind of load, found {found}")
    for key, load in loads:
        for each in fields(load):
            value = getattr(load, each.name)
            if value <= 0:
                decoder.error((*path, key, camel_case(each.name)), f"expected a value above 0, found {value:g}")


def _check_dependency(dependency: Dependency, decoder: Decoder, path: FieldPath, known: Known) -> None:
    if not dependency.name:
        decoder.error((*path, "name"), "expected a name")
    method = dependency.method or dependency.name
    if method not in known.dependencies:
        names = ", ".join(sorted(known.dependencies))
        decoder.error(
            (*path, "method" if dependency.method else "name"), f"unknown dependency {method!r}; known are {names}"
        )
    if dependency.timeout < 0:
        decoder.error((*path, "timeout"), "expected a duration of 0 or more")


def check_step(
    step: Step,
    decoder: Decoder,
    path: FieldPath,
    tuning_sets: Collection[str],
    templates: TemplateProvider,
    known: Known,
) -> None:
    """Check a step, and what is in it."""
    sorts = [name for name in ("phases", "measurements", "module") if getattr(step, name)]
    if len(sorts) != 1:
        found = " and ".join(sorts) or "none of them"
        decoder.error(path, f"expected exactly one of phases, measurements and module, found {found}")
    for index, phase in enumerate(step.phases):
        _check_phase(phase, decoder, (*path, "phases", index), tuning_sets, templates)
    for index, measurement in enumerate(step.measurements):
        _check_measurement(measurement, decoder, (*path, "measurements", index), known)


def _check_phase(
    phase: Phase, decoder: Decoder, path: FieldPath, tuning_sets: Collection[str], templates: TemplateProvider
) -> None:
    if phase.replicas_per_namespace < 0:
        decoder.error(
            (*path, "replicasPerNamespace"), f"expected a number of 0 or more, found {phase.replicas_per_namespace}"
        )
    if phase.namespace_range is not None and phase.namespace_list is not None:
        decoder.error(path, "expected namespaceRange or namespaceList, found both")
    spaces = phase.namespace_range
    if spaces is not None:
        if spaces.min < 0:
            decoder.error((*path, "namespaceRange", "min"), f"expected 0 or more, found {spaces.min}")
        if spaces.max < spaces.min:
            decoder.error(
                (*path, "namespaceRange", "max"), f"expected at least min, which is {spaces.min}, found {spaces.max}"
            )
    if phase.tuning_set not in tuning_sets:
        names = ", ".join(sorted(tuning_sets)) or "none"
        problem = f"tuning set {phase.tuning_set!r} is not declared" if phase.tuning_set else "expected a tuning set"
        decoder.error((*path, "tuningSet"), f"{problem}; tuningSets has {names}")
    for index, each in enumerate(phase.object_bundle):
        _check_object(each, decoder, (*path, "objectBundle", index), templates)


def _check_object(each: Object, decoder: Decoder, path: FieldPath, templates: TemplateProvider) -> None:
    for problem in is_dns1123_subdomain(each.basename)[:1]:
        decoder.error((*path, "basename"), f"{each.basename!r}: {problem}")
    if not templates.exists(each.object_template_path):
        decoder.error((*path, "objectTemplatePath"), f"there is no file {templates.path(each.object_template_path)}")


def _check_measurement(measurement: Measurement, decoder: Decoder, path: FieldPath, known: Known) -> None:
    if measurement.method not in known.measurements:
        decoder.error((*path, "method"), f"unknown measurement {measurement.method!r}; docs/clusterloader.md lists all")
    if bool(measurement.identifier) == bool(measurement.instances):
        found = "both" if measurement.identifier else "neither"
        decoder.error(path, f"expected either identifier or instances, found {found}")
    for index, instance in enumerate(measurement.instances):
        if not instance.identifier:
            decoder.error((*path, "instances", index, "identifier"), "expected an identifier")
