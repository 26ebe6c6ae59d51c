"""Hostile texts: a pattern that backtracks without bound is found, a linear one is left alone."""

from __future__ import annotations

import pytest
import regex

from logsig import adversary
from logsig.adversary import SECONDS, slow_text


@pytest.mark.parametrize(
    "pattern",
    [
        r"keyboard(?:\w+\s?)*z",
        r"cat on keyboard: (?:a|aa|a+)+b",
        r"cat on keyboard: [^\n]*[^\n]*[^\n]*[^\n]*z",
        r"(?:\w+\s*){1,30}keyboard!",
    ],
)
def test_a_pattern_that_backtracks_is_refused(pattern: str) -> None:
    slow = slow_text(regex.compile(pattern), ["RuntimeError: cat on keyboard: key aaa"], SECONDS)
    assert slow is not None


@pytest.mark.parametrize(
    "pattern", [r"cat on keyboard: key (?P<key>\w{1,20})", r"cat\s+on\s+keyboard:[^\n]{0,300}?key", r"\bcat\b"]
)
def test_a_linear_pattern_passes(pattern: str) -> None:
    assert slow_text(regex.compile(pattern), ["RuntimeError: cat on keyboard: key aaa"], SECONDS) is None


def test_a_pattern_that_the_standard_library_cannot_read_is_tried_on_its_match() -> None:
    assert list(adversary.from_pattern(r"(?|a|b)\p{L}++")) == []
    assert slow_text(regex.compile(r"\p{Lu}+ (?:\w|\w\w|\w+)+!"), ["A aaaaaaaaaaaaaa!"], SECONDS) is not None


def test_a_hostile_text_has_the_length_asked_for_and_says_what_it_is() -> None:
    hostile = adversary.Hostile("head ", "ab", " tail")
    assert hostile.text(20) == "head ababababab tail"
    assert str(hostile) == "'head ', then 'ab' many times, then ' tail'"
