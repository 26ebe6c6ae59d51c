"""What a person who watches a job is told: takes news of a growing log, gives the changes of its diagnosis.

    watch(news, catalog, masked=...) -> Iterator[Change]

A failure is told in a line when it is first seen, and as a report when the log has settled after it. A running job is
never said to hang for what a finished log would show as a lag: its ranks may only not have flushed their output. It
hangs where no rank has reported a step for many step times, and for longer than it ever paused before, as the clock
of the one who watches says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from logsig import diagnosis
from logsig.catalog import Catalog
from logsig.follow import Kind, News
from logsig.hang import GAP_STEPS
from logsig.model import Diagnosis, JobLog
from logsig.report.verdict import short
from logsig.report.wording import duration
from logsig.understand import understand

RUNNING = ("unfinished", "empty")
PATIENCE = 300.0
"""Seconds without a step that a running job is given at least: to save and to evaluate takes time."""
HANG = "silent-end"
"""The finding that a signature of a hang stands for."""


class Change(NamedTuple):
    """Something to tell."""

    found: Diagnosis
    line: str | None
    """In a line; None where it was told before."""
    is_report: bool
    """The whole diagnosis is due: it has settled."""
    is_end: bool = False
    is_stall: bool = False
    """The line tells what the report may not: that time goes by without a step."""


Answer = tuple[object, ...]
"""What makes two diagnoses different to one who watches."""


def watch(
    news: Iterable[News], catalog: Catalog, masked: Callable[[Diagnosis], Diagnosis] = lambda found: found
) -> Iterator[Change]:
    """Gives a change whenever the answer is another than the last one told, and one at the end.

    Lines are made of what ``masked`` gives.
    """
    told: Answer | None = None
    reported: Answer | None = None
    progress = _Progress()
    hangs = set(catalog.derived.get(HANG, ()))
    for each in news:
        job = understand(each.scan.excerpts, catalog, _files(each), each.scan.doubts).job
        stall = progress.stall(job, each)
        found = diagnosis.diagnose(_at_present(job, stall), catalog)
        found = replace(found, unreadable=each.scan.unreadable)
        if each.kind is Kind.END:
            yield Change(found, None, is_report=True, is_end=True)
            return
        is_hang = found.root_cause is not None and found.root_cause.signature in hangs
        is_calm = stall is None and (is_hang or found.outcome in RUNNING)
        answer: Answer = ("running",) if is_calm else _answer(found, is_stall=stall is not None)
        line = None if answer == (told or ("running",)) else _line(masked(found), each.kind, stall, is_calm)
        is_due = each.kind is not Kind.SEEN and not is_calm and found.outcome != "healthy" and answer != reported
        told, reported = answer, answer if is_due else reported
        if line or is_due:
            yield Change(found, line, is_report=is_due, is_stall=stall is not None)


def _files(news: News) -> tuple[str, ...]:
    return tuple(dict.fromkeys(origin.path for origin in news.scan.origins))


def _answer(found: Diagnosis, *, is_stall: bool) -> Answer:
    cause = found.root_cause.signature if found.root_cause else None
    return (found.outcome, cause, found.first_failing_rank, found.job.attempt_count, is_stall)


def _line(found: Diagnosis, kind: Kind, stall: Stall | None, is_calm: bool) -> str:
    if is_calm:
        return "the job goes on; what was told before didn't end it"
    if stall is not None and (found.root_cause is None or found.outcome in RUNNING):
        return stall.text
    cause = found.root_cause
    if kind is Kind.SEEN and found.outcome == "failure" and cause is not None:
        # who was first isn't known before the others have spoken
        shown = cause.evidence[0] if cause.evidence else None
        rank = f" on rank {shown.rank}" if shown is not None and shown.rank is not None else ""
        where = f" ({shown.source.path}:{shown.source.line})" if shown is not None else ""
        return f"a failure is seen: {cause.title} [{cause.signature}]{rank}{where}"
    return f"{stall.text} - {short(found)}" if stall is not None else short(found)


def _at_present(job: JobLog, stall: Stall | None) -> JobLog:
    """The job with the present time, where that shows how long it has made no step."""
    last = job.attempts[-1]
    if stall is None or last.last_progress_time is None:
        return job
    return replace(job, attempts=(*job.attempts[:-1], replace(last, now=last.last_progress_time + stall.seconds)))


# ---------------------------------------------------------------- steps


class Stall(NamedTuple):
    """No rank has made a step for long."""

    seconds: float
    step: int
    """The last one."""
    pace: float
    """Seconds for a step before."""

    @property
    def text(self) -> str:
        """Says it in a sentence."""
        before = f"the last was {self.step}, and one took {duration(self.pace)}"
        return f"no step for {duration(self.seconds)}; {before}"


class _Progress:
    """Remembers when steps were last seen to advance, how fast they did while watched, and what pauses they made."""

    def __init__(self) -> None:
        self._state: tuple[int, int, int] | None = None
        self._since = 0.0
        self._pace: float | None = None
        self._pause = 0.0
        """Longest time without a step after which the job went on: it saves or evaluates."""

    def stall(self, job: JobLog, news: News) -> Stall | None:
        """Tells whether steps have stopped for many times the length of one."""
        attempt = job.attempts[-1]
        logs = [log for log in attempt.ranks.values() if log.last_step is not None]
        if not logs or any(log.finished for log in attempt.ranks.values()):
            return None
        last = max(log.last_step or 0 for log in logs)
        self._note((attempt.number, last, sum(log.last_step or 0 for log in logs)), news.time - news.quiet)
        stamped = [log.step_seconds for log in logs if log.step_seconds is not None]
        pace = max(stamped) if stamped else self._pace
        seconds = news.time - self._since
        if pace is None or seconds < max(PATIENCE, GAP_STEPS * pace, 2 * self._pause):
            return None
        return Stall(seconds, last, pace)

    def _note(self, state: tuple[int, int, int], time: float) -> None:
        if state == self._state:
            return
        if self._state is not None:
            pause = time - self._since
            self._pause = max(self._pause, pause)
            if state[0] == self._state[0] and state[1] > self._state[1]:
                pace = pause / (state[1] - self._state[1])  # too long where the steps stopped in between
                self._pace = pace if self._pace is None else min(self._pace, pace)
        self._state, self._since = state, time
