"""The quick no must never be wrong: whatever a pattern can match begins with one of its first characters."""

from __future__ import annotations

import re

import pytest
import regex

from logsig import dialects, opening

PATTERNS = {prefix.name: prefix.pattern for prefix in dialects.shipped() if prefix.pattern}


CHARACTERS = [*map(chr, range(1, 128)), "é", "│", "中", "\ufeff"]


def without_looks(pattern: str) -> str:
    """The pattern without its lookaheads, which a partial match of one character can't judge."""
    while look := re.search(r"\(\?[=!]", pattern):
        tokens = regex.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, pos=look.end())
        depth = 1
        for token in tokens:
            depth += {"(": 1, ")": -1}.get(token.group(), 0)
            if not depth:
                pattern = pattern[: look.start()] + pattern[token.end() :]
                break
    return pattern


@pytest.mark.parametrize("name", PATTERNS)
def test_says_no_only_where_nothing_can_match(name):
    compiled = regex.compile(without_looks(PATTERNS[name]))
    first = opening.first_characters(PATTERNS[name])
    for character in CHARACTERS:
        if compiled.match(character, partial=True):
            assert opening.opens(first, character), character


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\[rank(?P<rank>\d+)\]", "["),
        (r"(?:ab|\d)x", "a0123456789"),
        (r" ?x", " x"),
        (r"(?:a{0,3}|b)?c", "abc"),
        (r"(?=z)[ab]c", "ab"),
        (r"[\]x]y", "]x"),
        (r"[^\]x]y", None),
        (r"\x1b_bk", "\x1b"),
        (r"a*", None),
        (r".a", None),
        (r"a|", None),
    ],
)
def test_first_characters(pattern, expected):
    found = opening.first_characters(pattern)
    assert found is opening.ANY if expected is None else found == frozenset(expected)
