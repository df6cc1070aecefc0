"""Volumes: claims get volumes that are there already, or are provisioned for them.

`matching` finds the volume that suits a claim best; `controller` binds the two together, has new volumes made, and
sees to what becomes of a volume when its claim goes; `ephemeral` makes the claims that pods bring along; `protection`
keeps claims and volumes while they are in use.
"""

from __future__ import annotations

from ghostfleet.controllers.volumes.controller import CLAIMS, CLASSES, VOLUMES, VolumeController
from ghostfleet.controllers.volumes.ephemeral import EphemeralVolumeController
from ghostfleet.controllers.volumes.protection import StorageProtection

__all__ = ["CLAIMS", "CLASSES", "VOLUMES", "EphemeralVolumeController", "StorageProtection", "VolumeController"]
