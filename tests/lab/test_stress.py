"""The stress test's times come from mechanism: each cause, changed alone, moves them the way it must."""

import pytest
import yaml

from ghostfleet.lab.fidelity import compare, holds, mean_error
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.stress import StressPlan, run_stress
from ghostfleet.report.stress import pod_table, stress_csv, stress_markdown, summary


def seconds(mode="kwok", jobs=100, **others):
    (trial,) = run_stress(StressPlan((mode,), (jobs,), **others), Silent())
    return trial.exact


@pytest.fixture(scope="module")
def kwok():
    return seconds()


@pytest.fixture(scope="module")
def kind():
    return seconds("kind")


def faster_controllers(path, qps, burst):
    limit = {"qps": qps, "burst": burst, "source": "this test"}
    scheduler = {"qps": 50, "burst": 100, "source": "this test"}
    clients = {"kube-controller-manager": limit, "kube-scheduler": scheduler}
    path.write_text(yaml.safe_dump({"basedOn": "kubernetes", "clients": clients}))
    return str(path)


def test_twice_the_controllers_rate_brings_the_last_completion_nearer_to_the_last_pod(tmp_path, kwok):
    faster = seconds(profile=faster_controllers(tmp_path / "faster.yaml", 40, 60))
    slower = seconds(profile=faster_controllers(tmp_path / "slower.yaml", 10, 30))
    assert faster < kwok - 2
    assert slower > kwok + 5


def test_stages_that_take_twice_as_long_add_their_delays(tmp_path, kwok):
    from ghostfleet.stages.catalogue import stage_documents

    documents = stage_documents("stress")
    for stage in documents:
        delay = stage["spec"].get("delay")
        if stage["metadata"]["name"] in ("pod-ready", "pod-complete"):
            stage["spec"]["delay"] = {key: value * 2 for key, value in delay.items()}
    file = tmp_path / "slow.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    assert seconds(stages=(str(file),)) == pytest.approx(kwok + 21, abs=2.5)


def test_containers_of_a_node_slow_each_other_down_and_more_nodes_relieve_them(kind):
    assert seconds("kind", nodes=8) < kind - 5
    assert seconds("kind", nodes=2) > kind + 10


def test_more_nodes_do_not_help_where_nothing_is_contended(kwok):
    assert seconds(nodes=8) == pytest.approx(kwok, abs=1.5)


def test_a_job_of_several_pods_counts_when_all_have_succeeded():
    (trial,) = run_stress(StressPlan(("kwok",), (3,), pods=4, gpus=1), Silent())
    assert (trial.pods, len(trial.pod_times)) == (12, 12)
    assert {pod.time_to_start for pod in trial.pod_times} <= {10, 11, 12}


def test_the_same_seed_gives_the_same_trial_and_another_differs():
    first, again, other = (run_stress(StressPlan(("kwok",), (5,), seed=seed), Silent()) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_published_times_are_met():
    compared = compare(["kwok", "kind", "mcad"], Silent(), iterations=1)
    assert holds(compared), [(each.mode, each.jobs, each.published, each.ours) for each in compared]
    assert mean_error(compared, "kwok") < 0.05


def test_results_are_kept_as_csv_markdown_and_pod_table():
    trials = run_stress(StressPlan(("kwok", "kind"), (1, 2)), Silent())
    lines = stress_csv(trials).splitlines()
    assert lines[0].startswith("mode,jobs,pods,seconds,exact")
    assert len(lines) == 5
    table = stress_markdown(summary(trials))
    assert "| Jobs | kwok | kind |" in table
    text = pod_table(trials[0].pod_times).splitlines()
    assert text[0] == "POD NAME PODSTARTTIME CONTAINERSTARTTIME CONTAINERFINISHTIME TIMETOSTART"
    assert text[1].startswith("nomcadkwok-cpu-job-short-1-")
    assert text[1].split()[-1] in ("0:00:10", "0:00:11")
