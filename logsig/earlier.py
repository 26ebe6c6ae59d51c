"""Reports of logsig's own that stand in a log: a script that diagnoses into its own output leaves them there.

Takes consecutive lines of a file, gives where reports stand. What they quote was said before, by others; read once more
it would count twice, or for another writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LAST_PAIR = re.compile(r"  logsig {2,}\d+\.\d+\.\d\S*$")
"""Stands in the last section of every report in text (``Page.environment``)."""
_LINE = re.compile(r'\{"schema": ?"logsig\.diagnosis/|::(?:error|warning|notice) (?:[^:]*,)?title=logsig%3A ')
_GROUP = re.compile(r"(?:::group::|##\[group\])logsig: evidence$")
_GROUP_END = re.compile(r"(?:::endgroup::|##\[endgroup\])$")
_HEADING = "Read"
_PAIRS = 40
"""Lines of that section at most."""
_LONGEST = 2000
"""Lines of a report at most."""
_BEGINNING = 17
"""Characters that the verdict's long and short form share: the first and the last line of a report begin alike."""


def reports(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Gives (begin, end) of each report that is there as a whole: as text, JSON lines, or commands for GitHub."""
    done = group_end = 0
    for at, line in enumerate(lines):
        if at < done or "logsig" not in line:
            continue
        if _LINE.search(line):
            found = at, at + 1
        elif _GROUP.search(line):
            if group_end <= at:  # sought once for all groups before it
                ends = (end for end in range(at, len(lines)) if _GROUP_END.search(lines[end]))
                group_end = next(ends, len(lines))
            found = at, group_end + 1 if group_end < len(lines) else 0
        else:
            found = _text(lines, done, at)
        if found[1]:
            done = found[1]
            yield found


def _text(lines: Sequence[str], done: int, at: int) -> tuple[int, int]:
    """Gives the report whose last pair stands here; an empty place where there is none."""
    pair = _LAST_PAIR.search(lines[at])
    column = pair.start() if pair else 0  # behind what a collector put before each line
    last = next((i for i in range(at + 1, min(at + 3, len(lines))) if pair and lines[i][column:]), None)
    if last is None:
        return 0, 0
    heading = _last(lines, column, _HEADING, range(max(done, at - _PAIRS), at))
    verdict = lines[last][column : column + _BEGINNING]
    begin = _last(lines, column, verdict, range(max(done, at - _LONGEST), heading or 0))
    return (0, 0) if begin is None else (begin, last + 1)


def _last(lines: Sequence[str], column: int, start: str, places: range) -> int | None:
    return next((at for at in reversed(places) if lines[at].startswith(start, column)), None)
