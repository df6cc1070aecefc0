"""Lines of single values in a YAML text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.yamllines import Lines, path_text
from ghostfleet.core.yamltext import compose, emit

TEXT = """\
# a comment
a: 1
b:
- x
- {c: 2,
   d: [3,
       4]}
e: &shared
  f: 5
g: *shared
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("b",), 3),
        (("b", 0), 4),
        (("b", 1, "c"), 5),
        (("b", 1, "d", 1), 7),
        (("e", "f"), 9),
        (("g",), 10),
        (("g", "f"), 10),
        (("b", 7), 3),
        (("nothing",), 2),
        ((), 2),
    ],
)
def test_each_value_has_the_line_where_it_stands_or_that_of_the_nearest_around_it(path, line):
    assert Lines(TEXT).of(path) == line


def test_only_the_first_document_counts():
    assert Lines("a: 1\n---\nb: 2\n").of(("b",)) == 1


def test_paths_are_told_as_people_write_them():
    assert path_text(("classes", 1, "labels", "a.b/c")) == "classes[1].labels.a.b/c"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc: -#", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1), inner, max_size=3),
)


def paths(value, path=()):
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(part, (*path, key))


@given(VALUES)
def test_every_value_of_any_text_has_a_line_in_it(value):
    text = emit(value)
    [(again, _, _)] = compose(text)
    lines = Lines(text)
    for path in paths(again):
        assert 1 <= lines.of(path) <= text.count("\n") + 1
