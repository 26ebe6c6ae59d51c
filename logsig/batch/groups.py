"""Failures of one kind together: takes rows one by one, gives groups and the scan's numbers.

Memory grows with the number of kinds of failure, not with the number of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from logsig.batch.model import Group, Plan, Problem, Row, Summary

MOST_NAMED = 1000
"""Problems that are named one by one."""
MOST_GROUPS = 20_000
"""Kinds of failure that are kept; what varies more than that is counted as one."""
OVERFLOW = "other"


@dataclass(slots=True)
class _Kind:
    """One group while rows come in."""

    example: Row
    count: int = 0
    first: str | None = None
    last: str | None = None
    days: Counter[str] = field(default_factory=Counter)
    draft: str | None = None


class Tally:
    """What the rows say, counted as they come."""

    def __init__(self) -> None:
        self.kinds: dict[str, _Kind] = {}
        self.outcomes: Counter[str] = Counter()
        self.failures = 0
        self.files = 0
        self.size = 0
        self.first: str | None = None
        self.last: str | None = None
        self.days: Counter[str] = Counter()
        self.healthy: Counter[str] = Counter()
        self.empty: list[str] = []
        self.set_aside: list[str] = []
        self.problems: list[Problem] = []
        self.problem_count = 0

    def take(self, row: Row) -> None:
        """Counts a row in."""
        self.outcomes[row.outcome or "unread"] += 1
        self.files += row.file_count
        self.size += row.size
        self.first, self.last = _earliest(self.first, row.ended), _latest(self.last, row.ended)
        if row.is_failed:
            self.failures += 1
            self.days[(row.ended or "?")[:10]] += 1
        if row.group is not None:
            self._group(row)
        for key in row.seen:
            self.healthy[key] += 1
        self._troubles(row)

    def _group(self, row: Row) -> None:
        key = row.group or OVERFLOW
        if key not in self.kinds and len(self.kinds) >= MOST_GROUPS:
            key = OVERFLOW
        kind = self.kinds.get(key)
        if kind is None:
            kind = self.kinds[key] = _Kind(replace(row, seen=(), draft=None))
        kind.count += 1
        kind.first, kind.last = _earliest(kind.first, row.ended), _latest(kind.last, row.ended)
        kind.days[(row.ended or "?")[:10]] += 1
        kind.draft = kind.draft or row.draft

    def _troubles(self, row: Row) -> None:
        if row.outcome == "empty" and not row.problems:
            self.empty.append(row.job)
            self._trouble(Problem(row.job, "it is empty"))
        elif row.outcome is None:
            if row.set_aside:
                self.set_aside.append(row.job)
            self._trouble(Problem(row.job, row.error or "it couldn't be read"))
        elif row.problems:
            for sentence in row.problems:
                self._trouble(Problem(row.job, sentence.removeprefix(f"{row.job}: ")))

    def _trouble(self, problem: Problem) -> None:
        self.problem_count += 1
        if len(self.problems) < MOST_NAMED:
            self.problems.append(problem)

    # ------------------------------------------------------------ results

    def groups(self, baseline: bool, status: Mapping[str, str] | None, totals: Mapping[str, int]) -> tuple[Group, ...]:
        """Gives the groups, the largest first; ``status`` and ``totals`` come from the store."""
        found = [self._as_group(key, kind, baseline, status, totals) for key, kind in self.kinds.items()]
        return tuple(sorted(found, key=lambda group: (-group.count, group.signature or "~", group.id)))

    def _as_group(
        self, key: str, kind: _Kind, baseline: bool, status: Mapping[str, str] | None, totals: Mapping[str, int]
    ) -> Group:
        example = kind.example
        return Group(
            id=key,
            signature=example.known,
            title=example.template or example.title or "",
            severity=example.severity,
            facts={} if example.template is not None else example.facts,
            count=kind.count,
            share=kind.count / max(self.failures + self.outcomes["recovered"], 1),
            first_seen=kind.first,
            last_seen=kind.last,
            example=example,
            remedy=example.remedy,
            status=status.get(key) if status is not None else None,
            total=totals.get(key),
            healthy=self.healthy[key] if baseline else None,
            days=dict(sorted(kind.days.items())),
            draft=kind.draft,
        )

    def summary(self, plan: Plan, baseline: bool, remembered: int, unread: int, more: Iterable[Problem]) -> Summary:
        """Gives the numbers of the scan, and all that wasn't done."""
        problems = [*plan.problems, *self.problems, *more]
        hidden = self.problem_count - len(self.problems)
        if hidden > 0:
            problems.append(Problem("…", f"{hidden:,} further problems"))
        return Summary(
            jobs=self.outcomes.total(),
            outcomes=dict(sorted(self.outcomes.items())),
            failures=self.failures,
            groups=len(self.kinds),
            files=self.files,
            size=self.size,
            first=self.first,
            last=self.last,
            days=dict(sorted(self.days.items())),
            baseline=self.outcomes["healthy"] if baseline else None,
            remembered=remembered,
            left_out=plan.left_out,
            problems=tuple(problems),
            empty=tuple(self.empty),
            set_aside=tuple(self.set_aside),
            unread=unread,
        )


def _earliest(one: str | None, other: str | None) -> str | None:
    return other if one is None else one if other is None else min(one, other)


def _latest(one: str | None, other: str | None) -> str | None:
    return other if one is None else one if other is None else max(one, other)
