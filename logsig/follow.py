"""A log that still grows: takes a path or stdin, gives a scan of all so far whenever there may be news.

    follow(path, engine, *, stdin=None, pace=Pace()) -> Iterator[model.Scan]

News: messages that a literal finds, once the log has paused after them; a silence, which grows longer each time it is
told; the end of a pipe; a file that begins anew. The work is constant for each new byte: what was read is never read
again, and a scan is made only for news. The caller decides whether the diagnosis has changed.
"""

from __future__ import annotations

import io
import os
import select
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from logsig.blocks import BLOCK, NEWLINE, Block, StreamSource
from logsig.engine import Engine, make_engine
from logsig.errors import InputError
from logsig.inputs import STDIN, fault
from logsig.inputs.naming import origin_of
from logsig.look import look
from logsig.model import Origin, Scan
from logsig.scan import together
from logsig.skim import RING, Search, Skimmed, finish
from logsig.windows import Keeper, Limits, Ring

LONGEST = 1 << 20
"""Bytes without a newline that are waited for before the line is cut."""


class Pace(NamedTuple):
    """How often there may be news, in seconds; tests bring a clock of their own."""

    look: float = 0.5
    """Between two looks at a file that doesn't grow."""
    settle: float = 2.0
    """Pause after a message: a failing job prints more."""
    most: float = 15.0
    """A job that never pauses is told about after this."""
    silence: float = 300.0
    """First silence that is news; each further one is twice as long."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def follow(
    path: str, engine: Engine | Sequence[str], *, stdin: io.RawIOBase | None = None, pace: Pace | None = None
) -> Iterator[Scan]:
    """Gives a scan for each news, the last one at the end of a pipe; a file is followed until the caller stops."""
    search = Search(make_engine(engine) if isinstance(engine, Sequence) else engine, Limits())
    pace = pace or Pace()
    growing: _Growing = _Pipe(stdin, pace) if path == "-" else _File(path, pace)
    done: list[Skimmed] = []
    part = _Part(growing.origin, search)
    news = _News(pace)
    while True:
        data = growing.read()
        if data is None:  # the end of a pipe, or of a file that was replaced or cut
            done.append(part.finish(growing.why))
            yield together(done, search.engine)
            if growing.is_over:
                return
            part = _Part(growing.origin, search)
        elif part.take(data, news):
            yield together([*done, part.finish()], search.engine)


class _News:
    """Decides when what was found is worth telling."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._last_byte = pace.now()
        self._first_find: float | None = None
        self._silence = pace.silence

    def come(self, has_data: bool, has_hits: bool) -> bool:
        """Tells whether it is time, after a read."""
        now = self._pace.now()
        if has_data:
            self._last_byte, self._silence = now, self._pace.silence
        if has_hits and self._first_find is None:
            self._first_find = now
        quiet = now - self._last_byte
        if self._first_find is not None and (quiet >= self._pace.settle or now - self._first_find >= self._pace.most):
            self._first_find = None
            return True
        if quiet >= self._silence:
            self._silence *= 2
            return True
        return False


class _Part:
    """One input from its first byte on: what ``skim`` keeps of a stream, but open at the end."""

    def __init__(self, origin: Origin, search: Search) -> None:
        self._origin = origin
        self._search = search
        self._keeper = Keeper(search.limits)
        self._ring = Ring(max(RING, search.limits.whole))
        self._before = b"\n" * search.engine.longest
        self._pending = b""

    def take(self, data: bytes, news: _News) -> bool:
        """Takes new bytes; tells whether there is news."""
        self._pending += data
        stop = self._pending.rfind(b"\n") + 1 or (len(self._pending) if len(self._pending) > LONGEST else 0)
        return news.come(bool(data), self._look(stop))

    def finish(self, why: str | None = None) -> Skimmed:
        """Gives what was found so far, a line without its end included."""
        self._look(len(self._pending))
        found = finish(self._origin, self._keeper, self._ring, self._search, StreamSource(io.BytesIO()))
        return found._replace(doubts=(*found.doubts, f"{self._origin.path}: {why}")) if why else found

    def _look(self, stop: int) -> bool:
        """Looks at the pending bytes up to ``stop``; tells whether a literal was found."""
        if not stop:
            return False
        text, self._pending = self._pending[:stop], self._pending[stop:]
        start = len(self._before)
        data = bytearray(self._before + text)
        is_clean = data[start - 1] == NEWLINE
        block = Block(data, start, len(data), self._ring.end, is_clean, text.count(b"\n"))
        found = look(block, self._search.engine)
        self._ring.add(found, text)
        self._keeper.choose(found)
        self._keeper.collect(self._ring, self._ring.end)
        self._before = bytes(data[-start:])
        return bool(found.counts)


class _Growing(Protocol):
    """Something that may have more bytes later."""

    origin: Origin
    why: str | None
    is_over: bool

    def read(self) -> bytes | None:
        """Gives new bytes, none after a short wait, None at an end."""


class _Pipe:
    """Stdin."""

    why: str | None = None
    is_over = True

    def __init__(self, stdin: io.RawIOBase | None, pace: Pace) -> None:
        self.origin = Origin(STDIN)
        self._stream = stdin if stdin is not None else io.FileIO(0, "rb", closefd=False)
        self._pace = pace

    def read(self) -> bytes | None:
        """Waits for bytes at most as long as between two looks at a file."""
        if not select.select([self._stream], [], [], self._pace.look)[0]:
            return b""
        try:
            return self._stream.read(BLOCK) or None
        except OSError as error:
            self.why = fault(error)
            return None


class _File:
    """A file that may grow, be cut, or be replaced by another of its name."""

    is_over = False

    def __init__(self, path: str, pace: Pace) -> None:
        self.origin = origin_of(path)
        self.why: str | None = None
        self._path = path
        self._pace = pace
        self._file = self._open()

    def _open(self) -> io.FileIO:
        try:
            return io.FileIO(self._path, "rb")
        except OSError as error:
            raise InputError(f"{self._path}: {fault(error)}") from error

    def read(self) -> bytes | None:
        """Gives the next bytes; at the end of the file waits, and looks whether it is still the same."""
        try:
            data = self._file.read(BLOCK)
        except OSError as error:
            data, self.why = None, fault(error)
        if data:
            return data
        if self._is_cut():
            self._file.seek(0)
            self.why = "the file was cut and begins anew"
            return None
        if self._is_replaced():
            self._file.close()
            self._file = self._open()
            self.why = "the file was replaced by a new one"
            return None
        self._pace.sleep(self._pace.look)
        return b""

    def _is_cut(self) -> bool:
        return os.fstat(self._file.fileno()).st_size < self._file.tell()

    def _is_replaced(self) -> bool:
        try:
            there = os.stat(self._path)
        except OSError:
            return False  # moved away; the new one isn't there yet
        return not os.path.samestat(there, os.fstat(self._file.fileno()))
