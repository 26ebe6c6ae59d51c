"""The least that any tool in Python must do: read a file, search it with hyperscan, count its newlines.

usage: bare.py LITERALS LOG
"""

from __future__ import annotations

import sys

import hyperscan

STEP = 1 << 21


def main(literals_path: str, log_path: str) -> None:
    """Prints hits and lines."""
    with open(literals_path, "rb") as file:
        literals = file.read().splitlines()
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    count = len(literals)
    database.compile(expressions=literals, ids=list(range(count)), elements=count, flags=[0] * count, literal=True)
    hits: list[int] = []
    buffer = bytearray(STEP)
    view = memoryview(buffer)
    lines = 0
    with open(log_path, "rb", buffering=0) as log:
        while size := log.readinto(buffer):
            database.scan(view[:size], match_event_handler=lambda _id, _start, end, _flags, _context: hits.append(end))
            lines += buffer.count(b"\n", 0, size)
    print(len(hits), lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
