"""Every format of a dozen diagnoses, as they were read and accepted: ``fixtures/reports/<diagnosis>/``.

``UPDATE_GOLDEN=1`` rewrites them; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from diagnoses import EVERY, wide

from logsig import __version__
from logsig.report import Options, formats

FOLDER = Path(__file__).parent.parent / "fixtures" / "reports"
DIAGNOSES = {**EVERY, "ranks_64": lambda: wide(64), "ranks_1024": lambda: wide(1024)}
ENDINGS = {
    "text": "txt",
    "markdown": "md",
    "junit": "xml",
    "json": "json",
    "k8s": "k8s.txt",
    "gcc": "gcc.txt",
    "github": "github.txt",
}
LARGE = {("ranks_1024", "html"), ("ranks_1024", "json"), ("ranks_1024", "jsonl")}
"""Half a megabyte each, and nothing in them that the 64 ranks don't show."""
ALL = [(name, form) for name in DIAGNOSES for form in formats() if (name, form) not in LARGE and form != "jsonl"]


@pytest.mark.parametrize(("name", "form"), ALL, ids=["-".join(pair) for pair in ALL])
def test_report_is_the_accepted_one(name, form):
    golden = FOLDER / name / f"report.{ENDINGS.get(form, form)}"
    text = formats(form)[form](DIAGNOSES[name](), Options(root="/nonexistent")).replace(__version__, "0.0.0")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_no_golden_report_is_left_over():
    """A format or a diagnosis that is gone leaves no file."""
    wanted = {f"{name}/report.{ENDINGS.get(form, form)}" for name, form in ALL}
    assert {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*")} == wanted
