"""DaemonSets: one pod on every node that is meant to have one."""

from __future__ import annotations

from ghostfleet.controllers.daemonsets.controller import DAEMONSETS, DaemonSetController

__all__ = ["DAEMONSETS", "DaemonSetController"]
