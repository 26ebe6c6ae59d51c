"""Which parts of an input are kept: takes findings block by block, chooses windows, and collects their bytes.

Every new writer of a literal gets a window, the same writer again only some, a storm of them none but the last.
All hits are counted. The choice depends on the findings alone, so it is the same for a file, a pipe and many processes.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol

LINE = 1 << 16
"""Longest line that a window is widened to; longer ones are cut."""
STEP = 1 << 20

Sighting = tuple[int, int, bytes | None]
"""(literal, where it ends in the input, label of its line)"""


class Limits(NamedTuple):
    """How much of one input is kept, in bytes."""

    whole: int = 512 << 10
    """An input that small is kept as it is."""
    labelled: int = 4 << 20
    """Bytes at its start of which every line is asked for its writer."""
    head: int = 64 << 10
    tail: int = 96 << 10
    tail_each: int = 1 << 10
    """Bytes of the tail for each writer known."""
    tail_most: int = 512 << 10
    widths: tuple[tuple[int, int, int], ...] = (
        (4, 24 << 10, 48 << 10),
        (32, 8 << 10, 16 << 10),
        (1 << 62, 2 << 10, 6 << 10),
    )
    """(windows of a literal up to which it holds, bytes before its hit, bytes after)"""
    named: int = 4
    """Windows for a literal of one writer."""
    unnamed: int = 512
    """Windows for a literal where no writer is named: it may be many."""
    apart: int = 64 << 10
    """A hit that far from the last one of its kind is another incident."""
    incidents: int = 64
    again: int = 512 << 10
    """Bytes for further incidents of one literal and writers met before."""
    again_in_all: int = 4 << 20
    in_all: int = 32 << 20

    @staticmethod
    def shared(inputs: int) -> Limits:
        """Gives each of many inputs its part, so that together they keep about as much as a few."""
        one = Limits()
        if inputs <= 1:
            return one
        return Limits(
            whole=max(8 * one.whole // inputs, 16 << 10),
            labelled=max(4 * one.labelled // inputs, 64 << 10),
            head=min(one.head, max(4 * one.head // inputs, 2 << 10)),
            tail=min(one.tail, max(4 * one.tail // inputs, 4 << 10)),
            tail_most=min(one.tail_most, max(8 * one.tail_most // inputs, 4 << 10)),
            widths=_shared_widths(one.widths, inputs),
            again=max(4 * one.again // inputs, 16 << 10),
            again_in_all=max(4 * one.again_in_all // inputs, 64 << 10),
            in_all=min(one.in_all, max(4 * one.in_all // inputs, 128 << 10)),
        )


def _shared_widths(widths: tuple[tuple[int, int, int], ...], inputs: int) -> tuple[tuple[int, int, int], ...]:
    """The windows of each of many inputs: a traceback of forty frames takes some six kilobytes before its last line."""
    if inputs <= 8:
        return widths
    if inputs > 256:
        return widths[2:]
    many, before, after = widths[1]
    return ((many, before if inputs <= 32 else 6 << 10, after), *widths[2:])


class Findings(NamedTuple):
    """What a look at one block gave."""

    offset: int
    size: int
    newlines: int
    counts: dict[int, int]
    """Hits per literal."""
    labels: tuple[bytes, ...]
    """Writers of lines that were looked at, in order."""
    hits: tuple[Sighting, ...]
    """Of each literal and label the first few, far ones and the last, in the order of the input."""


class Kept(Protocol):
    """Bytes of the input that can still be had."""

    def read(self, start: int, stop: int) -> bytes:
        """Gives what is there of ``start`` to ``stop``."""

    def line(self, offset: int) -> int:
        """Gives the number of the line in which ``offset`` lies."""


class Window:
    """Bytes to keep: ``start`` to ``stop``, widened to whole lines when collected."""

    __slots__ = ("first_line", "have", "is_done", "kind", "parts", "start", "stop")

    def __init__(self, start: int, stop: int, kind: str = "hit") -> None:
        self.start = start
        self.stop = stop
        self.kind = kind
        self.first_line = 0
        self.parts: list[bytes] = []
        self.have = -1
        """Collected up to here; -1 before the first part."""
        self.is_done = False

    def copy(self) -> Window:
        """Gives a window that collects for itself from here on."""
        other = Window(self.start, self.stop, self.kind)
        other.first_line, other.have, other.is_done = self.first_line, self.have, self.is_done
        other.parts = list(self.parts)
        return other

    def collect(self, kept: Kept, end: int, *, is_all: bool) -> None:
        """Takes what there is up to ``end``; where that ``is_all``, nothing more will come."""
        if self.have < 0:
            self.start = self.have = _line_start(kept, self.start)
            self.first_line = kept.line(self.start)
        self._take(kept, min(self.stop, end))
        if self.stop <= end:
            self.is_done = self._finish_line(kept, end) or is_all

    def _take(self, kept: Kept, upto: int) -> None:
        if upto > self.have:
            self.parts.append(kept.read(self.have, upto))
            self.have = upto

    def _finish_line(self, kept: Kept, end: int) -> bool:
        """Goes on to the end of the last line; tells whether it was there, or is too far."""
        last = next((part for part in reversed(self.parts) if part), b"\n")
        if last.endswith(b"\n"):
            return True
        begin = max(self.have, self.stop)
        rest = kept.read(begin, min(self.stop + LINE, end))
        newline = rest.find(b"\n")
        self._take(kept, begin + (newline + 1 if newline >= 0 else len(rest)))
        return newline >= 0 or self.have >= self.stop + LINE


def _line_start(kept: Kept, offset: int) -> int:
    """Goes back to the start of the line, or stays where the line is too long for that."""
    before = kept.read(max(0, offset - LINE), offset) if offset > 0 else b""
    newline = before.rfind(b"\n")
    if newline >= 0:
        return offset - len(before) + newline + 1
    return max(0, offset) if len(before) < offset or offset > LINE else 0


class Keeper:
    """Chooses windows from findings in the order of the input."""

    def __init__(self, limits: Limits) -> None:
        self.counts: dict[int, int] = {}
        self.labels: dict[bytes, None] = {}
        """Writers seen, in order."""
        self._limits = limits
        self._windows: list[Window] = [Window(0, limits.head, "head")]
        self._open: Window | None = None
        self._last: dict[int, Window] = {}
        self._pairs: dict[tuple[int, bytes | None], list[int]] = {}
        self._opened: dict[int, int] = {}
        self._again: dict[int, int] = {}
        self._again_in_all = 0
        self._in_all = 0

    def choose(self, findings: Findings) -> None:
        """Takes the next block's findings into account."""
        for known in findings.labels:
            self.labels.setdefault(known)
        for literal, end, label in findings.hits:
            if not self._take(literal, end, label):
                self._last[literal] = self._around(end, literal)
        for literal, count in findings.counts.items():
            self.counts[literal] = self.counts.get(literal, 0) + count

    def windows(self) -> Iterator[Window]:
        """Gives all windows chosen so far."""
        yield from self._windows
        yield from self._last.values()

    def collect(self, kept: Kept, end: int) -> None:
        """Takes what the open windows still need."""
        for window in self._unfinished():
            window.collect(kept, end, is_all=False)

    def _unfinished(self) -> list[Window]:
        """Gives the windows that want more, from the few that can."""
        recent = [
            window for window in (*self._windows[:1], *self._windows[-64:], *self._last.values()) if not window.is_done
        ]
        if len(recent) >= 64:  # a burst of small windows in one block
            return [window for window in self.windows() if not window.is_done]
        return recent

    def _take(self, literal: int, end: int, label: bytes | None) -> bool:
        """Tells whether the hit gets a window, or lies in one, and opens or widens it."""
        limits = self._limits
        pair = self._pairs.get((literal, label))
        if pair is None:
            pair = self._pairs[(literal, label)] = [0, end]
        is_far = end - pair[1] > limits.apart
        pair[1] = end
        is_new = pair[0] < (limits.unnamed if label is None else limits.named)
        is_again = is_far and pair[0] < limits.incidents
        if self._in_all <= limits.in_all and (is_new or is_again):
            wanted = self._around(end, literal)
            cost = max(0, wanted.stop - (wanted.start if self._open is None else max(wanted.start, self._open.stop)))
            if is_new or self._affords(literal, cost):
                pair[0] += 1
                self._in_all += cost
                self._widen(wanted, literal)
                return True
        return self._open is not None and end <= self._open.stop

    def _affords(self, literal: int, cost: int) -> bool:
        spent = self._again.get(literal, 0) + cost
        if spent > self._limits.again or self._again_in_all + cost > self._limits.again_in_all:
            return False
        self._again[literal] = spent
        self._again_in_all += cost
        return True

    def _around(self, end: int, literal: int) -> Window:
        opened = self._opened.get(literal, 0)
        before, after = next((before, after) for upto, before, after in self._limits.widths if opened < upto)
        return Window(max(0, end - before), end + after)

    def _widen(self, wanted: Window, literal: int) -> None:
        """Widens the open window, or opens another where they don't touch."""
        if self._open is not None and wanted.start <= self._open.stop:
            if wanted.stop > self._open.stop:
                self._open.stop = wanted.stop
                self._open.is_done = False
            return
        self._opened[literal] = self._opened.get(literal, 0) + 1
        self._open = wanted
        self._windows.append(wanted)


class Ring:
    """The recent bytes of a stream, with line numbers."""

    def __init__(self, size: int) -> None:
        self.end = 0
        self._size = size
        self._blocks: deque[tuple[int, int, bytes]] = deque()
        self._held = 0
        self._lines = 1

    @property
    def begin(self) -> int:
        """Where the bytes begin that are still there."""
        return self._blocks[0][0] if self._blocks else self.end

    def add(self, findings: Findings, text: bytes) -> None:
        """Takes the next block and forgets the oldest that isn't needed."""
        self._blocks.append((findings.offset, self._lines, text))
        self._lines += findings.newlines
        self._held += len(text)
        self.end = findings.offset + len(text)
        while self._held - len(self._blocks[0][2]) >= self._size:
            self._held -= len(self._blocks.popleft()[2])

    def read(self, start: int, stop: int) -> bytes:
        """Gives what is still there of ``start`` to ``stop``."""
        return b"".join(
            text[max(0, start - offset) : stop - offset]
            for offset, _line, text in self._blocks
            if offset < stop and start < offset + len(text)
        )

    def line(self, offset: int) -> int:
        """Gives the number of the line in which ``offset`` lies."""
        for begin, line, text in reversed(self._blocks):
            if begin <= offset:
                return line + text.count(b"\n", 0, offset - begin)
        return 1


class Disk:
    """The bytes of a file, with line numbers from the newlines counted per block."""

    begin = 0

    def __init__(self, descriptor: int) -> None:
        self.end = 0
        self.is_short = False
        """The file gave less than it did at first: it was cut while it was read."""
        self._descriptor = descriptor
        self._offsets: list[int] = []
        self._lines: list[int] = []
        self._next_line = 1
        self._at = (0, 1)

    def add(self, findings: Findings) -> None:
        """Takes the next block's place and newlines."""
        self._offsets.append(findings.offset)
        self._lines.append(self._next_line)
        self._next_line += findings.newlines
        self.end = findings.offset + findings.size

    def read(self, start: int, stop: int) -> bytes:
        """Gives what is there of ``start`` to ``stop``."""
        stop = min(stop, self.end)
        parts: list[bytes] = []
        while start < stop:
            part = self._part(start, stop - start)
            if not part:
                self.is_short = True
                break
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def _part(self, start: int, size: int) -> bytes:
        try:
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, size)
        except OSError:
            return b""

    def line(self, offset: int) -> int:
        """Gives the number of the line in which ``offset`` lies, counting from the nearest place known."""
        index = bisect_right(self._offsets, offset) - 1
        known, line = (0, 1) if index < 0 else (self._offsets[index], self._lines[index])
        if known <= self._at[0] <= offset:
            known, line = self._at
        while known < offset:
            piece = self.read(known, min(offset, known + STEP))
            if not piece:
                break
            line += piece.count(b"\n")
            known += len(piece)
        self._at = (known, line)
        return line
