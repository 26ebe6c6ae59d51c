"""gzip, also of several members; read with ``isal`` where it is installed, which is two to three times as fast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from logsig.inputs import Desk, Item, Place
from logsig.inputs.unpacking import Unpacked

PRIORITY = 10
MAGIC = b"\x1f\x8b\x08"


def accepts(place: Place) -> bool:
    return place.head.startswith(MAGIC)


def read(place: Place, desk: Desk) -> Iterator[Item]:
    """Gives the content."""
    yield place.inside(Unpacked(place.open(), _Member, "gzip", (MAGIC,)))


class _Member:
    """zlib's decompressor with the manners of the others."""

    def __init__(self) -> None:
        self._inflate: Any = _zlib().decompressobj(31)

    @property
    def eof(self) -> bool:
        return bool(self._inflate.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inflate.unused_data)

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return bytes(self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length))


def _zlib() -> Any:
    try:
        from isal import isal_zlib

        return isal_zlib
    except ImportError:
        import zlib

        return zlib
