"""Times of a job's lines as numbers that can be compared on one clock.

Takes the lines in reading order, gives ``Calendar``. The formats are known to ``clocks``; here only the job-wide
choices are made: the year where none is printed, and the day where a clock runs over midnight or New Year.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from logsig import clocks
from logsig.late import late
from logsig.model import LogLine, Stamp

_YEAR = late(r"\b(20\d\d)-[01]\d-[0-3]\d")
_PRINTED = late(r"(\d{4}-\d\d-\d\d)[_T ](\d\d:\d\d:\d\d)")


class Calendar:
    """The time of every stamped line, in seconds on its node's clock."""

    def __init__(self, lines: Sequence[LogLine]) -> None:
        self._lines = lines  # kept alive: times are found by the line's identity
        self._times: dict[int, float] = {}
        formats = {line.stamp.format for line in lines if line.stamp is not None}
        year, near = _year(lines) if formats - clocks.DATED else None, _dated(lines)
        running: dict[tuple[str, str | None], clocks.RunningClock] = {}
        for line in lines:
            if line.stamp is None:
                continue
            key = (line.source.path, line.node)
            if key not in running:
                running[key] = clocks.RunningClock(year, near=near)
            found = running[key].seconds(line.stamp)
            if found is not None:
                self._times[id(line)] = found
                if near is None and line.stamp.format != "uptime":
                    near = found

    @classmethod
    def of(cls, lines: Sequence[LogLine]) -> Calendar:
        """Reads every clock in the order of its lines: each file's, and each node's within a file."""
        return cls(lines)

    def seconds(self, line: LogLine) -> float | None:
        """Gives the line's time; none where it carries no stamp that tells one."""
        return self._times.get(id(line))

    @staticmethod
    def printed_seconds(text: str) -> float | None:
        """Gives a time inside a message, as torchrun's table (``2026-11-29_16:33:33``) and Slurm (``T``) print it."""
        found = _PRINTED.match(text)
        return clocks.seconds(Stamp(f"{found[1]} {found[2]}", "iso")) if found else None


def _year(lines: Sequence[LogLine]) -> int | None:
    """The year that dates in the log show most often; in its first lines and its last ones."""
    looked_at = chain(lines[:4000], lines[4000:][-2000:])
    found = Counter(year for line in looked_at if (year := _year_in(line)))
    return int(found.most_common(1)[0][0]) if found else None


def _year_in(line: LogLine) -> str | None:
    if line.stamp is not None and line.stamp.format == "iso" and line.stamp.text.startswith("20"):
        return line.stamp.text[:4]
    found = _YEAR.search(line.raw[:120])
    return found[1] if found else None


def _dated(lines: Sequence[LogLine]) -> float | None:
    """The first time in the log that is told with its year: what the others are near to."""
    return next(_dated_times(lines), None)


def _dated_times(lines: Sequence[LogLine]) -> Iterator[float]:
    for line in lines[:4000]:
        moment = clocks.read(line.stamp) if line.stamp else None
        if line.stamp and moment and moment.year and (found := clocks.seconds(line.stamp)) is not None:
            yield found
