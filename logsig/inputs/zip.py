"""zip archives, member by member, without writing to disk. From a pipe only small ones: the table is at the end."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any

from logsig.inputs import DamagedError, Item, Place, Skipped, Stream
from logsig.inputs.archive import MEMBERS, LeftOut
from logsig.inputs.naming import order
from logsig.inputs.unpacking import FREE, RATIO

PRIORITY = 20
MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
HELD = 32 << 20
"""Bytes of an archive that isn't on disk."""


def accepts(place: Place) -> bool:
    """By the magic of a member, or of an empty archive."""
    return place.head.startswith(MAGIC)


def read(place: Place) -> Iterator[Item]:
    """Gives every member that may be a log, in the order in which people count."""
    import zipfile

    left_out = LeftOut()
    try:
        with _seekable(place) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > MEMBERS:
                raise DamagedError(f"more than {MEMBERS:,} members; not read")
            for member in sorted(members, key=lambda member: order(member.filename)):
                if member.is_dir() or not left_out.takes(member.filename):
                    continue
                if member.flag_bits & 1:
                    yield Skipped(f"{place.path}!/{member.filename}", "encrypted")
                    continue
                yield place.inside(_Member(archive.open(member), member.compress_size), member.filename)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise DamagedError(f"damaged zip: {error}") from error
    yield from left_out.said(place)


def _seekable(place: Place) -> IO[bytes]:
    if place.disk is not None:
        return io.BufferedReader(place.open_file())
    stream, parts, size = place.open(), [], 0
    while part := stream.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > HELD:
            raise DamagedError(
                f"a zip archive of over {HELD >> 20} MB can't be read from a pipe or another archive; save it"
            )
    return io.BytesIO(b"".join(parts))


class _Member:
    """A member's bytes; zipfile's own faults become ours, and its output is weighed."""

    def __init__(self, content: Stream, packed: int) -> None:
        self._content = content
        self._packed = packed
        self._given = 0

    def read(self, size: int, /) -> bytes:
        import zipfile
        import zlib

        if self._given > FREE and self._given > RATIO * self._packed:
            raise DamagedError(f"the member unpacks to more than {RATIO} times its size; read no further")
        try:
            piece: Any = self._content.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DamagedError(f"damaged zip: {error}") from error
        self._given += len(piece)
        return bytes(piece)
