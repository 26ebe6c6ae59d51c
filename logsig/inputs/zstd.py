"""Zstandard, also of several frames, skippable ones among them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from logsig.inputs import Item, Place, Skipped
from logsig.inputs.unpacking import Unpacked

PRIORITY = 10
MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = tuple(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))
WINDOW = 27
"""Logarithm of the window that a frame may ask for: 128 MiB, as the zstd command's own limit."""


def accepts(place: Place) -> bool:
    """By the magic of a frame, skippable ones included."""
    return place.head.startswith((MAGIC, *SKIPPABLE))


def read(place: Place) -> Iterator[Item]:
    """Gives the content, where a Zstandard module exists."""
    zstd = _zstd()
    if zstd is None:
        yield Skipped(place.path, "zstd can't be read here: install 'backports.zstd'")
        return
    options = {zstd.DecompressionParameter.window_log_max: WINDOW}
    yield place.inside(
        Unpacked(place.open(), lambda: zstd.ZstdDecompressor(options=options), "zstd", (MAGIC, *SKIPPABLE))
    )


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
