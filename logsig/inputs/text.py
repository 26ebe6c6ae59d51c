"""Bytes that are the log itself: a regular file, or the end of any chain of containers. Asked last, accepts all."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.inputs import Item, Leaf, Place, Skipped

PRIORITY = 100
CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x1b\b\f")


def accepts(place: Place) -> bool:  # noqa: ARG001  (one signature for all inputs)
    """Any bytes are a log."""
    return True


def read(place: Place) -> Iterator[Item]:
    """Gives the file for reading at any offset, or the stream; what looks binary only where the user named it."""
    if _is_binary(place.head):
        if not place.is_named:
            yield Skipped(place.path, "left out: binary", unreadable=False)
            return
        yield Skipped(place.path, "looks binary; read as if it were text", unreadable=False)
    if place.disk is not None:
        yield Leaf(place.origin, disk=place.disk)
    else:
        yield Leaf(place.origin, stream=place.open())


def _is_binary(head: bytes) -> bool:
    """Tells by the share of bytes that no text has."""
    return len(head.translate(None, CONTROLS)) < 0.7 * len(head)
