"""A crude look at who wrote a line: enough to tell writers apart while bytes are skimmed, never to name a rank.

``prefix`` reads labels properly, on the few lines that are kept.
"""

from __future__ import annotations

import re

from logsig.late import late

REACH = 160
"""Bytes of a line's start that are looked at."""
START = rb"""(?:\x1b\[[\d;]*m)*(?:
        ([ ]{0,5}\d{1,6}:[ ])                          # srun --label
      | (?:[\dTZ:.,+/ -]{8,40})?(                      # after a time or none
            \[[A-Za-z_]{2,20}[ :=]{0,2}\d{1,6}\]       # [rank3] [default3] [rank: 3] [rank=3]
          | \[\d{1,6},[ ]?\d{1,6}\](?=<|\[)            # [1,3]<stdout>
          | \(\w{1,60}[ ]pid=\d{1,9}(?:,[ ]ip=[\d.]{7,15})?\)  # Ray
          | \[pod/[^\]\s]{1,120}\]
        ))"""
_LABEL = late(START, re.VERBOSE)
_LINE = late(rb"\n(?:" + START + rb")", re.VERBOSE)
_WORD = late(rb"[Rr]ank[ :=]{0,2}\d{1,6}\b")


def writer_at(data: bytes | bytearray, start: int, stop: int) -> bytes | None:
    """Gives the label with which the line at ``start`` begins, or None."""
    match = _LABEL.match(bytes(data[start : min(stop, start + REACH)]))
    return None if match is None else match[1] or match[2]


def label_at(data: bytes | bytearray, start: int, stop: int) -> bytes | None:
    """Gives the label with which the line at ``start`` begins, else the first rank it speaks of, or None."""
    line = bytes(data[start : min(stop, start + REACH)])
    if (match := _LABEL.match(line)) is not None:
        return match[1] or match[2]
    if b"ank" in line and (match := _WORD.search(line)) is not None:
        return match[0]
    return None


def writers_in(data: bytes) -> dict[bytes, int]:
    """Gives the writers of the lines in ``data``, each with the offset of its last whole line."""
    whole = data.rfind(b"\n") + 1
    found = _LINE.finditer(b"\n" + data, 0, whole + 1)
    return {match[1] or match[2]: match.start() for match in found}
