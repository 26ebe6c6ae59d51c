"""The README shows what the tool prints, and names every command."""

from __future__ import annotations

import os
import re
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


def test_every_command_stands_in_the_readme_and_has_help() -> None:
    """A command nobody can find isn't there."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = sorted(path.stem for path in (ROOT / "logsig" / "commands").glob("*.py") if path.stem != "__init__")
    assert [name for name in commands if f"logsig {name}" not in readme] == []
    for name in commands:
        assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0
