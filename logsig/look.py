"""A look at one block: takes bytes, gives how often each literal stands there, and the hits worth a window."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.blocks import Block
from logsig.engine import Engine, Hit
from logsig.labels import label_at, writers_in
from logsig.views import read_again, signs
from logsig.windows import Findings, Sighting

FIRST = 4
"""Hits of one literal and writer that a block reports, beside far ones and the last."""
APART = 64 << 10
SAMPLE = 2 << 10
LINE = 8 << 10
"""How far a line's start and end are looked for."""
ENDLESS = b"..."
"""Stands for the writer of a line that fills blocks: of what such a line joins, a few of each kind are enough."""


def look(block: Block, engine: Engine, labelled: int) -> Findings:
    """Finds the literals of one block; each line of the input's first ``labelled`` bytes is asked for its writer."""
    data, start, stop = block.data, block.start, block.stop
    begin = start if block.is_clean else max(0, start - engine.longest)
    found = engine.find(memoryview(data)[begin:stop])
    signs_seen = signs(data, start, stop)
    labels = tuple(_labels(block, labelled))
    if not found and not signs_seen:
        return Findings(block.offset, stop - start, block.newlines, {}, labels, ())
    placed = [(literal, begin + end) for literal, end in found if begin + end > start]  # the rest: the block before
    thinned = _Thinned(block)
    thinned.take(placed)
    if signs_seen:
        thinned.take_hidden(_hidden(block, signs_seen, engine, placed))
    return Findings(
        block.offset, stop - start, block.newlines, thinned.counts, labels, thinned.hits(block.offset - start)
    )


def _labels(block: Block, labelled: int) -> Iterator[bytes]:
    """Gives who writes: of the first bytes every line counts, of later ones a sample."""
    if block.offset < labelled:
        return iter(writers_in(block.text()[: labelled - block.offset]))
    middle = (block.start + block.stop) // 2
    samples = [
        bytes(block.data[at : min(at + SAMPLE, block.stop)]) for at in (middle, max(block.start, block.stop - SAMPLE))
    ]
    return iter(writers_in(b"\n".join(sample[sample.find(b"\n") + 1 :] for sample in samples)))


class _Thinned:
    """Counts all hits; leaves of each literal and label the first few, those far from the one before, and the last."""

    def __init__(self, block: Block) -> None:
        self.counts: dict[int, int] = {}
        self._data = block.data
        self._writer = None if block.is_clean or block.newlines else ENDLESS
        self._kept: list[Sighting] = []
        self._pairs: dict[tuple[int, bytes | None], list[int]] = {}
        """(literal, label) -> [hits, end of the last, end of the last kept]"""

    def take(self, found: list[Hit]) -> None:
        """Adds hits by their ends in the data. One step per hit of a storm: nothing here is for show."""
        data, counts, pairs, kept = self._data, self.counts, self._pairs, self._kept
        line_end, label = -1, None
        for literal, end in found:
            counts[literal] = counts.get(literal, 0) + 1
            if end > line_end:
                line = data.rfind(b"\n", max(0, end - LINE), end) + 1
                line_end = data.find(b"\n", end, end + LINE)
                line_end = line_end if line_end >= 0 else end + LINE
                label = self._writer or label_at(data, line or max(0, end - LINE), end)
            pair = pairs.get((literal, label))
            if pair is None:
                pairs[literal, label] = [1, end, end]
                kept.append((literal, end, label))
                continue
            pair[0] += 1
            if pair[0] <= FIRST or end - pair[1] > APART:
                kept.append((literal, end, label))
                pair[2] = end
            pair[1] = end

    def take_hidden(self, hidden: Iterator[Sighting]) -> None:
        """Adds hits that only another reading shows."""
        for literal, end, label in hidden:
            self.counts[literal] = self.counts.get(literal, 0) + 1
            pair = self._pairs.setdefault((literal, label), [0, end, -1])
            pair[0] += 1
            if pair[0] <= FIRST or end - pair[1] > APART:
                self._kept.append((literal, end, label))
                pair[2] = end
            pair[1] = end

    def hits(self, shift: int) -> tuple[Sighting, ...]:
        """Gives what is left, by its place in the input."""
        lasts = [(literal, last, label) for (literal, label), (_, last, kept) in self._pairs.items() if last != kept]
        found = sorted([*self._kept, *lasts], key=lambda hit: (hit[1], hit[0], hit[2] or b""))
        return tuple((literal, end + shift, label) for literal, end, label in found)


def _hidden(block: Block, signs_seen: frozenset[str], engine: Engine, plain: list[Hit]) -> Iterator[Sighting]:
    """Gives the hits that other readings show beyond the plain one, placed in proportion within their piece."""
    position, piece = 0, (-1, -1)
    most: dict[int, int] = {}
    for left, right, reading in read_again(block.data, block.start, block.stop, signs_seen):
        if (left, right) != piece:
            piece, most = (left, right), {}
            while position < len(plain) and plain[position][1] <= right:
                most[plain[position][0]] = most.get(plain[position][0], 0) + 1
                position += 1
        counted: dict[int, int] = {}
        for literal, end in engine.find(reading):
            counted[literal] = counted.get(literal, 0) + 1
            if counted[literal] > most.get(literal, 0):
                line = reading.rfind(b"\n", 0, end) + 1
                label = label_at(reading, line, end) if line else None
                yield literal, left + (right - left) * end // max(len(reading), 1), label
        for literal, count in counted.items():
            most[literal] = max(most.get(literal, 0), count)
