"""Every labelled log under ``fixtures/cases`` gives what an expert concludes, and the report that was read and accepted.

``UPDATE_GOLDEN=1`` rewrites the reports; ``expected`` is changed by hand only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from logsig import analyze
from logsig.catalog import Catalog
from logsig.model import Diagnosis
from logsig.report import Options, formats

FOLDER = Path(__file__).parent.parent / "fixtures" / "cases"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/case.yaml"))
REPORTED = [name for name in CASES if (FOLDER / name / "report.txt").exists()]
"""Cases whose whole report was read and accepted."""
GENERAL_FAMILIES = ("python", "data", "host", "checkpoint")
"""Families whose ids are kinds of ``python-exception``: the more specific answer is right too."""


def log_of(name: str) -> str:
    """The log's path as the tests name it: relative, so that reports don't hold paths of a machine."""
    folder = Path("fixtures", "cases", name)
    return next(str(folder / log) for log in ("logs", "log.txt") if (FOLDER / name / log).exists())


def diagnosis(name: str, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    monkeypatch.chdir(FOLDER.parent.parent)
    return analyze([log_of(name)], catalog)


def expected(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / name / "case.yaml").read_text(encoding="utf-8"))["expected"])


def labelled() -> list[Any]:
    """Every case; a known miss is expected to fail, and a surprise when it no longer does."""
    cases = []
    for name in CASES:
        miss = yaml.safe_load((FOLDER / name / "case.yaml").read_text(encoding="utf-8")).get("known_miss")
        cases.append(pytest.param(name, marks=[pytest.mark.xfail(reason=miss, strict=True)] if miss else []))
    return cases


@pytest.mark.parametrize("name", labelled())
def test_case_is_concluded_as_labelled(name: str, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    found, label = diagnosis(name, catalog, monkeypatch), expected(name)
    if label["signature"] == "none":
        assert found.outcome in ("healthy", "unfinished")
        return
    assert found.root_cause is not None
    accepted = {label["signature"], *(label.get("also_acceptable") or [])}
    general = "python-exception" in accepted and found.root_cause.family in GENERAL_FAMILIES
    assert general or found.root_cause.signature in accepted
    if label.get("scope") in ("all-ranks", "one-rank"):
        assert (found.scope == "all-ranks") == (label["scope"] == "all-ranks")
    ranks = {label.get("first_failing_rank"), *(label.get("also_acceptable_ranks") or [])}
    assert found.first_failing_rank in ranks


@pytest.mark.parametrize("name", REPORTED)
def test_report_is_the_accepted_one(name: str, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = FOLDER / name / "report.txt"
    text = formats("text")["text"](diagnosis(name, catalog, monkeypatch), Options())
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
