"""CronJobs and their schedules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.controllers.cronjobs import CRONJOBS, CronJobController, parse_schedule
from ghostfleet.controllers.jobs import JOBS, JobController
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339


def following(schedule, after, zone="", count=1):
    time, found = parse_rfc3339(after), []
    for _ in range(count):
        time = parse_schedule(schedule, zone).next(time)
        found.append(rfc3339(time))
    return found if count > 1 else found[0]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", "2026-01-01T00:01:00Z"),
        ("*/15 * * * *", "2026-01-01T00:15:00Z"),
        ("5/20 * * * *", "2026-01-01T00:05:00Z"),
        ("30 4 * * *", "2026-01-01T04:30:00Z"),
        ("0 12 * * mon-fri", "2026-01-01T12:00:00Z"),
        ("0 12 * * SUN", "2026-01-04T12:00:00Z"),
        ("0 0 13 * 5", "2026-01-02T00:00:00Z"),  # the 13th, or a Friday
        ("0 0 31 * *", "2026-01-31T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ("@hourly", "2026-01-01T01:00:00Z"),
        ("@weekly", "2026-01-04T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("@every 90s", "2026-01-01T00:01:31Z"),
    ],
)
def test_schedules_name_the_next_time(schedule, expected):
    assert following(schedule, "2026-01-01T00:00:01Z") == expected


def test_a_schedule_that_never_comes_has_no_next_time():
    assert parse_schedule("0 0 31 2 *").next(0) is None


def test_fields_hold_in_the_local_time_of_the_zone():
    assert following("0 9 * * *", "2026-01-01T00:00:00Z", "Europe/Berlin") == "2026-01-01T08:00:00Z"
    assert following("0 9 * * *", "2026-07-01T00:00:00Z", "Europe/Berlin") == "2026-07-01T07:00:00Z"
    assert following("TZ=Asia/Tokyo 0 9 * * *", "2026-01-01T12:00:00Z") == "2026-01-02T00:00:00Z"


def test_a_time_that_the_clock_change_skips_does_not_come_that_day():
    assert following("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin") == "2026-03-30T00:30:00Z"


def test_hours_that_come_twice_are_both_kept_by_an_hourly_schedule():
    times = following("0 * * * *", "2026-10-24T23:30:00Z", "Europe/Berlin", 3)
    assert times == ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]


@pytest.mark.parametrize("schedule", ["* * * *", "61 * * * *", "nonsense", "@every nonsense"])
def test_what_is_no_schedule_is_an_error(schedule):
    with pytest.raises(ValueError):
        parse_schedule(schedule)


@given(
    minute=st.sets(st.integers(0, 59), min_size=1, max_size=4),
    hour=st.sets(st.integers(0, 23), min_size=1, max_size=4),
    start=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
)
def test_the_next_time_is_the_first_that_fits(minute, hour, start):
    text = f"{','.join(map(str, sorted(minute)))} {','.join(map(str, sorted(hour)))} * * *"
    after = int(start.replace(tzinfo=UTC).timestamp()) * 1_000_000
    found = datetime.fromtimestamp(parse_schedule(text).next(after) // 1_000_000, UTC)
    candidate = start.replace(tzinfo=UTC, second=0, microsecond=0) + timedelta(minutes=1)
    while candidate.minute not in minute or candidate.hour not in hour:
        candidate += timedelta(minutes=1)
    assert found == candidate


# -- CronJobs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def crons(world):
    JobController(world.store, world.routes, world.creator, world.profile)
    CronJobController(world.store, world.profile)
    return world


def start(world, pod_template, schedule="*/5 * * * *", **spec):
    job = {"spec": {"template": pod_template(restartPolicy="Never")}}
    return world.create(CRONJOBS, "cron", spec={"schedule": schedule, "jobTemplate": job, **spec})


def job_names(world):
    return [job["metadata"]["name"] for job in world.store.list(JOBS)]


def test_a_job_is_made_when_it_is_due(crons, pod_template):
    start(crons, pod_template)
    crons.advance(299)
    assert job_names(crons) == []
    crons.advance(2)
    (job,) = crons.store.list(JOBS)
    assert job["metadata"]["name"] == f"cron-{1767225600 // 60 + 5}"
    annotation = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert annotation == "2026-01-01T00:05:00Z"
    status = crons.get(CRONJOBS, "cron")["status"]
    assert status["lastScheduleTime"] == "2026-01-01T00:05:00Z"
    assert [each["name"] for each in status["active"]] == job_names(crons)
    assert crons.events("cron") == [("SuccessfulCreate", f"Created job {job['metadata']['name']}")]
    assert len(crons.pods()) == 1


def test_ended_jobs_are_told_and_kept_up_to_the_limit(crons, pod_template):
    start(crons, pod_template, successfulJobsHistoryLimit=2)
    for _ in range(4):
        crons.advance(300)
        crons.run()
        crons.finish()
    assert len(job_names(crons)) == 2
    status = crons.get(CRONJOBS, "cron")["status"]
    assert "active" not in status
    assert status["lastSuccessfulTime"] == "2026-01-01T00:20:00Z"
    reasons = [reason for reason, _ in crons.events("cron")]
    assert reasons.count("SawCompletedJob") == 4
    assert reasons.count("SuccessfulDelete") == 2


@pytest.mark.parametrize(("policy", "jobs", "pods"), [("Allow", 2, 2), ("Forbid", 1, 1), ("Replace", 1, 1)])
def test_the_concurrency_policy_decides_when_the_job_before_still_runs(crons, pod_template, policy, jobs, pods):
    start(crons, pod_template, concurrencyPolicy=policy)
    crons.advance(301)
    crons.run()
    first = job_names(crons)
    crons.advance(302)
    assert len(job_names(crons)) == jobs
    assert len(crons.pods()) == pods
    assert (job_names(crons) == first) == (policy == "Forbid")


def test_a_suspended_cron_job_makes_up_for_the_last_time_only_when_it_is_resumed(crons, pod_template):
    start(crons, pod_template, suspend=True)
    crons.advance(1700)
    assert job_names(crons) == []
    crons.update(CRONJOBS, "cron", suspend=False)
    assert job_names(crons) == [f"cron-{1767225600 // 60 + 25}"]


def test_a_time_that_is_too_long_ago_is_not_made_up_for(crons, pod_template):
    start(crons, pod_template, schedule="0 * * * *", suspend=True, startingDeadlineSeconds=100)
    crons.advance(3600 + 200)
    crons.update(CRONJOBS, "cron", suspend=False)
    assert job_names(crons) == []
    crons.advance(3400)
    assert len(job_names(crons)) == 1


def test_an_unknown_zone_is_told(crons, pod_template):
    start(crons, pod_template, timeZone="Mars/Olympus")
    assert crons.events("cron")[0][0] == "UnknownTimeZone"
