"""Inputs: takes paths, gives leaves (streams of log bytes with a name), knows nothing of what the bytes mean.

One module each, found by convention, with ``PRIORITY`` (lower is asked first), ``accepts(place) -> bool`` and
``read(place) -> Iterator[Place | Leaf | Skipped]``. What a module gives as a ``Place`` is asked again, so a UTF-16 log
in a gzip member of a tar archive needs no module of its own. Kinds are told by magic bytes, never by the file's name.
"""

from __future__ import annotations

import io
import os
import pkgutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol

from logsig.errors import InputError
from logsig.inputs.naming import origin_inside, origin_of
from logsig.model import Origin

HEAD = 1024
"""Bytes that are looked at to tell the kind."""
DEPTH = 6
"""Containers within containers; deeper ones are built to harm."""
STDIN = "<stdin>"
PIPE = 1 << 20


class Stream(Protocol):
    """Bytes in order. ``b""`` is the end; a fault in the middle is an ``OSError``, ``EOFError`` or ``DamagedError``."""

    def read(self, size: int, /) -> bytes | None:
        """Gives what is there, at most ``size`` bytes, at least one before the end."""


class DamagedError(Exception):
    """A container whose bytes make no sense from here on; the message says what."""


class Prefetched:
    """A stream whose first bytes were looked at: they come again. A fault met on the way comes after them."""

    def __init__(self, stream: Stream, size: int = HEAD) -> None:
        self._stream = stream
        self._fault: Exception | None = None
        self.head = self._fetch(size)
        self._rest = self.head

    def _fetch(self, size: int) -> bytes:
        parts: list[bytes] = []
        try:
            while size > 0 and (part := self._stream.read(size)):
                parts.append(part)
                size -= len(part)
        except (OSError, EOFError, DamagedError) as error:
            self._fault = error
        return b"".join(parts)

    def read(self, size: int, /) -> bytes:
        """Gives what is there: at least a byte before the end."""
        if self._rest:
            given, self._rest = self._rest[:size], self._rest[size:]
            return given
        if self._fault is not None:
            raise self._fault
        return self._stream.read(size) or b""


class Place:
    """Something to read, of a kind not yet known: a path on disk, or a stream (stdin, something in a container)."""

    def __init__(  # noqa: PLR0913  (the last two have names)
        self,
        desk: Desk,
        origin: Origin,
        disk: str | None = None,
        stream: Stream | None = None,
        *,
        depth: int = 0,
        is_named: bool = True,
    ) -> None:
        self.is_named = is_named
        """The user named it, or what holds it; else it was found below a directory or in an archive."""
        self.desk = desk
        """What the reading of one call shares."""
        self.origin = origin
        """Its name for the user, and what its place says of its lines."""
        self.disk = disk
        """Where it lies on disk; None for a stream."""
        self.depth = depth
        self._stream = None if stream is None else Prefetched(stream)
        self._head: bytes | None = None
        self._opened: list[io.FileIO] = []

    @property
    def path(self) -> str:
        """Its name for the user."""
        return self.origin.path

    @property
    def is_directory(self) -> bool:
        """Lies on disk and holds others."""
        return self.disk is not None and os.path.isdir(self.disk)

    @property
    def head(self) -> bytes:
        """The first bytes; empty for a directory."""
        if self._head is None:
            if self.is_directory:
                self._head = b""
            else:
                self._open_special()
                self._head = self._stream.head if self._stream is not None else self._first()
        return self._head

    def open(self) -> Stream:
        """Opens the bytes, from the first on; a stream can be opened once."""
        if self._stream is not None:
            return self._stream
        return self.open_file()

    def open_file(self) -> io.FileIO:
        """Opens the file on disk, for one read at any offset; it is closed with the place."""
        file = io.FileIO(self.disk or "", "rb")
        self._opened.append(file)
        return file

    def close(self) -> None:
        """Closes what this place opened."""
        for file in self._opened:
            file.close()

    def inside(self, stream: Stream, name: str | None = None) -> Place:
        """Gives the place of a stream found in this one: its content unpacked, or its member ``name``."""
        if self.depth >= DEPTH:
            raise DamagedError(f"more than {DEPTH} containers within one another")
        origin = self.origin if name is None else origin_inside(self.origin, name)
        return Place(self.desk, origin, None, stream, depth=self.depth + 1, is_named=self.is_named and name is None)

    def _first(self) -> bytes:
        with io.FileIO(self.disk or "", "rb") as file:
            return file.read(HEAD) or b""

    def _open_special(self) -> None:
        """Makes a stream of what can't be read twice or anywhere: a FIFO, a device, a file of size 0 as in /proc."""
        if self._stream is None and self.disk is not None:
            state = os.stat(self.disk)
            if not stat.S_ISREG(state.st_mode) or state.st_size == 0:
                self._stream = Prefetched(self.open_file())
                self.disk = None


class Leaf(NamedTuple):
    """Log bytes to scan."""

    origin: Origin
    stream: Stream | None = None
    """The bytes in order; None where ``disk`` is to be opened."""
    disk: str | None = None
    """A regular file whose bytes are the log's own: may be read at any offset and by several processes."""


class Skipped(NamedTuple):
    """Something that wasn't read, and why."""

    path: str
    reason: str
    unreadable: bool = True
    """False where nothing was lost: a picture among the logs."""


Item = Place | Leaf | Skipped


class Desk:
    """What the reading of one call shares."""

    def __init__(self, stdin: Stream | None = None) -> None:
        self.stdin = stdin
        self.seen: set[tuple[int, int]] = set()
        """Device and inode of the files and directories met: loops and second names end here."""

    def knows(self, path: str) -> bool:
        """Tells whether the file or directory was met before, and remembers it."""
        try:
            state = os.stat(path)
        except OSError:
            return False  # said when it is read
        key = (state.st_dev, state.st_ino)
        if key in self.seen:
            return True
        self.seen.add(key)
        return False


def place_of(path: str, desk: Desk) -> Place:
    """Gives the place of a path the user named; one that doesn't exist is an error."""
    if path == "-":
        widen(desk.stdin)
        return Place(
            desk, Origin(STDIN), None, desk.stdin if desk.stdin is not None else io.FileIO(0, "rb", closefd=False)
        )
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file or directory") from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"{path!r}: {error}") from None
    except OSError:
        pass  # what is there but closed to us is said when it is read
    return Place(desk, origin_of(path), path)


def widen(stdin: Stream | None) -> None:
    """Lets the pipe on stdin hold a megabyte, so that its writer and we wait less for one another; Linux only."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import fcntl

        descriptor = stdin.fileno() if isinstance(stdin, io.RawIOBase) else 0
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE)


def spread(places: list[Place]) -> Iterator[Place | Skipped]:
    """Replaces directories by what lies below them; opens nothing, so that the number of inputs is known first."""
    for place in places:
        if place.is_directory:
            yield from _module_for(place).read(place)
        elif place.disk is None or not place.desk.knows(place.disk):
            yield place


def leaves(place: Place) -> Iterator[Leaf | Skipped]:
    """Follows a place down to its leaves, lazily: a member of a stream is to be read before the next is asked for."""
    try:
        for item in _module_for(place).read(place):
            if isinstance(item, Place):
                yield from leaves(item)
            else:
                yield item
    except (OSError, EOFError, DamagedError) as error:
        yield Skipped(place.path, fault(error))
    finally:
        place.close()


def loss_of_all(found: list[Skipped]) -> list[Skipped]:
    """What the user named and of which nothing is a log: that it was left out is a loss, as an empty folder is."""
    return [item._replace(unreadable=True) for item in found]


def fault(error: BaseException) -> str:
    """Says in a few words what went wrong in reading."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _module_for(place: Place) -> ModuleType:
    return next(module for module in modules() if module.accepts(place))


@cache
def modules() -> tuple[ModuleType, ...]:
    """Finds the input modules, in the order in which they are asked."""
    found = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return tuple(
        sorted((module for module in found if hasattr(module, "PRIORITY")), key=lambda m: (m.PRIORITY, m.__name__))
    )
