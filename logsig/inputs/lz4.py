"""LZ4 frames, where the ``lz4`` package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from logsig.inputs import Item, Place, Skipped
from logsig.inputs.unpacking import Unpacked

PRIORITY = 10
MAGIC = b"\x04\x22\x4d\x18"


def accepts(place: Place) -> bool:
    """By the magic of a frame."""
    return place.head.startswith(MAGIC)


def read(place: Place) -> Iterator[Item]:
    """Gives the content, or says what is missing."""
    try:
        frame = import_module("lz4.frame")
    except ImportError:
        yield Skipped(place.path, "lz4 can't be read here: install 'lz4', or pipe it through lz4 -dc")
        return
    yield place.inside(Unpacked(place.open(), frame.LZ4FrameDecompressor, "lz4", (MAGIC,)))
