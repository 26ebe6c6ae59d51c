"""Hosts that start failures more often than chance allows: takes rows one by one, gives a ``HostTest``.

Counts exposures as it goes: memory grows with hosts and sizes of jobs, not with jobs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from logsig.batch import chance
from logsig.batch.chance import Stratum
from logsig.batch.hosts import counting_names
from logsig.batch.model import FALSE_DISCOVERIES, Host, HostTest, Row

Kind = tuple[int, str]
"""Hosts of the job, and how they are known: jobs named only by their failure are compared among themselves."""
SHORTEST = 2
"""Hosts below which there is nothing to compare."""


def test(rows: Iterable[Row]) -> HostTest:
    """Tests every host of the rows, which are gone through twice."""
    rows = rows if isinstance(rows, list) else _Again(rows)
    indices = counting_names(row.hosts for row in rows if row.hosts)
    counts = _Counts(indices)
    for row in rows:
        counts.take(row)
    return counts.result()


class _Again:
    """An iterable that gives its rows anew each time."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._rows)


class _Counts:
    def __init__(self, indices: frozenset[str]) -> None:
        self._indices = indices
        self._jobs: Counter[Kind] = Counter()
        self._failures: Counter[Kind] = Counter()
        self._exposure: dict[str, Counter[Kind]] = defaultdict(Counter)
        self._starts: Counter[str] = Counter()
        self._groups: dict[str, Counter[str]] = defaultdict(Counter)
        self._days: dict[str, Counter[str]] = defaultdict(Counter)
        self._left_out = 0

    def take(self, row: Row) -> None:
        hosts = [host for host in row.hosts if host not in self._indices]
        if not hosts:
            return
        if row.hosts_by == "part" or row.outcome is None:
            self._left_out += 1
            return
        kind = (len(hosts), row.hosts_by or "start")
        self._jobs[kind] += 1
        for host in hosts:
            self._exposure[host][kind] += 1
        first = row.first_failing_node
        if row.is_failed and first in hosts:
            self._failures[kind] += 1
            self._starts[first] += 1
            self._groups[first][row.group or "?"] += 1
            self._days[first][(row.ended or "?")[:10]] += 1

    def result(self) -> HostTest:
        """Tests the hosts that could be named at all; the others can't, whatever they started."""
        strata = {kind: Stratum(kind[0], jobs, self._failures[kind]) for kind, jobs in self._jobs.items()}
        exposures = {host: self._by_stratum(host, strata) for host in self._exposure}
        if len(exposures) < SHORTEST:
            return HostTest(indices=tuple(sorted(self._indices)), left_out=self._left_out, jobs=self._jobs.total())
        p_values = {host: chance.p_value(self._starts[host], each) for host, each in exposures.items()}
        testable = [host for host, each in exposures.items() if chance.least_p(each) <= FALSE_DISCOVERIES]
        q_values = dict(zip(testable, chance.q_values([p_values[host] for host in testable]), strict=True))
        found = [
            Host(
                host,
                self._exposure[host].total(),
                self._starts[host],
                chance.expected(exposures[host]),
                p_values[host],
                q_values.get(host, 1.0),
                dict(self._groups[host].most_common()),
                dict(sorted(self._days[host].items())),
            )
            for host in exposures
            if self._starts[host]
        ]
        found.sort(key=lambda host: (host.q, host.p, -host.starts, host.name))
        return HostTest(
            tuple(found),
            len(testable),
            self._jobs.total(),
            self._failures.total(),
            tuple(sorted(self._indices)),
            self._left_out,
        )

    def _by_stratum(self, host: str, strata: dict[Kind, Stratum]) -> dict[Stratum, int]:
        exposure: dict[Stratum, int] = {}
        for kind, jobs in self._exposure[host].items():
            exposure[strata[kind]] = exposure.get(strata[kind], 0) + jobs
        return exposure
