"""The test with fake DRA GPUs on a real control plane."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(240), pytest.mark.xdist_group("real")]

CONFIG = Path(__file__).parents[2] / "examples/07-clusterloader2/pkg/dependency/kwok/examples/test-config.yaml"


def test_jobs_with_fake_gpus_are_done_on_a_real_control_plane_and_nothing_is_left(programs, shell, tmp_path):
    shell("up", "cl2", "--runtime", "kubernetes", "--nodes", "2", "--stages", "clusterloader", "--detach")
    try:
        shell("clusterloader", "--cluster", "cl2", "--testconfig", str(CONFIG), "--report-dir", str(tmp_path), "-q")
        desk = shell.desk("cl2")
        nodes = {each["metadata"]["name"] for each in desk.connection.items("/api/v1/nodes")}
        spaces = {each["metadata"]["name"] for each in desk.connection.items("/api/v1/namespaces")}
    finally:
        shell("down", "cl2")
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("9", "0")
    assert nodes == {"kwok-node-0", "kwok-node-1"}
    assert not [name for name in spaces if name.startswith(("test-", "kwok-"))]
