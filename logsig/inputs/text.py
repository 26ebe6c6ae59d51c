"""Bytes that are the log itself: a regular file, or the end of any chain of containers. Asked last, accepts all."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.inputs import Item, Leaf, Place

PRIORITY = 100


def accepts(place: Place) -> bool:
    """Any bytes are a log."""
    return True


def read(place: Place) -> Iterator[Item]:
    """Gives the file for reading at any offset, or the stream."""
    place.head  # noqa: B018  (finds out whether what lies on disk must be read as a stream)
    if place.disk is not None:
        yield Leaf(place.origin, disk=place.disk)
    else:
        yield Leaf(place.origin, stream=place.open())
