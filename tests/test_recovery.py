"""What proves that a run got over a failure, and what doesn't: both directions, within an attempt and over restarts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from logs import AGENT, closed, stopping, table, text, timed_out, traceback

from logsig import analyze, analyze_text
from logsig.catalog import Catalog

RESTART = "I1129 16:35:25.000000 900 torch/distributed/elastic/agent/server/api.py:900] [default] Worker group FAILED. 2/3 attempts left; will restart worker group"
REPORT = f"E1129 16:35:24.000000 900 {AGENT}:1002] failed (exitcode: 1) local_rank: 1 (pid: 1001) of binary: /usr/bin/python3"
FAILED = [*traceback(1, "ValueError: x"), *closed(0), *stopping(0), REPORT]
BARE = "step {s} loss 2.1"
OF_EPOCH = "[rank {r}] step {s}/100 loss 2.1"


def steps(first: int, last: int, ranks: Iterable[int] = (0,), form: str = "[rank {r}] step={s} loss=2.1") -> list[str]:
    return [form.format(r=rank, s=step) for step in range(first, last + 1) for rank in ranks]


def bar(first: int, last: int, of: int = 1000, label: str = "") -> list[str]:
    return [
        f"{label}{step * 100 // of:3d}%|###   | {step}/{of} [00:10<01:10, 12.1it/s]" for step in range(first, last + 1)
    ]


def logged(rank: int) -> list[str]:
    """A traceback in a rank's own log, where only the logger's label tells the rank: caught, or the last words."""
    return [f"[rank {rank}] {line}" for line in ["sample 17 failed", *traceback(None, "ValueError: x")]]


WITHIN = {
    "a bar that goes on": (text(bar(100, 120), traceback(None, "ValueError: x"), bar(120, 140)), "unfinished"),
    "a bar that has just gone on": (text(bar(100, 120), traceback(None, "ValueError: x"), bar(121, 125)), "unfinished"),
    "a bar drawn again": (text(bar(100, 120), traceback(None, "ValueError: x"), bar(120, 120)), "failure"),
    "a full bar drawn again": (text(bar(1, 4, 4), traceback(None, "ValueError: x"), bar(4, 4, 4)), "failure"),
    "more full bars": (text(bar(1, 4, 4), traceback(None, "ValueError: x"), bar(4, 4, 4), bar(4, 4, 4)), "unfinished"),
    "two bars drawn again": (
        text(
            bar(100, 120),
            bar(1, 30, 50, "Eval: "),
            traceback(None, "ValueError: x"),
            bar(30, 30, 50, "Eval: "),
            bar(120, 120),
        ),
        "failure",
    ),
    "another's buffered lines": (
        text(steps(1, 40, form=BARE), traceback(None, "ValueError: x"), steps(39, 40, form=BARE)),
        "failure",
    ),
    "an evaluation that goes on": (
        text(steps(1, 40, form=BARE), traceback(None, "ValueError: x"), steps(30, 33, form="Eval: step {s}")),
        "unfinished",
    ),
    "lines of the same epoch": (
        text(["epoch 3 loss 0.2"] * 9, traceback(None, "ValueError: x"), ["epoch 3 loss 0.1"] * 2),
        "unfinished",
    ),
    "the next epoch": (
        text(steps(90, 100, form=OF_EPOCH), traceback(None, "ValueError: x"), steps(1, 9, form=OF_EPOCH)),
        "unfinished",
    ),
    "a later epoch of the rank": (
        text(
            steps(90, 100, (0, 1), OF_EPOCH), steps(1, 9, (0, 1), OF_EPOCH), logged(1), steps(10, 20, (0, 1), OF_EPOCH)
        ),
        "unfinished",
    ),
    "steps that only rank 0 logs": (text(steps(1, 20), logged(1), steps(21, 30)), "unfinished"),
    "two reports, a hundred steps apart": (
        text(["[rank 0] step 1900"], logged(1), ["[rank 0] step 2000", "[rank 0] step 2100"]),
        "unfinished",
    ),
    "caught on each rank": (
        text(steps(1, 20), *(logged(rank) for rank in range(4)), steps(21, 30), ["[rank 0] training complete"]),
        "healthy",
    ),
    "one step more of rank 0": (text(steps(1, 20), logged(1), steps(21, 21)), "failure"),
    "rank 0's buffer, and what reached it": (
        text(steps(1, 20), logged(1), steps(21, 26), [line.replace("[rank0]:", "[rank 0]") for line in closed(0)]),
        "failure",
    ),
    "rank 0's buffer, and a bad end": (text(steps(1, 20), logged(1), steps(21, 26), [REPORT]), "failure"),
    "hung while leaving": (
        text(steps(1, 10), logged(1), steps(11, 26), timed_out(0), table({0: 1, 1: -15}, 0)),
        "failure",
    ),
}


@pytest.mark.parametrize("name", WITHIN)
def test_a_run_that_goes_on_has_recovered(catalog: Catalog, name: str) -> None:
    log, outcome = WITHIN[name]
    found = analyze_text(log, catalog)
    assert found.outcome == outcome
    assert outcome != "failure" or (found.root_cause is not None and found.root_cause.signature == "python-exception")


RESTARTS = {
    "from where it stood": (text(steps(1, 20, (0, 1)), FAILED, steps(21, 40, (0, 1))), "recovered", 2),
    "past the failure": (text(steps(1, 20, (0, 1)), FAILED, steps(15, 40, (0, 1))), "recovered", 2),
    "announced": (text(steps(1, 20, (0, 1)), FAILED, [RESTART], steps(18, 30, (0, 1))), "recovered", 2),
    "ends well": (text(steps(1, 20), FAILED, steps(10, 20), ["[rank 0] training finished"]), "recovered", 2),
    "a loop in a shell": (
        text(steps(1, 20, form=BARE), FAILED, table({0: -15, 1: 1}, 1), ["+ torchrun"], steps(10, 40, form=BARE)),
        "recovered",
        2,
    ),
    "a bar past the failure": (text(bar(100, 120), FAILED, [RESTART], bar(1, 4, 4), bar(100, 140)), "recovered", 2),
    "failed before the first step": (text(bar(1, 2, 4), FAILED, [RESTART], bar(1, 4, 4), bar(1, 40)), "recovered", 2),
    "what the first attempt said, not yet past it": (
        text(steps(1, 20, form=BARE), ["Training complete"], FAILED, [RESTART], steps(10, 15, form=BARE)),
        "failure",
        2,
    ),
    "not yet past it": (text(steps(1, 20, (0, 1)), FAILED, steps(10, 15, (0, 1))), "failure", 2),
    "announced, a late line, not yet past it": (text(steps(1, 20), FAILED, [RESTART], steps(21, 21)), "failure", 2),
    "announced, not yet past it": (text(steps(1, 20), FAILED, [RESTART], steps(10, 15)), "failure", 2),
    "only a bar of loading": (text(steps(1, 20), FAILED, [RESTART], bar(1, 50, 50, "Loading: ")), "failure", 2),
    "a line that came late": (text(steps(1, 20), FAILED, steps(20, 20)), "failure", 1),
    "late lines without a label": (text(steps(1, 20, form=BARE), FAILED, steps(19, 20, form=BARE)), "failure", 1),
    "a bar drawn again": (text(bar(100, 120), FAILED, bar(120, 120)), "failure", 1),
    "late lines of another node": (text(steps(1, 20), steps(1, 9, (8,)), FAILED, steps(10, 20, (8,))), "failure", 1),
    "a node's log behind another's": (text(steps(1, 20), FAILED, steps(1, 20, (8,))), "failure", 1),
    "failed again": (text(steps(1, 20), FAILED, steps(10, 30), FAILED), "failure", 2),
}


@pytest.mark.parametrize("name", RESTARTS)
def test_a_restart_recovers_by_a_good_end_or_by_later_steps(catalog: Catalog, name: str) -> None:
    log, outcome, attempts = RESTARTS[name]
    found = analyze_text(log, catalog)
    assert (found.outcome, len(found.attempts), found.first_failing_rank) == (outcome, attempts, 1)
    is_running = name.endswith("not yet past it") or name == "only a bar of loading"
    assert any("started again" in doubt for doubt in found.doubts) == is_running


PLAIN = traceback(None, "ValueError: x")
CAUGHT = {
    "a warning above": ["WARNING:data:could not decode sample 17", *PLAIN],
    "logger.exception": ["2026-05-03 10:00:20,000 - trainer - ERROR - upload failed", *PLAIN],
    "what the program does next": [*PLAIN, "Retrying in 5 s (attempt 1/3)"],
}
UNCAUGHT = {
    "nothing around it": PLAIN,
    "torch's own hook": ["WARNING:data:could not decode sample 17", *traceback(1, "ValueError: x")],
    "it gives up": ["ERROR:root:training failed", *PLAIN],
    "a bad end": ["WARNING:data:could not decode sample 17", *PLAIN, REPORT],
}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_logged_exception_at_the_end_of_the_log_may_have_been_caught(catalog: Catalog, name: str) -> None:
    found = analyze_text(text(steps(1, 20, form=BARE), CAUGHT[name]), catalog)
    assert found.root_cause is not None
    assert found.root_cause.confidence == "low"
    assert any("may have been caught" in doubt for doubt in found.doubts)


@pytest.mark.parametrize("name", UNCAUGHT)
def test_an_exception_that_ended_its_process_raises_no_such_doubt(catalog: Catalog, name: str) -> None:
    found = analyze_text(text(steps(1, 20, form=BARE), UNCAUGHT[name]), catalog)
    assert not any("may have been caught" in doubt for doubt in found.doubts)


STOPPED = "slurmstepd: error: *** JOB 123 ON n1 CANCELLED AT 2026-05-03T10:00:00 DUE TO {} ***"
PREEMPTED = STOPPED.format("PREEMPTION")
START = ["WORLD_SIZE=2", "resuming from ckpt/latest.pt"]
GONE = "FileNotFoundError: [Errno 2] No such file or directory: 'ckpt/latest.pt'"
REQUEUED = {
    "went on": ([PREEMPTED, *START, *steps(15, 40)], "recovered", "preempted", 2),
    "went on, no word of a start": ([PREEMPTED, *steps(15, 40)], "recovered", "preempted", 2),
    "requeued, ended well": ([STOPPED.format("JOB REQUEUE"), *START, "Training complete"], "healthy", None, 2),
    "stopped once more": ([PREEMPTED, *START, *steps(15, 40), PREEMPTED], "interrupted", "preempted", 2),
    "failed by itself": ([PREEMPTED, *START, *steps(15, 30), *FAILED], "failure", "python-exception", 2),
    "failed at once": (
        [PREEMPTED, *START, *traceback(1, GONE), *table({1: 1}, 1)],
        "failure",
        "checkpoint-missing",
        2,
    ),
    "failed, then started again by hand": (
        [
            *FAILED,
            *table({0: -15, 1: 1}, 1),
            "srun: error: n1: task 0: Exited with exit code 1",
            *START,
            *steps(15, 40),
        ],
        "recovered",
        "python-exception",
        2,
    ),
    "a line that came late": ([PREEMPTED, *steps(21, 21)], "interrupted", "preempted", 1),
}


@pytest.mark.parametrize("name", REQUEUED)
def test_a_requeued_job_is_judged_by_what_it_failed_of_itself(catalog: Catalog, name: str) -> None:
    """Slurm appends the next start to the same file; having been stopped is no cause of a later failure."""
    lines, outcome, cause, attempts = REQUEUED[name]
    found = analyze_text(text(START, steps(1, 20), lines), catalog)
    told = found.root_cause and found.root_cause.signature
    assert (found.outcome, told, len(found.attempts)) == (outcome, cause, attempts)


@pytest.mark.parametrize(("others", "outcome"), [([], "unfinished"), (closed(0), "failure")])
def test_in_files_per_stream_a_lost_peer_shows_that_nobody_went_on(
    catalog: Catalog, tmp_path: Path, others: list[str], outcome: str
) -> None:
    """All ranks at the same step proves nothing where another rank lost its peer."""
    printed = {0: others, 1: traceback(None, "ValueError: x")}
    for rank, lines in printed.items():
        folder = tmp_path / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(text(lines))
        (folder / "stdout.log").write_text(text(["step 1", "step 2"]))
    found = analyze([str(tmp_path)], catalog)
    assert (found.outcome, found.first_failing_rank) == (outcome, 1 if others else None)
