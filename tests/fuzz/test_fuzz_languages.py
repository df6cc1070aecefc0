"""Texts of all languages, and patches, drawn by their grammars: each has an outcome, and none takes more than its budget.

A short run is part of every test run; `HYPOTHESIS_PROFILE=thorough` draws twenty times as many, from other numbers. How
many there were, and the longest evaluation in time of the processor, are printed at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from fuzz_material.grammars import LANGUAGES, OBJECT, json_patch, strategic_patch
from hypothesis import settings

from ghostfleet.api.builtin import kind_type
from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import apply_json_patch, apply_merge_patch, apply_strategic_merge
from ghostfleet.languages.budget import BUDGET, STEPS
from ghostfleet.languages.cel import compile_cel
from ghostfleet.languages.errors import EvaluationError, Unsupported
from ghostfleet.languages.gotemplate import compile_template, render_yaml
from ghostfleet.languages.jq import compile_jq

pytestmark = pytest.mark.timeout(3600)

#: 500 of each sort, or 10,000
COUNT = settings().max_examples * 10
#: where the numbers start that texts are drawn from; a thorough run draws others each time
START = 0 if settings().derandomize else int.from_bytes(os.urandom(4)) * 100_000

Longest = dict[str, tuple[int, float, Any]]


def timed(longest: Longest, sort: str, text: Any, work: Callable[[], object], *expected: type[Exception]) -> None:
    began = time.thread_time()
    try:
        work()
    except expected:
        pass
    except BaseException:
        print(f"{sort}: {text!r}")
        raise
    took = time.thread_time() - began
    count, most, worst = longest.get(sort, (0, 0.0, None))
    longest[sort] = (count + 1, max(took, most), text if took > most else worst)


def evaluated(language: str, text: str) -> object:
    if language == "jq":
        return compile_jq(text).run(OBJECT)
    if language == "cel":
        return compile_cel(text).evaluate(0, self=OBJECT)
    return render_yaml(compile_template(text), OBJECT)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_has_an_outcome_within_its_budget(longest: Longest, language: str):
    for seed in range(START, START + COUNT):
        text = LANGUAGES[language](seed)
        before = BUDGET.steps
        timed(longest, language, text, lambda text=text: evaluated(language, text), EvaluationError, Unsupported)
        # To compile a text has a budget of its own.
        assert BUDGET.steps - before <= STEPS + 1_000 + 4 * len(text) + 2, text


def test_every_json_patch_has_an_outcome_of_bounded_size(longest: Longest):
    whole = len(orjson.dumps(OBJECT))
    for seed in range(START, START + COUNT):
        operations = json_patch(seed)

        def patched(operations: list[dict[str, Any]] = operations) -> None:
            made = apply_json_patch(OBJECT, operations)
            assert len(orjson.dumps(made)) <= whole + 3 * 1024 * 1024 + len(orjson.dumps(operations))

        timed(longest, "JSON patch", operations, patched, ApiError)


def test_every_merge_has_an_outcome(longest: Longest):
    schema = kind_type("", "v1", "ConfigMap")
    assert schema is not None
    for seed in range(START, START + COUNT):
        patch = strategic_patch(seed)
        timed(
            longest,
            "strategic merge",
            patch,
            lambda patch=patch: apply_strategic_merge(OBJECT, patch, schema),
            ApiError,
        )
        timed(longest, "merge", patch, lambda patch=patch: apply_merge_patch(OBJECT, patch), ApiError)
