"""Indices: what plugins keep about the pods on the nodes of a snapshot, beyond what the snapshot has itself."""

from __future__ import annotations

from ghostfleet.schedulers.framework.podinfo import PodInfo

__all__ = ["Index"]


class Index:
    """Told of each pod that comes to a node or leaves one."""

    #: Whether it is told of pods that take nothing but amounts of resources, too.
    every_pod = False

    def add(self, pod: PodInfo) -> None:
        """A pod is on its node."""

    def remove(self, pod: PodInfo) -> None:
        """A pod is on its node no longer."""
