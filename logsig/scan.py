"""One pass over all inputs: takes paths and literals, gives the excerpts in which something may matter.

    scan(paths, engine, *, max_bytes=None, jobs=None, stdin=None) -> model.Scan

``paths``: what the user named; ``-`` is stdin. ``engine``: an ``Engine``, or the literals themselves (a sequence of str).
``max_bytes``: bytes read of each input at most. ``jobs``: processes at most (None: one per core). ``stdin``: the stream that
``-`` reads (default: descriptor 0); whoever keeps or echoes it wraps it. A path that doesn't exist raises ``InputError``; all
else that goes wrong is a sentence in ``doubts``, and ``unreadable`` says that something was lost.

It knows bytes, newlines and literals; no prefixes, no signatures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from logsig.blocks import Block, Source, StreamSource, cut
from logsig.engine import Engine, Hit, make_engine
from logsig.inputs import Desk, Leaf, Skipped, Stream, fault, leaves, place_of, spread
from logsig.labels import label_at
from logsig.model import Excerpt, Origin, Scan
from logsig.windows import Disk, Findings, Keeper, Limits, Ring, Window

FIRST = 4
"""Hits of one literal and writer that a block reports, beside far ones and the last."""
APART = 64 << 10
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Skimmed:
    """What one input gave."""

    origin: Origin
    excerpts: tuple[Excerpt, ...]
    size: int
    counts: dict[int, int]
    doubts: tuple[str, ...]
    unreadable: bool


def scan(
    paths: Sequence[str],
    engine: Engine | Sequence[str],
    *,
    max_bytes: int | None = None,
    jobs: int | None = None,
    stdin: Stream | None = None,
) -> Scan:
    """Reads all inputs once and keeps the excerpts around literals, the heads and the tails."""
    searcher = make_engine(engine) if isinstance(engine, Sequence) else engine
    desk = Desk(stdin)
    places = list(spread([place_of(path, desk) for path in paths]))
    limits = Limits.shared(sum(not isinstance(place, Skipped) for place in places))
    skimmed: list[Skimmed | Skipped] = []
    for place in places:
        if isinstance(place, Skipped):
            skimmed.append(place)
            continue
        for leaf in leaves(place):
            skimmed.append(leaf if isinstance(leaf, Skipped) else skim(leaf, searcher, limits, max_bytes))
    return _together(skimmed, searcher)


def skim(leaf: Leaf, engine: Engine, limits: Limits, max_bytes: int | None) -> Skimmed | Skipped:
    """Reads one input; a file that can't even be opened is skipped with its reason."""
    if leaf.stream is not None:
        return _skim_stream(leaf, leaf.stream, engine, limits, max_bytes)
    assert leaf.disk is not None
    try:
        descriptor = os.open(leaf.disk, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        return Skipped(leaf.origin.path, fault(error))
    with open(descriptor, "rb", buffering=0) as file:
        return _skim_file(leaf, file, engine, limits, max_bytes)


def _skim_stream(leaf: Leaf, stream: Stream, engine: Engine, limits: Limits, max_bytes: int | None) -> Skimmed:
    """Keeps windows as the bytes go by."""
    source = StreamSource(stream, max_bytes)
    keeper, ring = Keeper(limits), Ring(limits.whole)
    for block in cut(source, engine.longest):
        findings = look(block, engine)
        ring.add(findings.offset, block.text(), findings.newlines)
        keeper.choose(findings)
        keeper.collect(ring, ring.end)
    return _finish(leaf, keeper, ring, ring.end, limits, engine, source)


def _skim_file(leaf: Leaf, file: Stream, engine: Engine, limits: Limits, max_bytes: int | None) -> Skimmed:
    """Chooses windows first and reads them again at the end."""
    source = StreamSource(file, max_bytes)
    keeper, disk = Keeper(limits), Disk(file.fileno(), os.pread)  # type: ignore[attr-defined]
    end = 0
    for block in cut(source, engine.longest):
        findings = look(block, engine)
        disk.add(findings)
        keeper.choose(findings)
        end = findings.offset + findings.size
    return _finish(leaf, keeper, disk, end, limits, engine, source)


def look(block: Block, engine: Engine) -> Findings:
    """Finds the literals of one block and counts its newlines."""
    data, start, stop = block.data, block.start, block.stop
    begin = start if block.is_clean else max(0, start - engine.longest)
    found = engine.find(memoryview(data)[begin:stop])
    newlines = data.count(b"\n", start, stop)
    if not found:
        return Findings(block.offset, stop - start, newlines, block.is_clean)
    counts, hits = _reduce(data, start, begin, found)
    shift = block.offset - start
    placed = tuple((literal, end + shift, label) for literal, end, label in hits)
    return Findings(block.offset, stop - start, newlines, block.is_clean, counts, placed)


def _reduce(
    data: bytearray, start: int, begin: int, found: Iterable[Hit]
) -> tuple[dict[int, int], list[tuple[int, int, bytes | None]]]:
    """Counts all hits and leaves of each literal and label the first few, those far from the one before, and the last."""
    counts: dict[int, int] = {}
    kept: list[tuple[int, int, bytes | None]] = []
    state: dict[tuple[int, bytes | None], list[int]] = {}
    line, line_end, label = 0, -1, None
    for literal, at in found:
        end = begin + at
        if end <= start:
            continue  # found in the block before
        counts[literal] = counts.get(literal, 0) + 1
        if end > line_end:
            line = data.rfind(b"\n", max(0, end - 8192), end) + 1
            line_end = data.find(b"\n", end, end + 8192)
            label = label_at(data, line, end)
        pair = state.get((literal, label))
        if pair is None:
            state[(literal, label)] = [1, end, end]
            kept.append((literal, end, label))
        else:
            pair[0] += 1
            if pair[0] <= FIRST or end - pair[1] > APART:
                kept.append((literal, end, label))
                pair[2] = end
            pair[1] = end
    lasts = [(literal, pair[1], label) for (literal, label), pair in state.items() if pair[1] != pair[2]]
    if lasts:
        kept = sorted(kept + lasts, key=lambda hit: (hit[1], hit[0]))
    return counts, kept


def _finish(
    leaf: Leaf, keeper: Keeper, kept: Ring | Disk, end: int, limits: Limits, engine: Engine, source: StreamSource
) -> Skimmed:
    """Collects the windows that are still open, the tail, and what is to be said."""
    path = leaf.origin.path
    if end <= limits.whole:
        windows = [Window(0, end)]
    else:
        windows = [*keeper.windows(), Window(max(0, end - limits.tail), end)]
    for window in sorted(windows, key=lambda window: window.start):
        if not window.is_done:
            window.stop = min(window.stop, end)
            window.collect(kept, end)
    doubts = _doubts(path, keeper, engine, end, limits, source)
    return Skimmed(leaf.origin, _excerpts(leaf.origin, windows, end), end, keeper.counts, tuple(doubts), source.fault is not None)


def _excerpts(origin: Origin, windows: list[Window], end: int) -> tuple[Excerpt, ...]:
    """Joins windows that overlap or touch."""
    joined: list[tuple[int, int, list[bytes], int]] = []
    for window in sorted(windows, key=lambda window: (window.start, -window.have)):
        data = b"".join(window.parts)
        stop = window.start + len(data)
        if joined and window.start <= joined[-1][3]:
            start, line, parts, until = joined[-1]
            if stop > until:
                parts.append(data[until - window.start :])
                joined[-1] = (start, line, parts, stop)
        elif data:
            joined.append((window.start, window.first_line, [data], stop))
    return tuple(_excerpt(origin, start, line, b"".join(parts), end) for start, line, parts, _ in joined)


def _excerpt(origin: Origin, offset: int, line: int, data: bytes, end: int) -> Excerpt:
    kind = "head" if offset == 0 else "tail" if offset + len(data) >= end else "hit"
    if offset == 0 and data.startswith(BOM):
        offset, data = len(BOM), data[len(BOM) :]
    return Excerpt(origin, line, offset, data, kind)


def _doubts(path: str, keeper: Keeper, engine: Engine, end: int, limits: Limits, source: StreamSource) -> Iterator[str]:
    if source.fault is not None:
        yield f"{path}: {fault(source.fault)}; the {end:,} bytes before were read"
    if source.limited:
        yield f"{path}: read only up to the limit of {end:,} bytes"
    if end > limits.whole and keeper.left_out:
        most = max(keeper.left_out, key=lambda literal: (keeper.left_out[literal], -literal))
        total = sum(keeper.left_out.values())
        yield f"{path}: {total:,} repeated messages, most of them with {engine.literals[most]!r}, were counted, not read"


def _together(skimmed: list[Skimmed | Skipped], engine: Engine) -> Scan:
    """Puts all inputs into one answer, in the order in which they were read."""
    read = [item for item in skimmed if isinstance(item, Skimmed)]
    skipped = [item for item in skimmed if isinstance(item, Skipped)]
    hits: dict[str, int] = {}
    for item in read:
        for literal, count in item.counts.items():
            hits[engine.literals[literal]] = hits.get(engine.literals[literal], 0) + count
    return Scan(
        excerpts=tuple(excerpt for item in read for excerpt in item.excerpts),
        origins=tuple(item.origin for item in read),
        sizes={item.origin.path: item.size for item in read},
        hits=dict(sorted(hits.items())),
        doubts=(*(doubt for item in read for doubt in item.doubts), *(f"{item.path}: {item.reason}" for item in skipped)),
        unreadable=any(item.unreadable for item in skimmed),
    )
