"""`ghostfleet fidelity`, as users run it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.fleet


def test_published_figures_are_compared_by_default(here):
    said = here("fidelity", "--mode", "kwok", "--iterations", "1")
    assert "kwok   100    40" in said
    assert "kwok: mean error" in said


def test_a_cluster_that_runs_takes_the_place_of_the_real_one_and_is_left_clean(ghostfleet, tmp_path):
    ghostfleet("up", "lab", "-d", "-q", "--clock", "scaled:20", "--profile", "kubernetes", "--stages", "stress",
               "--nodes", "4", "--gpus", "8")  # fmt: skip
    out, page = tmp_path / "out", tmp_path / "fidelity.md"
    asked = ("fidelity", "--cluster", "lab", "-n", "3x4", "--output-dir", str(out))
    said = either(ghostfleet, *asked)
    assert "real cluster: stress, 3 Jobs on 4 nodes" in said
    assert "stress       3      4       what the script counts" in said
    assert "nodes that are Ready, not 9" in ghostfleet(*asked, "-n", "3", "--nodes", "9", code=2)
    ghostfleet("down", "lab")
    said = either(
        ghostfleet, *asked, "--reuse", "--docs", str(page), "--mode", "kwok", "--iterations", "1", "-o", "json"
    )
    assert "real cluster" not in said
    told = page.read_text()
    assert "### kwok: mean error" in told
    assert "| what the script counts |" in told
    assert "### 3 Jobs on 4 nodes" in told


def either(shell, *arguments):
    """What a command says; on a clock that is twenty times too fast, requests take so long that goals are missed."""
    run = shell.start(*arguments)
    said, _ = run.communicate(timeout=60)
    assert run.returncode in (0, 1), said
    assert "Traceback" not in said
    return said


def test_what_is_wrong_is_said_in_one_line(here, tmp_path, monkeypatch):
    for wrong in ("many", "0", "3x", "3x0", "3,"):
        assert f"-n {wrong}: expected numbers of Jobs" in here("fidelity", "--real", "-n", wrong, code=2)
    assert "nothing is published for mode 'other'" in here("fidelity", "--mode", "other", code=2)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    said = here("fidelity", "--real", "-n", "1", "--bin-dir", str(tmp_path), code=2)
    assert "cannot find etcd, kube-apiserver" in said
    assert "cluster absent is not running" in here("fidelity", "--cluster", "absent", "-n", "1", code=2)
