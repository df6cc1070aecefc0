"""The make of a cluster: which parts it has, and how they work.

The *parts* can be left out one by one, so that foreign programs may play them: `controllers` are what
kube-controller-manager runs for workloads, `scheduler` is the default scheduler, `stages` is the fleet of fake nodes,
`kubeflow` and `runai` are the kinds of the training operator and of Run:ai with their controllers.
What the API itself needs (garbage collection, namespaces, definitions) is always there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ghostfleet.stages.settings import Settings

__all__ = ["BARE", "PARTS", "Make"]

PARTS = ("controllers", "scheduler", "stages", "kubeflow", "runai")


@dataclass(frozen=True, slots=True)
class Make:
    """What a cluster is made of."""

    #: How fast its components work: a profile's name.
    profile: str = "instant"
    #: Stage sets, files or directories, by which nodes and pods live.
    stages: Sequence[str] = ("fast",)
    #: How stages are played; without it as KWOK does, except that endless commands count where there is a dispatcher.
    fleet: Settings | None = None
    #: A KubeSchedulerConfiguration for the default scheduler.
    scheduler_config: Path | None = None
    #: Schedulers of the user's own, as `path.py:Class`.
    schedulers: Sequence[str] = ()
    #: Whether the first of them stands in for the default scheduler and takes the pods that name no scheduler.
    replaces_default: bool = False
    #: The dispatcher in front of the schedulers, by its profile; "" is none.
    dispatcher: str = ""
    #: Run:ai projects beside the default one.
    projects: Sequence[str] = ()
    #: Parts that are left out.
    without: frozenset[str] = frozenset()


#: The API alone.
BARE = Make(without=frozenset(PARTS))
