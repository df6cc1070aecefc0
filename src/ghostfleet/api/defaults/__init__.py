"""Defaults: the values Kubernetes fills in when they are absent.

Three things make an object complete. *Defaulting* (`apply_defaults`) sees one object and adds what its kind leaves
unsaid, on every write. *Preparation* (`prepare_for_create`, `prepare_for_update`, `finish_create`) is what a kind's
registry does around a write: a new object's status, generations, which half of an object a subresource may change.
*Admission* (`admit_pod`, `admit_pod_update`) is what a default API server adds to pods from other objects.

Objects are taken as their schema has them, with the right types everywhere; they are never changed, and come back
themselves when nothing was missing.
"""

from __future__ import annotations

from ghostfleet.api.defaults.admission import admit_pod, admit_pod_update
from ghostfleet.api.defaults.defaulting import apply_defaults
from ghostfleet.api.defaults.preparation import finish_create, prepare_for_create, prepare_for_update

__all__ = [
    "admit_pod",
    "admit_pod_update",
    "apply_defaults",
    "finish_create",
    "prepare_for_create",
    "prepare_for_update",
]
