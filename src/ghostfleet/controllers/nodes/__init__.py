"""Nodes: are they alive, what follows for the scheduler when they are not, and what becomes of their pods.

`lifecycle` watches their signs of life and taints those that fall silent, `zones` says how fast that may happen where
many fail at once, `eviction` deletes pods that do not tolerate the taints of their node.
"""

from __future__ import annotations

from ghostfleet.controllers.nodes.eviction import TaintEviction
from ghostfleet.controllers.nodes.lifecycle import NodeLifecycle, fake_and_well

__all__ = ["NodeLifecycle", "TaintEviction", "fake_and_well"]
