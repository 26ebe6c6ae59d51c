"""Cuts any stream of bytes into blocks of whole lines, on a grid that doesn't depend on who reads where.

Block ``k`` ends behind the last newline before byte ``(k + 1) * BLOCK``, so several processes that start at different
blocks of a file, and one that reads a pipe, see the same blocks. A line that fills a whole block is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from logsig.inputs import DamagedError, Stream

BLOCK = 1 << 21


class Source(Protocol):
    """Fills buffers; a fault ends the bytes and is kept to be said."""

    fault: Exception | None

    def fill(self, view: memoryview) -> int: ...


class StreamSource:
    """The bytes of any stream, at most ``limit``."""

    def __init__(self, stream: Stream, limit: int | None = None) -> None:
        self.fault: Exception | None = None
        self.is_limited = False
        self._stream = stream
        self._left = limit

    def fill(self, view: memoryview) -> int:
        """Gives as many bytes as fit, fewer only at the end."""
        done = 0
        try:
            while done < len(view):
                size = len(view) - done
                if self._left is not None:
                    size = min(size, self._left)
                if size == 0:
                    self.is_limited = bool(self._stream.read(1))
                    break
                piece = self._stream.read(size)
                if not piece:
                    break
                view[done : done + len(piece)] = piece
                done += len(piece)
                if self._left is not None:
                    self._left -= len(piece)
        except (OSError, EOFError, DamagedError) as error:
            self.fault = error
        return done


@dataclass(slots=True)
class Block:
    """Whole lines: ``data[start:stop]``; what stands before ``start`` is the end of the block before."""

    data: bytearray
    start: int
    stop: int
    offset: int
    """Where ``start`` lies in the input."""
    is_clean: bool
    """Begins at a line's start."""

    def text(self) -> bytes:
        """Copies the lines."""
        return bytes(memoryview(self.data)[self.start : self.stop])


def cut(source: Source, reach: int) -> Iterator[Block]:
    """Gives all blocks from the start on; each is valid until the next is asked for.

    ``reach`` bytes of what came before stay in front of each block, for literals that a cut line breaks.
    """
    return _cut(source, reach, 0, b"", 0, is_part=False)


def cut_from(source: Source, reach: int, position: int, before: bytes, *, is_part: bool) -> Iterator[Block]:
    """Gives the blocks from the one at ``position`` on, a multiple of ``BLOCK`` where the source stands.

    ``before`` is what precedes ``position``: a block and ``reach`` bytes more, or all there is. Where the source ``is_part``
    of the input, the line at its end is left to the next part.
    """
    newline = before.rfind(b"\n", max(0, len(before) - BLOCK))
    rest = len(before) - newline - 1 if newline >= 0 else _tail_of_cut(before[-BLOCK:])
    return _cut(source, reach, position - rest, before, rest, is_part=is_part)


def _cut(source: Source, reach: int, offset: int, before: bytes, rest: int, *, is_part: bool) -> Iterator[Block]:
    buffer = bytearray(reach + 2 * BLOCK)
    view = memoryview(buffer)
    kept = before[max(0, len(before) - rest - reach) :]
    buffer[reach + rest - len(kept) : reach + rest] = kept
    is_clean = offset == 0 or buffer[reach - 1] == 10
    while True:
        filled = reach + rest
        end = filled + source.fill(view[filled : filled + BLOCK])
        is_last = end < filled + BLOCK
        stop = end if is_last else _stop(buffer, filled, end)
        if stop > reach and not (is_part and end == filled):
            yield Block(buffer, reach, stop, offset, is_clean)
        if is_last:
            return
        offset += stop - reach
        is_clean = buffer[stop - 1] == 10
        rest = end - stop
        view[: reach + rest] = bytes(view[stop - reach : end])


def _stop(buffer: bytearray, start: int, end: int) -> int:
    newline = buffer.rfind(b"\n", start, end)
    return newline + 1 if newline >= 0 else end - _tail_of_cut(bytes(buffer[start:end]))


def _tail_of_cut(piece: bytes) -> int:
    """Tells how many bytes at the end of a piece of a long line belong to the next: after a carriage return, or of a character."""
    near = piece[-4096:]
    carriage = near.rfind(b"\r")
    if carriage >= 0:
        return len(near) - carriage - 1
    for count in range(1, min(4, len(near)) + 1):
        if near[-count] & 0xC0 != 0x80:
            return count if near[-count] >= 0xC0 else 0
    return 0
