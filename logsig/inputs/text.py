"""Bytes that are the log itself: a regular file, or the end of any chain of containers. Asked last, accepts all."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.inputs import Item, Leaf, Place, Prefetched, Skipped, Stream
from logsig.late import late

PRIORITY = 100
STEP = 1 << 16
CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x1b\b\f")
OWN = late(
    rb"(?:\S.{0,200}\n){1,12}\n"  # the verdict, then what follows it
    rb"(?:[a-z]+\[[a-z0-9-]+\]: |Ranks \(\d|note: no signature explains|Not seen\n  - |Why\n  - |Read\n  [a-z])"
    rb"|outcome +cause +first +job\r?\n"
    rb'|\{\s*"(?:schema": "logsig\.|type": "(?:job|plan)", "job": |\$schema": "[^"]{1,60}/sarif)'
    rb"|# TYPE logsig_"
)
"""How reports begin that logsig itself wrote: as text, as JSON, as metrics."""


def accepts(place: Place) -> bool:  # noqa: ARG001  (one signature for all inputs)
    """Any bytes are a log."""
    return True


def read(place: Place) -> Iterator[Item]:
    """Gives the file for reading at any offset, or the stream; what looks binary only where the user named it.

    A log that was emptied while its writer went on begins with zeros, up to where the writer was: they tell nothing.
    """
    stream: Stream | None = None if place.disk is not None else place.open()
    head = place.head.lstrip(b"\0")
    if place.head and not head:
        rest = Prefetched(_Unpadded(stream or place.open()))
        head, stream = rest.head or place.head, stream and rest
    if _is_binary(head):
        if not place.is_named:
            yield Skipped(place.path, "left out: binary", unreadable=False)
            return
        yield Skipped(place.path, "looks binary; read as if it were text", unreadable=False)
    elif not place.is_named and _is_own(place):
        yield Skipped(place.path, "left out: a report of logsig, not a log", unreadable=False)
        return
    yield Leaf(place.origin, disk=place.disk) if stream is None else Leaf(place.origin, stream=stream)


class _Unpadded:
    """A stream from its first byte on that isn't zero."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._has_begun = False

    def read(self, size: int, /) -> bytes:
        """Gives what is there: at least a byte before the end."""
        piece = self._stream.read(size) or b""
        while piece and not self._has_begun:
            more = piece.lstrip(b"\0")
            self._has_begun = bool(more)
            piece = more or self._stream.read(STEP) or b""
        return piece


def _is_own(place: Place) -> bool:
    """Tells a report: as text it ends with the verdict with which it began, or more was written behind it."""
    if not OWN.match(place.head):
        return False
    if place.head.startswith((b"{", b"outcome", b"#")):
        return True
    if place.disk is None:
        return False
    with open(place.disk, "rb") as file:
        file.seek(max(0, file.seek(0, 2) - STEP))
        last = file.read().rstrip().rpartition(b"\n")[2]
    return last.startswith(place.head.partition(b"\n")[0].rstrip())


def _is_binary(head: bytes) -> bool:
    """Tells by the share of bytes that no text has; where zeros are among them, also of those that are no UTF-8."""
    strange = len(head) - len(head.translate(None, CONTROLS))
    if b"\0" in head:
        strange += head.decode("utf-8", "replace").count("\ufffd")
    return strange > 0.3 * len(head)
