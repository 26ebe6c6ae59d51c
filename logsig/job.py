"""Assembles the job: attempts, ranks with their last sign of life, events and exits with global ranks.

Takes clean lines, matches and notes; gives ``JobLog``. Draws no conclusion about causes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from logsig import dates, digits, messages, pods, restarts, sourcelines, tracebacks
from logsig.facts import JobNotes, job_facts
from logsig.identity import Identity
from logsig.late import late
from logsig.match import Matched, Matches
from logsig.model import Attempt, Event, Exit, JobLog, LogLine, Message, RankLog
from logsig.progress import FINISHED, Course, Progress
from logsig.record import dataclass
from logsig.restarts import Boundaries, Counter
from logsig.witness import Testimony, from_facts, ids, read_tables

KEPT_STEPS = 512
"""Steps per clock whose times are kept for comparing clocks."""
KEPT_PER_RANK = 16
"""Events of one signature kept per rank and attempt; more are counted."""

_ERRORS = ("E", "F")
_NAMED = late(r"(?:[\w.]{1,60}: )?\W?[Rr]ank[ =:#]{0,2}(?P<rank>\d{1,6})\b(?=\W)")


def assemble(
    lines: Sequence[LogLine],
    matches: Matches,
    notes: JobNotes,
    files: Sequence[str],
    doubts: Sequence[str],
) -> JobLog:
    """Returns the job with global ranks wherever the log tells them."""
    position = {id(line): order for order, line in enumerate(lines)}
    testimony = _testimony(lines, matches, position)
    identity = Identity(lines, notes, testimony)
    boundaries = restarts.find(lines, notes.progress, testimony, identity)
    builder = _Builder(lines, identity, boundaries, position)
    builder.add_lines(notes)
    builder.add_exits(testimony)
    builder.add_events(matches.found)
    facts = dict(job_facts(notes))
    if "torch" not in facts["versions"] and (hint := sourcelines.torch_hint(lines)):
        facts["versions"]["torch"] = hint
    return JobLog(tuple(files), builder.attempts(), facts, builder.nodes(), tuple(lines), (*doubts, *matches.doubts))


def _testimony(lines: Sequence[LogLine], matches: Matches, position: Mapping[int, int]) -> list[Testimony]:
    found = read_tables(lines)
    for matched in matches.found:
        if matched.entry.role == "witness" and matched.entry.id != "elastic-child-failed":
            found.extend(from_facts(matched.entry.id, matched.facts, matched.line, position[id(matched.line)]))
    found.sort(key=lambda item: item.order)
    return found


# ---------------------------------------------------------------- building


@dataclass(slots=True)
class _Rank:
    first: LogLine
    last: LogLine
    local_rank: int | None = None
    node: str | None = None
    pid: int | None = None
    step: Progress | None = None
    advanced: int = -1
    times: deque[float] = field(default_factory=lambda: deque(maxlen=32))
    steps: deque[int] = field(default_factory=lambda: deque(maxlen=32))
    finished: LogLine | None = None
    finished_order: int = -1
    exhausted: LogLine | None = None
    exits: list[Exit] = field(default_factory=list)
    last_time: float | None = None


class _Builder:
    def __init__(
        self, lines: Sequence[LogLine], identity: Identity, boundaries: Boundaries, position: Mapping[int, int]
    ) -> None:
        self.lines = lines
        self.identity = identity
        self.boundaries = boundaries
        self.position = position
        self.ranks: dict[int, dict[int, _Rank]] = defaultdict(dict)
        self.exits: dict[int, list[Exit]] = defaultdict(list)
        self.events: dict[int, list[Event]] = defaultdict(list)
        self.folded: dict[tuple[Any, ...], int] = {}
        self.labelled: set[str] = set()
        self.named: dict[tuple[int, int], tuple[int, LogLine]] = {}
        """(attempt, rank) -> the last error without a label that begins with the rank's name, and its order."""
        self.progress: dict[int, int] = defaultdict(lambda: -1)
        self.progress_in: dict[int, dict[str, int]] = defaultdict(dict)
        self.going_on: dict[int, dict[str, int]] = defaultdict(dict)
        self.courses: dict[tuple[int, str, int | None, tuple[str, int | None]], Course] = defaultdict(Course)
        self.last_orders: dict[int, int] = defaultdict(lambda: -1)
        self.finished_orders: dict[int, int] = defaultdict(lambda: -1)
        self.last_lines: dict[int, LogLine] = {}
        self.last_times: dict[int, float] = {}
        self.progress_time: dict[int, float] = {}
        self.step_times: dict[int, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        self.dates = dates.Calendar.of(lines)
        self.last_attempt = 0

    def add_lines(self, notes: JobNotes) -> None:
        for order, line in enumerate(self.lines):
            attempt = self._attempt(line, order)
            self.last_orders[attempt] = order
            self.last_lines[attempt] = line
            when = self.dates.seconds(line) if line.stamp is not None else None
            if when is not None:
                self.last_times[attempt] = when
            self._add_line(attempt, order, line, when)
        self.labelled = {item.line.source.path for item in notes.progress if messages.is_by_hook(item.line)}
        for item in notes.progress:
            self._add_progress(item)
        self._add_courses()
        for order, line in notes.finished:
            attempt = self._attempt(line, order)
            self.progress[attempt] = max(self.progress[attempt], order)
            self.progress_in[attempt][line.source.path] = self.going_on[attempt][line.source.path] = order
            if FINISHED.search(line.text):
                self.finished_orders[attempt] = order
            rank = self.identity.rank_of(line)
            if rank is not None:
                self.ranks[attempt][rank].finished = line
                self.ranks[attempt][rank].finished_order = order
        for order, line in notes.exhausted:
            rank = self.identity.rank_of(line)
            if rank is not None:
                self.ranks[self._attempt(line, order)][rank].exhausted = line

    def _add_line(self, attempt: int, order: int, line: LogLine, when: float | None) -> None:
        rank = self.identity.rank_of(line)
        if rank is None:
            if line.level in _ERRORS and (named := _NAMED.match(line.text)):
                self.named[attempt, digits.number(named["rank"])] = order, line
            return
        known = self.ranks[attempt].get(rank)
        if known is None:
            known = self.ranks[attempt][rank] = _Rank(line, line)
        known.last, known.last_time = line, when
        known.local_rank = line.local_rank if line.local_rank is not None else known.local_rank
        known.node = line.node or known.node
        known.pid = line.pid if line.pid is not None and "nccl" in line.layers else known.pid

    def _add_progress(self, item: Progress) -> None:
        line = item.line
        attempt, rank = self._attempt(line, item.order), self.identity.rank_of(line)
        self.courses[attempt, line.source.path, rank, item.counter].take(item)
        when = self.dates.seconds(line)
        if when is not None:
            self.progress_time[attempt] = max(when, self.progress_time.get(attempt, when))
            steps = self.step_times[attempt][line.node or line.source.path]
            steps.setdefault(item.step, when)
            if len(steps) > KEPT_STEPS:
                steps.pop(next(iter(steps)))
        if rank is None:
            return
        known = self.ranks[attempt][rank]
        if known.step is None or item.step >= known.step.step:
            if known.step is None or item.step > known.step.step:
                known.steps.append(item.step)
            known.step = item
            if when is not None:
                known.times.append(when)

    def _add_courses(self) -> None:
        """Adds how far each attempt, file and rank came by all its counters."""
        for (attempt, path, rank, _), course in self.courses.items():
            self.progress[attempt] = max(self.progress[attempt], course.advanced)
            self.progress_in[attempt][path] = max(course.advanced, self.progress_in[attempt].get(path, -1))
            self.going_on[attempt][path] = max(course.going_on, self.going_on[attempt].get(path, -1))
            if rank is not None:
                known = self.ranks[attempt][rank]
                known.advanced = max(known.advanced, course.advanced)

    def _tops(self) -> dict[int, dict[Counter, int]]:
        """Attempt -> counter -> the furthest step."""
        tops: dict[int, dict[Counter, int]] = defaultdict(dict)
        for (attempt, _, _, counter), course in self.courses.items():
            tops[attempt][counter] = max(course.top, tops[attempt].get(counter, -1))
        return tops

    def _attempt(self, line: LogLine, order: int) -> int:
        attempt = self.boundaries.attempt(line, order)
        self.last_attempt = max(self.last_attempt, attempt)
        return attempt

    def add_exits(self, testimony: Sequence[Testimony]) -> None:
        for item in testimony:
            attempt = self._attempt(item.line, item.order)
            rank = self.identity.of_testimony(item)
            when = self.dates.printed_seconds(item.time) if item.time else self.dates.seconds(item.line)
            made = Exit(
                item.code,
                item.signal,
                item.witness,
                item.line,
                rank,
                item.local_rank,
                item.host,
                item.pid,
                attempt,
                when,
                item.root,
                item.error_file,
                item.order,
            )
            self.exits[attempt].append(made)
            if rank is not None:
                known = self.ranks[attempt].get(rank)
                if known is None:
                    known = self.ranks[attempt][rank] = _Rank(item.line, item.line)
                known.exits.append(made)
                known.local_rank = known.local_rank if known.local_rank is not None else item.local_rank
                known.node = known.node or item.host
                known.pid = known.pid or item.pid

    def add_events(self, found: Sequence[Matched]) -> None:
        for matched in found:
            order = self.position[id(matched.line)]
            attempt = self._attempt(matched.line, order) if matched.message.attempt is None else matched.message.attempt
            rank = self._event_rank(matched)
            key = (attempt, rank, matched.entry.id, "" if rank is not None else matched.line.source.path)
            same = self.folded.get(key, 0)
            self.folded[key] = same + 1
            if same >= KEPT_PER_RANK and rank is not None:
                self._count(attempt, matched.entry.id, rank)
                continue
            facts = {**tracebacks.facts_of(matched.link), **matched.facts}
            self.events[attempt].append(
                Event(
                    matched.entry.id,
                    matched.entry.role,
                    matched.line,
                    matched.link.text,
                    facts,
                    rank,
                    matched.line.node,
                    attempt,
                    self._time_of(matched),
                    order,
                    1,
                    matched.link.frames,
                    matched.message.lines[:200],
                    aside=matched.message.aside,
                    fatal=matched.message.fatal and not self._is_mere_label(matched.message),
                )
            )
            if rank is not None and rank not in self.ranks[attempt]:
                self.ranks[attempt][rank] = _Rank(matched.line, matched.line)

    def _is_mere_label(self, message: Message) -> bool:
        """Where ordinary lines carry the mark of torch's excepthook too, the mark says nothing of dying."""
        return bool(message.exception) and message.first.source.path in self.labelled

    def _time_of(self, matched: Matched) -> float | None:
        """By the line's stamp, else by the time that the message itself names."""
        when = self.dates.seconds(matched.line)
        if when is None and "at" in matched.facts:
            when = self.dates.printed_seconds(str(matched.facts["at"]))
        return when

    def _count(self, attempt: int, signature: str, rank: int) -> None:
        events = self.events[attempt]
        for index in range(len(events) - 1, -1, -1):
            if events[index].signature == signature and events[index].rank == rank:
                events[index] = replace(events[index], count=events[index].count + 1)
                return

    def _event_rank(self, matched: Matched) -> int | None:
        if matched.message.rank is not None:
            return matched.message.rank
        by_others = matched.entry.family == "scheduler"  # a bare line of it behind a rank's is not the rank's
        for line in (matched.line, *(() if by_others else matched.message.lines[:1])):
            rank = self.identity.rank_of(line)
            if rank is not None:
                return rank
        facts = matched.facts
        if "tasks" in facts and self.identity.tasks_are_ranks and len(named := ids(str(facts["tasks"]))) == 1:
            return named[0]
        if "pci" in facts and (rank := self.identity.of_pci(str(facts["pci"]), matched.line.node)) is not None:
            return rank
        if "pod" in facts and self.identity.nodes_are_ranks and (rank := pods.node_rank(str(facts["pod"]))) is not None:
            return rank
        if facts.get("pid") in self.identity.pid_rank and matched.entry.role in ("initiator", "either"):
            return self.identity.pid_rank[facts["pid"]]
        if "rank" in facts and matched.entry.role != "witness":
            return int(facts["rank"])
        if (
            "group_rank" in facts
            and str(facts.get("pg", "0")) in ("0", "default_pg", "")
            and matched.line.local_rank is None
        ):
            return int(facts["group_rank"])
        return None

    def nodes(self) -> tuple[str, ...]:
        found = {known.node for ranks in self.ranks.values() for known in ranks.values() if known.node}
        found |= {line.node for line in self.lines if line.node}
        return tuple(sorted(found))

    def attempts(self) -> tuple[Attempt, ...]:
        numbers, tops = sorted({*self.ranks, *self.events, *self.exits, 0, self.last_attempt}), self._tops()
        return tuple(self._attempt_of(number, tops[number]) for number in numbers)

    def _last_words(self, attempt: int, rank: int, known: _Rank) -> LogLine | None:
        if known.last.level in _ERRORS and all(known.last is not item.line for item in known.exits):
            return known.last  # and not a launcher's word on it
        order, line = self.named.get((attempt, rank), (-1, None))
        return line if order > self.progress[attempt] else None

    def _attempt_of(self, number: int, tops: dict[Counter, int]) -> Attempt:
        ranks = {
            rank: RankLog(
                rank,
                known.local_rank,
                known.node,
                known.pid,
                known.first,
                known.last,
                known.step.step if known.step else None,
                known.step.line if known.step else None,
                known.times[-1] if known.times else None,
                _median_gap(known.times),
                known.advanced,
                known.finished,
                known.finished_order,
                known.exhausted,
                self._last_words(number, rank, known),
                tuple(known.exits),
                _stride(known.steps),
                known.last_time,
            )
            for rank, known in sorted(self.ranks[number].items())
        }
        events = tuple(sorted(self.events[number], key=lambda event: event.order))
        return Attempt(
            number,
            ranks,
            events,
            tuple(self.exits[number]),
            self.progress[number],
            self.progress_in[number],
            self.going_on[number],
            tops,
            self.last_orders[number],
            self.finished_orders[number],
            self.progress_time.get(number),
            self.last_times.get(number),
            self.last_lines.get(number),
            self.step_times[number],
        )


def _stride(steps: Sequence[int]) -> int:
    """Median number of steps between reports; 1 where only one is known."""
    gaps = sorted(later - earlier for earlier, later in zip(steps, list(steps)[1:], strict=False))
    return max(1, gaps[len(gaps) // 2]) if gaps else 1


def _median_gap(times: Sequence[float]) -> float | None:
    """Median seconds between reports; none where fewer than three are known."""
    gaps = sorted(later - earlier for earlier, later in zip(times, list(times)[1:], strict=False) if later >= earlier)
    return gaps[len(gaps) // 2] if len(gaps) >= 2 else None
