"""xz, also of several streams."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.inputs import Item, Place
from logsig.inputs.unpacking import Unpacked

PRIORITY = 10
MAGIC = b"\xfd7zXZ\x00"
MEMORY = 1 << 28
"""Bytes that a dictionary may ask for."""


def accepts(place: Place) -> bool:
    """By its magic."""
    return place.head.startswith(MAGIC)


def read(place: Place) -> Iterator[Item]:
    """Gives the content."""
    import lzma

    yield place.inside(Unpacked(place.open(), lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY), "xz", (MAGIC,)))
