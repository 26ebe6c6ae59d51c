"""tar archives, read as a stream: nothing is written to disk, and member names are never paths to us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from logsig.inputs import DamagedError, Item, Place, Stream
from logsig.inputs.archive import MEMBERS, LeftOut

PRIORITY = 20
BLOCK = 512
CUT = "the tar is cut: its end is missing"


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
                if member.isreg() and left_out.takes(member.name):
                    content: Any = archive.extractfile(member) if member.issparse() else vars(archive)["fileobj"]
                    yield place.inside(_Member(content, member.size, whole), member.name)
                known.clear()
    except tarfile.TarError as error:
        whole.fault = whole.fault or DamagedError(f"damaged tar: {error}")
    if whole.fault is None and whole.size % BLOCK:  # cut in a header: tarfile takes that for the end
        whole.fault = DamagedError(CUT)
    yield from left_out.said(place)
    if whole.fault is not None and not whole.is_told:
        raise whole.fault


class _Whole:
    """A stream that fills each request, as tarfile expects; a fault on the way is its end, and what was read counts."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.size = 0
        self.fault: Exception | None = None
        self.is_told = False
        """A member that ends there has said so."""

    def read(self, size: int, /) -> bytes:
        parts: list[bytes] = []
        try:
            while size > 0 and self.fault is None and (part := self._stream.read(size)):
                parts.append(part)
                size -= len(part)
                self.size += len(part)
        except (OSError, EOFError, DamagedError) as error:
            self.fault = error
        return b"".join(parts)


class _Member:
    """A member's bytes, to where the archive ends; tarfile's own reader would give none of the last request."""

    def __init__(self, content: Any, size: int, whole: _Whole) -> None:
        self._content = content
        self._left = size
        self._whole = whole

    def read(self, size: int, /) -> bytes:
        import tarfile

        try:
            piece = bytes(self._content.read(min(size, self._left)))
        except tarfile.TarError as error:
            raise DamagedError(f"damaged tar: {error}") from error
        if self._left and not piece:
            self._whole.is_told = True
            raise self._whole.fault or DamagedError(CUT)
        self._left -= len(piece)
        return piece
