"""The collective ledger: who never entered, who ran something else, and when nobody can be named."""

from __future__ import annotations

from logsig import analyze_text
from logsig.catalog import Catalog

WATCH = (
    "[rank{rank}]:[E711 14:30:02.120608166 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
)
STATUS = (
    "[rank{rank}]:[E711 14:30:02.120908166 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work "
    "sequence id: {seq} PG status: last enqueued work: {enqueued}, last completed work: {completed}"
)
TOLD = (
    "[rank{rank}]:[E711 14:30:02.130806013 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a collective "
    "timeout from  rank {by} and we will try our best to dump the debug info. Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
)


def waited(rank: int, seq: int = 733, op: str = "ALLREDUCE", numel: int = 4096, completed: int = 732) -> str:
    return (
        WATCH.format(rank=rank, seq=seq, op=op, numel=numel)
        + "\n"
        + STATUS.format(rank=rank, seq=seq, enqueued=seq, completed=completed)
        + "\n"
    )


def test_rank_that_enqueued_less_is_the_suspect(catalog: Catalog) -> None:
    """The ranks with watchdog lines waited; the one behind them is named, the table shown."""
    log = waited(0) + waited(1) + waited(3) + TOLD.format(rank=2, by=3, enqueued=732, completed=732) + "\n"
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.grade) == (2, "B")
    assert found.ledger is not None
    assert [(row.rank, row.note) for row in found.ledger[0].rows] == [
        (0, "waited"),
        (1, "waited"),
        (2, "never entered"),
        (3, "waited"),
    ]


def test_signaller_is_a_waiter(catalog: Catalog) -> None:
    """“Received a dump signal … from rank 3”: rank 3 waited first, it isn't the cause."""
    log = waited(3) + TOLD.format(rank=2, by=3, enqueued=732, completed=732) + "\n"
    assert analyze_text(log, catalog).first_failing_rank != 3


def test_equal_counters_name_nobody(catalog: Catalog) -> None:
    """Every rank stuck in the same collective: undecided."""
    found = analyze_text("".join(waited(rank) for rank in range(4)), catalog)
    assert found.root_cause is not None
    assert found.root_cause.signature == "nccl-collective-timeout"
    assert found.first_failing_rank is None


def test_other_operation_at_one_sequence_number_is_a_mismatch(catalog: Catalog) -> None:
    """The minority operation at one sequence number diverged."""
    found = analyze_text(waited(0) + waited(1) + waited(2, op="BROADCAST") + waited(3), catalog)
    assert found.root_cause is not None
    assert (found.root_cause.signature, found.first_failing_rank) == ("collective-mismatch", 2)


def test_minus_one_everywhere_is_the_transport(catalog: Catalog) -> None:
    """Nothing ever completed: no rank is named from the counters."""
    log = (
        "".join(waited(rank, seq=1, completed=-1) for rank in range(3))
        + TOLD.format(rank=3, by=0, enqueued=0, completed=-1)
        + "\n"
    )
    assert analyze_text(log, catalog).first_failing_rank is None


def test_the_answer_speaks_of_what_the_others_waited_in(catalog: Catalog) -> None:
    """A suspect's own line comes first here and names an earlier collective: in that nobody waited for it."""
    behind = waited(0, 700, completed=699) + waited(1, 700, completed=699)
    found = analyze_text(behind + waited(2, 701, completed=700) + waited(3, 701, completed=700), catalog)
    assert found.root_cause is not None
    assert found.root_cause.facts["seq"] == 701
    assert found.because[0] == "Ranks 0 and 1 never enqueued collective 701, on which the others waited."
