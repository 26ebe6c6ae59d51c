"""Numbers of any length, and what only looks like one: logs and file names hold both."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from logsig import analyze, analyze_text
from logsig.catalog import Catalog
from logsig.digits import LONGEST, number
from logsig.match import convert
from logsig.report import formats

FOLDER = Path(__file__).parents[1] / "fixtures" / "cases"
CASES = sorted(FOLDER.glob("*/log.txt"))[::48]
HUGE = "9" * 4400  # Python converts 4300 digits
SQUARE = "²"  # a digit for ``str.isdigit``, none for ``int``


def test_more_digits_than_any_count_has() -> None:
    assert number("0042") == number(b"42") == 42
    assert number("7" * LONGEST) == int("7" * LONGEST)
    assert number(HUGE) == number("9" * LONGEST)


@pytest.mark.parametrize("digits", [HUGE, SQUARE, "0" * 4400 + "3", "٣"])
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_a_log_may_hold_any_number(case: Path, digits: str, catalog: Catalog) -> None:
    chance = random.Random(case.parent.name)
    lines = case.read_text(encoding="utf-8", errors="replace").splitlines()[:60]
    changed = [re.sub(r"\d+", lambda found: digits if chance.random() < 0.2 else found[0], line) for line in lines]
    found = analyze_text("\n".join(changed), catalog)
    for render in formats().values():
        render(found)


@pytest.mark.parametrize(
    "line",
    [
        f'[rank0]:   File "train.py", line {HUGE}, in main',
        f"  rank      : {HUGE} (local_rank: {HUGE})",
        f"  exitcode  : {HUGE} (pid: {HUGE})",
        f"WORLD_SIZE={HUGE}",
        f"step {HUGE} loss 2.0",
        f"step 5/{HUGE} loss 2.0",
        f"node1:12:34 [0] socket.cpp:{HUGE} NCCL WARN x",
        f"  restart_count={HUGE}",
        f"  restart_count={SQUARE}",
        f"  global_ranks=[{HUGE}]",
        f"srun: error: node1: tasks 0-{HUGE}: Exited with exit code 1",
        f"srun: error: node1: task {SQUARE}: Exited with exit code {SQUARE}",
        f"torch=={HUGE}.{SQUARE}.0",
    ],
)
def test_wherever_a_number_is_read(line: str, catalog: Catalog) -> None:
    table = "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-29_16:33:33\n"
    analyze_text(f"{table}{line}\nRuntimeError: x\n{line}\n", catalog)


def test_facts_that_are_no_numbers() -> None:
    assert convert({"lr": "1.2.3"}, {"lr": "float"}) == {}
    assert convert({"lr": "1e999"}, {"lr": "float"}) == {}
    assert convert({"tried": HUGE + " GiB"}, {"tried": "bytes"}) == {}
    assert convert({"lr": " 5. "}, {"lr": "float"}) == {"lr": 5.0}


@pytest.mark.parametrize("name", ["1²3", "a1²2.log", "rank²", f"rank_{'9' * 200}.log", "b٣.log"])
def test_a_file_may_have_any_name(name: str, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / name).write_text("RuntimeError: x\n", encoding="utf-8")
    (tmp_path / "rank_1.log").write_text("RuntimeError: x\n", encoding="utf-8")
    assert analyze([str(tmp_path)], catalog).job.files
