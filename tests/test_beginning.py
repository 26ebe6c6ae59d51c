"""Logs whose head is missing: nobody is named for whom the missing part could speak."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsig

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
    for text in (
        'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x\n',
        "step 1\nValueError: x\n",
    ):
        found = logsig.analyze_text(text, logsig.load_catalog())
        assert not any("begins in the middle" in doubt for doubt in found.doubts)
