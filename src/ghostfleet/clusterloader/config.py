"""The config API of ClusterLoader2: what a test is made of.

The names are those of `clusterloader2/api/types.go`; in files they are camelCase, in any case of letters. A *test* is a
Config. Its *steps* come one after another; a step is either *phases* or *measurements*, all at once. A phase brings the
number of some objects to a count, at the pace of a *tuning set*. A *duration* is microseconds, in files Go's text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NewType

__all__ = [
    "ChaosMonkeyConfig",
    "Config",
    "Dependency",
    "Duration",
    "ListUnknownObjectOptions",
    "Measurement",
    "MeasurementInstanceConfig",
    "Module",
    "ModuleRef",
    "NamespaceConfig",
    "NamespaceRange",
    "NodeFailureConfig",
    "Object",
    "Phase",
    "Step",
    "TestScenario",
    "TuningSet",
]

#: Microseconds.
Duration = NewType("Duration", int)
_TEN_MINUTES = Duration(600_000_000)


@dataclass(frozen=True, slots=True)
class TestScenario:
    """One test of a suite."""

    identifier: str = ""
    config_path: str = ""
    override_paths: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NamespaceConfig:
    """The namespaces that a test makes for itself: `<prefix>-1` and so on."""

    number: int = 1
    #: By default `test-` and six letters.
    prefix: str = ""
    delete_stale_namespaces: bool = False
    delete_automanaged_namespaces: bool = True
    enable_existing_namespaces: bool = False
    delete_namespace_timeout: Duration = _TEN_MINUTES


@dataclass(frozen=True, slots=True)
class NamespaceRange:
    """The namespaces `<basename>-<min>` to `<basename>-<max>`; by default the test's own."""

    min: int = 0
    max: int = 0
    basename: str | None = None


@dataclass(frozen=True, slots=True)
class ListUnknownObjectOptions:
    """Which objects that others have made count as replicas."""

    label_selector: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Object:
    """What a phase makes: objects from a template, each named `<basename>-<index>`."""

    basename: str = ""
    object_template_path: str = ""
    template_fill_map: dict[str, Any] = field(default_factory=dict)
    list_unknown_object_options: ListUnknownObjectOptions | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """Brings the objects of a bundle to a number of replicas, in each of some namespaces or in the cluster."""

    namespace_range: NamespaceRange | None = None
    namespace_list: list[str] | None = None
    replicas_per_namespace: int = 0
    tuning_set: str = ""
    object_bundle: list[Object] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MeasurementInstanceConfig:
    """One of several measurements that share their method; its params count more."""

    identifier: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is asked of a measurement."""

    method: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    identifier: str = ""
    instances: list[MeasurementInstanceConfig] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """Steps that stand in a file of their own."""

    path: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """Phases, measurements or a module."""

    phases: list[Phase] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    name: str = ""
    module: ModuleRef | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """The content of a module's file."""

    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QpsLoad:
    qps: float = 0.0


@dataclass(frozen=True, slots=True)
class RandomizedLoad:
    average_qps: float = 0.0


@dataclass(frozen=True, slots=True)
class SteppedLoad:
    burst_size: int = 0
    step_delay: Duration = Duration(0)


@dataclass(frozen=True, slots=True)
class TimeLimitedLoad:
    time_limit: Duration = Duration(0)


@dataclass(frozen=True, slots=True)
class ParallelismLimitedLoad:
    parallelism_limit: int = 0


@dataclass(frozen=True, slots=True)
class GlobalQPSLoad:
    qps: float = 0.0
    burst: int = 0


@dataclass(frozen=True, slots=True)
class PoissonLoad:
    expected_actions_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class TuningSet:
    """The pace of a phase: exactly one kind of load."""

    name: str = ""
    #: Read and kept; ClusterLoader2 does nothing with it.
    initial_delay: Duration = Duration(0)
    qps_load: QpsLoad | None = None
    randomized_load: RandomizedLoad | None = None
    stepped_load: SteppedLoad | None = None
    time_limited_load: TimeLimitedLoad | None = None
    randomized_time_limited_load: TimeLimitedLoad | None = None
    parallelism_limited_load: ParallelismLimitedLoad | None = None
    global_qps_load: GlobalQPSLoad | None = field(default=None, metadata={"name": "globalQPSLoad"})
    poisson_load: PoissonLoad | None = None


@dataclass(frozen=True, slots=True)
class NodeFailureConfig:
    """How nodes fail: a part of them at a time, now and then, for a while."""

    failure_rate: float = 0.0
    interval: Duration = Duration(0)
    jitter_factor: float = 0.0
    simulated_downtime: Duration = Duration(0)


@dataclass(frozen=True, slots=True)
class ChaosMonkeyConfig:
    node_failure: NodeFailureConfig | None = None
    excluded_nodes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something that must be in the cluster before the test begins."""

    name: str = ""
    #: Where there is none, the name says it.
    method: str = ""
    #: 0 waits for as long as it takes.
    timeout: Duration = Duration(0)
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """A test."""

    name: str = ""
    dependencies: list[Dependency] = field(default_factory=list, metadata={"alias": "dependencyConfigs"})
    #: An older way to say `namespace.number`.
    automanaged_namespaces: int = 0
    namespace: NamespaceConfig = field(default_factory=NamespaceConfig)
    steps: list[Step] = field(default_factory=list)
    tuning_sets: list[TuningSet] = field(default_factory=list)
    chaos_monkey: ChaosMonkeyConfig = field(default_factory=ChaosMonkeyConfig)
