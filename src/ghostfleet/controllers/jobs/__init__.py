"""Jobs: pods that run to their end.

The controller counts each finished pod exactly once: a pod carries a finalizer until its end is written into the Job's
status. `controller` decides what to look at and what to do about one Job, from the context of its sync; the other
modules hold the rules it uses.
"""

from __future__ import annotations

from ghostfleet.controllers.jobs.controller import JobController, JobExpiry
from ghostfleet.controllers.jobs.records import JOBS, is_finished

__all__ = ["JOBS", "JobController", "JobExpiry", "is_finished"]
