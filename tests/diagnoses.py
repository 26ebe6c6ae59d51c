"""Diagnoses built by hand, as the analysis gives them: what the tests of the reports look at."""

from __future__ import annotations

from dataclasses import replace

from logsig.model import (
    AttemptResult,
    Cause,
    Collateral,
    Diagnosis,
    Evidence,
    JobFacts,
    LedgerGroup,
    LedgerRow,
    Mark,
    RankState,
    Remedy,
    Source,
    Timeline,
)

LOG = "train.log"


def job(world: int, nodes: tuple[str, ...] = ("node-0",), attempts: int = 1, framework: str | None = None) -> JobFacts:
    return JobFacts(
        files=(LOG,),
        launcher="torchrun",
        world_size=world,
        ranks_seen=tuple(range(world)),
        nodes=nodes,
        attempt_count=attempts,
        versions={"torch": "2.6.0", "nccl": "2.21.5"},
        framework=framework,
    )


def state(
    rank: int, what: str, name: str, *, seen: str | None = None, step: int | None = None, **more: object
) -> RankState:
    values = {"local_rank": rank % 8, "node": "node-0", "exitcode": None, "signal": None, **more}
    return RankState(rank=rank, last_seen=seen, last_step=step, state=name, what=what, **values)


def quote(
    line: int, text: str, found: str | None = None, context: tuple[tuple[int, str], ...] = (), **more: object
) -> Evidence:
    start = text.index(found) if found else 0
    span = (start, start + len(found)) if found else None
    return Evidence(Source(LOG, line), text, match=span, context=context, **more)


_UNUSED_LINE = (
    "[rank1]: RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error "
    "indicates that your module has parameters that were not used in producing loss."
)
_UNUSED_EVIDENCE = (
    quote(
        31,
        _UNUSED_LINE,
        "Expected to have finished reduction in the prior iteration",
        (
            (29, '[rank1]:   File "/opt/train/train.py", line 424, in forward_loss'),
            (30, "[rank1]:     logits, aux = model(batch)"),
            (31, _UNUSED_LINE),
        ),
        rank=1,
        node="node-0",
    ),
    quote(
        34,
        "[rank1]: Parameters which did not receive grad for rank 1: aux_head.bias, aux_head.weight",
        "aux_head.bias, aux_head.weight",
        rank=1,
        node="node-0",
    ),
)
_UNUSED_REMEDIES = (
    Remedy(
        title="Freeze what is not part of the forward",
        steps=(
            "Set requires_grad=False on aux_head.bias and aux_head.weight before wrapping the model in DDP and before building the optimizer.",
            "Build the optimizer from the parameters that still require gradients.",
        ),
        code=(
            'for name in ("aux_head.bias", "aux_head.weight"):\n'
            "    model.get_parameter(name).requires_grad_(False)\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])"
        ),
        cost="none",
        verify="The run passes the step at which it failed; no rank prints 'Expected to have finished reduction'.",
        when="param_names",
    ),
    Remedy(
        title="Let DDP look for unused parameters",
        steps=("Pass find_unused_parameters=True where train.py:71 wraps the model.",),
        code="model = DistributedDataParallel(model, find_unused_parameters=True)",
        cost="a traversal of the graph in each iteration (one article measured 168.4 against 147.2 ms a step)",
        verify="The error goes at once; if it doesn't, an output of forward never reaches the loss.",
    ),
)


def unused_one() -> Diagnosis:
    """DDP's reduction not finished on rank 1 alone; the others lost their peer."""
    return Diagnosis(
        job=job(4),
        outcome="failure",
        root_cause=Cause(
            signature="ddp-reduction-not-finished",
            family="ddp",
            title="DDP's reduction had not finished in the prior iteration",
            severity="fatal",
            confidence="high",
            summary="aux_head.bias and aux_head.weight got no gradient on rank 1 in step 2, so DDP's reduction never finished.",
            evidence=_UNUSED_EVIDENCE,
            facts={"param_names": ["aux_head.bias", "aux_head.weight"], "param_indices": [37, 38], "debug_names": True},
            retryable="after-fix",
            ranks=(1,),
            node="node-0",
        ),
        first_failing_rank=1,
        rank_confidence="high",
        grade="A",
        first_failing_node="node-0",
        scope="one-rank",
        candidates=(1,),
        because=(
            "Rank 1 raised an exception of its own (train.log:31); ranks 0 and 2 raised only 'Connection closed by peer', which follows from it.",
            "torchrun's table names rank 1 as well (train.log:125).",
        ),
        ranks=(
            state(
                0,
                "lost its peer: Connection closed by peer",
                "collateral",
                seen="16:33:31,189",
                step=1,
                exitcode=-15,
                signal="SIGTERM",
            ),
            state(
                1, "RuntimeError: Expected to have finished reduction", "first", seen="16:33:31,326", step=2, exitcode=1
            ),
            state(
                2,
                "lost its peer: Connection closed by peer",
                "collateral",
                seen="16:33:31,269",
                step=1,
                exitcode=-15,
                signal="SIGTERM",
            ),
            state(3, "stopped by the launcher", "stopped", seen="16:33:31,271", step=1, exitcode=-15, signal="SIGTERM"),
        ),
        collateral=(Collateral("gloo-peer-closed", (0, 2), 2, Source(LOG, 55)),),
        attempts=(AttemptResult(0, "failure", "ddp-reduction-not-finished", 1, 2),),
        remedies=_UNUSED_REMEDIES,
        confirm=("After loss.backward() list the parameters that require a gradient and have none.",),
        next_time=("TORCH_DISTRIBUTED_DEBUG=DETAIL names the parameters on every rank.",),
        doubts=("No clock is printed with the tracebacks: their order rests on what they say.",),
        timeline=Timeline(
            unit="seconds",
            marks=(
                *(
                    Mark(rank, "step", 0.0, 0.19 if rank != 1 else 0.24, "steps", Source(LOG, 5 + rank))
                    for rank in range(4)
                ),
                Mark(1, "first", 0.25, None, "RuntimeError", Source(LOG, 31)),
                Mark(0, "wait", 0.19, 0.9, "waits for rank 1"),
                Mark(0, "collateral", 0.9, None, "Connection closed by peer", Source(LOG, 55)),
                Mark(2, "collateral", 0.92, None, "Connection closed by peer", Source(LOG, 70)),
                Mark(3, "killed", 2.2, None, "SIGTERM from the launcher", Source(LOG, 80)),
            ),
        ),
        signature_count=160,
        library_digest="3f9a1c",
    )


def all_ranks() -> Diagnosis:
    """The same on every rank: a program error, not a bad rank."""
    base = unused_one()
    assert base.root_cause
    return replace(
        base,
        root_cause=replace(
            base.root_cause,
            summary="2 parameters (indices 21 and 22) got no gradient in step 0.",
            ranks=(0, 1, 2, 3),
            node=None,
        ),
        first_failing_rank=None,
        rank_confidence=None,
        grade=None,
        first_failing_node=None,
        scope="all-ranks",
        candidates=(1, 0, 3, 2),
        because=(
            "All 4 ranks raised the same error by themselves, and no peer error precedes it: the order in which they print means nothing.",
        ),
        ranks=tuple(
            state(rank, "RuntimeError: Expected to have finished reduction", "failed", step=0, exitcode=1)
            for rank in range(4)
        ),
        collateral=(),
        timeline=None,
    )


def key_error() -> Diagnosis:
    """A KeyError on rank 1 while torchrun blames rank 0."""
    text = "[rank1]: KeyError: 'labels'"
    context = (
        (17, '[rank1]:   File "/opt/train/train.py", line 88, in collate'),
        (18, '[rank1]:     labels = batch["labels"]'),
        (19, text),
    )
    return Diagnosis(
        job=job(3),
        outcome="failure",
        root_cause=Cause(
            signature="python-exception",
            family="python",
            title="The program raised an exception",
            severity="fatal",
            confidence="high",
            summary="KeyError: 'labels' in collate (train.py:88).",
            evidence=(quote(19, text, "KeyError: 'labels'", context, rank=1, node="node-0", time="16:34:39,168"),),
            facts={"exception": "KeyError", "message": "'labels'", "path": "/opt/train/train.py"},
            retryable="after-fix",
            ranks=(1,),
            node="node-0",
        ),
        first_failing_rank=1,
        rank_confidence="high",
        grade="B",
        first_failing_node="node-0",
        scope="one-rank",
        because=(
            "Rank 1's KeyError is its own; ranks 0 and 2 only waited for it until gloo's limit of 6 s.",
            "torchrun's table names rank 0 (train.log:71), whose error is a peer error: the table is a witness, and it is overruled.",
        ),
        ranks=(
            state(0, "waited 6 s for a peer", "waiting", seen="16:34:39,117", step=2, exitcode=1),
            state(1, "KeyError: 'labels'", "first", seen="16:34:39,168", step=2, exitcode=1),
            state(2, "waited 6 s for a peer", "waiting", seen="16:34:39,119", step=2, exitcode=-15, signal="SIGTERM"),
        ),
        collateral=(Collateral("gloo-timeout", (0, 2), 2, Source(LOG, 30)),),
        attempts=(AttemptResult(0, "failure", "python-exception", 1, 2),),
        remedies=(
            Remedy(
                title="Make every sample carry the key",
                steps=(
                    "Look at the sample that rank 1 read in step 3: its batch has no 'labels'.",
                    "Check the data before training, or skip such a sample in the dataset, not in collate.",
                ),
                verify="One epoch of the loader alone passes on rank 1's shard.",
            ),
        ),
        doubts=(),
    )


def timeout(world: int = 4, suspect: int = 2) -> Diagnosis:
    """An NCCL timeout: the rank that never entered, by the collective ledger."""
    rows = tuple(
        LedgerRow(
            rank=rank,
            group_rank=rank,
            last_enqueued=733 - (rank == suspect),
            last_completed=732,
            stuck_seq=None if rank == suspect else 733,
            op=None if rank == suspect else "_ALLGATHER_BASE",
            numel=None if rank == suspect else "4194304",
            own_watchdog=rank != suspect,
            told_by=3 if rank == suspect else None,
            wait_started=None if rank == suspect else 120.1,
            note="never entered" if rank == suspect else "waited",
        )
        for rank in range(world)
    )
    line = (
        "[rank3]:[E711 14:30:02.120608166 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=733, "
        "OpType=_ALLGATHER_BASE, NumelIn=4194304, NumelOut=16777216, Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
    )
    nodes = tuple(f"node-{index}" for index in range(max(1, world // 8)))
    return Diagnosis(
        job=job(world, nodes, framework="fsdp"),
        outcome="failure",
        root_cause=Cause(
            signature="nccl-collective-timeout",
            family="nccl",
            title="A collective did not complete before the watchdog limit",
            severity="fatal",
            confidence="high",
            summary=f"{world - 1} of {world} ranks waited 10 min in all-gather 733 for rank {suspect}, which never entered it.",
            evidence=(
                quote(
                    2,
                    line,
                    "Watchdog caught collective operation timeout",
                    rank=3,
                    node="node-0",
                    time="14:30:02.120608166",
                ),
                quote(
                    10,
                    "[rank2]: … Last enqueued NCCL work: 732, last completed NCCL work: 732.",
                    "Last enqueued NCCL work: 732",
                    rank=suspect,
                    node="node-0",
                ),
            ),
            facts={"seq": 733, "op": "_ALLGATHER_BASE", "timeout_ms": 600000, "pg": "0"},
            retryable="after-fix",
            ranks=(suspect,),
            node="node-0",
        ),
        first_failing_rank=suspect,
        rank_confidence="high",
        grade="B",
        first_failing_node="node-0",
        scope="one-rank",
        because=(
            f"Ranks that print a timeout waited; rank {suspect} prints none.",
            f"In group 0 rank {suspect} enqueued 732 collectives, all others 733: it never called all-gather 733, or is stuck in the call.",
        ),
        ranks=tuple(
            state(
                rank,
                "never entered all-gather 733" if rank == suspect else "waited 10 min in all-gather 733",
                "first" if rank == suspect else "waiting",
                seen="14:30:02.130766013" if rank == suspect else f"14:30:02.12{rank % 10}",
                step=240,
                node=f"node-{rank // 8}",
            )
            for rank in range(world)
        ),
        collateral=(
            Collateral(
                "nccl-collective-timeout",
                tuple(rank for rank in range(world) if rank != suspect),
                world - 1,
                Source(LOG, 2),
            ),
        ),
        ledger=(LedgerGroup("0 (default_pg)", rows, f"Rank {suspect} enqueued 732, the others 733.", (suspect,)),),
        attempts=(AttemptResult(0, "failure", "nccl-collective-timeout", suspect, 240),),
        remedies=(
            Remedy(
                title=f"Find out what rank {suspect} did instead of the all-gather",
                steps=(
                    f"Read rank {suspect}'s own lines after step 240: logsig show {LOG} --rank {suspect}.",
                    "Look for a branch, a checkpoint or a data wait that only this rank takes.",
                ),
                verify="All ranks report the same last enqueued work.",
                cost="none",
            ),
        ),
        next_time=("TORCH_NCCL_TRACE_BUFFER_SIZE=2000 keeps a flight record with the stack of each collective.",),
        doubts=(f"Rank {suspect}'s stack isn't in the log.",),
        timeline=Timeline(
            unit="seconds",
            marks=tuple(
                mark
                for rank in range(world)
                for mark in (
                    Mark(rank, "step", 0.0, 120.0, "steps 0 to 240"),
                    Mark(rank, "last", 120.0, None, "last sign of life")
                    if rank == suspect
                    else Mark(rank, "wait", 120.1, 720.1, "all-gather 733"),
                    Mark(rank, "first", 121.0, None, "never entered all-gather 733")
                    if rank == suspect
                    else Mark(rank, "collateral", 720.1, None, "watchdog"),
                )
            ),
            skew={"node-1": 0.4} if world > 8 else {},
        ),
        signature_count=160,
        library_digest="3f9a1c",
    )


def undecided() -> Diagnosis:
    """A hang in which every rank is stuck in the same collective."""
    base = timeout()
    assert base.root_cause
    return replace(
        base,
        root_cause=replace(
            base.root_cause,
            summary="All 4 ranks are stuck in all-reduce 91 of group 0.",
            confidence="medium",
            ranks=(0, 1, 2, 3),
            node=None,
        ),
        first_failing_rank=None,
        rank_confidence=None,
        grade=None,
        first_failing_node=None,
        scope="unknown",
        candidates=(0, 1, 2, 3),
        because=("Every rank enqueued 91 and completed 90: the counters name nobody.",),
        ranks=tuple(state(rank, "waited 30 min in all-reduce 91", "waiting", step=90) for rank in range(4)),
        ledger=None,
        next_time=("TORCH_NCCL_TRACE_BUFFER_SIZE=2000 with TORCH_NCCL_DUMP_ON_TIMEOUT=1 would name the rank.",),
        timeline=None,
    )


def healthy() -> Diagnosis:
    """A run that ended well."""
    return Diagnosis(
        job=job(2),
        outcome="healthy",
        root_cause=None,
        ranks=tuple(
            state(rank, "said that it had finished", "finished", seen="12:00:00", step=500, exitcode=0)
            for rank in range(2)
        ),
        because=("Both ranks said that they had finished, and nothing but 3 known notices looks like an error.",),
        attempts=(AttemptResult(0, "healthy", None, None, 500),),
    )


def unrecognised() -> Diagnosis:
    """A failure that no signature knows."""
    return Diagnosis(
        job=job(2),
        outcome="unrecognised",
        root_cause=None,
        first_failing_rank=1,
        rank_confidence="low",
        grade="E",
        first_failing_node="node-0",
        scope="one-rank",
        because=("Only rank 1 printed something that no other rank printed before the end.",),
        ranks=(
            state(0, "stopped by the launcher", "stopped", step=7, exitcode=-15, signal="SIGTERM"),
            state(1, "exited with code 3", "first", step=7, exitcode=3),
        ),
        attempts=(AttemptResult(0, "failure", None, 1, 7),),
        next_time=(
            "@record on main() keeps the traceback of the worker that fails.",
            "--tee 3 with --log-dir keeps each rank's output in a file of its own.",
        ),
        doubts=("Rank 1 printed no traceback.",),
        unexplained=(quote(40, "[rank1]: frobnicator: quota exceeded, giving up", rank=1, node="node-0"),),
    )


def recovered() -> Diagnosis:
    """An attempt that failed and one that ended well."""
    base = key_error()
    return replace(
        base,
        job=replace(base.job, attempt_count=2),
        outcome="recovered",
        attempts=(AttemptResult(0, "failure", "python-exception", 1, 2), AttemptResult(1, "healthy", None, None, 500)),
    )


def interrupted() -> Diagnosis:
    """The scheduler's time limit: nobody's failure."""
    text = "slurmstepd: error: *** JOB 4711 ON node-0 CANCELLED AT 2026-05-01T12:00:00 DUE TO TIME LIMIT ***"
    return Diagnosis(
        job=job(2),
        outcome="interrupted",
        root_cause=Cause(
            signature="slurm-time-limit",
            family="scheduler",
            title="The scheduler ended the job at its time limit",
            severity="error",
            confidence="high",
            summary="Slurm ended job 4711 at its time limit.",
            evidence=(quote(90, text, "DUE TO TIME LIMIT"),),
            facts={"job_id": "4711"},
            retryable="yes",
        ),
        scope="not-a-rank",
        because=("The scheduler's own line says so; the ranks' SIGTERM lines follow it.",),
        ranks=tuple(state(rank, "killed by the scheduler", "killed", step=100, signal="SIGTERM") for rank in range(2)),
        remedies=(
            Remedy(
                "Ask for more time, or save and requeue before the limit",
                ("#SBATCH --signal=B:USR1@300 sends a signal 5 min before the end.",),
            ),
        ),
        attempts=(AttemptResult(0, "interrupted", "slurm-time-limit", None, 100),),
    )


def empty() -> Diagnosis:
    """An empty log."""
    return Diagnosis(
        job=replace(job(1), world_size=None, ranks_seen=(), launcher=None, nodes=(), versions={}),
        outcome="empty",
        root_cause=None,
    )


def unfinished() -> Diagnosis:
    """No error and no end."""
    return replace(
        healthy(),
        outcome="unfinished",
        because=("The log stops after step 500 with no error.",),
        doubts=("The log may have been cut, or the job may still run.",),
    )


def two_causes() -> Diagnosis:
    """Two failures, neither of which explains the other; a rank that was never heard."""
    base, other = unused_one(), key_error()
    assert other.root_cause
    return replace(
        base,
        other_causes=(replace(other.root_cause, ranks=(3,), severity="error"),),
        silent_ranks=(2,),
        scope="several-ranks",
    )


EVERY = {
    builder.__name__: builder
    for builder in (
        unused_one,
        all_ranks,
        key_error,
        timeout,
        undecided,
        healthy,
        unrecognised,
        recovered,
        interrupted,
        empty,
        unfinished,
        two_causes,
    )
}


def wide(world: int) -> Diagnosis:
    """An NCCL timeout of many ranks."""
    return timeout(world, suspect=world // 2 + 1)
