"""A crude look at who wrote a line: enough to tell writers apart while bytes are skimmed, never to name a rank.

``prefix`` reads labels properly, on the few lines that are kept.
"""

from __future__ import annotations

import re
from functools import cache

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
WORD = rb"[Rr]ank[ :=]{0,2}\d{1,6}\b"


@cache
def _patterns() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Compiles when first needed: most inputs are small."""
    return re.compile(START, re.VERBOSE), re.compile(WORD)


def label_at(data: bytes | bytearray, start: int, stop: int) -> bytes | None:
    """Gives the label of the line that starts at ``start``, or None."""
    line = bytes(data[start : min(stop, start + REACH)])
    label, word = _patterns()
    if (match := label.match(line)) is not None:
        return match[1] or match[2]
    if b"ank" in line and (match := word.search(line)) is not None:
        return match[0]
    return None


def labels_in(data: bytes) -> dict[bytes, int]:
    """Gives each label in ``data`` (whole lines) with the offset of the last line that carries it."""
    heard: dict[bytes, int] = {}
    at = 0
    size = len(data)
    while at < size:
        end = data.find(b"\n", at) + 1 or size
        if (label := label_at(data, at, end)) is not None:
            heard[label] = at
        at = end
    return heard
