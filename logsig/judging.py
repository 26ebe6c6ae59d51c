"""Judges every attempt of a job: its verdict, its outcome, and which attempt tells the cause.

Takes a ``JobLog``, gives ``Judged`` attempts in their order. Composes no sentence of the answer but the verdict's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from logsig import caught
from logsig.catalog import Catalog
from logsig.first import decide
from logsig.incomplete import cut_files
from logsig.model import Attempt, AttemptResult, Confidence, Event, JobLog, Outcome
from logsig.record import dataclass
from logsig.stories import Stories, tell
from logsig.verdict import Verdict

INTERRUPTIONS = {
    "slurm-time-limit",
    "slurm-cancelled",
    "preempted",
    "sigint-user",
    "sigterm-external",
    "sighup",
    "launcher-time-limit",
}
FINDINGS = {
    "early-exit": "rank-exited-early",
    "exit-code": "worker-exit",
    "silent-end": "job-silent-hang",
    "exit-sigterm": "sigterm-external",
}


AT_THE_END = 400
"""Lines at most that follow the word of a good end."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One attempt with its verdict."""

    stories: Stories
    verdict: Verdict
    outcome: Outcome


def judge(job: JobLog, catalog: Catalog) -> list[Judged]:
    """Returns every attempt with its verdict."""
    has_head, world = not cut_files(job.lines), world_size(job)
    numbers = range(len(job.attempts))
    return [_judge(job, number, catalog, world, has_head=has_head or number > 0) for number in numbers]


def _failed(judged: Sequence[Judged]) -> list[Judged]:
    """The attempts that failed; one that had to make room, and was taken up again to a good end, didn't."""
    good = {"healthy", "unfinished", "empty"} | ({"interrupted"} if judged[-1].outcome == "healthy" else set())
    return [item for item in judged if item.outcome not in good]


def _judge(job: JobLog, number: int, catalog: Catalog, world: int | None, *, has_head: bool) -> Judged:
    attempt = job.attempts[number]
    stories = tell(attempt, catalog)
    verdict = decide(stories, catalog, world, has_head=has_head)
    if verdict.root is None and verdict.finding is not None:
        verdict = replace(verdict, root=_stand_in(verdict, stories, catalog))
    if caught.may_be(job, stories, verdict):
        rank: Confidence | None = "low" if verdict.rank is not None else None
        verdict = replace(verdict, may_be_caught=True, confidence=rank, doubts=(*verdict.doubts, caught.DOUBT))
    return Judged(stories, verdict, _attempt_outcome(job, stories, verdict))


def world_size(job: JobLog) -> int | None:
    """Returns the world size as announced, else as failures tell it (``4/5 clients joined``)."""
    announced = job.facts.get("world_size")
    told = [
        int(event.facts["world_size"])
        for attempt in job.attempts
        for event in attempt.events
        if "world_size" in event.facts
    ]
    return announced or max(told, default=None)


def _stand_in(verdict: Verdict, stories: Stories, catalog: Catalog) -> Event | None:
    """The event for a finding that no line of its own carries: it stands on the line that shows it best."""
    name = next(iter(catalog.derived.get(verdict.finding or "", ())), FINDINGS.get(verdict.finding or ""))
    if name is None or name not in catalog.signatures:
        return None
    story = stories.ranks.get(verdict.rank) if verdict.rank is not None else None
    ending = (story.failed_code or story.ending) if story else next(iter(stories.failed_exits), None)
    line = verdict.line
    facts: dict[str, Any] = {}
    if verdict.finding == "early-exit" and story is not None:
        line = story.log.exhausted or story.log.finished or story.log.last_line
    elif ending is not None:
        line = ending.line
        facts = {
            key: value
            for key, value in {"exitcode": ending.code, "pid": ending.pid, "host": ending.node}.items()
            if value is not None
        }
    if line is None:
        return None
    return Event(
        name,
        catalog.get(name).role,
        line,
        line.text,
        facts,
        verdict.rank,
        line.node or (story.log.node if story else None),
        stories.attempt.number,
    )


def _attempt_outcome(job: JobLog, stories: Stories, verdict: Verdict) -> Outcome:
    attempt = stories.attempt
    if verdict.root is not None:
        return "interrupted" if verdict.root.signature in INTERRUPTIONS else "failure"
    if verdict.rank is not None or stories.failed_exits or verdict.finding:
        return "unrecognised"
    if any(log.finished for log in attempt.ranks.values()) or _said_finished(attempt):
        return "healthy"
    if not job.lines:
        return "empty"
    return "unfinished"


def _said_finished(attempt: Attempt) -> bool:
    return attempt.finished_order >= 0 and attempt.last_order - attempt.finished_order < AT_THE_END


def telling(judged: Sequence[Judged]) -> Judged:
    """Returns the attempt that tells the cause: the earliest failed one that names it; later ones only followed.

    One that was stopped from outside tells it only where none failed by itself, and one in which ranks only waited for
    somebody unknown only where none shows a rank's own failure.
    """
    failed = _failed(judged)
    named = [item for item in failed if item.verdict.root is not None]
    own = [item for item in named if item.outcome != "interrupted"]
    first = (own or named or failed or list(judged[-1:]))[0]
    return first if not own or _has_culprit(first) else next(filter(_has_culprit, own), first)


def _has_culprit(item: Judged) -> bool:
    """True unless ranks only tell that they waited for, or lost, somebody who isn't known."""
    root = item.verdict.root
    return root is not None and (root.role == "initiator" or root.derived or item.verdict.rank is not None)


def outcome(judged: Sequence[Judged]) -> Outcome:
    """Returns the job's outcome: that of the attempt that tells, unless the last one ended well or came further."""
    failed, last = _failed(judged), judged[-1]
    has_recovered = failed and last not in failed and (last.outcome == "healthy" or _came_further(last, failed))
    return "recovered" if has_recovered else telling(judged).outcome


def _came_further(last: Judged, failed: Sequence[Judged]) -> bool:
    """True where the attempt got on, and past what the failed ones reached; each counter for itself."""
    if max(last.stories.attempt.going_on_in.values(), default=-1) < 0:
        return False  # a line or two that came late
    before: dict[tuple[str, int | None], int] = {}
    for item in failed:
        for counter, top in item.stories.attempt.tops.items():
            before[counter] = max(top, before.get(counter, -1))
    now = last.stories.attempt.tops
    has_all = all(now.get(counter, -1) >= top for counter, top in before.items())
    return any(top > before.get(counter, -1) and (counter in before or has_all) for counter, top in now.items())


def result(item: Judged) -> AttemptResult:
    """Returns the attempt's line in the answer."""
    steps = [log.last_step for log in item.stories.attempt.ranks.values() if log.last_step is not None]
    root = item.verdict.root
    return AttemptResult(
        item.stories.attempt.number,
        item.outcome,
        root.signature if root else None,
        item.verdict.rank,
        max(steps, default=None),
    )
