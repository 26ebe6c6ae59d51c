"""Cuts any stream of bytes into blocks of whole lines, on a grid that doesn't depend on who reads where.

Block ``k`` ends behind the last newline before byte ``(k + 1) * BLOCK``, so several processes that start at different
blocks of a file, and one that reads a pipe, see the same blocks. A line that fills a whole block is cut.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from logsig.inputs import DamagedError, Stream

BLOCK = 1 << 21
NEWLINE = ord("\n")
ROOM = 1 << 16
"""Bytes beyond a block that a buffer has for what the block before leaves over; more needs another buffer."""
STRIDE = 1 << 17
LONG = 64
"""Bytes of a line from which newlines are few."""
SMALL = 1 << 18
"""Most inputs are smaller and get a buffer of their size: to clear a large one would take longest of all."""


class Source(Protocol):
    """Fills buffers; a fault ends the bytes and is kept to be said."""

    fault: Exception | None

    def fill(self, view: memoryview) -> int:
        """Gives as many bytes as fit, fewer only at the end."""


class StreamSource:
    """The bytes of any stream, at most ``limit``."""

    def __init__(self, stream: Stream, limit: int | None = None) -> None:
        self.fault: Exception | None = None
        self.is_limited = False
        self._stream = stream
        self._left = limit

    def fill(self, view: memoryview) -> int:
        """Gives as many bytes as fit, fewer only at the end."""
        wanted = len(view) if self._left is None else min(len(view), self._left)
        done = 0
        try:
            while done < wanted and (size := self._into(view[done:wanted])):
                done += size
            if done == wanted < len(view):
                self.is_limited = bool(self._stream.read(1))
        except (OSError, EOFError, DamagedError) as error:
            self.fault = error
        if self._left is not None:
            self._left -= done
        return done

    def _into(self, view: memoryview) -> int:
        if isinstance(self._stream, io.RawIOBase):
            return self._stream.readinto(view) or 0
        piece = self._stream.read(len(view)) or b""
        view[: len(piece)] = piece
        return len(piece)


class Block(NamedTuple):
    """Whole lines: ``data[start:stop]``; what stands before ``start`` is the end of the block before."""

    data: bytearray
    start: int
    stop: int
    offset: int
    """Where ``start`` lies in the input."""
    is_clean: bool
    """Begins at a line's start."""
    newlines: int

    def text(self) -> bytes:
        """Copies the lines."""
        return bytes(memoryview(self.data)[self.start : self.stop])


def cut(source: Source, reach: int, buffers: int = 1) -> Iterator[Block]:
    """Gives all blocks from the start on; each is valid until as many more were asked for as there are ``buffers``.

    ``reach`` bytes of what came before stay in front of each block, for literals that a cut line breaks.
    """
    return _cut(source, reach, (b"\n" * reach, 0), 0, deque([bytearray()] * buffers), is_part=False)


def cut_from(source: Source, reach: int, position: int, before: bytes, *, is_part: bool) -> Iterator[Block]:
    """Gives the blocks from the one at ``position`` on, a multiple of ``BLOCK`` where the source stands.

    ``before`` is what precedes ``position``: ``reach`` bytes and as many more, up to a block, as hold a newline; or
    all there is. Where the source ``is_part`` of the input, the line at its end is left to the next part.
    """
    if position == 0:
        return _cut(source, reach, (b"\n" * reach, 0), 0, deque([bytearray()]), is_part=is_part)
    newline = before.rfind(b"\n", max(0, len(before) - BLOCK))
    rest = len(before) - newline - 1 if newline >= 0 else _left_of_cut(before[-BLOCK:])
    return _cut(source, reach, (before, rest), position - rest, deque([bytearray()]), is_part=is_part)


def _cut(  # noqa: PLR0913 (called above)
    source: Source, reach: int, before: tuple[bytes, int], offset: int, buffers: deque[bytearray], *, is_part: bool
) -> Iterator[Block]:
    """``before``: bytes that precede what the source gives, and how many of them belong to the first block.

    A buffer holds ``reach`` bytes that came before, what the block before left over, and a block.
    """
    kept, rest = before
    lead = _lead(source)
    is_small = len(lead) < min(SMALL, BLOCK)
    while True:
        filled = reach + rest
        size = filled + (len(lead) if is_small else BLOCK)
        buffer = buffers.popleft()
        if len(buffer) < size:
            buffer = bytearray(size) if is_small else _buffer(size + ROOM)
        buffers.append(buffer)
        kept = kept[-filled:]
        buffer[filled - len(kept) : filled] = kept
        end = filled + len(lead)
        buffer[filled:end] = lead
        end += 0 if is_small else source.fill(memoryview(buffer)[end : filled + BLOCK])
        lead = b""
        is_last = is_small or end < filled + BLOCK
        stop = end if is_last else _stop(buffer, filled, end)
        if stop > reach and not (is_part and end == filled):
            is_clean = offset == 0 or buffer[reach - 1] == NEWLINE
            yield Block(buffer, reach, stop, offset, is_clean, _newlines(buffer, reach, stop))
        if is_last:
            if len(buffers) == 1 and not is_small:  # else another thread may still look at them
                _spare.append(buffers[0])
            return
        offset += stop - reach
        rest = end - stop
        kept = bytes(memoryview(buffer)[stop - reach : end])


_spare: list[bytearray] = []
"""Buffers of inputs that were read to their end: to clear a new one takes longer than to fill it with a log."""


def _buffer(size: int) -> bytearray:
    """Gives a buffer of at least so many bytes, with anything in it."""
    while _spare:
        buffer = _spare.pop()
        if len(buffer) >= size:
            return buffer
    return bytearray(size)


def _newlines(buffer: bytearray, start: int, stop: int) -> int:
    """Counts newlines, stride by stride; where lines are long, by what is shorter without them.

    ``count`` looks at each byte, ``replace`` jumps from one newline to the next: twice as fast, or far slower where
    there is little but newlines. So the stride before decides.
    """
    view = memoryview(buffer)
    total, are_few = 0, buffer.count(b"\n", start, min(start + 4096, stop)) * LONG < 4096
    for at in range(start, stop, STRIDE):
        end = min(at + STRIDE, stop)
        if are_few:
            piece = bytes(view[at:end])
            found = len(piece) - len(piece.replace(b"\n", b""))
        else:
            found = buffer.count(b"\n", at, end)
        are_few = found * LONG < end - at
        total += found
    return total


def _lead(source: Source) -> bytes:
    """Reads the start of the input, or all of a small one."""
    lead = bytearray(min(SMALL, BLOCK))
    return bytes(memoryview(lead)[: source.fill(memoryview(lead))])


def _stop(buffer: bytearray, start: int, end: int) -> int:
    newline = buffer.rfind(b"\n", start, end)
    return newline + 1 if newline >= 0 else end - _left_of_cut(bytes(buffer[start:end]))


def _left_of_cut(piece: bytes) -> int:
    """Tells how many bytes at the end of a cut line go with the next: behind a carriage return, or of a character."""
    near = piece[-4096:]
    carriage = near.rfind(b"\r")
    if carriage >= 0:
        return len(near) - carriage - 1
    for count in range(1, min(4, len(near)) + 1):
        if near[-count] & 0xC0 != 0x80:
            return count if near[-count] >= 0xC0 else 0
    return 0
