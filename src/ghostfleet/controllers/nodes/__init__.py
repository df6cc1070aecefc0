"""Nodes: are they alive, what follows for the scheduler when they are not, and what becomes of their pods.

`lifecycle` watches their signs of life and taints those that fall silent, `zones` says how fast that may happen where
many fail at once, `eviction` deletes pods that do not tolerate the taints of their node, `heartbeats` vouches for fake
nodes.
"""

from __future__ import annotations

from ghostfleet.controllers.nodes.eviction import TaintEviction
from ghostfleet.controllers.nodes.heartbeats import vouching
from ghostfleet.controllers.nodes.lifecycle import NodeLifecycle

__all__ = ["NodeLifecycle", "TaintEviction", "vouching"]
