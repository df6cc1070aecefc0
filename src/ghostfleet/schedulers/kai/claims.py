"""Device claims as far as KAI looks at them: how many devices of a class, for whom, and which ones.

A claim is allocated when it has devices. KAI counts devices of GPU classes as GPUs of their node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["GPU_DEVICE_CLASSES", "MAX_CONSUMERS", "ResourceClaim"]

#: Device classes whose devices count as GPUs (KAI knows them by these names).
GPU_DEVICE_CLASSES = ("nvidia.com/gpu", "gpu.nvidia.com", "gpu.example.com")
#: As in the Kubernetes API: so many pods may share a claim.
MAX_CONSUMERS = 256


@dataclass(eq=False)
class ResourceClaim:
    """A claim with its devices, named `node/device`, and the pods it is reserved for."""

    namespace: str
    name: str
    device_class: str
    count: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    reserved_for: tuple[str, ...] = ()

    @property
    def is_gpu(self) -> bool:
        return self.device_class in GPU_DEVICE_CLASSES
