"""Excerpts to clean lines: decoded, wraps and escapes undone, prefixes peeled, glued writers parted.

Every line keeps the place in the file where it begins. Which dialect a file speaks is settled once per file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from logsig import rejoin
from logsig.model import Excerpt, LogLine, Origin, Source
from logsig.prefix import NOTHING_PEELED, Dialect, Peeled, Peeler, Prefixes, load_prefixes

_NOT_OF_A_LINE = frozenset({"part", "label", "repeated"})

SAMPLE = 240
"""Lines of a file looked at to settle its dialect."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The lines of all excerpts, in file order, and what could not be undone."""

    lines: tuple[LogLine, ...]
    doubts: tuple[str, ...]


class Piece(NamedTuple):
    """Text of one logical line and the line of the file where it begins."""

    number: int
    text: str
    raw: str


@lru_cache(maxsize=1)
def shipped_prefixes() -> Prefixes:
    """The dialects that come with the package."""
    return load_prefixes()


def read(excerpts: Sequence[Excerpt], prefixes: Prefixes | None = None) -> Reading:
    """Clean lines of the excerpts, file by file."""
    prefixes = prefixes or shipped_prefixes()
    lines: list[LogLine] = []
    doubts: list[str] = []
    for path in dict.fromkeys(excerpt.origin.path for excerpt in excerpts):
        mine = [excerpt for excerpt in excerpts if excerpt.origin.path == path]
        reader = _FileReader(mine, prefixes)
        lines.extend(reader.lines())
        doubts.extend(reader.doubts())
    return Reading(tuple(lines), tuple(doubts))


class _FileReader:
    """Reads the excerpts of one file."""

    def __init__(self, excerpts: Sequence[Excerpt], prefixes: Prefixes) -> None:
        self.path = excerpts[0].origin.path
        self.pieces = [list(_pieces(excerpt)) for excerpt in excerpts]
        self.excerpts = excerpts
        self.dialect = prefixes.decide(_sample(self.pieces))
        self.peeler = prefixes.peeler(self.dialect)
        self.repeated = 0

    def lines(self) -> Iterator[LogLine]:
        end = 1
        for excerpt, pieces in zip(self.excerpts, self.pieces, strict=True):
            gap = excerpt.first_line > end
            for line in self._joined(excerpt.origin, pieces, gap):
                yield line
            end = excerpt.first_line + excerpt.data.count(b"\n") + (not excerpt.data.endswith(b"\n"))

    def _joined(self, origin: Origin, pieces: Sequence[Piece], gap: bool) -> Iterator[LogLine]:
        base = _facts_of(origin)
        for piece, peeled in sorted(self._whole(pieces), key=lambda item: item[0].number):
            for line in self._split(base, piece, peeled, gap):
                gap = False
                yield line

    def _whole(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Peeled]]:
        """Peeled pieces; those that a collector cut are joined first, and only then peeled further."""
        cut: dict[tuple[Any, ...], tuple[Piece, Peeled]] = {}
        for piece in pieces:
            peeled = self.peeler.peel(piece.text)
            part = peeled.fields.get("part")
            if part is None:
                yield piece, peeled
                continue
            key = (peeled.fields.get("stream"), peeled.fields.get("node"))
            before = cut.pop(key, None)
            if before and part == "B":
                yield before[0], self._further(before[1])
                before = None
            if before:
                piece, peeled = before[0], before[1]._replace(text=before[1].text + peeled.text)
            if part == "F":
                yield piece, self._further(peeled)
            else:
                cut[key] = piece, peeled
        for piece, peeled in sorted(cut.values(), key=lambda item: item[0].number):
            yield piece, self._further(peeled)

    def _further(self, peeled: Peeled) -> Peeled:
        """Peel what stands behind a collector's mark."""
        return peeled if "\n" in peeled.text else self.peeler.peel(peeled.text, peeled)

    def _split(self, base: dict[str, Any], piece: Piece, peeled: Peeled, gap: bool) -> Iterator[LogLine]:
        """The logical lines of one piece: parts of a message with newlines, and of several writers glued together."""
        if "\n" not in peeled.text and not self.peeler.may_be_glued(peeled.text):
            yield self._line(base, piece, peeled, gap)
            return
        for one in self._messages(peeled):
            for part in self._writers(one):
                yield self._line(base, piece, part, gap)
                gap = False

    def _line(self, base: dict[str, Any], piece: Piece, peeled: Peeled, gap: bool) -> LogLine:
        fields = peeled.fields
        if base:
            fields = {**base, **fields}
        if not _NOT_OF_A_LINE.isdisjoint(fields):
            fields = {name: value for name, value in fields.items() if name not in _NOT_OF_A_LINE}
            self.repeated += peeled.fields.get("repeated", 0)
        return LogLine(Source(self.path, piece.number), peeled.text, piece.raw, layers=peeled.layers, gap=gap, **fields)

    def _messages(self, peeled: Peeled) -> Iterator[Peeled]:
        if "\n" not in peeled.text:
            yield peeled
            return
        for text in peeled.text.split("\n"):
            yield self.peeler.peel(text, peeled)

    def _writers(self, peeled: Peeled) -> Iterator[Peeled]:
        cuts = list(self.peeler.glued(peeled.text))
        if not cuts:
            yield peeled
            return
        outer = _outer_of_glued(peeled)
        yield peeled._replace(text=peeled.text[: cuts[0]])
        for start, end in zip(cuts, [*cuts[1:], len(peeled.text)], strict=True):
            yield self.peeler.peel(peeled.text[start:end], outer)

    def doubts(self) -> Iterator[str]:
        if self.repeated:
            yield (
                f"Ray folded {self.repeated} similar lines in {self.path} (`repeated … across cluster`): "
                "what other ranks printed there is not shown, so a missing rank is not a silent one"
            )


def _outer_of_glued(peeled: Peeled) -> Peeled:
    """What still holds for text that another writer put on the same line: the place it was collected, not who spoke."""
    kept = {name: value for name, value in peeled.fields.items() if name in ("node", "node_rank", "stream", "arrival", "task")}
    if "arrival" in kept:
        kept["stamp"] = kept["arrival"]
    return NOTHING_PEELED._replace(fields=kept)


def _pieces(excerpt: Excerpt) -> Iterator[Piece]:
    """Lines of an excerpt without escapes; of an overwritten line one piece for each thing it shows."""
    text = excerpt.data.decode("utf-8", "replace")
    if text.endswith("\n"):
        text = text[:-1]
    for number, raw in enumerate(text.split("\n"), excerpt.first_line):
        raw = raw.rstrip("\r")
        for state in rejoin.last_states(raw):
            yield Piece(number, rejoin.without_escapes(state), raw)


def _sample(pieces: Sequence[Sequence[Piece]]) -> list[str]:
    """Lines spread over the file, in order."""
    every = [piece.text for part in pieces for piece in part if piece.text.strip()]
    if len(every) <= SAMPLE:
        return every
    head = SAMPLE // 2
    step = max(1, (len(every) - head) // head)
    return every[:head] + every[head::step]


def _facts_of(origin: Origin) -> dict[str, Any]:
    facts = {
        "attempt": origin.attempt,
        "local_rank": origin.local_rank,
        "rank": origin.rank,
        "node": origin.node,
        "stream": origin.stream,
    }
    return {name: value for name, value in facts.items() if value is not None}


__all__ = ["Dialect", "Peeler", "Piece", "Reading", "read", "shipped_prefixes"]
