"""Cases judged by the real KAI, where they are at hand, and cases of our own in the same schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cases import kai
from cases.__main__ import main

GIVEN = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "kai"
OWN = sorted((Path(__file__).parent / "cases").glob("*.json"))

needs_given = pytest.mark.skipif(
    not GIVEN.is_dir(), reason="the cases judged by the real KAI are not beside this project"
)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_cases_of_our_own_pass(path: Path) -> None:
    results = list(kai.run(path))
    assert results
    assert not {name: problems for name, problems in results if problems}


@needs_given
def test_table_cases_end_as_in_kai(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [path for path in GIVEN.glob("*.json") if path.stem not in ("random", "demo_seed", "function_vectors")]
    assert _count(capsys, "table cases", paths) == []


@needs_given
def test_random_scenarios_stand_as_in_kai_after_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    assert _count(capsys, "random scenarios", [GIVEN / "random.json", GIVEN / "demo_seed.json"]) == []


@needs_given
def test_fair_share_and_reclaim_functions_give_what_kai_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert _count(capsys, "vectors", [GIVEN / "function_vectors.json"]) == []


def test_the_command_names_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(OWN[0].read_text())
    case = found["cases"][0]
    for wanted in case["expected"]["jobs"].values():
        wanted["status"] = "Failed"
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(found))
    assert main(["kai", str(path)]) == 1
    told = capsys.readouterr().out
    assert f"{case['id']}: " in told
    assert f"{len(found['cases']) - 1} passed, 1 failed" in told


def test_the_command_says_what_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.json"
    path.write_text("{}")
    assert main(["kai", str(path)]) == 2
    assert "none.json: KeyError('cases'): expected cases of kai" in capsys.readouterr().err


def _count(capsys: pytest.CaptureFixture[str], what: str, paths: list[Path]) -> list[str]:
    results = [result for path in sorted(paths) for result in kai.run(path)]
    failed = [f"{name}: {problems[0]}" for name, problems in results if problems]
    with capsys.disabled():
        print(f"\nKAI {what}: {len(results) - len(failed)} of {len(results)}")
    return failed
