"""Fake DRA drivers: what drivers of devices publish for a node, as pure functions of the node.

A *profile* gives the DeviceClasses of a driver, and for each node its ResourceSlices. Three are built in: `nvidia`,
`kwok` and `example`; any other is a file of one's own. `profile` finds them, `slices` has what they share.
"""

from __future__ import annotations

from ghostfleet.stages.dradrivers.profile import DriverProfile, built_in_profiles, find_profile

__all__ = ["DriverProfile", "built_in_profiles", "find_profile"]
