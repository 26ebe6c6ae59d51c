"""What every match of a pattern holds."""

from __future__ import annotations

import pytest
import regex

import logsig
from logsig.needle import needle


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"Watchdog\s+caught\s+timeout", "Watchdog"),
        (r"\(errno: 97 - Address\)", "(errno: 97 - Address)"),
        (r"\bab\b", ""),
        (r"error|fault", ""),
        (r"(?:error|fault) of (?P<name>\w+)", " of "),
        (r"(?P<reason>no space left)[^\n]{0,20}", "no space left"),
        (r"(?:no space left)?full up", "full up"),
        (r"(?:no space left){0,2}full up", "full up"),
        (r"(?:no space left)+full up", "no space left"),
        (r"(?i)error of", ""),
        (r"(?i:error of) it", " it"),
        (r"(?s:error of).it is", "error of"),
        (r"(?!never this)but", "but"),
        (r"(?<=never this)but", "but"),
        (r"(?<!never this)but", "but"),
        (r"words?", "word"),
        (r"word{2,3}s", "wor"),
        (r"word+?s", "wor"),
        (r"(?:error){e<=1}", ""),
        (r"\x41bcd", ""),
        (r"\p{Lu}bcd", ""),
        (r"(a)\1bcd", ""),
        (r"[abc]defg", "defg"),
        (r"[]abc]defg", "defg"),
        (r"[^\]abc]defg", "defg"),
        (r"a(b(?:c|d)efgh)i", "efgh"),
        (r"line\none", "line"),
        (r"a(?:|b)c(d)?e", ""),
        (r"(?:abc)*", ""),
    ],
)
def test_the_needle_is_the_longest_plain_text_of_a_pattern(pattern: str, expected: str) -> None:
    assert needle(pattern) == expected


def test_every_match_in_the_librarys_own_logs_holds_the_needle() -> None:
    catalog = logsig.load_catalog()
    found = 0
    for name, entry in catalog.signatures.items():
        match = entry.match
        sources = (*match.pattern, *match.follow, *match.frames, *match.before, *match.unless)
        logs = [sample.log for sample in (*catalog.proof(name).examples, *catalog.proof(name).counterexamples)]
        for source in sources:
            for hit in (hit for log in logs for hit in regex.finditer(source, log)):
                assert needle(source) in hit.group(), source
                found += 1
    assert found > 500
