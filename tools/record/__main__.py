"""Record what real Kubernetes does, for the tests that hold ours against it.

    python tools/record --bin-dir DIR                     everything, on control planes started for it
    python tools/record --bin-dir DIR api scheduler       only these
    python tools/record --bin-dir DIR api --only 'pods:*' only these cases of the API
    python tools/record --kubeconfig FILE patches         on a control plane that runs already

Topics are `api`, `kubectl`, `scheduler`, `patches` and `protobuf`; each is recorded on a control plane of its own. DIR
holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. With --kubeconfig the control plane
must be empty, without other controllers than those of `controlplane.py`; `scheduler` needs --bin-dir all the same, for
the kube-scheduler that it listens to.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

TOPICS = ("api", "kubectl", "scheduler", "patches", "protobuf")
SCENARIOS = 400


def main() -> None:
    # What is asked lives beside the tests, which ask the same of our cluster.
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "parity")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", type=Path, help="where the programs of a control plane are")
    parser.add_argument("--kubeconfig", type=Path, help="a control plane that runs already")
    parser.add_argument("--kubectl", type=Path, help="the kubectl to record; by default the one in --bin-dir")
    parser.add_argument("--only", default="*", help="a pattern for the names of the API's cases")
    parser.add_argument("topics", nargs="*", metavar="topic", help=", ".join(TOPICS))
    arguments = parser.parse_args()
    unknown = [topic for topic in arguments.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"{unknown[0]}: no such topic; there are {', '.join(TOPICS)}")
    if arguments.bin_dir is None and arguments.kubeconfig is None:
        parser.error("give --bin-dir with the programs of a control plane, or --kubeconfig of one that runs")
    from controlplane import control_plane

    for topic in arguments.topics or TOPICS:
        with contextlib.ExitStack() as stack:
            kubeconfig = arguments.kubeconfig or stack.enter_context(
                control_plane(arguments.bin_dir, controllers=topic != "patches")
            )
            record(topic, kubeconfig, arguments)
            print(f"{topic} recorded")


def record(topic: str, kubeconfig: Path, arguments: argparse.Namespace) -> None:
    import patches
    import protobuf
    import scheduling
    from parity_material.golden import GOLDEN

    import api
    import kubectl

    binaries: Path | None = arguments.bin_dir
    if topic == "api":
        api.record(kubeconfig, GOLDEN / "api.jsonl.gz", arguments.only)
    elif topic == "protobuf":
        protobuf.record(kubeconfig, GOLDEN / "forms.jsonl.gz", GOLDEN / "protobuf.jsonl.gz")
    elif topic == "patches":
        patches.record(kubeconfig)
    elif topic == "kubectl":
        program = arguments.kubectl or (binaries / "kubectl" if binaries else Path("kubectl"))
        kubectl.record(kubeconfig, program, GOLDEN / "kubectl.jsonl.gz")
    elif binaries is None:
        raise SystemExit("scheduler: give --bin-dir with kube-scheduler, whose log tells the scores")
    else:
        scheduling.record(kubeconfig, binaries, SCENARIOS, GOLDEN / "scheduler.jsonl.gz")


if __name__ == "__main__":
    main()
