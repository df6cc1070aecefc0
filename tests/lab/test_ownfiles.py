"""Files of an output directory that somebody else wrote are never replaced, unless that is forced."""

from __future__ import annotations

import pytest

from ghostfleet.lab.errors import LabError
from ghostfleet.lab.ownfiles import OwnFiles


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
