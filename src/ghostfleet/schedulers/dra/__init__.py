"""Dynamic resource allocation: which devices the claims of a pod get on a node.

`devices` and `pools` are what drivers publish, `requests` what claims ask for, `allocated` what is taken already;
`matching`, `constraints`, `taints`, `counters` and `capacity` say which devices go together, `search` finds them, and
`results` writes them down. `allocator` is the way in. `census` counts what there is for claims that find nothing.
"""

from __future__ import annotations

from ghostfleet.schedulers.dra.allocated import AllocatedDevices
from ghostfleet.schedulers.dra.allocator import Allocator, ClassNotFound, device_class_named
from ghostfleet.schedulers.dra.census import RequestCensus, census
from ghostfleet.schedulers.dra.devices import DeviceID, PoolID
from ghostfleet.schedulers.dra.errors import AllocationError, AllocationTimeout, NodeAllocationError
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.pools import Inventory
from ghostfleet.schedulers.dra.requests import PodClaims
from ghostfleet.schedulers.dra.results import first_available_score

__all__ = [
    "AllocatedDevices",
    "AllocationError",
    "AllocationTimeout",
    "Allocator",
    "ClassNotFound",
    "DeviceID",
    "Features",
    "Inventory",
    "NodeAllocationError",
    "PodClaims",
    "PoolID",
    "RequestCensus",
    "census",
    "device_class_named",
    "first_available_score",
]
