"""Run:ai's part of a cluster: workloads, the jobs they become, and pod groups.

A training or interactive workload becomes a RunaiJob of one pod, a distributed one a PyTorchJob of a master and its
workers; the pods of each are one pod group. `templatecache` reads what a workload asks for, `children` are what it
becomes; `workloads`, `jobs` and `groups` are three controllers with a client each, as they are three programs in
Run:ai. Run:ai is not open: what its kinds look like is from its documentation and the manifests that its users publish.
"""

from __future__ import annotations

from ghostfleet.controllers.runai.definitions import POD_GROUPS, RUNAI_JOBS, WORKLOADS, install_kinds

__all__ = ["POD_GROUPS", "RUNAI_JOBS", "WORKLOADS", "install_kinds"]
