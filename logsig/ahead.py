"""Reads a stream ahead in a thread, so that unpacking and scanning, which both let other threads run, use two cores."""

from __future__ import annotations

import queue
import threading
from types import TracebackType
from typing import Self

from logsig.inputs import DamagedError, Stream

ALONE = 4 << 20
"""Bytes read without a thread: most streams are small."""
PIECE = 1 << 20
HELD = 4


class Ahead:
    """The same bytes and the same faults; closed when the ``with`` block ends, also before the stream's end."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._given = 0
        self._ready: queue.Queue[bytes | Exception] = queue.Queue(HELD)
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        self._rest = b""
        self._end: bytes | Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._is_over.set()
        while self._thread is not None and self._thread.is_alive():
            try:
                self._ready.get(timeout=0.05)  # makes room for a piece that nobody wants
            except queue.Empty:
                continue

    def read(self, size: int, /) -> bytes:
        """Gives what is there, at least a byte before the end."""
        if self._given < ALONE:
            piece = self._stream.read(size) or b""
            self._given += len(piece)
            return piece
        if not self._rest:
            self._rest = self._next()
        given, self._rest = self._rest[:size], self._rest[size:]
        return given

    def _next(self) -> bytes:
        if self._thread is None:
            self._thread = threading.Thread(target=self._fetch, daemon=True)
            self._thread.start()
        if self._end is None:
            piece = self._ready.get()
            if piece and isinstance(piece, bytes):
                return piece
            self._end = piece
        if isinstance(self._end, Exception):
            raise self._end
        return b""

    def _fetch(self) -> None:
        piece: bytes | Exception = b"."
        while piece and not isinstance(piece, Exception) and not self._is_over.is_set():
            try:
                piece = self._stream.read(PIECE) or b""
            except (OSError, EOFError, DamagedError) as error:
                piece = error
            self._ready.put(piece)
