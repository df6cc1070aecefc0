"""The tables in the pages are those that were measured, and measuring again gives the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ghostfleet.lab.fidelity import Comparison, compare
from ghostfleet.lab.progress import Silent

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT))
    try:
        import tools.pages.__main__ as module
    finally:
        sys.path.remove(str(ROOT))
    return module


def test_every_page_has_the_tables_of_the_data_file(pages):
    tables = pages.tables(json.loads(pages.DATA.read_text()))
    shown = [path.name for path in pages.pages() if pages.PLACE.search(path.read_text())]
    assert shown == ["README.md", "mcad.md", "stress.md"]
    for path in pages.pages():
        assert pages.filled(path.read_text(), tables) == path.read_text(), f"{path.name}: python -m tools.pages"


@pytest.mark.parametrize("mode", ["kwok", "kind", "mcad"])
def test_measuring_again_gives_what_the_data_file_says(pages, mode, monkeypatch):
    data = json.loads(pages.DATA.read_text())
    known = [Comparison(**each) for each in data["compared"] if each["mode"] == mode and each["jobs"] <= 10]
    monkeypatch.setattr(
        "ghostfleet.lab.fidelity.published._published",
        lambda: {mode: {"source": "", "seconds": {each.jobs: each.published for each in known}}},
    )
    assert compare([mode], Silent(), iterations=data["iterations"]) == known
