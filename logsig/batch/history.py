"""What a store tells over time: takes a ``Store``, gives trends per kind of failure and per host.

Trends are counted anew from the remembered rows, by the days on which jobs ended, so that they don't depend on how
often anybody scanned.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from logsig.batch.groups import Tally
from logsig.batch.hosts import counting_names
from logsig.batch.model import Group
from logsig.batch.store import Store


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
    by_scan: Mapping[int, int] | None
    """Jobs that failed so, by the number of the scan; None where only some jobs are asked for."""
    hosts: Mapping[str, int]
    """Which hosts started it how often."""


@dataclass(frozen=True, slots=True)
class HostTrend:
    """A host over time: the failures asked for that it started, among all jobs asked for that it ran."""

    name: str
    jobs: int
    starts: int
    days: Mapping[str, int]
    q_by_scan: Mapping[int, float]
    """By the test of each scan; empty where only one kind of failure is asked for, which no scan tests."""


@dataclass(frozen=True, slots=True)
class History:
    """All of it."""

    scans: tuple[ScanEntry, ...]
    trends: tuple[Trend, ...]
    hosts: tuple[HostTrend, ...]
    jobs: int
    failures: int
    recovered: int
    days: Mapping[str, int] = field(default_factory=dict)


def history(store: Store, since: str | None = None, group: str | None = None, host: str | None = None) -> History:
    """Gives the history, as far as asked for: of jobs that ended since a day or ran on a host; of one kind of failure.

    ``since`` and ``host`` choose jobs, ``group`` chooses failures among them: a rate stays one of all those jobs.
    """
    tally, jobs, troubled = Tally(), 0, 0
    starts: dict[str, Counter[str]] = defaultdict(Counter)
    ran: Counter[str] = Counter()
    days: dict[str, Counter[str]] = defaultdict(Counter)
    companies: set[tuple[str, ...]] = set()
    for row in store.rows():
        companies.add(row.hosts)
        first = row.first_failing_node
        hosts = {*row.hosts, *([first] if first is not None else [])}
        if (since is not None and (row.ended or "") < since) or (host is not None and host not in hosts):
            continue
        jobs += 1
        ran.update(hosts)
        troubled += row.is_failed or row.outcome == "recovered"
        if group is None or (row.group or "").startswith(group) or row.signature == group:
            tally.take(row)
            if row.group is not None and first is not None:
                starts[row.group][first] += 1
                days[first][(row.ended or "?")[:10]] += 1
    counting = counting_names(companies)
    scans = tuple(
        ScanEntry(number, began, state, jobs, failures) for number, began, _, state, jobs, failures in store.scans()
    )
    by_scan: dict[str, dict[int, int]] = defaultdict(dict)
    for scan, fingerprint, count in store.scan_groups():
        by_scan[fingerprint][scan] = count
    found = tally.groups(baseline=False, status=_status(scans, by_scan), totals={})
    return History(
        scans=scans,
        trends=tuple(
            Trend(
                replace(each, share=each.count / max(troubled, 1)),
                by_scan[each.id] if since is None and host is None else None,
                {name: count for name, count in starts[each.id].most_common() if name not in counting},
            )
            for each in found
        ),
        hosts=tuple(
            sorted(
                (
                    HostTrend(name, ran[name], sum(counts.values()), dict(sorted(counts.items())), qs)
                    for name, counts, qs in _started(store, days, tested=group is None)
                    if name not in counting and host in (None, name)
                ),
                key=lambda each: (last_q(each), -each.starts, each.name),
            )
        ),
        jobs=jobs,
        failures=tally.failures,
        recovered=tally.outcomes["recovered"],
        days=dict(sorted(tally.days.items())),
    )


def last_q(host: HostTrend) -> float:
    """Gives what the last test said of a host."""
    return host.q_by_scan[max(host.q_by_scan)] if host.q_by_scan else 1.0


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


def _started(
    store: Store, days: Mapping[str, Counter[str]], *, tested: bool
) -> Iterator[tuple[str, Counter[str], dict[int, float]]]:
    """Gives each host that started failures, its days, and what the scans' tests said of it."""
    qs: dict[str, dict[int, float]] = defaultdict(dict)
    for scan, name, *_numbers, q in store.scan_hosts() if tested else ():
        qs[name][scan] = q
    return ((name, counts, qs[name]) for name, counts in days.items())


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
