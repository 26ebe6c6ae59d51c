"""Hangs without an error: positive evidence or nothing."""

from __future__ import annotations

from logsig import analyze_text
from logsig.catalog import Catalog


def stamped(rank: int, step: int, second: int) -> str:
    return f"2026-11-29 16:{second // 60:02d}:{second % 60:02d},000 INFO [rank{rank}] train: step={step} loss=1.0\n"


def test_rank_two_steps_behind_is_a_hang(catalog: Catalog) -> None:
    """Ranks that wait for one another are at most a step apart."""
    log = "".join(stamped(rank, step, step) for step in range(10) for rank in range(4) if not (rank == 2 and step > 6))
    found = analyze_text(log, catalog)
    assert (found.root_cause and found.root_cause.signature, found.first_failing_rank) == ("job-silent-hang", 2)


def test_log_that_stops_within_a_step_is_unfinished(catalog: Catalog) -> None:
    """A cut in the middle of a step's lines shows no hang."""
    log = "".join(stamped(rank, step, step) for step in range(10) for rank in range(4))[: -len(stamped(3, 9, 9))]
    found = analyze_text(log, catalog)
    assert (found.outcome, found.root_cause) == ("unfinished", None)
    assert any("running, was cut off, or hangs" in doubt for doubt in found.doubts)


def test_rank_zero_only_logging_accuses_nobody(catalog: Catalog) -> None:
    """Ranks whose output was never captured aren't called silent."""
    found = analyze_text("world size 4\n" + "".join(stamped(0, step, step) for step in range(10)), catalog)
    assert (found.outcome, found.silent_ranks, found.first_failing_rank) == ("unfinished", (), None)


def test_time_limit_long_after_the_last_step_is_a_hang(catalog: Catalog) -> None:
    """An outside stop after a gap of many step times ended a hang."""
    log = "".join(stamped(rank, step, step) for step in range(20) for rank in range(2))
    log += "slurmstepd: error: *** STEP 77.0 ON node-0 CANCELLED AT 2026-11-29T16:58:00 DUE TO TIME LIMIT ***\n"
    log += "2026-11-29 16:58:00,000 INFO [rank0] train: caught signal\n"
    found = analyze_text(log, catalog)
    assert found.root_cause is not None
    assert found.root_cause.signature == "job-silent-hang"


def test_time_limit_while_training_is_the_time_limit(catalog: Catalog) -> None:
    """Without a gap the limit itself is the cause: interrupted."""
    log = "".join(stamped(rank, step, step) for step in range(20) for rank in range(2))
    log += "slurmstepd: error: *** STEP 77.0 ON node-0 CANCELLED AT 2026-11-29T16:00:20 DUE TO TIME LIMIT ***\n"
    found = analyze_text(log, catalog)
    assert (found.outcome, found.root_cause and found.root_cause.signature) == ("interrupted", "slurm-time-limit")


def test_rank_that_reports_every_tenth_step_is_not_behind(catalog: Catalog) -> None:
    """A rank lags only once the others have passed the step at which it would have reported again."""
    log = "".join(stamped(rank, step, step) for step in range(58) for rank in range(2) if rank == 1 or step % 10 == 0)
    found = analyze_text(log, catalog)
    assert (found.outcome, found.root_cause) == ("unfinished", None)
    later = "".join(stamped(1, step, step) for step in range(58, 64))
    hung = analyze_text(log + later, catalog)
    assert (hung.root_cause and hung.root_cause.signature, hung.first_failing_rank) == ("job-silent-hang", 0)


def test_lines_without_times_that_end_early_are_no_hang(catalog: Catalog) -> None:
    """They may wait in a pipe's buffer while the job runs: a doubt, no failure."""
    log = "".join(
        f"[rank{rank}]: step={step} loss=1.0\n" for step in range(9) for rank in range(2) if step < 9 - 3 * rank
    )
    found = analyze_text(log, catalog)
    assert (found.outcome, found.root_cause) == ("unfinished", None)
    assert any("rank 1 reported step 5 last, the other rank step 8" in doubt for doubt in found.doubts)


def test_a_log_cut_between_the_reports_of_a_round_shows_no_hang(catalog: Catalog) -> None:
    """Seven ranks have said step 50 and the eighth not yet: after one round or two nobody knows better."""
    for rounds in (2, 3, 4):
        lines = [stamped(rank, 50 * turn, 50 * turn) for turn in range(rounds) for rank in range(8)]
        found = analyze_text("".join(lines[:-1]), catalog)
        assert (found.outcome, found.first_failing_rank) == ("unfinished", None)


def test_who_said_nothing_since_the_start_does_not_log(catalog: Catalog) -> None:
    """No rank goes on for fifty steps without its only peer."""
    log = stamped(0, 0, 0) + stamped(1, 0, 0) + "".join(stamped(0, step, step) for step in range(1, 50))
    found = analyze_text(log, catalog)
    assert (found.outcome, found.first_failing_rank) == ("unfinished", None)


def test_a_rank_that_speaks_long_after_the_last_step_does_not_hang(catalog: Catalog) -> None:
    """A long evaluation, or an upload, comes after the last step of a healthy run; a controller's line shows none."""
    steps = "".join(stamped(0, step, 2 * step) for step in range(30))
    calm = "2026-11-29 16:20:00,000 INFO [rank0] train: top-1 accuracy 0.77\n"
    found = analyze_text(steps + calm, catalog)
    assert (found.outcome, found.root_cause) == ("unfinished", None)
    for last in (
        "2026-11-29 16:20:00,000 WARNING [rank0] train: still waiting\n",
        "2026-11-29 16:20:00,000 snapshot\n",
    ):
        hung = analyze_text(steps + last, catalog)
        assert (hung.root_cause and hung.root_cause.signature) == "job-silent-hang"
