"""Ghostfleet: a scale-test lab for GPU scheduling on Kubernetes that needs no GPUs and no cluster."""

__version__ = "0.1.0"
