"""Streams out of compressed streams: several members one after the other, a cut tail, and bounded output at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from logsig.inputs import DamagedError, Stream

STEP = 1 << 18
"""Compressed bytes fed at once."""
PIECE = 1 << 20
"""Unpacked bytes taken at once."""
FREE = 4 << 30
RATIO = 2000
"""A stream may give ``FREE`` bytes, or ``RATIO`` times its own: more is built to harm."""


class Decompressor(Protocol):
    """What ``bz2``, ``lzma``, ``zstd`` and ``lz4.frame`` have in common."""

    @property
    def eof(self) -> bool:
        """Behind the end of the member."""

    @property
    def unused_data(self) -> bytes | None:
        """What stands behind the member."""

    @property
    def needs_input(self) -> bool:
        """Has nothing more to give."""

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Gives at most ``max_length`` bytes."""


class Unpacked:
    """The bytes inside a compressed stream; where it is cut or damaged, what came before is given first."""

    def __init__(self, packed: Stream, start: Callable[[], Decompressor], kind: str, magic: tuple[bytes, ...]) -> None:
        self._packed = packed
        self._start = start
        self._kind = kind
        self._magic = magic
        self._member: Decompressor | None = start()
        self._fed = self._given = 0

    def read(self, size: int, /) -> bytes:
        """Gives at most ``size`` bytes, at least one before the end."""
        limit = min(size, PIECE)
        while self._member is not None:
            if self._member.eof:
                self._next(self._member.unused_data or b"")
                continue
            data = self._feed() if self._member.needs_input else b""
            try:
                piece = self._member.decompress(data, limit)
            except Exception as error:  # each library has its own class
                self._member = None
                raise DamagedError(f"damaged {self._kind}: {error}") from error
            if piece:
                self._given += len(piece)
                self._weigh()
                return piece
        return b""

    def _feed(self) -> bytes:
        data = self._packed.read(STEP) or b""
        if not data:
            self._member = None
            raise DamagedError(f"the {self._kind} is cut: its end is missing")
        self._fed += len(data)
        return data

    def _next(self, rest: bytes) -> None:
        """Goes to the next member, if there is one in ``rest`` and behind it; padding with zeros is none."""
        self._member = None
        while not rest.strip(b"\0"):
            more = self._packed.read(STEP)
            if not more:
                return
            rest = more
        rest = rest.lstrip(b"\0") if rest.startswith(b"\0") else rest
        if not rest.startswith(self._magic) and not any(magic.startswith(rest) for magic in self._magic):
            raise DamagedError(f"bytes behind the end of the {self._kind} that are none")
        self._packed = _Chained(rest, self._packed)
        self._member = self._start()

    def _weigh(self) -> None:
        if self._given > FREE and self._given > RATIO * self._fed:
            self._member = None
            raise DamagedError(f"the {self._kind} unpacks to more than {RATIO} times its size; read no further")


class _Chained:
    """Bytes already taken from a stream, then the stream."""

    def __init__(self, first: bytes, stream: Stream) -> None:
        self._first = first
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        if self._first:
            given, self._first = self._first[:size], self._first[size:]
            return given
        return self._stream.read(size) or b""
