"""Dependencies: what must be in a cluster before a test, by its method (`pkg/dependency`)."""

from __future__ import annotations

from ghostfleet.clusterloader.dependencies.manager import METHODS, DependencyManager

__all__ = ["METHODS", "DependencyManager"]
