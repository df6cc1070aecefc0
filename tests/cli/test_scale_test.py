"""submit, sample, clean, doctor, config and scale-test, as users run them."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
import yaml

from ghostfleet.lab.types import type_names

pytestmark = pytest.mark.fleet

VIRTUAL = ("scale-test", "--nodes", "4", "--profile", "instant")


@pytest.fixture
def served(ghostfleet):
    """A cluster that serves, with nodes."""
    ghostfleet("up", "-d", "-q", "--nodes", "4", "--gpus", "8")
    return ghostfleet


def submissions(path: Path) -> list[str]:
    return [each["jobName"] for each in json.loads((path / "submitted.json").read_text())]


def test_a_scale_test_ends_with_a_table_of_phases_and_the_path_of_the_report(here, tmp_path):
    out = tmp_path / "out"
    said = here(*VIRTUAL, "-n", "7", "-p", "3", "--delay", "1", "-o", str(out))
    lines = said.splitlines()
    assert "Modelled  62.0 s of cluster time" in said
    assert "Lab       " in said
    assert any(line.startswith("PHASE") and "P99" in line for line in lines)
    assert f"Report: {out}/report.html" in lines
    assert len(submissions(out)) == 7
    assert {"run.json", "sampled.json", "timeline.jsonl", "times.csv", "report.html"} <= {
        path.name for path in out.iterdir()
    }
    again = here(*VIRTUAL, "-n", "7", "-o", str(out), code=2)
    assert "choose another --output-dir" in again
    assert len(submissions(out)) == 7
    assert "5 training workloads" in here(*VIRTUAL, "-n", "5", "-o", str(out), "--force")
    assert len(submissions(out)) == 5


def test_json_has_the_figures_what_held_things_up_and_all_that_made_the_run(here, tmp_path):
    out = tmp_path / "out"
    text = here(*VIRTUAL, "-t", "job", "-n", "40", "-g", "3", "--runtime", "30s", "-o", str(out), "--json")
    told = json.loads(text[text.index("{") :])
    used, broken, waited = (told["figures"][name] for name in ("utilisation", "fragmentation", "waiting"))
    # Nodes of eight GPUs take two pods of three each: two GPUs are left over on each of the four.
    assert (used["peakGpus"], used["peakOfGpus"], used["peak"]) == (24, 32, 0.75)
    assert (broken["request"], broken["worstStrandedGpus"]) == (3, 8)
    assert (broken["atPeakUse"], broken["worstLargestFreeBlock"]) == (1.0, 2)
    assert (waited["placed"], waited["notPlaced"], waited["max"]) == (40, 0, 120.0)
    assert told["limits"][0] == {
        "component": "Nodes",
        "limit": "room for pods",
        "seconds": 120.0,
        "detail": "up to 32 pods at once",
    }
    assert told["modelledLimits"] is True
    assert (told["run"]["seed"], told["run"]["cluster"]["stages"]) == (0, ["fast"])
    assert json.loads((out / "run.json").read_text())["figures"] == told["figures"]


def test_a_scale_test_whose_work_can_never_be_placed_fails(here, tmp_path):
    said = here(*VIRTUAL, "-n", "2", "-g", "9", "-o", str(tmp_path / "out"), code=1)
    assert "gave up: nothing changed any more, and 2 workloads had not ended" in said


def test_the_three_commands_measure_a_run_on_a_served_cluster(served, tmp_path):
    out = tmp_path / "out"
    assert "training" in served("doctor", "-t", "training")
    said = served("submit", "-n", "9", "-p", "4", "-o", str(out), "--runtime", "1s")
    assert "Submitted 9 training workloads to project project-0" in said
    taken = json.loads(served("sample", "-t", "training", "--follow", "-o", str(out), "--json"))
    assert (taken["submitted"], taken["complete"]) == (9, 9)
    assert "9 workloads submitted, 9 measured" in served("plot", "-o", str(out))
    assert "Removed 9 trainingworkloads." in served("clean", "-o", str(out))
    assert "Removed no workloads." in served("clean", "--all")
    assert "Sampled 9 of 9 workloads" in served("sample", "-o", str(out)), "what is gone was seen before"


def test_the_commands_after_submit_go_to_the_cluster_of_the_run_and_to_no_other(served, tmp_path):
    out = tmp_path / "out"
    served("up", "c7", "-d", "-q", "--nodes", "1", "--gpus", "8")
    served("submit", "--cluster", "c7", "-t", "job", "-n", "2", "-o", str(out), "--runtime", "1s")
    assert "Sampled 2 of 2 workloads" in served("sample", "--follow", "-o", str(out))
    assert "was submitted to" in served("sample", "--cluster", "default", "-o", str(out), code=2)
    assert "Removed 2 jobs" in served("clean", "-o", str(out))
    served("down", "c7", "-q")
    assert "which cannot be reached" in served("clean", "-o", str(out), code=2)


def test_kubeconfig_in_the_environment_counts_before_the_default_cluster(served, tmp_path):
    served("up", "other", "-d", "-q", "--nodes", "3")
    assert "4 nodes" not in served("doctor")
    served.environment["KUBECONFIG"] = str(served.directory("other") / "kubeconfig")
    try:
        assert "3, 3 of them ready" in served("doctor")
        assert "3, 3 of them ready" not in served("doctor", "--cluster", "default")
    finally:
        served.environment["KUBECONFIG"] = str(served.kubeconfig)


def test_a_foreign_file_in_the_output_dir_is_left_alone(ghostfleet, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    for command in (["scale-test", "-n", "1"], ["scale-test", "-n", "1", "-t", "job"]):
        said = ghostfleet(*command, "-o", str(tmp_path), "--nodes", "1", code=2)
        assert "report.html was not written by ghostfleet" in said
    assert (tmp_path / "report.html").read_text() == "mine"
    (tmp_path / "stress.md").write_text("mine too")
    assert "stress.md was not written" in ghostfleet("stress", "-j", "1", "-o", str(tmp_path), code=2)
    ghostfleet("scale-test", "-n", "1", "--nodes", "1", "-o", str(tmp_path), "--force", "-q")
    assert (tmp_path / "report.html").read_text() != "mine"


def test_a_scale_test_runs_on_a_served_cluster_too(served, tmp_path):
    out = tmp_path / "out"
    said = served("scale-test", "--cluster", "default", "-t", "job", "-n", "4", "--runtime", "1s", "-o", str(out))
    assert "(wall time)" in said
    assert "4 workloads submitted, 4 measured" in said


def jobs_of(shell) -> list[str]:
    """The Jobs of the project, asked for by plain HTTP."""
    import ssl
    import urllib.request

    config = yaml.safe_load(shell("kubeconfig"))
    server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
    context = ssl.create_default_context(cafile=str(shell.directory("default") / "ca.crt"))
    request = urllib.request.Request(
        f"{server}/apis/batch/v1/namespaces/runai-project-0/jobs", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, context=context, timeout=30) as answer:
        return [each["metadata"]["name"] for each in json.load(answer)["items"]]


def wait_for_lines(path: Path, count: int) -> None:
    """Until a file has so many lines."""
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_bytes().count(b"\n") >= count):
        assert time.monotonic() < deadline, f"{path} did not come to {count} lines"


def test_a_submission_that_is_killed_goes_on_with_exactly_what_it_owes(served, tmp_path):
    out = tmp_path / "out"
    process = served.start("submit", "-t", "job", "-n", "60", "-p", "5", "--delay", "0.05", "-o", str(out), "-q")
    wait_for_lines(out / "submitted.journal", 20)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert 20 <= len(jobs_of(served)) < 60
    assert "go on with `ghostfleet submit --resume`" in served("submit", "-n", "60", "-o", str(out), code=2)
    served("submit", "--resume", "-o", str(out), "-q")
    names = jobs_of(served)
    assert len(names) == len(set(names)) == 60
    assert sorted(submissions(out)) == sorted(names)


def test_ctrl_c_keeps_what_was_submitted_and_says_how_to_go_on(served, tmp_path):
    out = tmp_path / "out"
    process = served.start("submit", "-t", "job", "-n", "60", "-p", "5", "--delay", "0.1", "-o", str(out))
    wait_for_lines(out / "submitted.journal", 10)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"go on with: ghostfleet submit --resume -o {out}" in said
    assert "Traceback" not in said
    assert 10 <= len(submissions(out)) < 60
    served("submit", "--resume", "-o", str(out), "-q")
    assert len(jobs_of(served)) == 60


def test_ctrl_c_of_a_recorder_keeps_what_it_saw(served, tmp_path):
    out = tmp_path / "out"
    served("submit", "-t", "interactive", "-n", "3", "-o", str(out), "-q", "-g", "9")
    process = served.start("sample", "--follow", "-o", str(out))
    wait_for_lines(out / "timeline.jsonl", 0)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert f"go on with: ghostfleet sample -o {out} --follow" in said
    assert len(json.loads((out / "sampled.json").read_text())) == 3


def test_ctrl_c_of_a_scale_test_leaves_a_run_that_can_be_plotted(ghostfleet, tmp_path):
    out = tmp_path / "out"
    process = ghostfleet.start(*VIRTUAL, "-t", "job", "-n", "3000", "-o", str(out))
    wait_for_lines(out / "timeline.jsonl", 1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"look at it with: ghostfleet plot -o {out}" in said
    assert "Traceback" not in said
    assert json.loads((out / "sampled.json").read_text())


def test_a_mix_is_tested_in_virtual_time(here, tmp_path):
    mix = Path(__file__).parents[2] / "examples" / "04-scale-test" / "mix.yaml"
    said = here(*VIRTUAL, "--mix", str(mix), "-n", "60", "-o", "out")
    assert "60 workloads of mix.yaml, 60 of them ended" in said
    assert any(line.startswith("CLASS (waiting, seconds)") for line in said.splitlines())
    assert {each["class"] for each in json.loads((tmp_path / "out" / "submitted.json").read_text())} == {
        "notebook",
        "tuning",
        "training",
        "large",
    }


def test_a_mix_is_submitted_sampled_and_removed_on_a_served_cluster(served, tmp_path):
    out, mix = tmp_path / "out", tmp_path / "mix.yaml"
    mix.write_text(
        "classes:\n"
        "- {name: a, type: job, gpus: [1, 2], duration: 1s}\n"
        "- {name: b, type: training, duration: 1s, namespaces: team}\n"
    )
    said = served("submit", "--mix", str(mix), "-n", "12", "-o", str(out))
    assert "Submitted 12 workloads of mix.yaml (run " in said
    assert f"ghostfleet sample -o {out}" in said
    taken = json.loads(served("sample", "--follow", "-o", str(out), "--json"))
    assert (taken["submitted"], taken["complete"]) == (12, 12)
    plotted = json.loads(served("plot", "-o", str(out), "--json"))
    assert sum(each["workloads"] for each in plotted["classes"]) == 12
    removed = served("clean", "-o", str(out))
    assert "jobs" in removed
    assert ", namespace team." in removed


def test_all_that_is_wrong_with_a_mix_is_told_at_once(here, tmp_path):
    (tmp_path / "mix.yaml").write_text("classes:\n- {name: a, type: jobb}\n- {name: b, type: job, gpus: many}\n")
    for command in (["scale-test"], ["submit", "-n", "1"]):
        lines = here(*command, "--mix", "mix.yaml", code=2).splitlines()
        assert lines[0].startswith(f"ghostfleet: {tmp_path}/mix.yaml: line 2: classes[0].type: unknown workload type")
        assert lines[1].startswith(f"{tmp_path}/mix.yaml: line 3: classes[1].gpus: expected a whole number")
        assert len(lines) == 2
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("command", ["submit", "sample", "scale-test"])
def test_help_lists_all_types(here, command):
    said = " ".join(here(command, "--help").replace("|", " ").split())
    for name in type_names():
        assert f" {name}" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit"], "say how many workloads"),
        (["submit", "-n", "1", "-t", "trainig"], "unknown workload type 'trainig'; known are training,"),
        (["submit", "-n", "1", "--rate", "fast"], "10/s or poisson:10/s"),
        (["submit", "-n", "1", "--rate", "1/s", "--delay", "1"], "give one of them"),
        (["submit", "-n", "1", "--template", "none.yaml"], "cannot read template"),
        (["submit", "-n", "0"], "greater than or equal to 1"),
        (["submit", "-n", "1"], "cluster default is not running; `ghostfleet up --detach` starts it"),
        (["submit", "-n", "1", "--cluster", "a", "--context", "b"], "give one"),
        (["submit", "--resume", "-o", "none"], "there is no output directory none"),
        (["sample", "-o", "none"], "there is no output directory none"),
        (["plot", "-o", "none"], "there is no output directory none"),
        (["clean"], "say which run"),
        (["clean", "-o", "none"], "there is no output directory none"),
        (["doctor", "-t", "trainig"], "unknown workload type 'trainig'"),
        (["doctor"], "cluster default is not running"),
        (["config", "show", "sumbit"], "there is no command sumbit"),
        (["scale-test", "--profile", "fast"], "unknown profile 'fast'; known are"),
        (["scale-test", "--patience", "soon"], "--patience: "),
    ],
)
def test_bad_input_is_told_in_one_line(here, tmp_path, arguments, words):
    assert words in " ".join(here(*arguments, code=2).split())
    assert not (tmp_path / "logs").exists()


def test_a_cluster_that_does_not_answer_is_told(here, tmp_path):
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    said = here("submit", "-n", "1", "--kubeconfig", str(path), "-o", str(tmp_path / "out"), code=2)
    assert said.startswith("ghostfleet: http://127.0.0.1:1 does not answer")
    assert said.count("\n") == 1


def test_an_unknown_placeholder_is_told_with_its_line(here, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{nmae}}\n")
    said = here("submit", "-n", "1", "--template", str(path), code=2)
    assert f"{path}: line 4: unknown placeholder {{{{nmae}}}}; known are name," in said


def test_missing_kinds_are_told_and_nothing_is_begun(ghostfleet, tmp_path):
    ghostfleet("up", "-d", "-q", "--disable", "runai,kubeflow")
    out = tmp_path / "out"
    assert "does not serve TrainingWorkload (run.ai/v2alpha1)" in ghostfleet(
        "submit", "-n", "1", "-o", str(out), code=2
    )
    assert list(out.iterdir()) == []
    said = ghostfleet("doctor", "-t", "training", code=1)
    assert "TrainingWorkload (run.ai/v2alpha1), RunaiJob (run.ai/v1)" in said
    found = json.loads(ghostfleet("doctor", "-o", "json"))
    assert {each["type"]: each["lacking"] for each in found["types"]}["job"] == ["nodes"]


def test_files_that_are_not_whole_are_told_and_left_as_they_are(served, tmp_path):
    out = tmp_path / "out"
    served("submit", "-t", "job", "-n", "3", "-o", str(out), "-q")
    assert "there are no samples" in served("plot", "-o", str(out), code=2)
    whole = (out / "submitted.json").read_bytes()
    (out / "submitted.json").write_bytes(whole[:-9])
    for command in (["sample"], ["plot"], ["submit", "--resume"]):
        said = served(*command, "-o", str(out), code=2)
        assert "submitted.json: line 1" in said
        assert "move it away, then `ghostfleet submit --resume" in said
    assert (out / "submitted.json").read_bytes() == whole[:-9]
    (out / "submitted.json").unlink()
    served("submit", "--resume", "-o", str(out), "-q")
    assert sorted(submissions(out)) == sorted(each["jobName"] for each in json.loads(whole))


def test_settings_come_from_files_environment_and_flags_in_rising_order(here, tmp_path, monkeypatch):
    (tmp_path / "ghostfleet.toml").write_text('project = "mine"\n[scale-test]\nnodes = 2\nprofile = "instant"\n')
    monkeypatch.setenv("GHOSTFLEET_SCALE_TEST_NUM_WORKLOADS", "3")
    here("scale-test", "--nodes", "5", "-o", "out", "-q")
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["project"], run["count"], run["cluster"]["nodes"]) == ("mine", 3, 5)
    rows = {row["key"]: row for row in json.loads(here("config", "show", "--changed", "-o", "json"))}
    assert rows["scale-test.nodes"] == {
        "key": "scale-test.nodes",
        "value": 2,
        "source": str(tmp_path / "ghostfleet.toml"),
    }
    assert rows["scale-test.num-workloads"]["source"] == "GHOSTFLEET_SCALE_TEST_NUM_WORKLOADS"
    assert rows["submit.project"]["value"] == "mine"
    assert re.search(r"submit\.num-gpus +1 +default", here("config", "show", "submit"))
    (tmp_path / "ghostfleet.toml").write_text('[scale-test]\nnodes = "many"\n')
    assert "ghostfleet.toml: nodes: Invalid value for '--nodes'" in here("scale-test", code=2)
