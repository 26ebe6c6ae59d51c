"""tar archives, read as a stream: nothing is written to disk, and member names are never paths to us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from logsig.inputs import DamagedError, Item, Place, Stream
from logsig.inputs.archive import MEMBERS, LeftOut

PRIORITY = 20


def accepts(place: Place) -> bool:
    """By the mark in the header of its first member."""
    return place.head[257:262] == b"ustar"


def read(place: Place) -> Iterator[Item]:
    """Gives every member that may be a log, in the archive's order; each is to be read before the next is asked for."""
    import tarfile

    left_out = LeftOut()
    whole: Any = _Whole(place.open())
    try:
        with tarfile.open(fileobj=whole, mode="r|", errorlevel=1) as archive:
            known: list[Any] = vars(archive)["members"]  # it remembers every member it met
            for count, member in enumerate(archive):
                if count >= MEMBERS:
                    raise DamagedError(f"more than {MEMBERS:,} members; read no further")
                content: Any = archive.extractfile(member) if member.isreg() and left_out.takes(member.name) else None
                if content is not None:
                    yield place.inside(_Member(content), member.name)
                known.clear()
    except tarfile.TarError as error:
        raise DamagedError(f"damaged tar: {error}") from error
    yield from left_out.said(place)


class _Whole:
    """A stream that fills each request, as tarfile expects."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        parts: list[bytes] = []
        while size > 0 and (part := self._stream.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _Member:
    """A member's bytes; tarfile's own faults become ours."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def read(self, size: int, /) -> bytes:
        import tarfile

        try:
            return bytes(self._content.read(size))
        except tarfile.TarError as error:
            raise DamagedError(f"damaged tar: {error}") from error
