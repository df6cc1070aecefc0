"""The configuration of a cluster: which parts it has, and how they work.

The *parts* can be left out one by one, so that foreign programs may play them: `controllers` are what
kube-controller-manager runs for workloads, `scheduler` is the default scheduler, `stages` is the fleet of fake nodes,
`kubeflow` and `runai` are the kinds of the training operator and of Run:ai with their controllers.
What the API itself needs (garbage collection, namespaces, definitions) is always there. Each field has its flag: `up`,
`scale-test` and whatever else makes a cluster from a command line take their options from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ghostfleet.core.flags import Flag

__all__ = ["BARE", "KAI", "PARTS", "ClusterConfig"]

#: Names KAI among schedulers.
KAI = "kai"
_QUEUE_LABEL = "kai.scheduler/queue"
PARTS = ("controllers", "scheduler", "stages", "kubeflow", "runai")


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """What a cluster is made of; "" and None stand for what it does not have."""

    nodes: Annotated[int, Flag("Fake nodes to start with.", least=0)] = 0
    gpus: Annotated[int, Flag("GPUs of each of them.", least=0)] = 0
    gpu_product: Annotated[str, Flag("Which GPU it is.")] = "NVIDIA-H100-80GB-HBM3"
    dra: Annotated[
        str,
        Flag(
            "Offer the GPUs as DRA devices (8 a node unless --gpus says): nvidia, kwok, example, or a file.",
            metavar="PROFILE",
            completion="dra_profiles",
        ),
    ] = ""
    profile: Annotated[
        str,
        Flag(
            "How fast the cluster's components work: instant, or kubernetes with its rate limits.",
            completion="profiles",
        ),
    ] = "instant"
    stages: Annotated[
        tuple[str, ...],
        Flag(
            "Stages by which pods and nodes live: fast, general, stress, kind, chaos, clusterloader or KWOK files; "
            "several times too.",
            completion="stage_sets",
        ),
    ] = ("fast",)
    commands: Annotated[
        str,
        Flag(
            "What counts of containers' commands: nothing, as in KWOK; that they never end (`sleep infinity`), "
            "as is the default with a dispatcher; or how long they sleep.",
            metavar="ignored|endless|played",
        ),
    ] = ""
    schedulers: Annotated[
        tuple[str, ...],
        Flag("Another scheduler: kai, or one of your own, path.py:Class; may be given several times.", "--scheduler"),
    ] = ()
    #: Whether the first of them stands in for the default scheduler and takes the pods that name no scheduler.
    replaces_default: bool = False
    kai_profile: Annotated[str, Flag("Which version KAI decides like: v0.13 or latest.", metavar="v0.13|latest")] = (
        "v0.13"
    )
    kai_policy: Annotated[
        str,
        Flag(
            "Which nodes KAI takes: kai, any that fits; or prefer-consolidation, an empty one last.",
            metavar="kai|prefer-consolidation",
        ),
    ] = "kai"
    kai_config: Annotated[
        Path | None, Flag("KAI's own SchedulerConfiguration file: its actions, plugins and their arguments.", file=True)
    ] = None
    kai_queue_label: Annotated[
        str,
        Flag("The label that says which queue of KAI a pod is in; runai/queue before KAI v0.6.", metavar="LABEL"),
    ] = _QUEUE_LABEL
    recreate_bare_pods: Annotated[
        bool, Flag("Bring pods back that KAI evicted and that have no owner; in a real cluster they are lost.")
    ] = False
    scheduler_config: Annotated[Path | None, Flag("A KubeSchedulerConfiguration file.", file=True)] = None
    dispatcher: Annotated[
        str,
        Flag(
            "A dispatcher of AppWrappers in front of the scheduler: mcad-1.32, mcad-1.40 or better.",
            metavar="NAME[:FIGURE=VALUE,...]",
        ),
    ] = ""
    projects: Annotated[
        tuple[str, ...],
        Flag("A Run:ai project to have beside project-0: namespace runai-NAME; several times too.", "--project"),
    ] = ()
    #: Parts that are left out.
    without: Annotated[
        frozenset[str],
        Flag(
            "Leave out controllers, scheduler, stages, kubeflow or runai.", "--disable", metavar="PART,...", joined=True
        ),
    ] = frozenset()

    def written(self) -> dict[str, Any]:
        """All that makes the cluster what it is, for the records of runs; what it does not have is left out."""
        config = self.scheduler_config
        fields = {
            "profile": self.profile,
            "schedulers": [*(["default-scheduler"] if "scheduler" not in self.without else []), *self.schedulers],
            "schedulerConfiguration": _text_of(config) if config is not None else None,
            "kai": self._kai() if KAI in self.schedulers else None,
            "dispatcher": self.dispatcher,
            "stages": [str(each) for each in self.stages] if "stages" not in self.without else [],
            "commands": self.commands,
            "without": sorted(self.without),
        }
        return {name: value for name, value in fields.items() if value}

    def _kai(self) -> dict[str, Any]:
        is_default = self.replaces_default and self.schedulers[0] == KAI
        fields = {
            "schedulerName": "default-scheduler" if is_default else None,
            "profile": self.kai_profile,
            "policy": self.kai_policy,
            "configuration": _text_of(self.kai_config) if self.kai_config is not None else None,
            "queueLabel": self.kai_queue_label if self.kai_queue_label != _QUEUE_LABEL else None,
            "recreateBarePods": self.recreate_bare_pods or None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def _text_of(path: Path) -> dict[str, str]:
    """A file by its name and its text; the text alone says what was in it when it was read."""
    return {"file": str(path), "text": path.read_text(encoding="utf-8")}


#: The API alone.
BARE = ClusterConfig(without=frozenset(PARTS))
