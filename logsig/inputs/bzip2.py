"""bzip2, also of several members."""

from __future__ import annotations

import re
from collections.abc import Iterator

from logsig.inputs import Item, Place
from logsig.inputs.unpacking import Unpacked

PRIORITY = 10
MAGIC = b"BZh"
START = rb"BZh[1-9](?:\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)"
"""A text may begin with ``BZh``; what follows is the first block's mark, or that of an empty file."""


def accepts(place: Place) -> bool:
    """By the mark of a stream and of its first block."""
    return place.head.startswith(MAGIC) and re.match(START, place.head) is not None


def read(place: Place) -> Iterator[Item]:
    """Gives the content."""
    import bz2

    yield place.inside(Unpacked(place.open(), bz2.BZ2Decompressor, "bzip2", (MAGIC,)))
