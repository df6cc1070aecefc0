"""Kubeflow's training operator, for PyTorchJobs.

A PyTorchJob is a master and its workers, pods that find each other by name. The controller follows the training
operator v1.9 (https://github.com/kubeflow/training-operator): names, labels, variables, headless services, conditions
and the rules by which a job ends. `replicas` reads what a job asks for, `records` follows its pods, `status` writes
down where it stands, `controller` acts.
"""

from __future__ import annotations

from ghostfleet.controllers.kubeflow.definitions import PYTORCH_JOBS, install_kinds

__all__ = ["PYTORCH_JOBS", "install_kinds"]
