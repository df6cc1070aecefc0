"""Deployments: replica sets, one for each revision of a pod template, and the way from one to the next.

`controller` decides what a Deployment needs, `rollout` moves replicas from the old sets to the new one, `revisions`
makes the sets and numbers them, `amounts` knows how many pods may be too many or missing meanwhile, `status` tells how
it goes.
"""

from __future__ import annotations

from ghostfleet.controllers.deployments.controller import DEPLOYMENTS, DeploymentController

__all__ = ["DEPLOYMENTS", "DeploymentController"]
