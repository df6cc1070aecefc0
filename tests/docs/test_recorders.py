"""Whatever can be recorded has its recorder, and a place in the page about it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPICS = set(runpy.run_path(str(ROOT / "tools" / "record" / "__main__.py"))["TOPICS"])


def test_every_topic_has_a_module_of_its_name():
    modules = {path.stem for path in (ROOT / "tools" / "record").glob("*.py")}
    assert TOPICS - modules == {"scheduler"}, "but for that one, whose module is called scheduling"


def test_the_page_has_all_topics_and_no_others():
    table = re.findall(r"^\| (`.+?) \|", (ROOT / "docs" / "parity.md").read_text(), re.MULTILINE)
    assert {topic for cell in table for topic in re.findall(r"`(\w+)`", cell)} == TOPICS
