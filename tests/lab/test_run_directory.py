"""The directory of a run."""

from __future__ import annotations

import json

import pytest

from ghostfleet.lab.directory import OwnFiles, RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run, Submission

RUN = Run(run="0123abcd", type="job", count=2, seed=0, project="p")


def sent(name, time=1_767_225_600_123_456, error=""):
    return Submission(name, "p", "runai-p", time, error)


def test_records_come_back_as_they_were_written(directory):
    directory.write_run(RUN)
    directory.write_submissions([sent("j-1"), sent("j-2", error="no")])
    assert directory.run() == RUN
    assert directory.submissions() == [sent("j-1"), sent("j-2", error="no")]


def test_submissions_are_written_as_the_scale_test_of_run_ai_does(directory):
    directory.write_submissions([sent("j-1")])
    assert json.loads((directory.path / "submitted.json").read_text()) == [
        {
            "jobName": "j-1",
            "projectName": "p",
            "jobNamespace": "runai-p",
            "submitTimestamp": "2026-01-01T00:00:00.123456Z",
        }
    ]


def test_the_journal_adds_to_what_was_saved_and_counts_more(directory):
    directory.write_submissions([sent("j-1", 1), sent("j-2", 2, "no")])
    journal = directory.journal()
    journal.add([sent("j-2", 3), sent("j-3", 4)])
    assert directory.submissions() == [sent("j-1", 1), sent("j-2", 3), sent("j-3", 4)]
    journal.close()


def test_a_last_line_that_was_cut_off_is_left_out_and_does_not_spoil_the_next(directory):
    journal = directory.journal()
    journal.add([sent("j-1", 1)])
    journal.close()
    path = directory.path / "submitted.journal"
    path.write_bytes(path.read_bytes() + b'{"jobName":"j-2","proj')
    assert directory.submissions() == [sent("j-1", 1)]
    journal = directory.journal()
    journal.add([sent("j-3", 3)])
    journal.close()
    assert directory.submissions() == [sent("j-1", 1), sent("j-3", 3)]


def test_a_broken_line_in_the_midst_is_told_with_its_number(directory):
    (directory.path / "submitted.journal").write_bytes(b"{}x\n{}\n")
    with pytest.raises(LabError, match=r"submitted\.journal: line 1"):
        directory.submissions()


def test_two_processes_cannot_submit_into_one_directory(directory):
    first = directory.journal()
    with pytest.raises(LabError, match="another process is submitting"):
        directory.journal()
    first.close()


def test_a_truncated_file_is_told_with_what_to_do_and_left_as_it_is(directory):
    directory.write_submissions([sent("j-1"), sent("j-2")])
    path = directory.path / "submitted.json"
    broken = path.read_bytes()[:-20]
    path.write_bytes(broken)
    with pytest.raises(
        LabError, match=r"submitted\.json: line 1, column .*move it away, then `ghostfleet submit --resume"
    ):
        directory.submissions()
    assert path.read_bytes() == broken


@pytest.mark.parametrize("content", ["{}", '[{"jobName": 1}]', '["x"]', "3"])
def test_a_file_that_holds_something_else_is_told(directory, content):
    (directory.path / "submitted.json").write_text(content if content != "{}" else '{"a": 1}')
    with pytest.raises(LabError, match="is not a list of submissions"):
        directory.submissions()


def test_a_directory_that_is_missing_or_empty_is_told(tmp_path, directory):
    with pytest.raises(LabError, match="there is no output directory"):
        RunDirectory(tmp_path / "none").require()
    with pytest.raises(LabError, match="nothing has been submitted"):
        directory.require_submissions()
    with pytest.raises(LabError, match="there are no samples"):
        directory.samples()


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(LabError, match="cannot use"):
        RunDirectory(tmp_path / "file" / "out").make()


def test_marks_of_several_recorders_are_joined(directory):
    for marks in ({"workload": 1, "job": 2}, {"job": 3, "finished": 4}):
        timeline = directory.timeline()
        timeline.add([("j-1", marks)])
        timeline.close()
    assert directory.marks() == {"j-1": {"workload": 1, "job": 3, "finished": 4}}


def test_nothing_is_left_over_when_a_file_is_replaced(directory):
    for _ in range(3):
        directory.write_submissions([sent("j-1")])
    assert [path.name for path in directory.path.iterdir()] == ["submitted.json"]


def test_the_record_of_an_earlier_version_can_be_read(directory):
    earlier = {
        "run": "1a2b3c4d", "type": "job", "count": 3, "seed": 5, "project": "p", "namespace": "runai-p", "workers": 2,
        "gpus": 4, "pvc": False, "processes": 8, "delay": 0.0, "rate": "1/s", "template": "", "runtime": "",
        "started": "2026-01-01T00:00:00.000000Z", "state": "submitted", "cluster": {"nodes": 4}, "labSeconds": 1.5,
    }  # fmt: skip
    (directory.path / "run.json").write_text(json.dumps(earlier))
    run = directory.run()
    assert (run.namespace, run.workers, run.rate, run.labSeconds) == ("runai-p", 2, "1/s", 1.5)
    assert earlier.items() <= run.written().items()


@pytest.mark.parametrize("raw", ["[]", "{}", '{"run": "a", "type": "job"}', '{"count": 1, "type": "job"}'])
def test_a_file_that_is_no_record_is_told(directory, raw):
    (directory.path / "run.json").write_text(raw)
    with pytest.raises(LabError, match="is not the record of a run"):
        directory.run()


def test_a_file_of_our_own_may_be_written_again(tmp_path):
    OwnFiles(tmp_path).claim(["a.csv"])
    (tmp_path / "a.csv").write_text("1")
    OwnFiles(tmp_path).claim(["a.csv", "b.csv"])


def test_a_foreign_file_is_refused_by_its_name_and_taken_when_that_is_forced(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(LabError, match=r"report\.html was not written by ghostfleet.*--force"):
        OwnFiles(tmp_path).claim(["times.csv", "report.html"])
    OwnFiles(tmp_path).claim(["report.html"], force=True)
    OwnFiles(tmp_path).claim(["report.html"])


def test_a_refusal_claims_nothing(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(LabError):
        OwnFiles(tmp_path).claim(["times.csv", "report.html"])
    (tmp_path / "times.csv").write_text("mine too")
    with pytest.raises(LabError, match=r"times\.csv"):
        OwnFiles(tmp_path).claim(["times.csv"])


def test_results_beside_the_record_of_a_run_of_an_earlier_version_are_ours(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "report.html").write_text("ours")
    OwnFiles(tmp_path).claim(["report.html"])
