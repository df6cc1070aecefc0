"""ResourceClaims of pods: made from templates, given back when the pods that used them have ended.

`templates` says what a claim made from a template is like; `controller` makes claims and gives them back.
"""

from __future__ import annotations

from ghostfleet.controllers.resourceclaims.controller import ResourceClaimController

__all__ = ["ResourceClaimController"]
