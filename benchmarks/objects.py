"""Objects that the benchmarks write: small pods, all from one template."""

from __future__ import annotations

from typing import Any

__all__ = ["TEMPLATE", "pod"]

#: The spec that all pods share.
TEMPLATE: dict[str, Any] = {
    "containers": [
        {
            "name": "worker",
            "image": "registry.example/train:1",
            "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "1"}},
        }
    ],
    "restartPolicy": "Never",
}


def pod(name: str) -> dict[str, Any]:
    """A pod as a client sends it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "train", "team": "research"}},
        "spec": TEMPLATE,
    }
