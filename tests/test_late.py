"""Patterns compiled when first used."""

from __future__ import annotations

import re

import pytest

from logsig.late import late


def test_a_late_pattern_does_what_the_compiled_one_does() -> None:
    word = late(r"(?P<word>\w+)", re.IGNORECASE)
    assert word.search(" to and fro")["word"] == "to"
    assert word.findall("to and fro") == ["to", "and", "fro"]
    assert word.sub("x", "to and") == "x x"
    assert (word.pattern, word.groups) == (r"(?P<word>\w+)", 1)
    assert late(rb"\d+").match(b"12").group() == b"12"


def test_a_faulty_pattern_is_an_error_at_its_first_use() -> None:
    faulty = late("(")
    with pytest.raises(re.error):
        faulty.search("x")
