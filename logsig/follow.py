"""A log that still grows: takes a path or stdin, gives a scan of all so far whenever there may be news.

    follow(path, engine, *, stdin=None, pace=Pace(), is_over=...) -> Iterator[News]

News: a message that a literal finds, at once and again when the log has paused after it; a silence; a minute that went
by without either; the end. The work is constant for each new byte: what was read is never read again, and looking at
it all takes a small share of the time, however much there would be to tell. The caller decides whether the diagnosis
has changed.
"""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from logsig.blocks import NEWLINE, Block, StreamSource
from logsig.engine import Engine, make_engine
from logsig.errors import InputError
from logsig.inputs import STDIN, fault
from logsig.inputs.naming import origin_of
from logsig.look import look
from logsig.model import Origin, Scan
from logsig.scan import together
from logsig.skim import RING, Search, Skimmed, finish
from logsig.stdin import Stdin
from logsig.windows import Keeper, Limits, Ring

LONGEST = 1 << 20
"""Bytes without a newline that are waited for before the line is cut."""
PIECE = 1 << 18
"""Bytes taken in one read."""
OLDER = 8
"""Files of the same name, cut or replaced since, that are remembered."""
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04")


class Pace(NamedTuple):
    """How often there may be news, in seconds; tests bring a clock of their own."""

    look: float = 0.5
    """Between two looks at a file that doesn't grow."""
    glance: float = 0.5
    """From a first message to the first look at it: what belongs to it comes in one go."""
    settle: float = 3.0
    """Pause of the messages after which they are taken as complete: a failing job prints more."""
    most: float = 15.0
    """Messages that never pause are told after this."""
    silence: float = 300.0
    """First silence that is news; each further one is half as long again."""
    check: float = 60.0
    """A log that says nothing remarkable is looked at that often: steps may have stopped while other lines come."""
    rest: float = 10.0
    """So many times as long as it took to tell the last news, nothing is told."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Kind(Enum):
    """Why there is news."""

    SEEN = "seen"
    """A literal was found a moment ago; more may follow."""
    SETTLED = "settled"
    """No further one was found for a while."""
    SILENT = "silent"
    CHECK = "check"
    ANEW = "anew"
    """The file was cut or replaced."""
    END = "end"


class News(NamedTuple):
    """All that was read so far, and when."""

    kind: Kind
    scan: Scan
    time: float
    """On the clock of the pace."""
    quiet: float
    """Seconds since the last byte."""


def follow(
    path: str,
    engine: Engine | Sequence[str],
    *,
    stdin: Stdin | None = None,
    pace: Pace | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[News]:
    """Gives news until the end of a pipe, or until the caller says that it ``is_over``; the last is the end."""
    search = Search(make_engine(engine) if isinstance(engine, Sequence) else engine, Limits())
    pace = pace or Pace()
    growing = _growing(path, stdin, pace)
    older = _Older()
    part = _Part(growing.origin, search)
    timer = _Timer(pace)
    while not is_over():
        data = growing.read()
        if data is None and growing.is_pipe:
            break
        if data is None:  # a file that was replaced or cut
            older.add(part.finish(growing.why))
            part = _Part(growing.origin, search)
            kind: Kind | None = Kind.ANEW
        else:
            kind = timer.due(bool(data), part.take(data))
        if kind is not None:
            yield News(kind, older.scan(search.engine, part.finish()), *timer.times())
            timer.rest()
    yield News(Kind.END, older.scan(search.engine, part.finish(growing.why)), *timer.times())


def _growing(path: str, stdin: Stdin | None, pace: Pace) -> _Growing:
    if path == "-":
        return _Pipe(stdin or Stdin(lambda _: None), Origin(STDIN), pace)
    try:
        if not stat.S_ISFIFO(os.stat(path).st_mode):
            return _File(path, pace)
        return _Pipe(Stdin(lambda _: None, os.open(path, os.O_RDONLY)), origin_of(path), pace)
    except OSError as error:
        raise InputError(f"{path}: {fault(error)}") from error


class _Timer:
    """Decides when what was found is worth telling."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._told = self._last_byte = self._last_find = pace.now()
        self._first_find: float | None = None
        """First message since they last settled."""
        self._unseen: float | None = None
        """First message since anything was told."""
        self._silence = pace.silence
        self._earliest = 0.0
        self._has_more = False

    def times(self) -> tuple[float, float]:
        """Gives the time, and for how long it has been quiet."""
        now = self._pace.now()
        return now, now - self._last_byte

    def rest(self) -> None:
        """Is called when news were told; how long that took says how long to wait."""
        now = self._pace.now()
        self._earliest = now + min(self._pace.rest * (now - self._told), self._pace.most)

    def due(self, has_data: bool, has_hits: bool) -> Kind | None:
        """Tells whether it is time, after a read, and for what."""
        now = self._pace.now()
        if has_data:
            self._last_byte, self._silence, self._has_more = now, self._pace.silence, True
        if has_hits:
            self._last_find = now
            self._first_find = now if self._first_find is None else self._first_find
            self._unseen = now if self._unseen is None else self._unseen
        kind = self._kind(now) if now >= self._earliest else None
        if kind is not None:
            self._told, self._unseen, self._has_more = now, None, False
        return kind

    def _kind(self, now: float) -> Kind | None:
        pace, first = self._pace, self._first_find
        if first is not None and (now - self._last_find >= pace.settle or now - first >= pace.most):
            self._first_find = None
            return Kind.SETTLED
        if self._unseen is not None and now - self._unseen >= pace.glance:
            return Kind.SEEN
        if now - self._last_byte >= self._silence:
            self._silence *= 1.5
            return Kind.SILENT
        return Kind.CHECK if self._has_more and first is None and now - self._told >= pace.check else None


class _Older:
    """What was found in files of this name before the present one: the latest few."""

    def __init__(self) -> None:
        self._found: list[Skimmed] = []
        self._forgotten = 0

    def add(self, found: Skimmed) -> None:
        self._found.append(found)
        self._forgotten += len(self._found) > OLDER
        del self._found[:-OLDER]

    def scan(self, engine: Engine, last: Skimmed) -> Scan:
        """Gives all that is remembered, in order."""
        if self._forgotten:
            doubt = f"{last.origin.path}: began anew so often that what the first {self._forgotten} held is forgotten"
            last = last._replace(doubts=(*last.doubts, doubt))
        return together([*self._found, last], engine)


class _Part:
    """One input from its first byte on: what ``skim`` keeps of a stream, but open at the end."""

    def __init__(self, origin: Origin, search: Search) -> None:
        self._origin = origin
        self._search = search
        self._keeper = Keeper(search.limits)
        self._ring = Ring(max(RING, search.limits.whole))
        self._before = b"\n" * search.engine.longest
        self._pending = bytearray()

    def take(self, data: bytes) -> bool:
        """Takes new bytes; tells whether a literal was found."""
        newline = data.rfind(b"\n") + 1
        stop = len(self._pending) + newline if newline else 0
        self._pending += data
        return self._look(len(self._pending) if not stop and len(self._pending) > LONGEST else stop)

    def finish(self, why: str | None = None) -> Skimmed:
        """Gives what was found so far, a line without its end included."""
        self._look(len(self._pending))
        found = finish(self._origin, self._keeper, self._ring, self._search, StreamSource(io.BytesIO()))
        return found._replace(doubts=(*found.doubts, f"{self._origin.path}: {why}")) if why else found

    def _look(self, stop: int) -> bool:
        """Looks at the pending bytes up to ``stop``; tells whether a literal was found."""
        if not stop:
            return False
        text = bytes(self._pending[:stop])
        del self._pending[:stop]
        start = len(self._before)
        data = bytearray(self._before + text)
        is_clean = data[start - 1] == NEWLINE
        block = Block(data, start, len(data), self._ring.end, is_clean, text.count(b"\n"))
        found = look(block, self._search.engine, self._search.limits.labelled)
        self._ring.add(found, text)
        self._keeper.choose(found)
        self._keeper.collect(self._ring, self._ring.end)
        self._before = bytes(data[-start:])
        return bool(found.counts)


class _Growing(Protocol):
    """Something that may have more bytes later."""

    origin: Origin
    why: str | None
    is_pipe: bool

    def read(self) -> bytes | None:
        """Gives new bytes, none after a short wait, None at an end."""


class _Pipe:
    """Stdin, or a FIFO."""

    is_pipe = True

    def __init__(self, stream: Stdin, origin: Origin, pace: Pace) -> None:
        self.origin = origin
        self.why: str | None = None
        self._stream = stream
        self._pace = pace

    def read(self) -> bytes | None:
        """Waits for bytes at most as long as between two looks at a file."""
        try:
            if not self._stream.is_ready(self._pace.look):
                return b""
            return self._stream.read(PIECE) or None
        except OSError as error:
            self.why = fault(error)
            return None


class _File:
    """A file that may grow, be cut, or be replaced by another of its name."""

    is_pipe = False

    def __init__(self, path: str, pace: Pace) -> None:
        self.origin = origin_of(path)
        self.why: str | None = None
        self._path = path
        self._pace = pace
        self._file = io.FileIO(path, "rb")
        if os.pread(self._file.fileno(), 8, 0).startswith(PACKED):
            raise InputError(f"{path}: is compressed and can't be followed; without --follow it is read")

    def read(self) -> bytes | None:
        """Gives the next bytes; at the end of the file waits, and looks whether it is still the same."""
        try:
            data = self._file.read(PIECE)
            if data or self._is_cut() or self._is_replaced():
                return data or None
        except OSError as error:  # a file system that fails may come back
            self.why = fault(error)
        self._pace.sleep(self._pace.look)
        return b""

    def _is_cut(self) -> bool:
        """Tells a file that is shorter than what was read, and goes to its start."""
        if os.fstat(self._file.fileno()).st_size >= self._file.tell():
            return False
        self._file.seek(0)
        self.why = "the file was cut and begins anew"
        return True

    def _is_replaced(self) -> bool:
        """Tells another file under the same name, and opens that one once the old one has said all."""
        try:
            there = os.stat(self._path)
            if os.path.samestat(there, os.fstat(self._file.fileno())) or self._has_more():
                return False
            new = io.FileIO(self._path, "rb")
        except FileNotFoundError:
            return False  # moved away; the new one isn't there yet
        self._file.close()
        self._file = new
        self.why = "the file was replaced by a new one"
        return True

    def _has_more(self) -> bool:
        """Tells whether the writer added to the old file after it was read and before it was replaced."""
        return os.fstat(self._file.fileno()).st_size > self._file.tell()
