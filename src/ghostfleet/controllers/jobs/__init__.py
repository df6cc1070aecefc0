"""Jobs: pods that run to their end.

The controller counts each finished pod exactly once: a pod carries a finalizer until its end is written into the Job's
status. `controller` decides what to look at, `sync` what to do about one Job; the other modules hold the rules they
use.
"""

from __future__ import annotations

from ghostfleet.controllers.jobs.controller import JobController
from ghostfleet.controllers.jobs.expiry import JobExpiry
from ghostfleet.controllers.jobs.records import JOBS, is_finished

__all__ = ["JOBS", "JobController", "JobExpiry", "is_finished"]
