"""GPU models, as NVIDIA's GPU feature discovery labels them: by which products real clusters tell GPUs apart.

NVIDIA's *GPU feature discovery* labels each node with what its GPUs are. Schedulers and users select by these labels,
so fake nodes carry the same ones. Products may be asked for by their full name (`NVIDIA-H100-80GB-HBM3`) or by a short
one (`H100`), which stands for the first product in the data file that has it as a part of its name.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml

__all__ = ["Product", "find_product", "gpu_labels", "products"]

_DATA = Path(__file__).parent / "data" / "gpumodels.yaml"
#: What discovery on a current node reports about its driver.
_DRIVER, _CUDA = "580.95.05", "13.0"


class Product(NamedTuple):
    """One sort of GPU; see the words in the data file."""

    product: str
    family: str
    memory: int
    compute: str
    mig: bool
    machine: str


@lru_cache(maxsize=1)
def products() -> tuple[Product, ...]:
    """All known products."""
    return tuple(Product(**entry) for entry in yaml.safe_load(_DATA.read_text()))


def find_product(name: str) -> Product | None:
    """The product of this name, or the first with a part of its name like this; None for one that is not known."""
    wanted = name.lower()
    for each in products():
        if each.product.lower() == wanted:
            return each
    for each in products():
        if wanted in each.product.lower().split("-"):
            return each
    return None


def gpu_labels(name: str, count: int) -> dict[str, str]:
    """Labels of a node with `count` GPUs; a product that is not known gets those that need no table."""
    product = find_product(name)
    labels = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.product": product.product if product is not None else name,
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mps.capable": "false",
    }
    if product is not None:
        labels |= _product_labels(product)
    return dict(sorted((labels | _driver_labels()).items()))


def _product_labels(product: Product) -> dict[str, str]:
    major, _, minor = product.compute.partition(".")
    labels = {
        "nvidia.com/gpu.family": product.family,
        "nvidia.com/gpu.machine": product.machine,
        "nvidia.com/gpu.memory": str(product.memory),
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor,
        "nvidia.com/mig.capable": "true" if product.mig else "false",
    }
    if product.mig:
        labels["nvidia.com/mig.strategy"] = "single"
    return labels


def _driver_labels() -> dict[str, str]:
    driver = _DRIVER.split(".")
    cuda = _CUDA.split(".")
    return {
        "nvidia.com/cuda.driver.major": driver[0],
        "nvidia.com/cuda.driver.minor": driver[1],
        "nvidia.com/cuda.driver.rev": driver[2],
        "nvidia.com/cuda.driver-version.full": _DRIVER,
        "nvidia.com/cuda.driver-version.major": driver[0],
        "nvidia.com/cuda.driver-version.minor": driver[1],
        "nvidia.com/cuda.driver-version.revision": driver[2],
        "nvidia.com/cuda.runtime.major": cuda[0],
        "nvidia.com/cuda.runtime.minor": cuda[1],
        "nvidia.com/cuda.runtime-version.full": _CUDA,
        "nvidia.com/cuda.runtime-version.major": cuda[0],
        "nvidia.com/cuda.runtime-version.minor": cuda[1],
    }
