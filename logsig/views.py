"""Other readings of a block in which a literal may stand that mangling broke: colours, NUL bytes and hard wraps undone.

Only a sample of a block decides whether it is read again, so ordinary logs pay nothing. The lines that are kept are
rejoined properly by ``rejoin``; here it is enough that a window opens near the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SAMPLE = 8 << 10
PIECE = 64 << 10
"""Bytes read again at once: how exactly a place is known."""
COLOUR = rb"\x1b\[[0-9;?]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
BAR = "│".encode()
WRAP = rb"[ \t]*(?:\xe2\x94\x82)?[ \t]*\r?\n(?:\[[a-z]{2,12}\d{1,6}\]:)*[ \t]*(?:\xe2\x94\x82[ \t]*)?"
NARROWEST = 40
"""Columns of the narrowest wrap that is looked for."""
LINES = 60
ENOUGH = 12
"""Full lines that are compared with the next."""
NUMBER = rb"\d+"


def signs(data: bytes | bytearray, start: int, stop: int) -> frozenset[str]:
    """Tells from a sample of ``data[start:stop]`` what may have broken literals: ``colour``, ``nul``, ``wrap``."""
    middle = (start + stop) // 2
    parts = [bytes(data[at : min(at + SAMPLE, stop)]) for at in (start, middle, max(start, stop - SAMPLE))]
    sample = b"\n".join(parts)
    found = set()
    if b"\x1b" in sample:
        found.add("colour")
    if b"\0" in sample and sample.strip(b"\0\n"):
        found.add("nul")
    if BAR in sample or _is_wrapped(parts[1]):
        found.add("wrap")
    return frozenset(found)


def read_again(
    data: bytes | bytearray, start: int, stop: int, found: frozenset[str]
) -> Iterator[tuple[int, int, bytes]]:
    """Gives (start, stop, other reading) for each piece of whole lines that reads otherwise."""
    while start < stop:
        end = min(start + PIECE, stop)
        if end < stop:
            end = data.rfind(b"\n", start, end) + 1 or end
        piece = bytes(data[start:end])
        for reading in _readings(piece, found):
            yield start, end, reading
        start = end


def _readings(piece: bytes, found: frozenset[str]) -> Iterator[bytes]:
    plain = piece
    if "nul" in found:
        plain = plain.replace(b"\0", b"")
    if "colour" in found:
        plain = re.sub(COLOUR, b"", plain)
    if plain != piece:
        yield plain
    if "wrap" in found:
        yield re.sub(WRAP, b"", plain)
        yield re.sub(WRAP, b" ", plain)


def _is_wrapped(sample: bytes) -> bool:
    """Tells whether lines end at one column and go on in the next; lines of a fixed format begin alike."""
    lines = sample.split(b"\n")[1 : LINES + 1]
    width = max(map(len, lines), default=0)
    full = [index for index, line in enumerate(lines[:-1]) if len(line) == width]
    if width < NARROWEST or len(full) < max(3, len(lines) // 5):
        return False
    full = full[:ENOUGH]
    return sum(_shape(lines[index]) != _shape(lines[index + 1]) for index in full) > len(full) // 2


def _shape(line: bytes) -> bytes:
    return re.sub(NUMBER, b"0", line[:24])[:6]
