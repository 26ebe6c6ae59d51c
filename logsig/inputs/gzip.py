"""gzip, also of several members; read with ``isal`` where it is installed, which is two to three times as fast."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from logsig.inputs import Item, Place
from logsig.inputs.unpacking import Unpacked

PRIORITY = 10
MAGIC = b"\x1f\x8b\x08"


def accepts(place: Place) -> bool:
    """By its magic, with the one method that exists."""
    return place.head.startswith(MAGIC)


def read(place: Place) -> Iterator[Item]:
    """Gives the content."""
    yield place.inside(Unpacked(place.open(), _Member, "gzip", (MAGIC,)))


class _Member:
    """The decompressor of zlib or isal with the manners of the others."""

    def __init__(self) -> None:
        self._inflate: Any = _zlib().decompressobj(31)
        self._is_full = False

    @property
    def eof(self) -> bool:
        """Behind the member's end."""
        return bool(self._inflate.eof)

    @property
    def unused_data(self) -> bytes:
        """What stands behind the member."""
        return bytes(self._inflate.unused_data)

    @property
    def needs_input(self) -> bool:
        """Has nothing more to give: zlib shows what it didn't take, isal hides it."""
        return not self._inflate.unconsumed_tail and not self._is_full

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Gives at most ``max_length`` bytes."""
        piece = bytes(self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length))
        self._is_full = len(piece) == max_length
        return piece


def _zlib() -> Any:
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return import_module("zlib")
