"""The torch version is hinted at by line numbers of its sources, never claimed."""

from __future__ import annotations

import time

from logsig import analyze_text
from logsig.catalog import Catalog
from logsig.model import LogLine, Source
from logsig.sourcelines import torch_hint

WATCH = (
    "[rank1]:[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=6463, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800017 milliseconds before timing out.\n"
)


def test_source_line_hints_at_the_version(catalog: Catalog) -> None:
    """Line 607 of ProcessGroupNCCL.cpp is of 2.4; the answer says where it has that from."""
    assert analyze_text(WATCH, catalog).job.versions["torch"] == "2.4 (by its source lines)"


def test_printed_version_outranks_the_hint(catalog: Catalog) -> None:
    """What the log says is taken as it is."""
    assert analyze_text("PyTorch version: 2.5.1\n" + WATCH, catalog).job.versions["torch"] == "2.5.1"


def test_a_long_line_of_many_messages_is_looked_at_once() -> None:
    """All messages of one line carry its raw text; to search that for each would take the square of its length."""
    raw = "x" * 2_000_000 + ' reducer.cpp":1604 '
    lines = [LogLine(Source("x.log", 1), "x", raw) for _ in range(20_000)]
    started = time.process_time()
    assert torch_hint(lines) == "2.3 (by its source lines)"
    assert time.process_time() - started < 2
