"""Hangs without an error: a log that stops in mid-training, or an outside stop long after the last step.

Takes stories, gives ``Hang`` only on positive evidence: a lagging rank by lines with times, a gap of many step times
before a later line, an outside kill after a gap. Ranks whose output was never captured are not called silent; lines
without times that end early may only wait in a pipe's buffer.
"""

from __future__ import annotations

from collections import Counter

from logsig.model import LogLine, RankLog
from logsig.record import dataclass
from logsig.stories import Stories

GAP_STEPS = 20
"""A silence of so many step times is a gap …"""
GAP_SECONDS = 120.0
"""… and of at least so many seconds."""
CLEAR_LAG = 2
"""Ranks that wait for one another are at most one step apart; more is a lag."""
FEW_STEPS = 8
"""More steps than these nobody goes on without a peer: one that said nothing since its start doesn't log its steps."""


@dataclass(frozen=True, slots=True)
class Hang:
    """A hang and what shows it."""

    rank: int | None
    line: LogLine
    """The last sign of progress: of the suspect, else of the job."""
    reasons: tuple[str, ...]
    sure: bool
    """The rank is shown by more than one step's lag, or by a lag and a gap."""


def find(stories: Stories, outside_time: float | None = None, outside: bool = False) -> Hang | None:
    """Returns the hang, if the attempt shows one; ``outside_time`` is when something outside stopped the job."""
    logs = [story.log for story in stories.ranks.values() if story.log.last_step is not None]
    attempt = stories.attempt
    if attempt.last_progress_order < 0 or any(story.log.finished for story in stories.ranks.values()):
        return None
    ends = (outside_time, attempt.now, attempt.last_time)
    alive = _spoken(logs) if not outside and attempt.now is None else None
    gap = _gap(logs, attempt.last_progress_time, next((end for end in ends if end is not None), None), alive)
    lagging, lag = _lagging(logs)
    reasons: list[str] = []
    if lagging is not None and (lag >= CLEAR_LAG or gap or outside):
        reasons.append(f"{_lag(lagging, logs).capitalize()}.")
    if gap:
        end = "before the job was stopped" if outside else "before the last line" if attempt.now is None else "ago"
        silence = f"The last step was reported {_duration(gap)} {end}"
        reasons.append(f"{silence}; until then steps came every {_step(logs)}.")
    line = lagging.last_step_line if lagging is not None else _last(logs)
    behind = lagging is not None and lag >= CLEAR_LAG and (outside or lagging.last_step_time is not None)
    if not reasons or line is None or not (gap or behind):
        return None
    return Hang(
        lagging.rank if lagging is not None else None,
        line,
        tuple(reasons),
        lagging is not None and (lag >= CLEAR_LAG or bool(gap)),
    )


def behind(stories: Stories) -> str | None:
    """Says which rank's steps end clearly before the others', where one's do; that alone is no hang."""
    logs = [story.log for story in stories.ranks.values() if story.log.last_step is not None]
    lagging, lag = _lagging(logs)
    return _lag(lagging, logs) if lagging is not None and lag >= CLEAR_LAG else None


def _lag(low: RankLog, logs: list[RankLog]) -> str:
    others = f"the other {len(logs) - 1} ranks" if len(logs) > 2 else "the other rank"
    return (
        f"rank {low.rank} reported step {low.last_step} last, {others} step {max(log.last_step or 0 for log in logs)}"
    )


def _lagging(logs: list[RankLog]) -> tuple[RankLog | None, int]:
    """The one rank whose last step is behind all others', and by how much."""
    if len(logs) < 3:
        if len(logs) == 2:
            low, high = sorted(logs, key=lambda log: log.last_step or 0)
            lag = (high.last_step or 0) - _due(low, logs)
            is_heard = low.step_seconds is not None or lag <= FEW_STEPS
            return (low, lag) if lag >= CLEAR_LAG and is_heard else (None, 0)
        return None, 0
    counts = Counter(log.last_step for log in logs)
    low = min(logs, key=lambda log: log.last_step or 0)
    rest = [log.last_step or 0 for log in logs if log is not low]
    lag = min(rest) - _due(low, logs)
    if counts[low.last_step] != 1 or lag < 1:
        return None, 0
    return low, lag


def _due(low: RankLog, logs: list[RankLog]) -> int:
    """The last step at which the rank, reporting as rarely as any of them, need not have reported again."""
    return (low.last_step or 0) + max(log.step_stride for log in logs) - 1


def _spoken(logs: list[RankLog]) -> float | None:
    """When a rank last said something that is no complaint: one that evaluates or saves for long doesn't hang."""
    calm = [log for log in logs if log.last_line is not None and log.last_line.level not in ("W", "E", "F")]
    return max((log.last_time for log in calm if log.last_time is not None), default=None)


def _gap(
    logs: list[RankLog], last_progress: float | None, end: float | None, alive: float | None = None
) -> float | None:
    """Seconds between the last step and the end, where that is many step times, as it is from ``alive`` on."""
    if last_progress is None or end is None:
        return None
    pace = [log.step_seconds for log in logs if log.step_seconds is not None]
    if not pace:
        return None
    many = max(GAP_SECONDS, GAP_STEPS * max(pace))
    return end - last_progress if end - max(last_progress, alive or last_progress) >= many else None


def _step(logs: list[RankLog]) -> str:
    pace = [log.step_seconds for log in logs if log.step_seconds is not None]
    return _duration(max(pace)) if pace else "step"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 180:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 10_800 else f"{seconds / 3600:.1f} h"


def _last(logs: list[RankLog]) -> LogLine | None:
    with_steps = [log for log in logs if log.last_step_line is not None]
    return max(with_steps, key=lambda log: log.last_step_order).last_step_line if with_steps else None
