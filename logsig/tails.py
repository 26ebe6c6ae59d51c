"""The last sign of life of every writer: takes what precedes a tail, gives the last line of each not heard in it."""

from __future__ import annotations

from logsig.labels import writer_at, writers_in
from logsig.windows import Disk, Ring, Window

STEP = 1 << 20
FAR = 64 << 20
"""How far back a few writers are looked for."""
NEAR = 16 << 20
"""How far back many are."""
FEW = 12
AROUND = 3 << 10
IN_ALL = 1 << 20
"""Bytes kept before and after a last line, for one writer and for all."""
MOST = 20_000


def last_words(kept: Disk | Ring, known: dict[bytes, None], start: int, heard: set[bytes]) -> tuple[list[Window], int]:
    """Gives the last line of each writer of ``known`` not ``heard`` from ``start`` on, and how many weren't found."""
    missing = {label for label in list(known)[:MOST] if label not in heard}
    around = min(AROUND, IN_ALL // max(len(missing), 1))
    windows: list[Window] = []
    stop = start
    while missing and stop > kept.begin and start - stop < (FAR if len(missing) <= FEW else NEAR):
        begin = max(kept.begin, stop - STEP)
        data = kept.read(begin, stop)
        newline = 0 if begin == kept.begin else data.find(b"\n") + 1
        for label, at in _last_lines(data[newline:], missing).items():
            missing.discard(label)
            line_start = begin + newline + at
            windows.append(Window(max(kept.begin, line_start - around), line_start + around, "tail"))
        stop = begin + newline if begin + newline < stop else begin
    return windows, len(missing)


def _last_lines(data: bytes, missing: set[bytes]) -> dict[bytes, int]:
    if len(missing) > FEW:
        return {label: at for label, at in writers_in(data).items() if label in missing}
    found: dict[bytes, int] = {}
    for label in missing:
        stop = len(data)
        while (at := data.rfind(label, 0, stop)) >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            if writer_at(data, start, len(data)) == label:
                found[label] = start
                break
            stop = at
    return found
