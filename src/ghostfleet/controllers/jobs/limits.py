"""Limits of the Job controller, from its profile."""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.core.profile import Profile

__all__ = ["JobLimits", "job_limits"]


class JobLimits(NamedTuple):
    """Times are in microseconds."""

    batch_period: int
    backoff: int
    longest_backoff: int
    uncounted: int
    pods_per_sync: int
    first_batch: int
    interim_status: bool
    success_criteria: bool


def job_limits(profile: Profile) -> JobLimits:
    return JobLimits(
        batch_period=profile.duration("job.batch-period"),
        backoff=profile.duration("job.pod-failure-backoff"),
        longest_backoff=profile.duration("job.pod-failure-backoff-limit"),
        uncounted=profile.number("job.uncounted-pods-limit"),
        pods_per_sync=profile.number("job.pods-per-sync"),
        first_batch=profile.number("creation.first-batch"),
        interim_status=profile.switch("job.interim-status"),
        success_criteria=profile.switch("job.success-criteria"),
    )
