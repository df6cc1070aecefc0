"""Regular expressions in schemas mean what they mean in Go."""

from __future__ import annotations

import pytest

from ghostfleet.api.customs.patterns import compile_pattern


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
    search = compile_pattern(pattern).search
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
        (r"\1", r"invalid escape sequence: `\1`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_a_pattern_that_go_refuses_is_refused_with_its_words(pattern, why):
    with pytest.raises(ValueError, match="error parsing regexp") as caught:
        compile_pattern(pattern)
    assert str(caught.value) == f"error parsing regexp: {why}"
