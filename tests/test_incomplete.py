"""Logs whose head or end is missing: nobody is named for whom the missing part could speak, and nobody too surely."""

from __future__ import annotations

from pathlib import Path

import pytest
from logs import closed, steps, table, text, timed_out, traceback

import logsig
from logsig import incomplete

CASES = Path(__file__).parents[1] / "fixtures" / "cases"


@pytest.mark.parametrize(
    ("case", "lines"),
    [
        ("python-exception-filenotfound-r3-monitor5", 40),
        ("ddp-reduction-not-finished-unused-all-off", 60),
        ("gloo-timeout-sleep-r1", 60),
    ],
)
def test_a_tail_names_no_rank_whose_rivals_it_cut_off(case, lines):
    """Rank 0 is all that is left of the failures; the others' tracebacks stood before."""
    text = "\n".join((CASES / case / "log.txt").read_text().splitlines()[-lines:])
    found = logsig.analyze_text(text, logsig.load_catalog())
    assert found.outcome == "failure"
    assert found.first_failing_rank is None
    assert any("begins in the middle" in doubt for doubt in found.doubts)


def test_a_tail_in_which_the_failed_rank_speaks_still_names_it():
    """Nobody else failed in silence: what is missing can't accuse another."""
    text = (
        '[rank1]:   File "train.py", line 3, in step\n'
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 1 has a total capacity of 79.15 GiB of which 1.00 GiB is free.\n"
        "[rank0]: step 4 loss 2.0\n"
    )
    found = logsig.analyze_text(text, logsig.load_catalog())
    assert found.first_failing_rank == 1
    assert any("begins in the middle" in doubt for doubt in found.doubts)


def test_a_whole_log_is_not_doubted():
    """Neither a traceback's first line nor a banner is the middle of a message."""
    for log in (
        'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x\n',
        "step 1\nValueError: x\n",
    ):
        found = logsig.analyze_text(log, logsig.load_catalog())
        assert not any("begins in the middle" in doubt for doubt in found.doubts)


UNUSED = "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one."


def named(log: str) -> tuple[int | None, str | None, bool]:
    """First rank, its confidence, and whether the end is doubted."""
    found = logsig.analyze_text(log, logsig.load_catalog())
    return found.first_failing_rank, found.rank_confidence, incomplete.END in found.doubts


def test_a_log_that_ends_with_an_exception_is_doubted():
    """Others may follow with the same; a launcher's words or a lost peer behind it say that none does."""
    own = [*steps(range(3), 3), *traceback(1, "KeyError: 'a'")]
    assert named(text(own)) == (1, "medium", True)
    assert named(text(own, closed(0))) == (1, "high", False)
    assert named(text(own, table({1: 1, 0: -15, 2: -15}, root=1))) == (1, "high", False)


def test_one_traceback_so_far_of_what_mostly_all_raise_is_a_guess():
    """A fault of the program, as DDP's and autograd's are, comes from every rank."""
    own = [*steps(range(3), 3), *traceback(1, UNUSED)]
    assert named(text(own)) == (1, "low", True)
    assert named(text(own, table({1: 1, 0: -15, 2: -15}, root=1))) == (1, "high", False)
    assert named(text(own, table({1: 1, 0: 1, 2: -15}, root=1)))[:2] == (1, "low")


def test_a_rank_that_left_without_a_word_may_have_spoken_elsewhere():
    """Its output isn't in this log, so the one that is heard may have followed."""
    log = text(steps(range(2), 3), traceback(1, "KeyError: 'a'"), table({1: 1, 0: 1}, root=1))
    assert named(log) == (1, "medium", False)


def test_an_exception_cut_in_its_words_is_a_guess():
    """What comes behind could make it a lost peer."""
    log = text(steps(range(3), 3), traceback(1, "RuntimeError: [/pytorch/third"))
    assert named(log)[:2] == (1, "medium")
    assert named(log.removesuffix("\n"))[:2] == (1, "low")


def test_an_abort_or_exit_of_a_rank_never_heard_is_a_guess():
    """Such ends come with words; a kill and an exit code of its own don't."""
    for code, confidence in ((-6, "low"), (1, "low"), (-9, "high"), (3, "high")):
        log = text(steps((0, 2), 3), closed(0), closed(2), table({1: code, 0: 1, 2: 1}, root=1))
        assert named(log)[:2] == (1, confidence), code


def test_where_nobody_has_a_label_an_abort_is_not_called_unheard():
    """The rank's own lines may be among the others."""
    log = text([f"step {step} loss 1.0" for step in range(5)], closed(0), table({1: -6, 0: 1}, root=1))
    assert named(log)[:2] == (1, "high")


def test_a_rank_cut_off_in_its_complaint_is_not_the_silent_one():
    """The log ends within rank 2's own peer error; or its last line is one that can't be read."""
    waiting = text(steps(range(3), 3), timed_out(0), timed_out(1))
    assert named(waiting)[:2] == (2, "medium")
    assert named(waiting + "[rank2]: Traceback (most rec")[:2] == (2, "low")
    assert named(waiting + "[rank2]: RuntimeErro\n")[:2] == (2, "medium")
    assert named(waiting + "[rank2]:     loss.backward()\n")[:2] == (2, "low")


@pytest.mark.parametrize(
    "first",
    [
        "[1]:",
        "Root Cause (first observed failure):",
        "oupNCCL.cpp:632] [Rank 7] Watchdog caught collective operation timeout",
        "ning step 7 with the loader",
    ],
)
def test_a_file_that_begins_in_mid_line_or_in_mid_table_has_no_head(first):
    """By its form, or because another rank's whole line ends with it."""
    rest = "".join(f"[rank{rank}]: beginning step 9 with the loader\n" for rank in range(3))
    found = logsig.analyze_text(first + "\n" + rest + text(traceback(1, "KeyError: 'a'")), logsig.load_catalog())
    assert any("begins in the middle" in doubt for doubt in found.doubts)


def test_what_remains_of_a_table_names_nobody():
    """The entries before the cut may be the earlier ones."""
    rows = text(table({0: 1, 1: 1, 2: 1}, root=2)).splitlines(keepends=True)
    at = next(number for number, row in enumerate(rows) if row.startswith("Root Cause"))
    assert named("".join(rows[at:]))[1] in (None, "low")


def test_unknown_words_out_of_a_collective_are_a_guess():
    """Whatever they say, mostly a peer is gone; what Python itself refuses is the rank's own."""
    place = "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
    for error, confidence in (("RuntimeError: the other side hung up", "low"), ("ValueError: no such group", "high")):
        own = traceback(1, error, frame=place, code="work.wait()")
        assert named(text(steps(range(2), 3), own, table({1: 1, 0: -15}, root=1)))[:2] == (1, confidence)


def test_what_a_launcher_says_stands_out_of_nothing():
    """Of a failure that only an exit code tells, the line that nobody knows is shown, and nothing is called missing."""
    log = (
        "ERROR:root:rank 1: vocabulary of 50304 does not match the tokenizer (50257), giving up\n"
        "E0404 04:04:04.500000 9 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 3) local_rank: 1 "
        "(pid: 21) of binary: /usr/bin/python3\n"
        "============================================================\nt.py FAILED\n"
        "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
        "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-04-04_04:04:04\n  host      : gpu01\n  rank      : 1 (local_rank: 1)\n"
        "  exitcode  : 3 (pid: 21)\n  error_file: <N/A>\n"
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n"
        "============================================================\n"
    )
    found = logsig.analyze_text(log, logsig.load_catalog())
    assert [each.source.line for each in found.unexplained] == [1]
    assert found.because[0] == "The launcher reports that rank 1 failed; no line is marked as its own."
    heard = logsig.analyze_text("[rank1]: step 3 loss 2.0\n" + log, logsig.load_catalog())
    assert heard.because[0].startswith("The launcher reports that rank 1 failed; its own lines show no known error.")
    assert [each.source.line for each in heard.root_cause.evidence] == [15]


def test_half_a_table_may_have_named_another() -> None:
    told = table({0: 1, 1: 1}, 0)
    half = told[: told.index("[1]:") + 1]
    own = text(steps(range(2), 5), traceback(0, "ValueError: bad shard header"))
    for lines, confidence in ((half, "medium"), (table({0: 1}, 0), "high")):
        found = logsig.analyze_text(own + text(lines), logsig.load_catalog())
        assert (found.first_failing_rank, found.rank_confidence) == (0, confidence)


def test_another_ranks_failure_that_the_end_cuts_may_be_the_same() -> None:
    """Rank 1's last line would name the same two ranks on one GPU; so far it shows the general kind only."""
    head = '[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File "t.py", line 2, in main\n'
    said = (
        "[rank{0}]: torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:275, invalid usage (run with "
        "NCCL_DEBUG=WARN for details), NCCL version 2.19.3\n[rank{0}]: ncclInvalidUsage: This usually reflects invalid "
        "usage of NCCL library.\n[rank{0}]: Last error:\n"
    )
    whole = head + said + "[rank{0}]: Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000\n"
    catalog = logsig.load_catalog()
    assert logsig.analyze_text(whole.format(0) + (head + said).format(1), catalog).rank_confidence != "high"
    assert logsig.analyze_text(whole.format(0) + whole.format(1), catalog).scope == "all-ranks"
