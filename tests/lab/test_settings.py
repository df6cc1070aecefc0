"""Settings from files and the environment."""

from __future__ import annotations

import pytest

from ghostfleet.lab.errors import LabError
from ghostfleet.lab.settings import read_settings, settings_files

OPTIONS = {("submit",): ["num-gpus", "project"], ("sample",): ["project"], ("nodes", "add"): ["gpus"]}


def read(tmp_path, mine="", here="", environment=None):
    home, directory = tmp_path / "config", tmp_path / "here"
    for path, text in ((home / "ghostfleet" / "ghostfleet.toml", mine), (directory / "ghostfleet.toml", here)):
        if text:
            path.parent.mkdir(parents=True)
            path.write_text(text)
    variables = {"XDG_CONFIG_HOME": str(home), **(environment or {})}
    settings = read_settings(settings_files(variables, directory), variables, OPTIONS)
    return {".".join((*command, option)): given.value for command, option, given in settings}


def test_of_user_directory_and_environment_the_last_counts(tmp_path):
    mine = 'project = "mine"\n[submit]\nnum-gpus = 1\n[nodes.add]\ngpus = 8\n'
    here = '[submit]\nproject = "here"\n'
    assert read(tmp_path, mine, here, {"GHOSTFLEET_SUBMIT_NUM_GPUS": "4"}) == {
        "submit.project": "here",
        "submit.num-gpus": "4",
        "sample.project": "mine",
        "nodes.add.gpus": 8,
    }


def test_a_variable_for_one_command_counts_more_than_one_for_all(tmp_path):
    variables = {"GHOSTFLEET_PROJECT": "all", "GHOSTFLEET_SAMPLE_PROJECT": "one", "GHOSTFLEET_TESTS_X": "x"}
    assert read(tmp_path, environment=variables) == {"submit.project": "all", "sample.project": "one"}


def test_a_variable_that_sets_nothing_is_refused_with_a_guess(tmp_path):
    with pytest.raises(LabError, match=r"GHOSTFLEET_PROJCT: unknown setting; did you mean GHOSTFLEET_PROJECT\?"):
        read(tmp_path, environment={"GHOSTFLEET_PROJCT": "all"})


def test_underscores_are_as_good_as_dashes(tmp_path):
    assert read(tmp_path, "[submit]\nnum_gpus = 2\n") == {"submit.num-gpus": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("projct = 1\n", "unknown setting 'projct'"),
        ("[submit]\nprojct = 1\n", r"\[submit\] has no setting 'projct'; known are num-gpus, project"),
        ("[sumbit]\n", r"\[sumbit\] is no command; known are nodes, sample, submit"),
        ("[submit\n", "line 1"),
    ],
)
def test_what_is_not_known_is_told_with_the_file(tmp_path, text, words):
    with pytest.raises(LabError, match=words) as caught:
        read(tmp_path, text)
    assert "ghostfleet.toml: " in str(caught.value)
