"""The same log in the dress of every launcher, logger and collector, and mangled on its way, gets the same answer.

Each dialect is tried on a share of the cases, so that all dialects and all cases take part; ``LOGSIG_ALL_CASES=1`` tries
every dialect on every case.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
import redress

from logsig import analyze_text
from logsig.catalog import Catalog

FOLDER = Path(__file__).parents[1] / "fixtures" / "cases"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/report.txt") if (path.parent / "log.txt").exists())
SHARE = 1 if os.environ.get("LOGSIG_ALL_CASES") else 6
TOO_SHORT = frozenset({"loss-nan-loss-spike-then-nan"})
"""Three lines, one of them by a rank: no dialect can be seen throughout."""

STACKS = ["+".join(stack) for stack in redress.STACKS]


@cache
def text_of(case: str) -> str:
    return (FOLDER / case / "log.txt").read_bytes().decode("utf-8", "replace")


@cache
def log_of(case: str) -> redress.Log:
    return redress.Log.of(text_of(case))


def some(names: list[str]) -> list[tuple[str, str]]:
    """Every name with its share of the cases."""
    return [
        (name, case)
        for number, name in enumerate(names)
        for case in CASES[number % SHARE :: SHARE]
        if case not in TOO_SHORT
    ]


@pytest.fixture(scope="module")
def answer(catalog: Catalog):
    def answered(text: str):
        found = analyze_text(text, catalog)
        return found.root_cause and found.root_cause.signature, found.first_failing_rank, found.outcome

    return cache(answered)


@pytest.mark.parametrize(("name", "case"), some([*redress.DIALECTS, *STACKS]))
def test_dialect(name, case, answer):
    expected = answer(text_of(case))
    found = answer(redress.dressed(log_of(case), *name.split("+")))
    if redress.HIDES_RANK.isdisjoint(name.split("+")):
        assert found == expected
    elif name == "none" or "ChildFailedError" not in text_of(case):
        assert found[1] in (expected[1], None)


@pytest.mark.parametrize(("name", "case"), some(list(redress.MANGLINGS)))
def test_mangling(name, case, answer):
    assert answer(redress.MANGLINGS[name](text_of(case))) == answer(text_of(case))
