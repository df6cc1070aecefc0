"""Regular expressions mean what they mean in Go, and no pattern takes long."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.goregex import compile_regex, quote_meta


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^a+$", ["a", "aa"], ["", "ab", "a\n"]),
        ("(?m)^a$", ["a", "b\na\nc"], ["ab"]),
        (r"^\d+\z", ["12"], ["١", "1\n"]),
        (r"^\w+$", ["a_1"], ["ä"]),
        ("^[[:alpha:]]+$", ["abC"], ["a1"]),
        ("^[^[:digit:]x]+$", ["ab"], ["a1", "x"]),
        ("^[[:^digit:]]+$", ["ab"], ["a1"]),
        (r"^\pL+$", ["aä"], ["1"]),
        (r"^\p{Greek}+$", ["αβ"], ["a"]),
        (r"^\PL+$", ["12"], ["1a"]),
        ("a(?i)b", ["ab", "aB"], ["Ab"]),
        ("^(a(?i)b|c)d$", ["aBd", "cd", "Cd"], ["ABd", "aBD"]),
        (r"^a\.b\$$", ["a.b$"], ["axb$"]),
        ("^(?i:a)b$", ["Ab"], ["AB"]),
        ("(?s)^a.b$", ["a\nb"], ["ab"]),
        ("^a.b$", ["axb"], ["a\nb"]),
        (r"^\Qa.b\E+$", ["a.b", "a.bb"], ["axb"]),
        (r"^\x41\x{42}\103$", ["ABC"], ["abc"]),
        ("^[]a]+$", ["]a"], ["b"]),
        (r"^[a\-z]+$", ["a-z"], ["b"]),
        ("^[a&&b||c~~-]+$", ["&|~", "-"], ["f"]),
        ("^(?P<x>a)(?<y>b)$", ["ab"], ["a"]),
        ("^a{2,3}?$", ["aa", "aaa"], ["a", "aaaa"]),
        ("^a{,2}$", ["a{,2}"], ["aa"]),
        ("", ["", "x"], []),
        (r"^[\s\S]*$", ["a\nb"], []),
        ("^(?U)a+$", ["aa"], ["b"]),
        (r"\bfoo\b", ["a foo b"], ["afoo"]),
        ("^$", [""], ["a", "\n"]),
    ],
)
def test_a_pattern_matches_what_it_matches_in_go(pattern, matching, others):
    search = compile_regex(pattern).search
    assert [text for text in matching if not search(text)] == []
    assert [text for text in others if search(text)] == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a+?*", "invalid nested repetition operator: `+?*`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        (r"\pL{1000}", r"expression too large: `\pL{1000}`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_a_pattern_that_go_refuses_is_refused_with_its_words(pattern, why):
    with pytest.raises(ValueError, match="error parsing regexp") as caught:
        compile_regex(pattern)
    assert str(caught.value) == f"error parsing regexp: {why}"


_ATOMS = st.sampled_from(["a", "b", "é", "[ab]", "[^a]", ".", "(a|b)", "(?:ab)", "(a)", "^", r"\b", r"\A", "", "(a|)"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(st.sampled_from(["a", "[ab]", "é", "."]), st.sampled_from(["*", "+", "?", "*?", "{1,2}"])).map(
            "".join
        ),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.text("abé\n ", max_size=8))
def test_a_pattern_that_python_spells_alike_matches_what_it_matches_there(pattern, text):
    theirs = re.compile(pattern, re.ASCII).search(text)
    ours = compile_regex(pattern).search(text)
    assert (ours and (ours.span(), ours[0])) == (theirs and (theirs.span(), theirs[0]))


@given(_PATTERNS, st.text("abé\n ", max_size=8))
def test_all_matches_follow_each_other_without_overlap(pattern, text):
    spans = [match.span() for match in compile_regex(pattern).matches(text)]
    for (start, end), (following, _) in itertools.pairwise(spans):
        assert start <= end <= following
        assert (start, end) != (following, following)
    assert [match.span() for match in compile_regex(pattern).matches(text, 1)] == spans[:1]


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "(a|aa)+$", "(a*)*b", "(?:a?){100}a{100}b", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_no_pattern_takes_longer_than_its_text_is_long(pattern):
    # With backtracking each of these would outlast the universe.
    assert compile_regex(pattern).search("a" * 100_000 + "!") is None


def test_groups_have_places_and_names_and_may_have_no_part():
    regex = compile_regex("(?P<first>é)|(b)(?<last>c)?")
    assert regex.names == ["first", "", "last"]
    matches = list(regex.matches("éxbcb"))
    assert [[match[group] for group in range(4)] for match in matches] == [
        ["é", "é", None, None],
        ["bc", None, "b", "c"],
        ["b", None, "b", None],
    ]
    assert [match.span(3) for match in matches] == [(-1, -1), (3, 4), (-1, -1)]


def test_what_holds_between_two_characters_never_holds_within_one():
    assert [match.span() for match in compile_regex(r"\B").matches("aéé")] == [(2, 2), (3, 3)]


def test_quoted_text_matches_itself_alone():
    text = r"a.b*(c)[d]{e}^$|\?+"
    assert compile_regex(f"^{quote_meta(text)}$").search(text) is not None
