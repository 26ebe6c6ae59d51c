"""The README shows what the tool prints, and names every command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from logsig.cli import cli

ROOT = Path(__file__).parents[1]
_SHOWN = re.compile(
    r"(<!-- output: logsig (?P<log>\S+) -->\n```\n)(?P<text>.*?)(```\n<!-- end of output -->)", re.DOTALL
)


def test_the_shown_output_is_the_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """``UPDATE_GOLDEN=1`` writes it anew."""
    monkeypatch.chdir(ROOT)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = _SHOWN.search(readme)
    assert shown is not None
    golden = (ROOT / shown["log"]).parent / "report.txt"
    text = golden.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        (ROOT / "README.md").write_text(readme.replace(shown["text"] + shown[4], text + shown[4], 1), encoding="utf-8")
    assert text in (ROOT / "README.md").read_text(encoding="utf-8")


_SCAN = re.compile(
    r"<!-- output: logsig scan (?P<paths>[^\n]+) -->\n```\n(?P<text>.*?)```\n<!-- end of output -->", re.DOTALL
)


def test_the_shown_scan_is_the_real_one() -> None:
    """``UPDATE_GOLDEN=1`` writes it anew."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = _SCAN.search(readme)
    assert shown is not None
    paths = [str(path.relative_to(ROOT)) for each in shown["paths"].split() for path in sorted(ROOT.glob(each))]
    words = [sys.executable, "-m", "logsig", "scan", *paths]
    text = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    if os.environ.get("UPDATE_GOLDEN"):
        start, stop = shown.span("text")
        (ROOT / "README.md").write_text(readme[:start] + text + readme[stop:], encoding="utf-8")
        return
    assert shown["text"] == text


def test_every_command_stands_in_the_readme_and_has_help() -> None:
    """A command nobody can find isn't there."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = sorted(path.stem for path in (ROOT / "logsig" / "commands").glob("*.py") if path.stem != "__init__")
    assert [name for name in commands if f"logsig {name}" not in readme] == []
    for name in commands:
        assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0
