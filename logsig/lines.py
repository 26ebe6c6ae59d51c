"""Excerpts to clean lines: decoded, wraps and escapes undone, prefixes peeled, glued writers parted.

Every line keeps the place in the file where it begins. Which dialect a file speaks is settled once per file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from logsig import rejoin
from logsig.model import Excerpt, LogLine, Origin, Source
from logsig.prefix import MAX_LAYERS, NOTHING_PEELED, Dialect, Peeled, Peeler, Prefixes, load_prefixes

_NOT_OF_A_LINE = frozenset({"part", "label", "repeated"})

SAMPLE = 320
"""Lines of a file looked at to settle its form …"""
WINDOW = 40
"""… this many in a row."""


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
        self.excerpts = excerpts
        self.pieces = [list(_pieces(excerpt)) for excerpt in excerpts]
        self.form = settle(_sample(self.pieces), prefixes)
        self.peeler = prefixes.peeler(self.form.dialect)
        self.depth = self.form.depth if self.form.width else MAX_LAYERS
        self.boxes = rejoin.Boxes()
        self.held: dict[Hashable, tuple[Piece, Peeled]] = {}
        self.repeated = 0
        self.rewrapped = 0
        self.woven: list[int] = []

    def lines(self) -> Iterator[LogLine]:
        end = 1
        for excerpt, pieces in zip(self.excerpts, self.pieces, strict=True):
            base = _facts_of(excerpt.origin)
            gap = excerpt.first_line > end
            for piece, peeled in self._in_order(pieces):
                yield self._line(base, piece, peeled, gap)
                gap = False
            end = excerpt.first_line + excerpt.data.count(b"\n") + (not excerpt.data.endswith(b"\n"))

    def _in_order(self, pieces: Sequence[Piece]) -> list[tuple[Piece, Peeled]]:
        """Logical lines by the place where they begin; among equals as they were written."""
        found: list[tuple[Piece, Peeled]] = []
        for piece, peeled in sorted(self._whole(pieces), key=_number):
            found.extend(self._split(piece, peeled))
        found.extend(self.held.values())
        self.held.clear()
        self.boxes = rejoin.Boxes()
        found.sort(key=_number)
        return found

    # ------------------------------------------------------------ pieces of one line joined

    def _whole(self, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Peeled]]:
        """Peeled pieces; those that a collector or a terminal cut are joined first, and only then peeled further."""
        if not self.form.width:
            yield from self._uncut(pieces, self._further)
            return
        for piece, outer in self._unwrapped(sorted(self._uncut(pieces, lambda peeled: peeled), key=_number), self.form.width):
            yield piece, self._further(outer)

    def _uncut(self, pieces: Iterable[Piece], further: Callable[[Peeled], Peeled]) -> Iterator[tuple[Piece, Peeled]]:
        """Joins what a collector marked as parts of one line."""
        cut: dict[Hashable, tuple[Piece, Peeled]] = {}
        for piece in pieces:
            peeled = self.peeler.peel(piece.text, limit=self.depth)
            part = peeled.fields.get("part")
            if part is None:
                yield piece, peeled
                continue
            key = (peeled.fields.get("stream"), peeled.fields.get("node"))
            before = cut.pop(key, None)
            if before and part == "B":
                yield before[0], further(before[1])
                before = None
            if before:
                piece, peeled = _joined(before[0], piece), before[1]._replace(text=before[1].text + peeled.text)
            if part == "F":
                yield piece, further(peeled)
            else:
                cut[key] = piece, peeled
        for piece, peeled in cut.values():
            yield piece, further(peeled)

    def _unwrapped(self, items: Iterable[tuple[Piece, Peeled]], width: int) -> Iterator[tuple[Piece, Peeled]]:
        """Joins lines that were cut at ``width``, each collector's source by itself."""
        held: dict[Hashable, tuple[Piece, Peeled, str]] = {}
        begins = self.form.begins(self.peeler)
        for piece, outer in items:
            key = _writer_of(outer)
            before = held.pop(key, None)
            glue = before and rejoin.goes_on(before[2], outer.text, width, begins, self.form.prefixed)
            if before and glue is not None:
                self.rewrapped += 1
                held[key] = _joined(before[0], piece), before[1]._replace(text=f"{before[1].text}{glue}{outer.text}"), outer.text
                continue
            if before:
                yield before[0], before[1]
            held[key] = piece, outer, outer.text
        for piece, outer, _ in held.values():
            yield piece, outer

    def _further(self, peeled: Peeled) -> Peeled:
        """Peel what stands behind a collector's mark."""
        return peeled if "\n" in peeled.text else self.peeler.peel(peeled.text, peeled)

    # ------------------------------------------------------------ several lines in one

    def _split(self, piece: Piece, peeled: Peeled) -> Iterator[tuple[Piece, Peeled]]:
        """The logical lines of one piece: of a message with newlines, of several writers glued together, of a box."""
        text = peeled.text
        if not ("\n" in text or self.held or self.boxes.width or self._is_special(text)):
            yield piece, peeled
            return
        for message in self._messages(peeled):
            for writer in self._writers(message):
                for plain in self._plain(piece, writer):
                    yield from self._held_back(piece, plain)

    def _is_special(self, text: str) -> bool:
        return (
            text[:1] in rejoin.BOX
            or "\\n" in text
            or self.peeler.may_be_glued(text)
            or text.startswith('File "')
            or "Traceback (most" in text[1:]
        )

    def _messages(self, peeled: Peeled) -> Iterator[Peeled]:
        if "\n" not in peeled.text:
            yield peeled
            return
        for text in peeled.text.split("\n"):
            yield self.peeler.peel(text, peeled)

    def _writers(self, peeled: Peeled) -> Iterator[Peeled]:
        text = peeled.text
        cuts = sorted({*self.peeler.glued(text), *_glued_tracebacks(text)})
        if not cuts:
            yield peeled
            return
        outer = _outer_of_glued(peeled)
        yield peeled._replace(text=text[: cuts[0]])
        for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
            yield self.peeler.peel(text[start:end], outer)

    def _plain(self, piece: Piece, peeled: Peeled) -> Iterator[Peeled]:
        """Box lines without their box, flattened text as lines, doubled lines as two."""
        text = peeled.text
        if text[:1] and text[0] in rejoin.BOX:
            texts = self.boxes.open(_writer_of(peeled), text)
        elif rejoin.is_bare_frame(text):
            texts = [f"  {text}"]
        else:
            texts = [line for half in rejoin.halves(text) for line in rejoin.unflattened(half)]
            if len(texts) == 1 and rejoin.is_woven(text):
                self.woven.append(piece.number)
        if texts == [text]:
            yield peeled
            return
        for line in texts:
            yield peeled._replace(text=line)

    def _held_back(self, piece: Piece, peeled: Peeled) -> Iterator[tuple[Piece, Peeled]]:
        """Holds a line whose next one may belong to it: behind a box of rich, and in the columns of its log handler."""
        key = _writer_of(peeled)
        before = self.held.pop(key, None) or self.held.pop(None, None)
        width = self.boxes.width.get(key)
        if before and (more := _continued(before[1], piece, peeled, width)) is not None:
            self.held[key] = _joined(before[0], piece), before[1]._replace(text=more)
            return
        if before:
            yield before
            self.boxes.width.pop(key, None)
        if width and not before and peeled.text.strip():
            self.held[key] = piece, peeled
        elif peeled.layers[-1:] in (("rich",), ("rich-place",)):
            self.held[key] = piece, peeled
        else:
            yield piece, peeled

    # ------------------------------------------------------------ the line

    def _line(self, base: dict[str, Any], piece: Piece, peeled: Peeled, gap: bool) -> LogLine:
        fields = peeled.fields
        if base:
            fields = {**base, **fields}
        if not _NOT_OF_A_LINE.isdisjoint(fields):
            fields = {name: value for name, value in fields.items() if name not in _NOT_OF_A_LINE}
            self.repeated += peeled.fields.get("repeated", 0)
        return LogLine(Source(self.path, piece.number), peeled.text, piece.raw, layers=peeled.layers, gap=gap, **fields)

    def doubts(self) -> Iterator[str]:
        if self.repeated:
            yield (
                f"{self.path}: Ray folded {self.repeated} similar lines (`repeated … across cluster`); what other ranks "
                "printed there is not shown, so a rank without lines need not be silent"
            )
        if self.rewrapped:
            yield f"{self.path}: the text was cut at {self.form.width} columns; {self.rewrapped} broken lines were rejoined"
        if self.woven:
            where = ", ".join(str(number) for number in self.woven[:5])
            yield (
                f"{self.path}: output of several processes is woven into one another within lines ({where}"
                f"{' …' if len(self.woven) > 5 else ''}); parts of it could not be read"
            )


# ---------------------------------------------------------------- what holds for a whole file


@dataclass(frozen=True, slots=True)
class Form:
    """What a file as a whole shows: its weak dialects, and whether its lines were cut at a width."""

    dialect: Dialect
    width: int | None = None
    depth: int = 0
    """How many outer layers every line carries, the pieces of cut lines too."""
    prefixed: bool = False
    """Most whole lines carry a prefix behind those layers."""

    def begins(self, peeler: Peeler) -> Callable[[str], bool]:
        """Knows the start of a message behind the outer layers: it carries a prefix."""
        return lambda text: bool(peeler.peel(text).layers)


def settle(windows: Sequence[Sequence[str]], prefixes: Prefixes) -> Form:
    """The form of a file, from windows of consecutive lines."""
    flat = [line for window in windows for line in window]
    dialect = prefixes.decide(flat)
    form = _wrapping(windows, prefixes.peeler(dialect), dialect)
    if form.width is None or form.depth:
        return form
    again = prefixes.decide(_joined_sample(windows, prefixes.peeler(dialect), form))
    return _wrapping(windows, prefixes.peeler(again), again) if again != dialect else form


def _wrapping(windows: Sequence[Sequence[str]], peeler: Peeler, dialect: Dialect) -> Form:
    flat = [line for window in windows for line in window]
    if len(flat) < 3:
        return Form(dialect)
    for depth in dict.fromkeys((0, _common_depth([peeler.peel(line) for line in flat if line]))):
        texts = [peeler.peel(line, limit=depth).text for line in flat] if depth else flat
        form = Form(dialect, None, depth)
        width = rejoin.wrap_width(texts, form.begins(peeler))
        if width:
            carrying = sum(bool(peeler.peel(text).layers) for text in texts)
            return Form(dialect, width, depth, prefixed=carrying > 0.3 * len(texts))
    return Form(dialect)


def _common_depth(peeled: Sequence[Peeled]) -> int:
    """How many leading layers nearly all lines share."""
    depth = 0
    while peeled:
        (layers, count), *_ = Counter(one.layers[: depth + 1] for one in peeled).most_common(1)
        if len(layers) <= depth or count < 0.9 * len(peeled):
            break
        depth += 1
    return depth


def _joined_sample(windows: Sequence[Sequence[str]], peeler: Peeler, form: Form) -> list[str]:
    joined: list[str] = []
    begins = form.begins(peeler)
    for window in windows:
        last = None
        for line in window:
            glue = rejoin.goes_on(last, line, form.width or 0, begins, form.prefixed) if last is not None else None
            if glue is None:
                joined.append(line)
            else:
                joined[-1] += glue + line
            last = line
    return joined


# ---------------------------------------------------------------- small parts


def _number(item: tuple[Piece, Peeled]) -> int:
    return item[0].number


def _joined(first: Piece, more: Piece) -> Piece:
    return first._replace(raw=first.raw + more.raw)


def _writer_of(peeled: Peeled) -> Hashable:
    """Who wrote a line, as far as it says; None where it says nothing."""
    key = tuple(peeled.fields.get(name) for name in ("rank", "local_rank", "node", "node_rank", "task", "pid"))
    return key if any(part is not None for part in key) else None


_TRACEBACK = "Traceback (most recent call last)"


def _glued_tracebacks(text: str) -> Iterator[int]:
    """Positions where a traceback begins behind text that was written without a line end."""
    at = text.find(_TRACEBACK, 1)
    while at > 0:
        if not text[at - 1].isspace() and text[at - 1] not in "\"'`([{<=:\\n,|─━":
            yield at
        at = text.find(_TRACEBACK, at + 1)


def _continued(before: Peeled, piece: Piece, peeled: Peeled, width: int | None) -> str | None:
    """The longer text where ``peeled`` goes on with ``before``, else None."""
    text = peeled.text
    if before.layers[-1:] in (("rich",), ("rich-place",)):
        return f"{before.text} {text.strip()}" if piece.text.startswith(" " * 25) and text.strip() else None
    if not width or not text.strip() or text.startswith(("  ", "Traceback")) or text[0] in rejoin.BOX:
        return None
    last = before.text.rsplit("\n", 1)[-1]
    fits = len(last) % (width + 1) + 1 + len(text.split()[0]) <= width
    return None if fits else f"{before.text} {text}"


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


def _sample(pieces: Sequence[Sequence[Piece]]) -> list[list[str]]:
    """Windows of consecutive lines, spread over the file."""
    windows: list[list[str]] = []
    for part in pieces:
        windows += [[piece.text for piece in part[start : start + WINDOW]] for start in range(0, len(part), WINDOW)]
    total = sum(map(len, windows))
    return windows[:: max(1, total // SAMPLE)]


def _facts_of(origin: Origin) -> dict[str, Any]:
    facts = {
        "attempt": origin.attempt,
        "local_rank": origin.local_rank,
        "rank": origin.rank,
        "node": origin.node,
        "stream": origin.stream,
    }
    return {name: value for name, value in facts.items() if value is not None}


