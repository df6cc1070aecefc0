"""The pod grouper: which pods belong together, by who owns them.

`owners` follows owner references up to the top owner, whose kind says by which *grouper* (`hub`) the pod is grouped; a
grouper answers `metadata`, what the pod group is to be; `controller` writes it down.
"""

from __future__ import annotations

from ghostfleet.controllers.kai.grouping.controller import PodGrouper

__all__ = ["PodGrouper"]
