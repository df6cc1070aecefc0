"""Modes of the stress test: on which cluster the Jobs run, and how they are written.

In `kind` mode the containers of a node slow each other down as they start, as on a kind cluster. In `kwok` mode pods
live by KWOK's stages with fixed delays, which the Jobs carry as annotations. In the dispatchers' modes each Job comes
in an AppWrapper, and the dispatcher of that name stands in front of the scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import RUN_LABEL
from ghostfleet.stages.nodes import NodeShape

__all__ = ["MODES", "NODES", "Mode", "find_mode"]

#: Worker nodes of the published experiments.
NODES = 4
_GPUS = 8
#: For how long a new cluster is left alone, so that its nodes are Ready.
_WARM_UP = 30 * SECOND
_TOLERATIONS = [{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}]
_FAKE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "type", "operator": "In", "values": ["kwok"]}]}]
        }
    }
}
#: The delays of the published kwok.yaml, from and to, by stage.
STAGE_DELAYS = {"pod-create": ("100ms", "500ms"), "pod-ready": ("10s", "11s"), "pod-complete": ("10s", "11s")}


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to run the stress test: its cluster, and how its Jobs are written."""

    name: str
    about: str
    #: Jobs are called this and a number.
    stem: str
    profile: str
    stages: tuple[str, ...]
    cpu: str
    memory: str
    fake: bool = True
    dispatcher: str = ""
    delays: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def cluster(
        self,
        nodes: int = NODES,
        *,
        seed: int = 0,
        profile: str = "",
        stages: tuple[str, ...] = (),
        scheduling: ClusterConfig | None = None,
        dra: str = "",
    ) -> Cluster:
        """A fresh cluster of this mode, with its nodes Ready; with `dra`, GPUs are devices of that profile."""
        config = replace(
            scheduling or ClusterConfig(replaces_default=True),
            profile=profile or self.profile,
            stages=stages or self.stages,
            commands="ignored" if self.fake else "played",
            dispatcher=self.dispatcher,
        )
        prefix = "kwok-node-" if self.fake else "kind-worker-"
        shape = NodeShape(count=nodes, prefix=prefix, cpu=self.cpu, memory=self.memory, gpus=_GPUS, dra=dra)
        try:
            cluster = Cluster(config=config, seed=seed)
            add_nodes(cluster, replace(shape, fake_taint=self.fake))
        except (ValueError, OSError) as error:
            raise LabError(str(error)) from error
        cluster.clock.advance(_WARM_UP)  # type: ignore[attr-defined]  # a fresh cluster is on a virtual clock
        return cluster

    def manifest(self, number: int, pods: int, gpus: int, run: str, claim_template: str = "") -> Object:
        """What is submitted for one Job; its pods ask for GPUs, or have a claim."""
        name = f"{self.stem}{number}"
        job = self._job(name, pods, 0 if claim_template else gpus, run)
        if claim_template:
            named = [{"name": "gpu", "resourceClaimTemplateName": claim_template}]
            job["spec"]["template"]["spec"]["resourceClaims"] = named
        if not self.dispatcher:
            return job
        return {
            "apiVersion": "workload.codeflare.dev/v1beta1",
            "kind": "AppWrapper",
            "metadata": {"name": name, "namespace": "default", "labels": {RUN_LABEL: run}},
            "spec": {
                "resources": {
                    "GenericItems": [{"replicas": 1, "completionstatus": "Complete", "generictemplate": job}],
                }
            },
        }

    def _job(self, name: str, pods: int, gpus: int, run: str) -> Object:
        amounts = {"cpu": "5m", "memory": "50M" if self.fake else "20M"} | ({"nvidia.com/gpu": gpus} if gpus else {})
        spec: Object = {
            "containers": [
                {
                    "name": name,
                    "image": "nginx:1.24.0",
                    "command": ["sleep", "10"],
                    "resources": {"limits": amounts, "requests": amounts},
                }
            ],
            "restartPolicy": "Never",
        }
        if self.fake:
            spec |= {"affinity": _FAKE, "tolerations": _TOLERATIONS}
        labels = {RUN_LABEL: run}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "template": {"metadata": {"labels": labels, "annotations": self._annotations()}, "spec": spec},
            },
        }

    def _annotations(self) -> dict[str, str]:
        return {
            f"{stage}.stage.kwok.x-k8s.io/{part}": span
            for stage, spans in self.delays.items()
            for part, span in zip(("delay", "jitter-delay"), spans, strict=True)
        }


def _on_kwok(name: str, about: str, stem: str, dispatcher: str = "") -> Mode:
    return Mode(name, about, stem, "kubernetes", ("stress",), "32", "256Gi", dispatcher=dispatcher, delays=STAGE_DELAYS)


MODES = {
    mode.name: mode
    for mode in (
        Mode(
            "kind",
            "KIND with 4 worker nodes",
            "baseline-cpu-job-short-",
            "kind",
            ("general+kind",),
            "5",
            "8Gi",
            fake=False,
        ),
        _on_kwok(
            "kwok", "KWOK with 4 fake nodes, job spec has node affinity and tolerations", "nomcadkwok-cpu-job-short-"
        ),
        _on_kwok("mcad", "KWOK with MCAD 1.32, 4 fake nodes", "mcadkwok-cpu-job-short-", "mcad-1.32"),
        _on_kwok("mcad-1.40", "KWOK with MCAD 1.40, 4 fake nodes", "mcadkwok-cpu-job-short-", "mcad-1.40"),
        _on_kwok("better", "KWOK with the dispatcher `better`, 4 fake nodes", "mcadkwok-cpu-job-short-", "better"),
    )
}


def find_mode(name: str) -> Mode:
    mode = MODES.get(name)
    if mode is None:
        raise LabError(f"unknown mode {name!r}; known are {', '.join(MODES)}")
    return mode
