"""GPUs counted in aggregate, step by step in virtual time: `python walkthrough.py [mcad-1.32|mcad-1.40|better]`."""

from __future__ import annotations

import sys
from pathlib import Path

from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.manifests import load_documents
from ghostfleet.stages.nodes import NodeShape

HERE = Path(__file__).parent
NAME = "gpu-test"


class Walk:
    """A cluster, and what happens in it."""

    def __init__(self, dispatcher: str) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, ClusterConfig(dispatcher=dispatcher))
        self.wrappers = self.cluster.registry.by_key("appwrappers.workload.codeflare.dev")
        self.add_nodes(2, "kwok-node-")

    def add_nodes(self, count: int, prefix: str) -> None:
        add_nodes(self.cluster, NodeShape(count=count, first=1, prefix=prefix, gpus=8))
        self.wait(2)

    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds * SECOND)

    def apply(self, file: str) -> None:
        wrapper = load_documents((HERE / file).read_bytes(), file)[0].object
        resource, version = self.cluster.registry.of_kind(wrapper["apiVersion"], wrapper["kind"])
        self.cluster.api.create(resource, version, "default", wrapper, WriteOptions())

    def delete(self) -> None:
        self.cluster.api.delete(self.wrappers, self.wrappers.storage, "default", NAME, DeleteOptions())
        self.wait(2)

    def tell(self, what: str) -> None:
        status = self.cluster.store.get(self.wrappers.key, "default", NAME)["status"]
        pods = [pod["status"]["phase"] for pod in self.cluster.store.list("pods", "default")]
        print(f"{what}: {status['state']} ({status['queuejobstate']}), pods: {', '.join(pods) or 'none'}")

    def explain(self) -> None:
        for line in self.cluster.dispatcher.explain("default", NAME).lines():
            print(f"    {line}")


def main(dispatcher: str) -> None:
    walk = Walk(dispatcher)
    walk.apply("two-pods.yaml")
    walk.wait(10)
    walk.tell("two pods of eight GPUs on two nodes")
    walk.delete()
    walk.apply("sixteen.yaml")
    walk.wait(25)
    walk.tell("one pod of sixteen GPUs")
    walk.explain()
    walk.delete()
    walk.apply("twenty-four.yaml")
    walk.wait(25)
    walk.tell("one pod of twenty-four GPUs")
    walk.explain()
    walk.add_nodes(1, "fake-node-")
    walk.wait(20)
    walk.tell("after a third node")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mcad-1.32")
