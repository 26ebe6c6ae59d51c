"""Drafting: a failure nobody described becomes a file that proves itself once the FILLs are written."""

from __future__ import annotations

from pathlib import Path

import packs
import pytest
from click.testing import CliRunner

import logsig
from logsig import check, draft, library
from logsig.catalog import build_catalog, load_folder
from logsig.commands.signatures import command
from logsig.errors import InputError

LOG = """\
step 10 loss 3.2
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/u/train.py", line 33, in <module>
[rank3]:     run()
[rank3]: mylib.errors.ShardError: shard 17 of '/data/x.tar' on rank 3 gave up at 10.0.0.3:2222, it's bad
step 11 loss 3.1
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(check, "_library_packs", list)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "train.log"
    path.write_text(LOG, encoding="utf-8")
    return str(path)


def filled(text: str) -> str:
    """Do what a person does with a draft, in the quickest way."""
    return text.replace("FILL: a log that holds", "nothing like").replace("FILL: ", "Truly ")


def drafted(log: str, folder: Path) -> str:
    text = draft.draft(log)
    packs.write(folder, filled(text), "python/shard-error-shard-on.yaml")
    return text


def test_what_varies_is_masked_and_what_stays_is_a_literal(log: str) -> None:
    file, faults = library.read_file("x", "python/shard-error-shard-on.yaml", draft.draft(log).encode())
    assert (file is not None, faults) == (True, ())
    assert file.signature.match.literals == ["mylib.errors.ShardError: shard", "gave up at"]
    assert file.signature.match.pattern == (
        r"mylib\.errors\.ShardError:\s+shard\s+\d+\s+of\s+'[^'\n]{0,200}'\s+on\s+rank\s+(?P<rank>\d+)"
        r"\s+gave\s+up\s+at\s+[^\s,;]{1,80},\s+it's\s+bad"
    )


def test_a_filled_draft_passes_the_checker(log: str, tmp_path: Path) -> None:
    drafted(log, tmp_path / "pack")
    report = check.check(tmp_path / "pack", check.Line(logsig.match_text, logsig.analyze_text))
    assert (report.signatures, report.samples, report.faults) == (1, 2, ())


def test_a_draft_recognises_the_same_failure_with_other_numbers(log: str, tmp_path: Path) -> None:
    drafted(log, tmp_path / "pack")
    (pack, _) = load_folder(tmp_path / "pack")
    assert pack is not None
    other = (
        LOG.replace("shard 17", "shard 4").replace("/data/x.tar", "/data/y.tar").replace("10.0.0.3:2222", "10.0.7.1:99")
    )
    events = logsig.match_text(other, build_catalog([pack]))
    assert [(event.signature, event.rank) for event in events] == [("shard-error-shard-on", 3)]


def test_an_unfilled_draft_is_refused(log: str, tmp_path: Path) -> None:
    packs.write(tmp_path / "pack", draft.draft(log), "python/shard-error-shard-on.yaml")
    report = check.check(tmp_path / "pack", None)
    assert {fault.found for fault in report.faults} == {"the mark FILL"}
    assert {"title", "summary", "explanation"} <= {fault.field for fault in report.faults}


def test_lines_choose_the_failure(tmp_path: Path) -> None:
    path = tmp_path / "two.log"
    path.write_text("first thing failed badly 1\nfine\nfine\nfine\nsecond thing failed badly 2\n", encoding="utf-8")
    assert "first thing failed badly" in draft.draft(str(path), (1, 1))
    assert "second thing failed badly" in draft.draft(str(path), (5, 5))


def test_without_lines_the_failure_that_the_log_tells_is_drafted(tmp_path: Path) -> None:
    """Not the last line that holds a bad word."""
    path = tmp_path / "x.log"
    path.write_text(LOG + "eval: 0 errors\nwriting error.log\n", encoding="utf-8")
    assert "gave up at" in draft.draft(str(path))
    assert "Traceback" in draft.draft(str(path))
    path.write_text("epoch 1 done\nwriting error.log to /data\nTraining finished successfully\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"found no failure \(healthy\), expected one"):
        draft.draft(str(path))


def of_a_line(line: str, folder: Path) -> tuple[str, library.File | None, tuple[object, ...]]:
    """Draft a signature of a log of one line; give its text, and what the library reads of it."""
    path = folder / "x.log"
    path.write_text(f"{line}\n", encoding="utf-8")
    text = draft.draft(str(path), (1, 1), "some-id", "host")
    return text, *library.read_file("x", "host/some-id.yaml", text.encode())


@pytest.mark.parametrize(
    "value",
    [
        "7fa3b2c1d0",
        "DEADBEEF01",
        "0x7ffd",
        "123E4567-E89B-12D3-A456-426614174000",
        "10.1.2.3:2950",
        "fe80::3eec:ef23",
        "00:1b:44:11:3a:b7",
        "0000:3b:00.0",
        "12.5",
    ],
)
def test_a_value_is_masked_as_a_whole(value: str, tmp_path: Path) -> None:
    text, _, faults = of_a_line(f"widget can't reach {value} by 'it' 3 times", tmp_path)
    assert faults == ()
    pattern = next(line for line in text.splitlines() if line.startswith("  pattern:"))
    assert pattern.startswith("  pattern: 'widget\\s+can''t\\s+reach\\s+")
    constants = {part.text for part in draft.parts_of(f"widget can't reach {value} by 'it' 3 times") if not part.varies}
    assert constants == {"widget can't reach ", " by ", " ", " times"}


def test_a_text_with_any_quotes_may_replace_a_mark(log: str, tmp_path: Path) -> None:
    told = """a rank's "shard": it can't be read # really"""
    text = draft.draft(log)
    written = text.replace("FILL: what happened, in a few words", told)
    file, faults = library.read_file("x", "python/shard-error-shard-on.yaml", written.encode())
    assert (file is not None, faults) == (True, ())
    assert file.signature.title == told


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("a.log", ("a.log", None)),
        ("a.log:7", ("a.log", (7, 7))),
        ("a:b.log:7-9", ("a:b.log", (7, 9))),
        ("C:\\a.log", ("C:\\a.log", None)),
    ],
)
def test_a_target_names_a_log_and_lines(target: str, expected: object) -> None:
    assert draft.split_target(target) == expected


@pytest.mark.parametrize("target", ["a.log:0", "a.log:9-7"])
def test_lines_that_cannot_be_are_refused(target: str) -> None:
    with pytest.raises(InputError, match="expected FIRST-LAST, counted from 1"):
        draft.split_target(target)


@pytest.mark.parametrize(
    ("text", "span", "message"),
    [
        (LOG, (99, 99), "found no line 99, expected a log at least that long"),
        ("all is well\n", None, r"found no failure \(unfinished\), expected one"),
        ("\n\n", (1, 1), "found no message there, expected the lines of a failure"),
    ],
)
def test_no_failure_there_is_told(text: str, span: tuple[int, int] | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        draft.draft(str(path), span)


@pytest.mark.parametrize(
    "line",
    [
        'it\'s a "quoted" back\\slash failed',
        "\x1b[31mred failed\x1b[0m",
        "  indented failed: {a: b} # c",
        "failed '%s' & *x",
        "tab\tfailed é",
    ],
)
def test_any_line_makes_valid_yaml(line: str, tmp_path: Path) -> None:
    _, file, faults = of_a_line(line, tmp_path)
    assert (file is not None, faults) == (True, ())
    assert file.signature.examples[0].log == f"{line}\n"


def test_the_command_writes_a_new_file_and_never_over_another(log: str, tmp_path: Path) -> None:
    target = tmp_path / "pack" / "python" / "x.yaml"
    arguments = ["new", "--from", f"{log}:2-5", "--id", "x", "--family", "python", "-o", str(target)]
    first = CliRunner().invoke(command, arguments)
    assert first.exit_code == 0, first.output
    assert "FILL" in target.read_text(encoding="utf-8")
    second = CliRunner().invoke(command, arguments)
    assert str(second.exception) == f"{target}: exists already, expected a new file"


def test_the_command_refuses_an_unknown_family(log: str) -> None:
    result = CliRunner().invoke(command, ["new", "--from", log, "--family", "cats"])
    assert result.exit_code == 2
    assert "found 'cats', expected one of ddp, autograd" in result.output


def test_the_lines_that_are_named_become_the_example_as_they_are(log: str) -> None:
    text = draft.draft(log, (2, 5))
    assert "step 10" not in text
    assert "step 11" not in text
    assert "expect: {rank: 3, lines: [4]}" in text
    assert "step 10" in draft.draft(log, (2, 2))


def test_control_characters_of_a_log_are_escaped(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("[rank3]: RuntimeError: shard\x90 of \x9d'x' \u202e\U000e0041 gave up\n", encoding="utf-8")
    text = draft.draft(str(log))
    assert text.replace("\n", "").isprintable()
    _, faults = library.read_file("x", "python/runtime-error.yaml", text.encode())
    assert not [fault for fault in faults if fault.field == "yaml"]


def test_what_is_said_of_a_draft_names_its_file(log: str, tmp_path: Path) -> None:
    target = tmp_path / "pack" / "x.yaml"
    result = CliRunner().invoke(command, ["new", "--from", log, "-o", str(target)])
    assert (
        result.output == f"logsig: {target}: drafted; replace every FILL, then run: logsig signatures check {target}\n"
    )
