"""Every signature proves itself: judged as strictly as any pack, its samples through the whole line, and the cross-fire."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import logsig
from logsig import adversary, catalog, check, library, remedy
from logsig.catalog import Entry, Sample
from logsig.library import File
from logsig.model import Diagnosis, Event

WHOLE = logsig.load_catalog(lenient=True)
SLOW_MACHINE = 5
"""How much slower than a developer's a machine may be before a pattern's time fails a test."""


@lru_cache(maxsize=256)
def read(log: str) -> tuple[tuple[Event, ...], Diagnosis]:
    return logsig.match_text(log, WHOLE), logsig.analyze_text(log, WHOLE)


@lru_cache(maxsize=1)
def files() -> dict[str, File]:
    root = catalog.library_folder()
    good, _ = library.read_all(catalog.read_files(root)[0], str(root))
    return {file.signature.id: file for file in good}


def samples(kind: str) -> list[Any]:
    return [
        pytest.param(entry, sample, id=f"{entry.id}/{sample.name}")
        for entry in WHOLE.signatures.values()
        for sample in getattr(WHOLE.proof(entry.id), kind)
    ]


def test_no_file_of_the_library_has_a_fault() -> None:
    assert [str(fault) for fault in WHOLE.doubts] == []


@pytest.mark.parametrize("name", list(WHOLE.signatures))
def test_signature_is_judged_without_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """References, templates, samples and the cost of patterns."""
    monkeypatch.setattr(adversary, "SECONDS", adversary.SECONDS * SLOW_MACHINE)
    assert [str(fault) for fault in check.judge(files()[name], WHOLE)] == []


@pytest.mark.parametrize(("entry", "example"), samples("examples"))
def test_example(entry: Entry, example: Sample) -> None:
    """An example gives its own signature, with the rank, lines and captures it claims."""
    assert check.example_differences(entry, example, *read(example.log)) == []


@pytest.mark.parametrize(("entry", "example"), samples("examples"))
def test_crossfire(entry: Entry, example: Sample) -> None:
    """In an example its own signature is the cause, and others speak only where role, explains or over allow."""
    assert check.crossfire(entry, *read(example.log), WHOLE) == []


@pytest.mark.parametrize(("entry", "counter"), samples("counterexamples"))
def test_counterexample(entry: Entry, counter: Sample) -> None:
    """A counterexample leaves its signature silent; others may speak."""
    line = check.Line(lambda log, _: read(log)[0], lambda log, _: read(log)[1])
    assert check.counterexample_differences(entry, counter, WHOLE, line) == []


def test_no_released_id_is_gone() -> None:
    """Ids are names that others rely on: one that was released stays."""
    released = Path(__file__).with_name("released_ids.txt").read_text(encoding="utf-8").split()
    assert sorted(set(released) - set(WHOLE.signatures)) == []


def test_the_schema_in_the_docs_is_the_models() -> None:
    committed = Path(__file__).parents[1] / "docs" / "signature.schema.json"
    assert committed.read_text(encoding="utf-8") == library.schema_text(), "run: make schema"


def test_ranks_bring_their_noun():
    """``| ranks`` says "rank 3" or "ranks 1 and 5"; a noun of the text's own would be wrong for one of them."""
    double = re.compile(
        r"(?i)\branks? \{\{[^}]*(?:\| *ranks|_ranks *\| *join)[^}]*\}\}|length > 1 %\}s\{% endif %\} \{\{ *\w*ranks"
    )
    texts = {name: Path(WHOLE.file(name)).read_text(encoding="utf-8") for name in WHOLE.signatures}
    assert {name: found[0] for name, text in texts.items() if (found := double.search(text))} == {}
    assert [remedy.fill("{{ r | ranks }}", {"r": each}) for each in ([3], [1, 5])] == ["rank 3", "ranks 1 and 5"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("not empty. ", "not empty"),
        ("target 'x':", "target 'x'"),
        ("corrupt, or this isn't one", "corrupt, or this…"),
        ("_ZN3c1020CUDACachingAllocator", "_ZN3c1020CUDACachin…"),
    ],
)
def test_a_quoted_message_ends_like_a_part_of_a_sentence(text, shown):
    assert remedy.fill("{{ m | short(19) }}", {"m": text}) == shown


def test_no_text_is_cut_without_a_mark():
    """A list may be cut (`[:3]|join`), with its own words for the rest; a text needs the ellipsis of ``short``."""
    cut = re.compile(r"\{\{ *\w+\[:\d+\] *\}\}")
    texts = {name: Path(WHOLE.file(name)).read_text(encoding="utf-8") for name in WHOLE.signatures}
    assert {name: found[0] for name, text in texts.items() if (found := cut.search(text))} == {}
