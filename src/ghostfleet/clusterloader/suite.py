"""A suite: several tests, one after another on one cluster.

All tests are compiled before the first is run, so that what is wrong in the last file is told at once. Ctrl-C ends the
test that is under way, takes away what it has made, and is then raised; what was measured until then is written down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from ghostfleet.clusterloader.compiling import CompiledTest, compile_test
from ghostfleet.clusterloader.config import TestScenario
from ghostfleet.clusterloader.decoding import Decoder
from ghostfleet.clusterloader.dependencies import METHODS as DEPENDENCIES
from ghostfleet.clusterloader.executor import TestExecutor
from ghostfleet.clusterloader.log import Log
from ghostfleet.clusterloader.mapping import base_mapping
from ghostfleet.clusterloader.measurements import METHODS as MEASUREMENTS
from ghostfleet.clusterloader.problems import ConfigError, Problems
from ghostfleet.clusterloader.results import TestResult
from ghostfleet.clusterloader.templates import TemplateProvider
from ghostfleet.clusterloader.timeline import PodTimeline
from ghostfleet.clusterloader.validation import Known
from ghostfleet.core.randomness import Streams
from ghostfleet.drive.interface import NODES, Cluster

__all__ = ["Options", "Ran", "compile_suite", "read_suite", "run_test", "schedulable_nodes"]

KNOWN = Known(MEASUREMENTS, DEPENDENCIES)


@dataclass(frozen=True, slots=True)
class Options:
    """What a user asks for, besides the tests."""

    overrides: Sequence[Path] = ()
    nodes: int = 0
    registry: str = "registry.k8s.io"
    environment: Mapping[str, str] = field(default_factory=dict)
    overwrites: Sequence[str] = ()
    skip_steps: Sequence[str] = ()
    strict: bool = False
    allow_exec: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a test, and what its pods did."""

    result: TestResult
    timeline: PodTimeline
    interrupted: bool = False


def read_suite(path: Path) -> list[TestScenario]:
    """The scenarios of a suite; their paths are relative to the suite's file."""
    templates, problems = TemplateProvider(path.parent, Random(0)), Problems()
    document = templates.document(path.name, {})
    if not isinstance(document.value, list):
        raise ConfigError(f"{path}: expected a list of scenarios, each with identifier and configPath")
    decoder = Decoder(document, problems)
    scenarios = [decoder.decode(TestScenario, each, (index,)) for index, each in enumerate(document.value)]
    for index, scenario in enumerate(scenarios):
        if not scenario.config_path:
            decoder.error((index, "configPath"), "expected the path of a config")
        if "_" in scenario.identifier:
            decoder.error((index, "identifier"), f"{scenario.identifier!r}: expected no underscore")
    problems.check()
    return scenarios


def compile_suite(scenarios: Sequence[TestScenario], root: Path, options: Options) -> list[CompiledTest]:
    """All tests, ready to run; a ConfigError has what is wrong with any of them."""
    tests: list[CompiledTest] = []
    errors: list[str] = []
    warnings: list[str] = []
    streams = Streams(options.seed)
    for number, scenario in enumerate(scenarios):
        try:
            overrides = [*options.overrides, *(root / each for each in scenario.override_paths)]
            mapping = base_mapping(overrides, options.nodes, options.registry, options.environment)
            tests.append(
                compile_test(
                    root / scenario.config_path,
                    mapping,
                    streams.stream(f"clusterloader-{number}"),
                    KNOWN,
                    overwrites=options.overwrites,
                    skip_steps=options.skip_steps,
                    strict=options.strict,
                )
            )
        except ConfigError as error:
            errors += str(error).split("\n")
            warnings += error.warnings
    if errors:
        raise ConfigError("\n".join(dict.fromkeys(errors)), list(dict.fromkeys(warnings)))
    return tests


def run_test(cluster: Cluster, test: CompiledTest, identifier: str, options: Options, log: Log) -> Ran:
    """Run one test to its end, or until Ctrl-C."""
    random = Streams(options.seed).stream(f"clusterloader-run-{identifier}")
    executor = TestExecutor(cluster, test, log, random, identifier=identifier, allow_exec=options.allow_exec)
    try:
        return Ran(cluster.run(executor.execute()), executor.timeline)
    except KeyboardInterrupt:
        executor.result.errors.append("interrupted")
        cluster.run(executor.clean_up())
        return Ran(executor.result, executor.timeline, interrupted=True)


async def schedulable_nodes(cluster: Cluster) -> int:
    """How many nodes take pods; KWOK's taint does not count."""
    nodes = await cluster.list(NODES)
    return sum(not node["spec"].get("unschedulable") for node in nodes)
