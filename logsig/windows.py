"""Which parts of an input are kept: takes findings block by block, chooses windows, and collects their bytes.

Every new writer of a literal gets a window, the same writer again only some, a storm of them none but the last. All hits
are counted. The choice depends on the findings alone, so it is the same for a file, a pipe and several processes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

LINE = 1 << 16
"""Longest line that a window is widened to; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one input is kept, in bytes."""

    whole: int = 4 << 20
    """An input that small is kept as it is."""
    head: int = 256 << 10
    tail: int = 512 << 10
    sizes: tuple[tuple[int, int, int], ...] = ((8, 32 << 10, 64 << 10), (64, 8 << 10, 16 << 10), (1 << 62, 2 << 10, 6 << 10))
    """(windows of a literal up to which it holds, bytes before its hit, bytes after)"""
    named: int = 4
    """Windows for a literal of one writer."""
    unnamed: int = 512
    """Windows for a literal where no writer is named: it may be many."""
    apart: int = 64 << 10
    """A hit that far from the last one of its kind is another incident."""
    incidents: int = 128
    again: int = 2 << 20
    """Bytes for further hits of one literal of writers met before."""
    again_in_all: int = 8 << 20
    in_all: int = 48 << 20

    @staticmethod
    def shared(inputs: int) -> Limits:
        """Gives each of many inputs its part."""
        if inputs <= 1:
            return Limits()
        standard = Limits()
        return Limits(
            whole=max(standard.whole // inputs, 16 << 10),
            head=min(standard.head, max(8 * standard.head // inputs, 2 << 10)),
            tail=min(standard.tail, max(16 * standard.tail // inputs, 4 << 10)),
            again=max(4 * standard.again // inputs, 16 << 10),
            again_in_all=max(2 * standard.again_in_all // inputs, 64 << 10),
            in_all=max(4 * standard.in_all // inputs, 128 << 10) if inputs > 4 else standard.in_all,
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """What a look at one block gave."""

    offset: int
    size: int
    newlines: int
    is_clean: bool
    """Begins at a line's start."""
    counts: dict[int, int] = field(default_factory=dict)
    """Hits per literal."""
    hits: tuple[tuple[int, int, bytes | None], ...] = ()
    """(literal, where it ends in the input, label of its line): of each literal and label the first few, far ones and the last."""


class Kept(Protocol):
    """Bytes of the input that can still be had."""

    def read(self, start: int, stop: int) -> bytes: ...
    def line(self, offset: int) -> int: ...


@dataclass(slots=True)
class Window:
    """Bytes to keep: ``start`` to ``stop``, widened to whole lines when collected."""

    start: int
    stop: int
    first_line: int = 0
    parts: list[bytes] = field(default_factory=list)
    have: int = -1
    """Collected up to here; -1 before the first part."""
    is_done: bool = False

    def collect(self, kept: Kept, end: int) -> None:
        """Takes what there is up to ``end``."""
        if self.have < 0:
            self.start = self.have = _line_start(kept, self.start)
            self.first_line = kept.line(self.start)
        upto = min(self.stop, end)
        if upto > self.have:
            self.parts.append(kept.read(self.have, upto))
            self.have = upto
        if self.stop <= end:
            rest = kept.read(self.have, min(self.have + LINE, end))
            more = 0 if self._ends_a_line() else (rest.find(b"\n") + 1 or len(rest))
            self.parts.append(rest[:more])
            self.have += more
            self.is_done = True

    def _ends_a_line(self) -> bool:
        last = next((part for part in reversed(self.parts) if part), b"\n")
        return last.endswith(b"\n")


def _line_start(kept: Kept, offset: int) -> int:
    """Goes back to the start of the line, or stays where the line is too long for that."""
    if offset <= 0:
        return 0
    before = kept.read(max(0, offset - LINE), offset)
    newline = before.rfind(b"\n")
    if newline >= 0:
        return offset - len(before) + newline + 1
    return 0 if offset <= LINE and len(before) == offset else offset


class Keeper:
    """Chooses windows from findings in the order of the input."""

    def __init__(self, limits: Limits) -> None:
        self.left_out: dict[int, int] = {}
        """Hits per literal that no window holds."""
        self.counts: dict[int, int] = {}
        self._limits = limits
        self._windows: list[Window] = [Window(0, limits.head)]
        self._open: Window | None = None
        self._last: dict[int, Window] = {}
        self._pairs: dict[tuple[int, bytes | None], list[int]] = {}
        self._opened: dict[int, int] = {}
        self._again: dict[int, int] = {}
        self._again_in_all = 0
        self._in_all = 0

    def choose(self, findings: Findings) -> None:
        """Takes the next block's findings into account."""
        shown: dict[int, int] = {}
        for literal, end, label in findings.hits:
            if not self._take(literal, end, label):
                self._last[literal] = self._around(end, literal)
            else:
                shown[literal] = shown.get(literal, 0) + 1
        for literal, count in findings.counts.items():
            self.counts[literal] = self.counts.get(literal, 0) + count
            if count > shown.get(literal, 0) and not self._holds(findings):
                self.left_out[literal] = self.left_out.get(literal, 0) + count - shown.get(literal, 0)

    def windows(self) -> Iterator[Window]:
        """Gives all windows chosen so far."""
        yield from self._windows
        yield from self._last.values()

    def collect(self, kept: Kept, end: int) -> None:
        """Takes what the open windows still need."""
        for window in self.windows():
            if not window.is_done:
                window.collect(kept, end)

    def _holds(self, findings: Findings) -> bool:
        """Tells whether one window holds the whole block."""
        return self._open is not None and self._open.start <= findings.offset and self._open.stop >= findings.offset + findings.size

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
        if self._in_all > limits.in_all or not (is_new or is_again):
            return self._open is not None and end <= self._open.stop
        wanted = self._around(end, literal)
        cost = wanted.stop - (wanted.start if self._open is None else max(wanted.start, self._open.stop))
        if is_new or self._affords(literal, cost):
            pair[0] += 1
            self._in_all += max(cost, 0)
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
        before, after = next((before, after) for upto, before, after in self._limits.sizes if opened < upto)
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
        self._size = size
        self._blocks: deque[tuple[int, int, bytes]] = deque()
        self._held = 0
        self._lines = 1
        self.end = 0

    def add(self, offset: int, text: bytes, newlines: int) -> None:
        """Takes the next block and forgets the oldest that isn't needed."""
        self._blocks.append((offset, self._lines, text))
        self._lines += newlines
        self._held += len(text)
        self.end = offset + len(text)
        while self._held - len(self._blocks[0][2]) >= self._size:
            self._held -= len(self._blocks.popleft()[2])

    def read(self, start: int, stop: int) -> bytes:
        """Gives what is still there of ``start`` to ``stop``."""
        parts = []
        for offset, _line, text in self._blocks:
            if offset < stop and start < offset + len(text):
                parts.append(text[max(0, start - offset) : stop - offset])
        return b"".join(parts)

    def line(self, offset: int) -> int:
        """Gives the number of the line in which ``offset`` lies."""
        for begin, line, text in reversed(self._blocks):
            if begin <= offset:
                return line + text.count(b"\n", 0, offset - begin)
        return 1


class Disk:
    """The bytes of a file, with line numbers from the newlines counted per block."""

    def __init__(self, descriptor: int, read_at: ReadAt) -> None:
        self._descriptor = descriptor
        self._read_at = read_at
        self._offsets: list[int] = []
        self._lines: list[int] = []
        self._next_line = 1
        self._at: tuple[int, int] = (0, 1)

    def add(self, findings: Findings) -> None:
        """Takes the next block's place and newlines."""
        self._offsets.append(findings.offset)
        self._lines.append(self._next_line)
        self._next_line += findings.newlines

    def read(self, start: int, stop: int) -> bytes:
        return self._read_at(self._descriptor, max(0, stop - start), start)

    def line(self, offset: int) -> int:
        """Gives the number of the line in which ``offset`` lies, counting from the nearest place known."""
        index = bisect_right(self._offsets, offset) - 1
        known, line = (0, 1) if index < 0 else (self._offsets[index], self._lines[index])
        if known <= self._at[0] <= offset:
            known, line = self._at
        while known < offset:
            piece = self.read(known, min(offset, known + LINE * 16))
            if not piece:
                break
            line += piece.count(b"\n")
            known += len(piece)
        self._at = (known, line)
        return line


class ReadAt(Protocol):
    def __call__(self, descriptor: int, size: int, offset: int, /) -> bytes: ...
