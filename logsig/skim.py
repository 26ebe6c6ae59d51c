"""Reads one input block by block and keeps what may matter of it: takes a leaf, gives its excerpts and counts."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import NamedTuple

from logsig.blocks import Block, StreamSource, cut
from logsig.cores import cores
from logsig.engine import Engine
from logsig.inputs import Leaf, Place, Skipped, Stream, fault, leaves
from logsig.labels import writers_in
from logsig.look import look
from logsig.model import Excerpt, Origin
from logsig.tails import last_words
from logsig.windows import Disk, Findings, Keeper, Limits, Ring, Window

RING = 16 << 20
"""Recent bytes of a stream that are held."""
BOM = b"\xef\xbb\xbf"


class Skimmed(NamedTuple):
    """What one input gave."""

    origin: Origin
    excerpts: tuple[Excerpt, ...]
    size: int
    counts: dict[int, int]
    """Hits per literal."""
    left_out: dict[int, int]
    """Hits per literal that no excerpt holds."""
    doubts: tuple[str, ...]
    unreadable: bool


Found = list[Skimmed | Skipped]


class Search(NamedTuple):
    """What is looked for, and how much is kept and read of each input."""

    engine: Engine
    limits: Limits
    max_bytes: int | None = None
    threads: bool = False
    """Blocks are made ahead in a thread."""

    def blocks(self, source: StreamSource) -> Iterator[Block]:
        """Gives the blocks of a source."""
        if not self.threads or not self.engine.is_native:
            return cut(source, self.engine.longest)
        from logsig.ahead import BUFFERS, ahead

        return ahead(cut(source, self.engine.longest, BUFFERS))


WORTH = 96 << 20
"""Bytes in all below which one process is as fast as several."""


def skim_all(places: list[Place], search: Search, jobs: int | None) -> Iterator[Found]:
    """Gives for each place, in order, what it held: with several processes where that helps."""
    workers = jobs or cores()
    sizes = [_size_of(place.disk) if place.disk else 0 for place in places]
    if workers > 1 and sum(sizes) >= WORTH and search.max_bytes is None:
        from logsig.parallel import skim_together

        together = skim_together(places, sizes, search, workers)
        if together is not None:
            yield from together
            return
    search = search._replace(threads=cores() > 1)
    for place in places:
        yield read_place(place, search)


def read_place(place: Place, search: Search) -> Found:
    """Reads all leaves of a place, each before the next is asked for."""
    return [leaf if isinstance(leaf, Skipped) else skim(leaf, search) for leaf in leaves(place)]


def skim(leaf: Leaf, search: Search) -> Skimmed | Skipped:
    """Reads one input; a file that can't even be opened is skipped with its reason."""
    if leaf.stream is not None:
        return _skim_stream(leaf, leaf.stream, search)
    try:
        file = open_leaf(leaf)
    except OSError as error:
        return Skipped(leaf.origin.path, fault(error))
    with file:
        source = StreamSource(file, search.max_bytes)
        found = (look(block, search.engine, search.limits.labelled) for block in search.blocks(source))
        return gather(leaf, file, found, search, source)


def open_leaf(leaf: Leaf) -> io.FileIO:
    """Opens a leaf that lies on disk."""
    return io.FileIO(leaf.disk or leaf.origin.path, "rb")


def gather(leaf: Leaf, file: io.FileIO, findings: Iterator[Findings], search: Search, source: StreamSource) -> Skimmed:
    """Chooses windows from the findings of a whole file, then reads them from it."""
    keeper, disk = Keeper(search.limits), Disk(file.fileno())
    for found in findings:
        disk.add(found)
        keeper.choose(found)
    return finish(leaf.origin, keeper, disk, search, source)


def _skim_stream(leaf: Leaf, stream: Stream, search: Search) -> Skimmed:
    """Keeps windows as the bytes go by."""
    source = StreamSource(stream, search.max_bytes)
    keeper, ring = Keeper(search.limits), Ring(max(RING, search.limits.whole))
    for block in search.blocks(source):
        found = look(block, search.engine, search.limits.labelled)
        ring.add(found, block.text())
        keeper.choose(found)
        keeper.collect(ring, ring.end)
    return finish(leaf.origin, keeper, ring, search, source)


def finish(origin: Origin, keeper: Keeper, kept: Ring | Disk, search: Search, source: StreamSource) -> Skimmed:
    """Collects the windows that are still open, the tail, the last words of all writers, and what is to be said.

    The keeper stays as it is, so that an input that still grows can be finished again later.
    """
    doubts = list(_faults(origin.path, source, kept.end))
    if kept.end <= search.limits.whole:
        windows = [Window(0, kept.end, "head")]
        _collect(windows, kept)
    else:
        windows = [window.copy() for window in keeper.windows()]
        _collect(windows, kept)
        unheard = _add_last_words(windows, keeper, kept, search.limits)
        if unheard:
            known = len(keeper.labels)
            doubts.append(
                f"{origin.path}: {unheard} of {known} writers fell silent so early that their end wasn't looked for"
            )
    is_short = isinstance(kept, Disk) and kept.is_short
    if is_short:
        doubts.append(f"{origin.path}: the file changed while it was read; parts of it were lost")
    excerpts = _excerpts(origin, windows)
    left_out = {} if kept.end <= search.limits.whole else _left_out(keeper.counts, excerpts, search.engine)
    return Skimmed(
        origin, excerpts, kept.end, keeper.counts, left_out, tuple(doubts), source.fault is not None or is_short
    )


def _collect(windows: list[Window], kept: Ring | Disk) -> None:
    for window in sorted(windows, key=lambda window: window.start):
        if not window.is_done:
            window.stop = min(window.stop, kept.end)
            window.collect(kept, kept.end, is_all=True)


def _add_last_words(windows: list[Window], keeper: Keeper, kept: Ring | Disk, limits: Limits) -> int:
    """Adds the tail, longer for many writers, and the last line of each not heard in it; counts those not found."""
    known = keeper.labels
    size = min(max(limits.tail, len(known) * limits.tail_each), limits.tail_most)
    tail = Window(max(0, kept.end - size), kept.end, "tail")
    _collect([tail], kept)
    words, unheard = last_words(kept, known, tail.start, set(writers_in(b"".join(tail.parts)))) if known else ([], 0)
    _collect(words, kept)
    windows += [tail, *words]
    return unheard


def _excerpts(origin: Origin, windows: list[Window]) -> tuple[Excerpt, ...]:
    """Joins windows that overlap or touch, and frees their parts."""
    joined: list[tuple[Window, list[bytes], int]] = []
    for window in sorted(windows, key=lambda window: (window.start, -window.have)):
        data = b"".join(window.parts)
        window.parts.clear()
        stop = window.start + len(data)
        if joined and window.start <= joined[-1][2]:
            first, parts, until = joined[-1]
            if stop > until:
                parts.append(data[until - window.start :])
                joined[-1] = (first, parts, stop)
        elif data:
            joined.append((window, [data], stop))
    return tuple(_excerpt(origin, first, b"".join(parts)) for first, parts, _ in joined)


def _excerpt(origin: Origin, window: Window, data: bytes) -> Excerpt:
    if window.start == 0 and data.startswith(BOM):
        return Excerpt(origin, 1, len(BOM), data[len(BOM) :], window.kind)
    return Excerpt(origin, window.first_line, window.start, data, window.kind)


def _left_out(counts: dict[int, int], excerpts: tuple[Excerpt, ...], engine: Engine) -> dict[int, int]:
    """Counts the hits that no excerpt holds."""
    left = dict(counts)
    for excerpt in excerpts:
        for literal, _end in engine.find(excerpt.data):
            left[literal] = left.get(literal, 0) - 1
    return {literal: count for literal, count in left.items() if count > 0}


def _faults(path: str, source: StreamSource, end: int) -> Iterator[str]:
    if source.fault is not None:
        yield f"{path}: {fault(source.fault)}; the {end:,} bytes before were read"
    if source.is_limited:
        yield f"{path}: read only up to the limit of {end:,} bytes"


def _size_of(path: str) -> int:
    """Gives the size of a file, 0 where it can't be had."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
