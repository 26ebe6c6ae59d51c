"""What a store tells over time: takes a ``Store``, gives trends per kind of failure and per host.

Trends are counted anew from the remembered rows, by the days on which jobs ended, so that they don't depend on how
often anybody scanned.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from logsig.batch.groups import Tally
from logsig.batch.model import Group, HostTest, Row
from logsig.batch.store import Store
from logsig.batch.suspects import Counts


@dataclass(frozen=True, slots=True)
class ScanEntry:
    """One scan that the store remembers."""

    number: int
    began: str
    state: str
    jobs: int | None
    failures: int | None


@dataclass(frozen=True, slots=True)
class Trend:
    """A kind of failure over time."""

    group: Group
    by_scan: Mapping[int, int]
    """Jobs that failed so, by the number of the scan."""
    hosts: Mapping[str, int]
    """Which hosts started it how often."""


@dataclass(frozen=True, slots=True)
class HostTrend:
    """A host over time."""

    name: str
    jobs: int
    starts: int
    days: Mapping[str, int]
    q_by_scan: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class History:
    """All of it."""

    scans: tuple[ScanEntry, ...]
    trends: tuple[Trend, ...]
    hosts: tuple[HostTrend, ...]
    test: HostTest
    jobs: int
    failures: int
    days: Mapping[str, int] = field(default_factory=dict)


def history(store: Store, since: str | None = None, group: str | None = None, host: str | None = None) -> History:
    """Gives the history, as far as asked for: of jobs that ended since a day, of one group, of one host."""
    tally, counts = Tally(), Counts()
    starts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in store.rows():
        if _fits(row, since, group, host):
            tally.take(row)
            counts.take(row)
            if row.group is not None and row.first_failing_node is not None:
                starts[row.group][row.first_failing_node] += 1
    scans = tuple(
        ScanEntry(number, began, state, jobs, failures) for number, began, _, state, jobs, failures in store.scans()
    )
    by_scan: dict[str, dict[int, int]] = defaultdict(dict)
    for scan, fingerprint, count in store.scan_groups():
        by_scan[fingerprint][scan] = count
    test = counts.result()
    for each in starts.values():
        for name in test.indices:
            each.pop(name, None)
    found = tally.groups(baseline=False, status=_status(scans, by_scan), totals={})
    return History(
        scans=scans,
        trends=tuple(Trend(each, by_scan[each.id], dict(starts[each.id].most_common())) for each in found),
        hosts=tuple(_host_trends(store, test)),
        test=test,
        jobs=tally.outcomes.total(),
        failures=tally.failures,
        days=dict(sorted(tally.days.items())),
    )


def _fits(row: Row, since: str | None, group: str | None, host: str | None) -> bool:
    if since is not None and (row.ended or "") < since:
        return False
    if group is not None and not (row.group or "").startswith(group) and row.signature != group:
        return False
    return host is None or host in row.hosts or row.first_failing_node == host


def _status(scans: tuple[ScanEntry, ...], by_scan: Mapping[str, Mapping[int, int]]) -> dict[str, str]:
    """Says of each group how it stands after the last scan that ended."""
    ended = [scan.number for scan in scans if scan.state == "complete"]
    status = {}
    for group, counts in by_scan.items():
        met = [number for number in ended if number in counts]
        if not met or not ended:
            continue
        if met[-1] != ended[-1]:
            status[group] = "gone"
        elif len(met) == 1:
            status[group] = "new"
        else:
            status[group] = "known" if met[-2] == ended[-2] else "back"
    return status


def _host_trends(store: Store, test: HostTest) -> list[HostTrend]:
    q_by_scan: dict[str, dict[int, float]] = defaultdict(dict)
    for scan, host, *_numbers, q in store.scan_hosts():
        q_by_scan[host][scan] = q
    return [HostTrend(host.name, host.jobs, host.starts, host.days, q_by_scan[host.name]) for host in test.hosts]


MARKS = "▁▂▃▄▅▆▇█"
ASCII_MARKS = ".:-=+*#@"


def sparkline(days: Mapping[str, int], over: Collection[str] = (), columns: int = 28, *, is_ascii: bool = False) -> str:
    """Draws counts over time as a line of marks: days, or weeks or months where there are too many.

    ``over``: the days of all lines that are to be compared, so that they begin and end alike.
    """
    from logsig.report.scans import _charts

    spans, kind = _charts.spans([*days, *over], columns)
    counts: Counter[str] = Counter()
    for day, count in days.items():
        counts[_charts.span_of(day, kind)] += count
    most = max((counts[span] for span in spans), default=0)
    marks = ASCII_MARKS if is_ascii else MARKS
    return "".join(" " if not counts[span] else marks[(counts[span] * len(marks) - 1) // most] for span in spans)
