"""CronJobs: Jobs at given times."""

from __future__ import annotations

from ghostfleet.controllers.cronjobs.controller import CRONJOBS, CronJobController
from ghostfleet.controllers.cronjobs.schedule import CronSchedule, parse_schedule

__all__ = ["CRONJOBS", "CronJobController", "CronSchedule", "parse_schedule"]
