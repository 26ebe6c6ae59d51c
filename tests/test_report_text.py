"""The terminal report: verdict first and last, one primary error, lines that fit, colour only where wanted."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from diagnoses import EVERY, all_ranks, key_error, quote, recovered, undecided, unused_one, wide

from logsig import console
from logsig.report import Options, cells, formats
from logsig.report.cells import width
from logsig.report.verdict import verdict


def text_of(diagnosis, **options):
    return formats("text")["text"](diagnosis, Options(**options))


SHOWN = """\
Rank 1 failed first: KeyError: 'labels' in collate (train.py:88).

error[python-exception]: The program raised an exception
  --> train.log:19  rank 1, node-0, 16:34:39,168
    |
 17 | [rank1]:   File "/opt/train/train.py", line 88, in collate
 18 | [rank1]:     labels = batch["labels"]
 19 | [rank1]: KeyError: 'labels'
    |          ^^^^^^^^^^^^^^^^^^
    = path: /opt/train/train.py
    = confidence in this cause: high; a restart fails again until it is fixed

Ranks (3 ranks on node-0)
     rank  last sign of life  step  exit     what happened
     0     16:34:39,117       2     1        waited 6 s for a peer
  ▶  1     16:34:39,168       2     1        failed first: KeyError: 'labels'
     2     16:34:39,119       2     SIGTERM  waited 6 s for a peer

Why
  - Rank 1's KeyError is its own; ranks 0 and 2 only waited for it until gloo's
    limit of 6 s.
  - torchrun's table names rank 0 (train.log:71), whose error is a peer error:
    the table is a witness, and it is overruled.
  - Rank 1 as the first: confidence high, grade B (the collective ledger or exit
    codes name it).
  - It explains gloo-timeout on ranks 0 and 2 (2 times, first at train.log:30).

help: Make every sample carry the key
  1. Look at the sample that rank 1 read in step 3: its batch has no 'labels'.
  2. Check the data before training, or skip such a sample in the dataset, not
     in collate.
  verify: One epoch of the loader alone passes on rank 1's shard.

Read
  launcher  torchrun
  nccl      2.21.5
  torch     2.6.0
  nodes     node-0
  files     train.log
  more      logsig explain python-exception
  logsig    VERSION

Rank 1 failed first: KeyError: 'labels' in collate (train.py:88). [python-exception]
"""


def test_report_of_a_key_error():
    """The whole report, as a person sees it at 80 columns."""
    from logsig import __version__

    assert text_of(key_error()) == SHOWN.replace("VERSION", __version__)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit(name, columns):
    """No line is wider than the terminal, but code to paste and the last line."""
    lines = text_of(EVERY[name](), width=columns).splitlines()
    assert [line for line in lines[:-1] if width(line) > columns and not line.startswith("       ")] == []


@pytest.mark.parametrize("name", EVERY)
def test_verdict_stands_first_and_last(name):
    """The first words and the last line say the verdict."""
    found = EVERY[name]()
    text = text_of(found)
    assert " ".join(text.split()).startswith(verdict(found))
    assert text.splitlines()[-1].startswith(verdict(found))


@pytest.mark.parametrize("name", EVERY)
def test_no_trailing_blanks_and_no_double_gaps(name):
    """The layout leaves neither blanks at line ends nor two empty lines in a row."""
    text = text_of(EVERY[name]())
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert "\n\n\n" not in text


def test_underline_stands_below_the_match():
    """Carets mark exactly the match, also where the line was cut and where letters are wide."""
    base = unused_one()
    for text in ("日本 KeyError: x", "a" * 300 + " KeyError: x", "KeyError: x" + "b" * 300, "\tKeyError: x"):
        evidence = quote(5, text, "KeyError: x")
        lines = text_of(replace(base, root_cause=replace(base.root_cause, evidence=(evidence,)))).splitlines()
        at = next(number for number, line in enumerate(lines) if set(line.split("|")[-1].strip()) == {"^"})
        marks = lines[at].index("^")
        before = 0
        for position, character in enumerate(lines[at - 1]):
            if before == marks:
                assert lines[at - 1][position:].startswith("KeyError: x")
            before += width(character)
        assert lines[at].count("^") == len("KeyError: x")


def test_wide_jobs_are_folded():
    """A thousand ranks fit on a screen, and the first one has its own row and lane."""
    text = text_of(wide(1024))
    assert len(text.splitlines()) < 80
    assert "  ▶  513 " in text
    assert "0-512,514-1023 (1,023)" in text


def test_undecided_names_the_candidates():
    """Where the log doesn't decide the report says so in its first line, and marks nobody."""
    text = text_of(undecided())
    assert text.startswith("Which rank failed first is undecided (ranks 0-3 could be)")
    assert "▶" not in text


def test_all_ranks_blames_nobody():
    """The same error everywhere is a program error."""
    text = text_of(all_ranks())
    assert text.startswith("All 4 ranks failed alike")
    assert "▶" not in text


def test_restart_is_promised_and_excluded_only_where_that_is_known():
    """A fault of the program comes again; others' memory may be gone; what was got past was got past."""
    base = unused_one()

    def note(outcome="failure", **more):
        text = text_of(replace(base, outcome=outcome, root_cause=replace(base.root_cause, **more)))
        return " ".join(text.split()).partition("confidence in this cause: ")[2].partition("; ")[2][:40]

    assert note().startswith("a restart fails again until it is fixed")
    assert note(family="host").startswith("a restart helps only if its cause is")
    others = {"other_bytes": "20 GiB", "in_use_bytes": "59 GiB"}
    assert note(family="cuda", facts=others).startswith("a restart helps only if its cause is")
    assert note(family="data", facts={"signal": "Killed"}).startswith("a restart helps only if its cause is")
    assert note(confidence="low").startswith("a restart helps only if its cause is")
    assert note(outcome="recovered").startswith("a restart got past it")


def test_recovered_says_both():
    """A recovered job names the attempt that failed and the one that ended well."""
    assert text_of(recovered()).startswith("The job recovered (attempt 1 ended well). Before that, rank 1 failed first")


def test_ascii():
    """Where the encoding is ASCII the pictures are, too."""
    text = text_of(unused_one(), ascii=True)
    assert text.isascii()
    assert "  > 1  ==" in text


def test_colour_repeats_what_is_said_without_it():
    """Colour adds escapes and changes no character."""
    import re

    coloured = text_of(unused_one(), color=True)
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text_of(unused_one())


def test_links_open_the_log():
    """On terminals that take them, a place is a link to the file."""
    assert "\x1b]8;;file://" in text_of(unused_one(), color=True, links=True)
    assert "\x1b]8" not in text_of(unused_one(), color=True)


class _Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("color", "env", "terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"GITHUB_ACTIONS": "true"}, False, True),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_only_where_it_is_wanted(color, env, terminal, wanted):
    """--color, then FORCE_COLOR, NO_COLOR, TERM, the CI, the terminal."""
    stream = _Terminal() if terminal else io.StringIO()
    assert console.look(stream, color, env).color is wanted


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({"TERM": "xterm"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"VTE_VERSION": "7003"}, True),
        ({"VTE_VERSION": "4000"}, False),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, False),
    ],
)
def test_links_only_where_they_are_known_to_work(env, wanted):
    """An unknown terminal gets no hyperlinks."""
    assert console.look(_Terminal(), "auto", env).links is wanted


def test_encoding_decides_on_ascii():
    """A stream that can't take more is given ASCII."""
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert console.look(raw, "auto", {}).ascii is True
    assert console.look(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), "auto", {}).ascii is False


def test_only_ranks_that_were_heard_are_said_to_have_failed_alike() -> None:
    """Two of four raised, the others were stopped: that they would have is a reason, no fact."""
    from pathlib import Path

    from logsig import analyze_text, load_catalog
    from logsig.report.verdict import verdict

    log = Path(__file__).parent.parent / "fixtures/cases/cuda-oom-two-of-four-same-step-undecided/log.txt"
    found = analyze_text(log.read_text(), load_catalog())
    assert verdict(found).startswith("Ranks 1 and 2 failed alike")


def test_a_path_is_never_cut():
    """It is there to be copied; any other long word is broken to the width."""
    path = "/scratch/" + "/".join(["checkpoints"] * 9)
    assert cells.wrap(f"look at {path} first", 40, "- ", "  ") == ["- look at", f"  {path}", "  first"]
    assert max(map(len, cells.wrap("x" * 100, 40, "- ", "  "))) == 40


def test_left_out_lines_are_marked():
    """Another writer's lines between two of a traceback: the jump of the numbers is no fault of the log."""
    cause = replace(
        key_error().root_cause, evidence=(quote(9, "KeyError: 'x'", context=((4, "Traceback"), (5, "  a"))),)
    )
    found = replace(key_error(), root_cause=cause)
    assert " 5 |   a\n ⋮ |\n 9 | KeyError: 'x'" in text_of(found)
    assert " 5 |   a\n : |\n 9 | KeyError: 'x'" in text_of(found, ascii=True)
    assert "  5 |   a\n  ⋮ |\n> 9 | KeyError: 'x'" in formats("markdown")["markdown"](found, Options())
    assert "  5 |   a\n  ⋮\n> 9 | KeyError: 'x'" in formats("github")["github"](found, Options())
    assert formats("text")["text"](found, Options()).count("⋮") == 1


def test_the_legend_names_what_is_drawn():
    """Lanes without a gap need no word for one."""
    drawn = {name: text_of(make()) for name, make in EVERY.items()}
    for text in drawn.values():
        lanes = text.partition("\nTimeline")[2].partition("\nWhy")[0].replace("· no line", "")
        assert ("· no line" in text) == ("·" in lanes)
    assert {"· no line" in text for text in drawn.values() if "\nTimeline" in text} == {True, False}
