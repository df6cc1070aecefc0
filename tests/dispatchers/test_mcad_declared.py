"""Declarative tests of our own, in the format of the project's: quota, borrowing, restarts and the life of a wrapper.

`kubectl kuttl test --config` runs the same directories against a cluster that is served.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from declared import Play, is_part
from mcad_runs import Lab

CASES = sorted(path for path in (Path(__file__).parent / "declarative").iterdir() if path.is_dir())


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
@pytest.mark.parametrize("dispatcher", ["mcad-1.40:preemption=true"])
def test_declared_steps_come_true_one_after_the_other(case, dispatcher):
    lab = Lab(dispatcher, nodes=0)
    lab.add_nodes(2, gpus=8, cpu="4", fake_taint=False)
    Play(lab.cluster).run(case)


def test_expected_objects_are_parts_but_lists_are_whole():
    assert is_part({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}], "d": 3})
    assert not is_part({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}]})
    assert not is_part({"a": "1"}, {"a": 1})
