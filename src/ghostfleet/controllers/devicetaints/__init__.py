"""Device taint eviction: pods leave devices that are tainted with the effect NoExecute.

`taints` knows which devices are tainted, by slices and by rules; `evictions` tells when a pod has to go; `controller`
deletes pods, and `rulestatus` says in the status of a rule how far that is.
"""

from __future__ import annotations

from ghostfleet.controllers.devicetaints.controller import DeviceTaintEviction

__all__ = ["DeviceTaintEviction"]
