"""Twice as much of the same takes about twice as long, whatever it is."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from logsig import analyze_text
from logsig.catalog import Catalog

_PRINT = "CollectiveFingerPrint(SequenceNumber={0}, OpType=ALLREDUCE, TensorShape=[{1}], TensorDtypes=Float)"
_MISMATCH = (
    "[rank{0}]: RuntimeError: Detected mismatch between collectives on ranks. "
    f"Rank {{0}} is running collective: {_PRINT}, but Rank 0 is running collective: {_PRINT}."
)
_CHAIN = "During handling of the above exception, another exception occurred:"
KINDS: dict[str, Callable[[int], str]] = {
    "reports": lambda n: "Read\n  logsig     0.1.0\n" * n,
    "groups": lambda n: "::group::logsig: evidence\n" * n,
    "mismatches": lambda n: "\n".join(f"{_MISMATCH.format(i, i + 1)}\n[3] ready" for i in range(n)),
    "attempts": lambda n: "".join(
        f"[rank0]: step {i % 5}\nslurmstepd: error: *** JOB {i} ON n1 CANCELLED AT 2026-11-29T16:00:00 ***\n"
        "OMP_NUM_THREADS\n"
        for i in range(n)
    ),
    "chains": lambda n: (
        f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    x()\nValueError: x\n\n{_CHAIN}\n\n' * n
    ),
}
FACTOR = 20


@pytest.mark.parametrize("kind", KINDS)
def test_work_grows_with_the_log(kind: str, catalog: Catalog) -> None:
    def seconds(count: int) -> float:
        text = KINDS[kind](count)
        begin = time.process_time()
        analyze_text(text, catalog)
        return time.process_time() - begin

    seconds(100)
    few, many = seconds(400), seconds(400 * FACTOR)
    assert many < 2 * FACTOR * few
