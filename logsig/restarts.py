"""Where the next attempt begins in a file: all workers start again.

Takes lines, progress and reports of failed workers; gives ``Boundaries``. A restart is announced, or it is shown: by
two reports with workers between; by steps that go back, or on, after an agent said that its workers failed; by the
words of a start after a scheduler ended the job (requeued, Slurm appends to the same file).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from logsig.late import late
from logsig.progress import AHEAD, MAX_SAYING, Progress
from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.identity import Identity
    from logsig.model import LogLine
    from logsig.witness import Testimony

Counter = tuple[str, int | None]
_ENDED = late(r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT ")
STOPPED = "death signal, shutting down workers"
"""torchrun's agent, when it is told to end."""
_STARTS = late(
    r"OMP_NUM_THREADS|^NCCL version|Starting elastic_operator|\bWORLD_SIZE\b|\bworld[ _]size\b|"
    r"^\++ \S*(?:srun|torchrun|python3?|mpirun|accelerate|deepspeed)\b|initializing distributed|\bjob \S+ start|"
    r"\bstart(?:ing|ed)? (?:job|train\w*|attempt)\b|\bresum(?:e|ed|ing)\b|\bload(?:ed|ing) (?:\w+ ){0,3}checkpoint",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Orders at which the next attempt begins, per file."""

    starts: Mapping[str, tuple[int, ...]]

    def attempt(self, line: LogLine, order: int) -> int:
        """Gives the number of the attempt that a line belongs to."""
        if line.attempt is not None:
            return line.attempt
        return bisect_right(self.starts.get(line.source.path, ()), order)


def find(
    lines: Sequence[LogLine],
    progress: Sequence[Progress],
    testimony: Sequence[Testimony],
    identity: Identity,
) -> Boundaries:
    """Returns where attempts begin."""
    starts: dict[str, set[int]] = defaultdict(set)
    ends: dict[str, set[int]] = defaultdict(set)
    _reported(lines, testimony, ends, starts)
    _announced(lines, ends, starts)
    if ends:
        told = sorted({item.order for item in testimony}.union(*ends.values()))
        _shown(progress, {path: sorted(orders) for path, orders in ends.items()}, told, starts, identity)
    return Boundaries({path: _merged(sorted(orders), lines) for path, orders in starts.items()})


def _reported(
    lines: Sequence[LogLine],
    testimony: Sequence[Testimony],
    ends: dict[str, set[int]],
    starts: dict[str, set[int]],
) -> None:
    """Adds agents' reports of the end of their workers; two of one agent with workers between are of two attempts."""
    agents: dict[tuple[str, int | None], int] = {}
    for item in testimony:
        path = item.line.source.path
        if item.witness == "elastic-child-failed" and item.line.attempt is None:
            ends[path].add(item.order)
        if item.witness == "worker-exit" and item.local_rank is not None and item.line.attempt is None:
            before = agents.get((path, item.line.pid))
            if (
                before is not None
                and item.line.pid is not None
                and item.order > before + 1
                and _workers_between(lines, before, item.order)
            ):
                starts[path].add(before + 1)
            agents[(path, item.line.pid)] = item.order
            ends[path].add(item.order)


def _announced(lines: Sequence[LogLine], ends: dict[str, set[int]], starts: dict[str, set[int]]) -> None:
    """Adds a scheduler's ends of the job, and what says that all begins anew."""
    stopped: set[str] = set()
    for order, line in enumerate(lines):
        text, path = line.text, line.source.path
        if line.attempt is not None:
            continue
        if "attempts left" in text and "will restart worker group" in text:
            starts[path].add(order + 1)
        if ends_all(text):
            ends[path].add(order)
            stopped.add(path)
        elif path in stopped and _STARTS.search(text[:MAX_SAYING]):
            starts[path].add(order)
            stopped.discard(path)


def ends_all(text: str) -> bool:
    """True for the word of a scheduler, or of an agent that it told so, that the whole job ended, or a step of it."""
    return ("CANCELLED AT " in text and _ENDED.search(text) is not None) or STOPPED in text


def _workers_between(lines: Sequence[LogLine], low: int, high: int) -> bool:
    return any(
        line.rank is not None or line.local_rank is not None or "Traceback" in line.text
        for line in lines[low + 1 : min(high, low + 400)]
    )


@dataclass(slots=True)
class _Course:
    """One writer's steps by one counter, since the attempt began."""

    last: int
    order: int
    """Of its last line before a report."""
    since: int | None = None
    """The first step that it reported since."""


def _shown(
    progress: Sequence[Progress],
    ends: Mapping[str, Sequence[int]],
    told: Sequence[int],
    starts: dict[str, set[int]],
    identity: Identity,
) -> None:
    """Adds the restarts that steps show after a report of failed workers, behind all that was ``told`` of ends.

    What had waited in a buffer, or comes late from another node, doesn't go back, nor further than all did before. A
    rank's own steps that go back show a restart; so do steps without a label that begin far below, or rise anew.
    """
    tops: dict[tuple[str, Counter], int] = {}
    courses: dict[tuple[str, int | None, Counter], _Course] = {}
    for item in progress:
        path = item.line.source.path
        if item.line.attempt is not None:
            continue
        rank = identity.rank_of(item.line)
        key = (path, rank, item.counter)
        course = courses.setdefault(key, _Course(item.step, item.order))
        reports = ends.get(path, ())
        report = bisect_right(reports, item.order) - 1
        if report < 0 or reports[report] < course.order:
            course.last, course.order = item.step, item.order
            tops[path, item.counter] = max(item.step, tops.get((path, item.counter), -1))
            continue
        course.since = item.step if course.since is None else course.since
        goes_back = item.step < course.last if rank is not None else item.step * 2 < course.last
        rises_anew = rank is None and course.since < course.last and item.step >= course.since + AHEAD
        if goes_back or rises_anew or item.step >= tops.get((path, item.counter), course.last) + AHEAD:
            starts[path].add(max(reports[report], told[bisect_right(told, item.order) - 1]) + 1)
            courses[key] = _Course(item.step, item.order)


def _merged(found: Sequence[int], lines: Sequence[LogLine]) -> tuple[int, ...]:
    """Announcements of one restart (several agents, several lines) are one boundary."""
    kept: list[int] = []
    for start in found:
        if kept and not _workers_between(lines, kept[-1] - 1, start):
            continue
        kept.append(start)
    return tuple(kept)
