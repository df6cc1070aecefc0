"""CronJobs: Jobs at given times."""

from __future__ import annotations

from ghostfleet.controllers.cronjobs.controller import CRONJOBS, CronJobController
from ghostfleet.controllers.cronjobs.schedule import Schedule, parse_schedule

__all__ = ["CRONJOBS", "CronJobController", "Schedule", "parse_schedule"]
