"""Hosts that start failures more often than chance allows: takes rows one by one, gives a ``HostTest``.

Keeps numbers of hosts only, a few bytes per job; names that count nodes are known when all rows were seen.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from logsig.batch import chance
from logsig.batch.chance import Stratum
from logsig.batch.hosts import counting_names
from logsig.batch.model import FALSE_DISCOVERIES, Host, HostTest, Row

NOBODY = 0xFFFFFFFF
Kind = tuple[int, int]
"""Hosts of the job, and how they are known: jobs named only by their failure are compared among themselves."""
BY = ("start", "failure", "part")


def test(rows: Iterable[Row]) -> HostTest:
    """Tests every host of the rows."""
    counts = Counts()
    for row in rows:
        counts.take(row)
    return counts.result()


class _Numbers:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Gives the number of a text."""
        number = self._known.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


class Counts:
    """What the rows say of hosts."""

    def __init__(self) -> None:
        self._names = _Numbers()
        self._groups = _Numbers()
        self._days = _Numbers()
        self._hosts = array("I")
        self._jobs = array("I")
        """Per job: where its hosts end, how they are known, who failed first, its group, its day."""

    def take(self, row: Row) -> None:
        """Counts a row in."""
        if not row.hosts or row.outcome is None:
            return
        self._hosts.extend([self._names.of(host) for host in row.hosts])
        first = row.first_failing_node if row.is_failed else None
        self._jobs.extend(
            (
                len(self._hosts),
                BY.index(row.hosts_by or "start"),
                NOBODY if first is None else self._names.of(first),
                self._groups.of(row.group or "?"),
                self._days.of((row.ended or "?")[:10]),
            )
        )

    def __iter__(self) -> Iterator[tuple[Sequence[int], int, int, int, int]]:
        begin = 0
        for at in range(0, len(self._jobs), 5):
            end, by, first, group, day = self._jobs[at : at + 5]
            yield self._hosts[begin:end], by, first, group, day
            begin = end

    def result(self) -> HostTest:
        """Tests the hosts that could be named at all; the others can't, whatever they started."""
        names = self._names.texts
        counting = counting_names([names[host] for host in hosts] for hosts, *_ in self)
        return _Tally(self, frozenset(at for at, name in enumerate(names) if name in counting)).result(
            names, self._groups.texts, self._days.texts
        )


class _Tally:
    """Exposures and starts, once it is known which names count nodes."""

    def __init__(self, counts: Counts, indices: frozenset[int]) -> None:
        self.indices = indices
        self.jobs: Counter[Kind] = Counter()
        self.failures: Counter[Kind] = Counter()
        self.exposure: dict[int, Counter[Kind]] = defaultdict(Counter)
        self.starts: Counter[int] = Counter()
        self.groups: dict[int, Counter[int]] = defaultdict(Counter)
        self.days: dict[int, Counter[int]] = defaultdict(Counter)
        self.left_out = 0
        for hosts, by, first, group, day in counts:
            self._take([host for host in hosts if host not in indices], by, first, group, day)

    def _take(self, hosts: list[int], by: int, first: int, group: int, day: int) -> None:
        if not hosts:
            return
        if BY[by] == "part":
            self.left_out += 1
            return
        kind = (len(hosts), by)
        self.jobs[kind] += 1
        for host in hosts:
            self.exposure[host][kind] += 1
        if first in hosts:
            self.failures[kind] += 1
            self.starts[first] += 1
            self.groups[first][group] += 1
            self.days[first][day] += 1

    def result(self, names: Sequence[str], groups: Sequence[str], days: Sequence[str]) -> HostTest:
        strata = {kind: Stratum(kind[0], jobs, self.failures[kind], kind[1]) for kind, jobs in self.jobs.items()}
        exposures = {
            host: {strata[kind]: jobs for kind, jobs in kinds.items()} for host, kinds in self.exposure.items()
        }
        p_values = {host: chance.p_value(self.starts[host], each) for host, each in exposures.items()}
        testable = [host for host, each in exposures.items() if chance.least_p(each) <= FALSE_DISCOVERIES]
        q_values = dict(zip(testable, chance.q_values([p_values[host] for host in testable]), strict=True))
        found = [
            Host(
                name=names[host],
                jobs=self.exposure[host].total(),
                starts=self.starts[host],
                expected=chance.expected(exposures[host]),
                p=p_values[host],
                q=q_values.get(host, 1.0),
                groups={groups[group]: count for group, count in self.groups[host].most_common()},
                days={days[day]: self.days[host][day] for day in sorted(self.days[host], key=lambda day: days[day])},
            )
            for host in exposures
            if self.starts[host]
        ]
        return HostTest(
            hosts=tuple(sorted(found, key=lambda host: (host.q, host.p, -host.starts, host.name))),
            tested=len(testable),
            jobs=self.jobs.total(),
            failures=self.failures.total(),
            indices=tuple(sorted(names[host] for host in self.indices)),
            left_out=self.left_out,
        )
