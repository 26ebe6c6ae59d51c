"""Test sessions that passed: what their tests print on the way, errors they provoke among it, is no failure.

Takes consecutive lines of a file, gives where such sessions stand, without the line that sums them up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

HEAD = "= test session starts ="
_END = re.compile(r"={3,} (?P<results>(?:\d+ [a-z]+, )*\d+ [a-z]+) in \d[\d.]*s(?: \([\d:]+\))? ={3,}")
_BAD = re.compile(r"\d (?:failed|errors?)\b")


def sessions(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Gives (begin, end) of each of pytest's sessions that ended without a failure."""
    begin = None
    for at, line in enumerate(lines):
        if HEAD in line:
            begin = at
        elif begin is not None and "===" in line and (found := _END.search(line)):
            if not _BAD.search(found["results"]):
                yield begin, at
            begin = None
