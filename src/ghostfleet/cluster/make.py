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
from typing import TYPE_CHECKING, Any

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
    #: The dispatcher in front of the schedulers, by its profile; "" is none.
    dispatcher: str = ""
    #: Parts that are left out.
    without: frozenset[str] = frozenset()

    def written(self) -> dict[str, Any]:
        """All that makes the cluster what it is, for the records of runs; what it does not have is left out."""
        config = self.scheduler_config
        told = {
            "profile": self.profile,
            "schedulers": [*(["default-scheduler"] if "scheduler" not in self.without else []), *self.schedulers],
            "schedulerConfiguration": _text_of(config) if config is not None else None,
            "dispatcher": self.dispatcher,
            "stages": [str(each) for each in self.stages] if "stages" not in self.without else [],
            "commands": self.fleet.commands if self.fleet is not None else "",
            "without": sorted(self.without),
        }
        return {name: value for name, value in told.items() if value}


def _text_of(path: Path) -> dict[str, str]:
    """A file by its name and its text; the text alone says what was in it when it was read."""
    return {"file": str(path), "text": path.read_text(encoding="utf-8")}


#: The API alone.
BARE = Make(without=frozenset(PARTS))
