"""The literal engine over ``hyperscan``: one block-mode database of pure literals, compiled at each start.

Some milliseconds for hundreds of literals, so nothing is cached on disk: a native database from a writable folder
would be code from strangers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hyperscan

from logsig.engine import Buffer, Hit, spelled

LIMIT = 1 << 30
"""Longest buffer of one call; hyperscan's own lengths are 32 bits wide."""


class HyperscanEngine:
    """Finds literals at several gigabytes a second; each hit costs one call back into Python."""

    name = "hyperscan"
    is_native = True

    def __init__(self, literals: Sequence[str]) -> None:
        self.literals = tuple(literals)
        patterns, self._owners = spelled(self.literals)
        self.longest = max(map(len, patterns), default=1)
        self._database = _compile(patterns) if patterns else None

    def find(self, data: Buffer) -> list[Hit]:
        """Gives every hit in ``data``; the time is that of the scan plus a fraction of a microsecond for each hit."""
        if self._database is None or not len(data):
            return []
        if len(data) > LIMIT:
            raise ValueError(f"buffer of {len(data)} bytes; at most {LIMIT} at once")
        found: list[int] = []
        owners, many, keep = self._owners, len(self._owners), found.append

        def on_match(pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
            keep(end * many + owners[pattern])

        scan: Any = self._database.scan  # its annotations know no memoryview
        scan(data, match_event_handler=on_match)
        if len(found) > 1:
            found = sorted(set(found))
        return [(key % many, key // many) for key in found]


def _compile(patterns: list[bytes]) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    count = len(patterns)
    database.compile(expressions=patterns, ids=list(range(count)), elements=count, flags=[0] * count, literal=True)
    return database
