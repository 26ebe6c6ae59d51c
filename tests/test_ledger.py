"""The collective ledger: who never entered, who ran something else, and when nobody can be named."""

from __future__ import annotations

import pytest

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


def test_sends_and_receives_are_not_compared(catalog: Catalog) -> None:
    """Pipeline stages count each pair on its own: SEND beside RECV is no mismatch, a lower number is not behind."""
    stages = [waited(0, 44, "SEND"), waited(2, 44, "RECV"), waited(3, 41, "RECV")]
    silent = analyze_text("world_size=4\n" + "".join(stages), catalog)
    assert silent.root_cause is not None
    assert (silent.root_cause.signature, silent.first_failing_rank) == ("nccl-collective-timeout", 1)
    found = analyze_text("world_size=4\n" + waited(1, 45, "SEND") + "".join(stages), catalog)
    assert found.root_cause is not None
    assert (found.root_cause.signature, found.first_failing_rank) == ("nccl-collective-timeout", None)


COUNTERS = (
    "[rank{rank}]:[E401 02:02:05.410000001 ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank {rank}] Timeout at NCCL work: 55102, "
    "last enqueued NCCL work: {enqueued}, last completed NCCL work: 55101."
)


def test_counters_alone_tell_who_waited(catalog: Catalog) -> None:
    """“Timeout at NCCL work” is a rank's own watchdog, with or without the line that names the operation."""
    log = [COUNTERS.format(rank=rank, enqueued=55104) for rank in (0, 1, 3)]
    told = TOLD.format(rank=2, by=0, enqueued=55101, completed=55101)
    assert analyze_text("\n".join([*log, told]) + "\n", catalog).first_failing_rank == 2
    assert (
        analyze_text("\n".join([*log, COUNTERS.format(rank=2, enqueued=55102)]) + "\n", catalog).first_failing_rank
        is None
    )


def test_ranks_that_announced_themselves_are_expected(catalog: Catalog) -> None:
    """Every rank from 0 on printed that it joins: the one without a watchdog line is silent."""
    joined = [f"| distributed init (rank {rank}): env://, gpu {rank}" for rank in (2, 0, 1, 3)]
    stuck = [waited(rank) for rank in (0, 2, 3)]
    assert analyze_text("\n".join(joined) + "\n" + "".join(stuck), catalog).first_failing_rank == 1
    assert analyze_text("\n".join(joined[:2]) + "\n" + "".join(stuck), catalog).first_failing_rank is None


@pytest.mark.parametrize(
    "report",
    [
        "Not all ranks joining collective, sequence number: 221\ninternal record id: 220\ngroup info: 0:default_pg\n"
        "collective: nccl:all_gather_into_tensor\nmissing ranks: {MISSING}\ninput sizes: [[1024]]\nworld size: 8\n",
        "Not all ranks joining collective for group 0:default_pg collective nccl:all_reduce Missing ranks are {MISSING}\n",
    ],
)
def test_analyser_of_the_flight_recorder_names_who_is_missing(catalog: Catalog, report: str) -> None:
    found = analyze_text(report.replace("MISSING", "5"), catalog)
    assert (found.outcome, found.first_failing_rank) == ("failure", 5)
    assert analyze_text(report.replace("MISSING", "2, 5"), catalog).first_failing_rank is None


@pytest.mark.parametrize("odd", [{"seq": 732, "completed": 731}, {"numel": 99}])
def test_a_minority_that_unheard_ranks_could_make_a_majority_is_none(catalog: Catalog, odd: dict[str, int]) -> None:
    """Three against three, of which the first two lines were cut off; with all heard it is one against five."""
    later = "".join(waited(rank) for rank in (3, 4, 5))
    cut = analyze_text(waited(2, **odd) + later, catalog)
    assert (cut.root_cause and cut.root_cause.signature, cut.first_failing_rank) == ("nccl-collective-timeout", None)
    whole = analyze_text(waited(0) + waited(1) + waited(2, **odd) + later, catalog)
    assert (whole.first_failing_rank, whole.rank_confidence) == (2, "high")


def test_two_against_one_is_less_sure_where_the_world_is_unknown(catalog: Catalog) -> None:
    log = waited(0) + waited(1) + waited(2, numel=99)
    assert analyze_text(log, catalog).rank_confidence in {"medium", "low"}
    assert analyze_text("world_size=3\n" + log, catalog).rank_confidence == "high"
