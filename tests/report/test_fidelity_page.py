"""The page about fidelity is made from measurements alone."""

from __future__ import annotations

from ghostfleet.lab.fidelity import Compared, Comparison, Experiment, Measurement, MeasurementRecord, Origin
from ghostfleet.report.fidelity import fidelity_page, line_rows, published_rows, verdict

HERE = Origin("2026-01-02", 2, 100, {"Kubernetes": "v1.36.3", "etcd": "v3.6.16", "fake nodes by": "kwok v0.8.0"})
PUBLISHED = [Comparison("kwok", 10, 23, 24.4), Comparison("kwok", 100, 40, 39.8)]
COMMAND = "ghostfleet fidelity --real --docs docs/fidelity.md"


def compared(test, jobs, real, ours, origin=HERE):
    return Compared(
        Experiment(test, jobs), MeasurementRecord(Measurement(test, jobs, real), origin), Measurement(test, jobs, ours)
    )


def both():
    return [
        compared("scale-test", 100, {"podCreated.p50": 0.01, "lastJobComplete": 40.0}, {"podCreated.p50": 0.0, "lastJobComplete": 41.0}),
        compared("scale-test", 1000, {"podCreated.p50": 36.0, "lastJobComplete": 300.0}, {"podCreated.p50": 27.0, "lastJobComplete": 315.0}),
        compared("stress", 100, {"script": 40.0}, {"script": 45.0}),
    ]  # fmt: skip


def test_the_page_has_both_comparisons_the_machine_the_versions_and_the_command():
    page = fidelity_page(PUBLISHED, both(), COMMAND)
    assert f"```\n{COMMAND}\n```" in page
    assert "machine with 2 cores: Kubernetes v1.36.3, etcd v3.6.16, fake nodes by kwok v0.8.0." in page
    assert page.count("Measured on") == 1
    assert "3 of 5 figures" in page
    assert "### kwok: mean error 3.3%" in page
    assert "| 10 | 23 | 24.4 | +6.1% |" in page


def test_numbers_of_jobs_stand_side_by_side_and_what_is_missed_is_said():
    page = fidelity_page((), both(), COMMAND)
    assert "| | real, 100 Jobs | ours | error | real, 1,000 Jobs | ours | error |" in page
    assert "| Job created to pod created, p50 | 0.01 | 0.00 | -0.01 s | 36.00 | 27.00 | **-25.0%**, missed |" in page
    assert "| last Job complete | 40.00 | 41.00 | +2.5% | 300.00 | 315.00 | +5.0% |" in page
    assert "| what the script counts | 40.00 | 45.00 | **+12.5%**, missed |" in page
    assert "published stress tests" not in page


def test_measurements_of_two_machines_name_both():
    other = Origin("2026-02-02", 8, 100, {"Kubernetes": "v1.37.0"})
    page = fidelity_page((), [*both(), compared("stress", 7, {"script": 23.0}, {"script": 23.0}, other)], COMMAND)
    assert "with 2 cores" in page
    assert "Measured on 2026-02-02 on a machine with 8 cores: Kubernetes v1.37.0." in page


def test_rows_carry_the_goal_and_the_verdict():
    lines = [line for each in both() for line in each.lines]
    rows = line_rows(lines)
    assert [row["verdict"] for row in rows] == ["met", "met", "missed", "met", "missed"]
    assert {row["goal"] for row in rows} == {"20% or 0.5 s", "10%"}
    assert verdict(lines).startswith("3 of 5 figures")
    assert "12.5%" in verdict(lines)
    assert published_rows(PUBLISHED)[0] == {"mode": "kwok", "jobs": 10, "published_s": "23", "ours_s": "24.4", "error": "+6.1%"}  # fmt: skip
