"""The page about fidelity is made from measurements alone."""

from __future__ import annotations

from ghostfleet.lab.fidelity import Compared, Comparison, Experiment, Measurement, MeasurementRecord, Origin
from ghostfleet.report.fidelity import fidelity_page, line_rows, published_rows, verdict

HERE = Origin("2026-01-02", 2, {"Kubernetes": "v1.36.3", "etcd": "v3.6.16", "fake nodes by": "kwok v0.8.0"})
PUBLISHED = [Comparison("kwok", 10, 23, 24.4), Comparison("kwok", 100, 40, 39.8)]
FITTED = [{"mode": "kind", "figure": "contended-work"}]
COMMAND = "ghostfleet fidelity --real --docs docs/fidelity.md"


def compared(test, jobs, real, ours, origin=HERE):
    return Compared(
        Experiment(test, jobs, 60),
        MeasurementRecord(Measurement(test, jobs, 60, real), origin),
        Measurement(test, jobs, 60, ours),
    )


def both():
    return [
        compared("scale-test", 100, {"podCreated.p50": 0.01, "lastJobComplete": 40.0}, {"podCreated.p50": 0.006, "lastJobComplete": 41.0}),
        compared("scale-test", 1000, {"podCreated.p50": 36.0, "lastJobComplete": 300.0}, {"podCreated.p50": 26.0, "lastJobComplete": 315.0}),
        compared("stress", 100, {"script": 40.0}, {"script": 45.0}),
    ]  # fmt: skip


def test_the_page_has_both_comparisons_the_machine_the_versions_and_the_command():
    page = fidelity_page(PUBLISHED, both(), FITTED, COMMAND)
    assert f"```\n{COMMAND}\n```" in page
    assert "machine with 2 cores: Kubernetes v1.36.3, etcd v3.6.16, fake nodes by kwok v0.8.0." in page
    assert page.count("Measured on") == 1
    assert "3 of 5 figures" in page
    assert "### kwok: mean error 3.3%" in page
    assert "| 10 | 23 | 24.4 | +6.1% |" in page
    assert "| kind | contended-work |" in page


def test_each_size_has_a_table_with_both_tests_and_what_is_missed_is_said():
    page = fidelity_page((), both(), (), COMMAND)
    small, large = page[page.index("### 100 Jobs on 60 nodes") :].split("### 1,000 Jobs on 60 nodes")
    assert "| | scale test: real | ours | error | stress test: real | ours | error |" in small
    assert "| Job created to pod created, p50 | 0.0100 | 0.0060 | -4.0 ms | | | |" in small
    assert "| what the script counts | | | | 40.00 | 45.00 | **+12.5%**, missed |" in small
    assert "| Job created to pod created, p50 | 36.00 | 26.00 | **-27.8%**, missed |" in large
    assert "| last Job complete | 300.00 | 315.00 | +5.0% |" in large
    assert "published stress tests" not in page
    assert "fitted figures" not in page


def test_the_worst_figures_come_first():
    page = fidelity_page((), both(), (), COMMAND)
    worst = page[page.index("of its goal |") :].splitlines()[2:4]
    assert worst[0].startswith("| scale test, 1,000 Jobs on 60 nodes | Job created to pod created, p50 |")
    assert worst[0].endswith("| **-27.8%**, missed | 139% |")
    assert worst[1].startswith("| stress test, 100 Jobs on 60 nodes | what the script counts |")


def test_the_page_tells_for_how_long_the_control_plane_stood_still():
    def page(*stalls):
        tests = [
            Compared(
                Experiment("stress", jobs, 60),
                MeasurementRecord(Measurement("stress", jobs, 60, {"script": 40.0}, stalled), HERE),
                Measurement("stress", jobs, 60, {"script": 40.0}),
            )
            for jobs, stalled in enumerate(stalls, 1)
        ]
        return fidelity_page((), tests, (), COMMAND)

    assert "stands still" not in page(None)
    assert "In 2 of these 3 tests it was looked whether the control plane stands still: for 1.2 s at most, which the burst" in page(0.5, None, 1.2)  # fmt: skip
    assert "In these tests it was looked whether the control plane stands still: for 3.0 s at most, which is too long" in page(3.0)  # fmt: skip


def test_measurements_of_two_machines_name_both():
    other = Origin("2026-02-02", 8, {"Kubernetes": "v1.37.0"})
    page = fidelity_page((), [*both(), compared("stress", 7, {"script": 23.0}, {"script": 23.0}, other)], (), COMMAND)
    assert "with 2 cores" in page
    assert "Measured on 2026-02-02 on a machine with 8 cores: Kubernetes v1.37.0." in page


def test_rows_carry_the_goal_and_the_verdict():
    lines = [line for each in both() for line in each.lines]
    rows = line_rows(lines)
    assert [row["verdict"] for row in rows] == ["met", "met", "missed", "met", "missed"]
    assert {row["goal"] for row in rows} == {"20% or 0.005 s", "20% or 0.5 s", "10%"}
    assert verdict(lines).startswith("3 of 5 figures")
    assert "12.5%" in verdict(lines)
    assert published_rows(PUBLISHED)[0] == {"mode": "kwok", "jobs": 10, "published_s": "23", "ours_s": "24.4", "error": "+6.1%"}  # fmt: skip
