"""What the pages point to is there: pages, files, and the picture of the layers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
#: A path in code, as CONTRIBUTING.md gives it: from the root, or from src/ghostfleet. NAME stands for a new one.
PATH = re.compile(r"`([a-z_]+(?:/[\w.-]+)+/?|pyproject\.toml)`")


def test_the_readme_names_every_page():
    linked = set(LINK.findall((ROOT / "README.md").read_text()))
    pages = {str(page.relative_to(ROOT)) for page in PAGES} - {"README.md"}
    assert pages - linked == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


def test_the_files_that_contributors_are_sent_to_are_there():
    named = PATH.findall((ROOT / "CONTRIBUTING.md").read_text())
    files = [path for path in named if "NAME" not in path]
    assert len(files) > 40
    missing = [path for path in files if not any((ROOT / start / path).exists() for start in ("", "src/ghostfleet"))]
    assert missing == []


def test_the_picture_of_the_layers_is_that_of_the_sources():
    command = [sys.executable, "-m", "tools.layers", "--check"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
