"""Record what the real programs do, for the tests that hold ours against it.

    python tools/record                                   everything, with the programs that `make kube` has built
    python tools/record api scheduler                     only these topics
    python tools/record api --only 'pods:*'               only these cases of the API
    python tools/record --bin-dir DIR stages              with other programs
    python tools/record --kubeconfig FILE patches         on a control plane that runs already

Every topic that needs a control plane gets one of its own, on free ports of this machine; DIR holds etcd,
kube-apiserver, kube-controller-manager, kube-scheduler, kwok and kubectl. With --kubeconfig the control plane must be
empty, without other controllers than those of `controlplane.py`. `facts`, `deviceselectors`, `allocator`, `tables` and
`wireforms` need a Go toolchain and no control plane; `latency` starts clusters of its own, and wants a machine that has
nothing else to do.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCENARIOS = 400


@dataclass(frozen=True)
class Topic:
    """Something to record: what it is, and what it needs."""

    about: str
    #: a control plane, with the controllers of `controlplane.py` or without any; None for no control plane
    controllers: bool | None = None
    #: programs besides those of the control plane
    programs: bool = False
    #: controllers besides those of every control plane
    more: tuple[str, ...] = ()


TOPICS = {
    "api": Topic("answers of kube-apiserver to the corpus of tests/parity", controllers=True),
    "protobuf": Topic("answers of kube-apiserver in protobuf, for tests/parity", controllers=True),
    "kubectl": Topic("output of kubectl, for tests/parity", controllers=True, programs=True),
    "scheduler": Topic(
        "decisions of kube-scheduler in seeded scenarios, for tests/parity", controllers=True, programs=True
    ),
    "devices": Topic(
        "decisions of kube-scheduler in seeded scenarios with DRA devices, for tests/parity",
        controllers=True,
        programs=True,
        more=("resourceclaim-controller",),
    ),
    "scenarios": Topic("decisions of kube-scheduler in scenarios of one pod", controllers=False, programs=True),
    "stages": Topic("what objects go through with kwok", controllers=False, programs=True),
    "defaults": Topic("new objects as kube-apiserver stores them", controllers=True),
    "validation": Topic("what kube-apiserver says about bad objects", controllers=False),
    "devicevalidation": Topic("what kube-apiserver says about bad claims, classes and slices", controllers=False),
    "customresources": Topic("what kube-apiserver says about definitions and custom objects", controllers=False),
    "patches": Topic("answers of kube-apiserver to patches", controllers=False),
    "latency": Topic("how long requests take, and the scheduler for a pod", programs=True),
    "facts": Topic("the languages of stages: gojq, text/template with sprig, cel-go, YAML"),
    "deviceselectors": Topic("what the CEL of device selectors says"),
    "allocator": Topic("devices that kube-scheduler's allocator finds"),
    "tables": Topic("rows as Kubernetes' printers make them"),
    "wireforms": Topic("protobuf as Kubernetes' packages encode it"),
}


def main() -> None:
    # What is asked lives beside the tests, which ask the same of our cluster.
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "parity")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--bin-dir", type=Path, default=built_programs(), help="where the programs of a control plane are"
    )
    parser.add_argument("--kubeconfig", type=Path, help="a control plane that runs already")
    parser.add_argument("--kubectl", type=Path, help="the kubectl to record; by default the one in --bin-dir")
    parser.add_argument("--only", default="*", help="a pattern for the names of the API's cases")
    told = "; ".join(f"{name}: {topic.about}" for name, topic in TOPICS.items())
    parser.add_argument("topics", nargs="*", metavar="topic", help=told)
    arguments = parser.parse_args()
    unknown = [topic for topic in arguments.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"{unknown[0]}: no such topic; there are {', '.join(TOPICS)}")
    for name in arguments.topics or TOPICS:
        record(name, arguments)
        print(f"{name} recorded")


def built_programs() -> Path:
    """Where `make kube` puts the programs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ghostfleet" / "kube"
    return max(cache.glob("v*"), default=cache)


def record(name: str, arguments: argparse.Namespace) -> None:
    topic = TOPICS[name]
    recorder: Callable[..., None] = importlib.import_module("scheduling" if name == "scheduler" else name).record
    if topic.controllers is None:
        recorder(*([arguments.bin_dir] if topic.programs else ()))
        return
    from controlplane import control_plane

    with contextlib.ExitStack() as stack:
        kubeconfig = arguments.kubeconfig or stack.enter_context(
            control_plane(arguments.bin_dir, controllers=topic.controllers, more=topic.more)
        )
        if name == "api":
            recorder(kubeconfig, arguments.only)
        elif name == "kubectl":
            recorder(kubeconfig, arguments.kubectl or arguments.bin_dir / "kubectl")
        elif name == "scheduler":
            recorder(kubeconfig, arguments.bin_dir, SCENARIOS)
        elif topic.programs:
            recorder(kubeconfig, arguments.bin_dir)
        else:
            recorder(kubeconfig)


if __name__ == "__main__":
    main()
