"""VolumeZone: a pod goes where the zone labels of its volumes allow it."""

from __future__ import annotations

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.nodetable import BoolArray
from ghostfleet.schedulers.framework.plugin import Filter, Plugin, Rejected
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.kube.plugins.claims import KINDS, find_claims, has_claims, is_bound
from ghostfleet.schedulers.kube.plugins.volume_binding import VolumesFilter

__all__ = ["VolumeZone"]

_ZONES = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


class VolumeZone(Plugin):
    """Rules out nodes in other zones or regions than a pod's volumes."""

    name = "VolumeZone"
    fields = frozenset(("volumes",))
    events = frozenset(("nodes", *KINDS))

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        if not has_claims(pod.info):
            return None
        zoned: BoolArray = np.ones(self.snapshot.nodes.capacity, np.bool_)
        for claim in find_claims(self.snapshot.store, pod.pod, pod.info):
            if is_bound(claim):
                name = claim["spec"].get("volumeName", "")
                volume = self.snapshot.store.find("persistentvolumes", "", name)
                if volume is None and claim["metadata"]["name"] in pod.info.claims:
                    raise Rejected(f'persistentvolume "{name}" not found')
                if volume is not None:
                    zoned &= self._in_zone(volume)
        return VolumesFilter({"node(s) had no available volume zone": zoned})

    def _in_zone(self, volume: Object) -> BoolArray:
        labels = volume["metadata"].get("labels") or {}
        asked = [(key, set(labels[key].split("__"))) for key in _ZONES if key in labels]
        mask: BoolArray = np.ones(self.snapshot.nodes.capacity, np.bool_)
        for slot, node in enumerate(self.snapshot.nodes.objects) if asked else ():
            own = (node["metadata"].get("labels") or {}) if node is not None else {}
            if any(key in own for key in _ZONES):
                newer = {key: own.get(key, own.get(key.replace("failure-domain.beta", "topology"))) for key, _ in asked}
                mask[slot] = all(newer[key] in values for key, values in asked)
        return mask
