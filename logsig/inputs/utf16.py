"""UTF-16, as ``>`` and ``Tee-Object`` of PowerShell write it: decoded on the fly, so that what follows sees UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from logsig.inputs import DamagedError, Item, Place, Stream

PRIORITY = 30
STEP = 1 << 20


def accepts(place: Place) -> bool:
    """By a byte order mark, or zero bytes where ASCII has them."""
    return _encoding(place.head) is not None


def read(place: Place) -> Iterator[Item]:
    """Gives the content in UTF-8."""
    yield place.inside(_Decoded(place.open(), _encoding(place.head) or "utf-16"))


def _encoding(head: bytes) -> str | None:
    """Tells the byte order by the mark; without one by zero bytes where ASCII has them."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(head) // 2
    if half < 8:
        return None
    even, odd = head[0 : 2 * half : 2].count(0), head[1 : 2 * half : 2].count(0)
    if odd > 0.7 * half and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and odd == 0 else None


class _Decoded:
    """A stream in UTF-8; what can't be decoded becomes U+FFFD."""

    def __init__(self, stream: Stream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._held = b""
        self._is_over = False
        self._fault: Exception | None = None

    def read(self, size: int, /) -> bytes:
        while not self._held and not self._is_over:
            self._fetch()
        if not self._held and self._fault is not None:
            raise self._fault
        given, self._held = self._held[:size], self._held[size:]
        return given

    def _fetch(self) -> None:
        try:
            piece = self._stream.read(STEP) or b""
        except (OSError, EOFError, DamagedError) as error:
            piece, self._fault = b"", error
        self._is_over = not piece
        self._held = self._decoder.decode(piece, self._is_over).encode("utf-8", "replace")
