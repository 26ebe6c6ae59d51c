"""Times of lines as numbers on their node's clock: fills in the year and keeps clocks of nodes apart.

Takes lines, gives ``Calendar``. The formats are known to ``clocks``; here only the job-wide choices are made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from logsig import clocks
from logsig.model import LogLine, Stamp

_YEAR = re.compile(r"\b(20\d\d)-[01]\d-[0-3]\d")
_TABLE = Stamp("", "table")
DEFAULT_YEAR = 2000
"""Used where nothing in the log gives a year: differences are right, the date isn't shown. A leap year, so that 29 February exists."""


class Calendar:
    """Turns stamps into seconds with the job's year."""

    def __init__(self, year: int) -> None:
        self.year = year
        self.known: dict[Stamp, float | None] = {}

    @staticmethod
    def of(lines: Sequence[LogLine]) -> Calendar:
        """Takes the year that the log's dated lines show most often."""
        years: Counter[str] = Counter()
        for line in lines[:4000]:
            found = _YEAR.search(line.raw[:120])
            if found:
                years[found[1]] += 1
        for line in lines[-2000:]:
            found = _YEAR.search(line.raw[:120])
            if found:
                years[found[1]] += 1
        return Calendar(int(years.most_common(1)[0][0]) if years else DEFAULT_YEAR)

    def seconds(self, line: LogLine) -> float | None:
        """Gives the line's time in seconds; none where it carries no stamp."""
        stamp = line.stamp
        if stamp is None:
            return None
        if stamp not in self.known:
            self.known[stamp] = clocks.seconds(stamp, self.year)
        return self.known[stamp]

    def printed_seconds(self, text: str) -> float | None:
        """Gives a time inside a message: torchrun's table (``2026-11-29_16:33:33``), Slurm's (``2026-11-29T16:33:33``)."""
        found = re.match(r"(\d{4}-\d\d-\d\d)[_T ](\d\d:\d\d:\d\d)", text)
        return clocks.seconds(Stamp(f"{found[1]} {found[2]}", "iso"), self.year) if found else None
