"""Excerpts to clean lines: decoded, wraps and escapes undone, prefixes peeled, glued writers parted.

Every line keeps the place in the file where it begins. What holds for a file as a whole is settled first (``form``);
then its pieces go through: joined where a collector or a terminal cut them, peeled, split where several lines or
writers stand in one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from logsig import boxes, buildkit, clocks, escapes, journal, rejoin
from logsig.form import beginnings, constant, peeled_once, settle
from logsig.inputs import naming
from logsig.late import late
from logsig.model import Excerpt, LogLine, Origin, Source
from logsig.peeling import MAX_LAYERS, NOTHING_PEELED, Peeled
from logsig.prefix import Prefixes, load_prefixes
from logsig.record import dataclass

SAMPLE = 320
"""Lines of a file looked at to settle its form …"""
WINDOW = 40
"""… this many in a row."""
LEAST_BACKWARDS = 3
"""Different times that must run backwards for a file to be shown from its end."""

_NOT_OF_A_LINE = frozenset({"part", "label", "repeated"})
_WHO = ("rank", "local_rank", "node", "node_rank", "task", "pid")
_WHERE = frozenset({"node", "node_rank", "stream", "arrival", "task"})
_RICH = frozenset({"rich", "rich-place"})
_TRACEBACK = "Traceback (most recent call last)"
_FRAME_BEHIND = late(r"(?<=\S)  File \"")
_TABLE_ROW = late(r"^\s*rank\s*:\s*(\d{1,7}) \(local_rank: \d+\)")
_TRACEBACK_LINE = f"{_TRACEBACK}:"


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


Item = tuple[Piece, Peeled]
Finder = Callable[[Sequence[str]], Iterator[tuple[int, int]]]
"""Gives where stretches of lines stand that aren't this run's own words."""


def read(excerpts: Sequence[Excerpt], prefixes: Prefixes | None = None) -> Reading:
    """Clean lines of the excerpts, file by file."""
    prefixes = prefixes or load_prefixes()
    by_path: dict[str, list[Excerpt]] = {}
    for excerpt in excerpts:
        by_path.setdefault(excerpt.origin.path, []).append(excerpt)
    lines: list[LogLine] = []
    doubts: list[str] = []
    ranks = {mine[0].origin.rank for mine in by_path.values()} - {None}
    for path, mine in by_path.items():
        reader = _FileReader(path, mine, prefixes)
        found = list(reader.lines())
        named = mine[0].origin.rank
        if named is not None and (why := _disbelief(found, named, is_alone=len(ranks) < 2)):
            reader = _FileReader(path, [_nameless(excerpt) for excerpt in mine], prefixes)
            found = list(reader.lines())
            doubts.append(f"{path}: the file's name says rank {named}, {why}")
        if found and not mine[-1].data.endswith(b"\n"):
            found[-1] = replace(found[-1], cut=True)
        if _is_newest_first(found):
            found.reverse()
            doubts.append(f"{path}: its newest line comes first; it was read from its end")
        lines.extend(found)
        doubts.extend(reader.doubts())
    return Reading(tuple(lines), tuple(doubts))


def _is_newest_first(lines: Sequence[LogLine]) -> bool:
    """True where a collector's clock runs backwards from the first line to the last, as viewers of logs show them."""
    stamped = [line.arrival for line in lines if line.arrival is not None]
    if len(stamped) < LEAST_BACKWARDS or len(stamped) < 0.9 * len(lines):
        return False
    first, last = clocks.seconds(stamped[0]), clocks.seconds(stamped[-1])
    if first is None or last is None or first <= last:
        return False
    times = [when for stamp in stamped if (when := clocks.seconds(stamp)) is not None]
    return len(set(times)) >= LEAST_BACKWARDS and all(before >= after for before, after in pairwise(times))


def _disbelief(lines: Sequence[LogLine], named: int, *, is_alone: bool) -> str | None:
    """Tells why a file isn't the one rank's which its name says; None where it is.

    ``debug-rank1-crash.log`` is what somebody called the log of a whole job: other writers' marks speak against it, or
    a launcher's table of others; a lone file must besides be called as launchers call a rank's file.
    """
    if any(
        (line.rank is not None and line.rank != named)
        or ("local_rank" in line.text and (row := _TABLE_ROW.search(line.text)) and int(row[1]) != named)
        for line in lines
    ):
        return "its lines other ranks; the lines are believed"
    if any(len(set(map(attrgetter(who), lines)) - {None}) > 1 for who in ("local_rank", "task", "node_rank")):
        return "its lines are of several writers; the lines are believed"
    if is_alone and not naming.is_of_one_rank(lines[0].source.path if lines else ""):
        return "but its lines name no rank, and a rank's own file is called otherwise; the name isn't believed"
    return None


def _nameless(excerpt: Excerpt) -> Excerpt:
    return replace(excerpt, origin=replace(excerpt.origin, rank=None))


class _FileReader:
    """Reads the excerpts of one file."""

    def __init__(self, path: str, excerpts: Sequence[Excerpt], prefixes: Prefixes) -> None:
        self.path = path
        self.excerpts = excerpts
        self.reported: list[tuple[int, int]] = []
        self.passed: list[tuple[int, int]] = []
        self.pieces = [self._own(excerpt) for excerpt in excerpts]
        plain = peeled_once(prefixes)
        if text := constant(_sample(self.pieces), prefixes, plain):
            self.pieces = [[_behind(text, piece) for piece in part] for part in self.pieces]
        self.form = settle(_sample(self.pieces), prefixes, plain)
        self.peeler = prefixes.peeler(self.form.dialect)
        self.plain = None if self.form.dialect.known or self.form.width else plain
        self.depth = self.form.depth if self.form.width else MAX_LAYERS
        self.blocks = boxes.Blocks()
        self.held: dict[Hashable, Item] = {}
        self.repeated = 0
        self.rejoined = 0
        self.woven: list[int] = []
        self.steps: bool | None = None

    def _own(self, excerpt: Excerpt) -> list[Piece]:
        """The lines without earlier reports of ours and tests that passed; those alone are all there is."""
        pieces = list(_pieces(excerpt))
        if b"logsig" in excerpt.data:
            from logsig import earlier

            pieces = _without(earlier.reports, pieces, self.reported)
        if b"test session" in excerpt.data:
            from logsig import passed

            pieces = _without(passed.sessions, pieces, self.passed)
        return pieces

    def lines(self) -> Iterator[LogLine]:
        """All lines, excerpt by excerpt."""
        end = 1
        for excerpt, pieces in zip(self.excerpts, self.pieces, strict=True):
            base = _facts_of(excerpt.origin)
            gap = excerpt.first_line > end
            for piece, peeled in self._in_order(pieces):
                yield self._line(base, piece, peeled, gap=gap)
                gap = False
            end = excerpt.first_line + excerpt.data.count(b"\n") + (not excerpt.data.endswith(b"\n"))

    def _in_order(self, pieces: Sequence[Piece]) -> list[Item]:
        """Logical lines by the place where they begin; among equals as they were written."""
        found: list[Item] = []
        ended = buildkit.Block()
        for piece, outer in sorted(self._whole(pieces), key=_number):
            peeled = outer
            if (ended or outer.text == buildkit.RULE) and ended.takes(outer.text):
                peeled = self._of_ended_step(outer)
            if self.held or self.blocks or self._is_special(peeled):
                found.extend(self._split(piece, peeled))
            else:
                found.append((piece, peeled))
        found.extend(self.held.values())
        self.held.clear()
        self.blocks = boxes.Blocks()
        found.sort(key=_number)
        return found

    # ------------------------------------------------------------ pieces of one line joined

    def _whole(self, pieces: Sequence[Piece]) -> Iterator[Item]:
        """Peeled pieces; those that a collector or a terminal cut are joined first, and only then peeled further."""
        if not self.form.width:
            yield from self._uncut(pieces, self._further)
            return
        for piece, outer in self._unwrapped(sorted(self._uncut(pieces, _as_it_is), key=_number), self.form.width):
            yield piece, self._further(outer)

    def _uncut(self, pieces: Iterable[Piece], further: Callable[[Peeled], Peeled]) -> Iterator[Item]:
        """Join what a collector marked as parts of one line."""
        cut: dict[Hashable, Item] = {}
        last: Item | None = None
        for piece in pieces:
            peeled = self._peeled(piece.text)
            if last and last[0].number == piece.number and not peeled.layers:
                peeled = last[1]._replace(text=piece.text)  # an overwritten line: its label stands in front only
            last = piece, peeled
            part = peeled.fields.get("part")
            if part is None:
                yield piece, peeled
                continue
            key = (peeled.fields.get("stream"), peeled.fields.get("node"))
            before = cut.pop(key, None)
            if before and part == "B":
                yield before[0], further(before[1])
                before = None
            whole = _joined(before, piece, peeled.text) if before else (piece, peeled)
            if part == "F":
                yield whole[0], further(whole[1])
            else:
                cut[key] = whole
        for piece, peeled in cut.values():
            yield piece, further(peeled)

    def _peeled(self, text: str) -> Peeled:
        """Peel the mark of a part, or all; what the sample showed already isn't peeled again."""
        if self.plain is not None and "part" not in (known := self.plain(text)).fields:
            return known
        return self.peeler.peel(text, limit=self.depth)

    def _unwrapped(self, items: Iterable[Item], width: int) -> Iterator[Item]:
        """Join lines that were cut at ``width``, each collector's source by itself."""
        held: dict[Hashable, tuple[Item, str]] = {}
        begins = beginnings(self.peeler)
        for piece, outer in items:
            key = _writer_of(outer)
            before = held.pop(key, None)
            glue = rejoin.goes_on(before[1], outer.text, width, begins, prefixed=self.form.prefixed) if before else None
            if before and glue is not None:
                self.rejoined += 1
                held[key] = _joined(before[0], piece, glue + outer.text), outer.text
                continue
            if before:
                yield before[0]
            held[key] = (piece, outer), outer.text
        for item, _ in held.values():
            yield item

    def _further(self, peeled: Peeled) -> Peeled:
        """Peel what stands behind a collector's mark."""
        return peeled if "\n" in peeled.text else self.peeler.peel(peeled.text, peeled)

    def _of_ended_step(self, peeled: Peeled) -> Peeled:
        """A line that BuildKit shows at the end of a failed step, marked as repeated where the file has it above."""
        layer = buildkit.REPEATED if self._has_steps() else buildkit.ONCE
        layers = tuple(name for name in peeled.layers if name != buildkit.ONCE)
        text = buildkit.without_clock(peeled.text)
        return self.peeler.peel(text, peeled._replace(text=text, layers=(*layers, layer)))

    def _has_steps(self) -> bool:
        if self.steps is None:
            peeled = (self.peeler.peel(piece.text) for part in self.pieces for piece in part)
            self.steps = any(buildkit.ONCE in item.layers for item in peeled)
        return self.steps

    # ------------------------------------------------------------ several lines in one

    def _split(self, piece: Piece, peeled: Peeled) -> Iterator[Item]:
        """The logical lines of one piece: of a message with newlines, of several writers glued together, of a box."""
        for message in self._messages(peeled):
            for writer in self._writers(message):
                for plain in self._plain(piece, writer):
                    yield from self._held_back(piece, plain)

    def _is_special(self, peeled: Peeled) -> bool:
        text = peeled.text
        return (
            "\n" in text
            or (not text.isascii() and (text[:1] in boxes.EDGES or "└" in text))
            or "\\n" in text
            or ": : " in text
            or self.peeler.may_be_glued(text)
            or text.startswith(('File "', '> File "'))
            or (text.startswith('  File "') and text.find('  File "', 8) > 0)
            or ("call last)" in text and text != _TRACEBACK_LINE)
            or (not peeled.layers and (text[::2] == text[1::2] or text[: len(text) // 2] == text[len(text) // 2 :]))
            or "rich" in peeled.layers
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
        texts = self.blocks.texts(_writer_of(peeled), peeled.text)
        if texts == [peeled.text]:
            texts = [line for half in rejoin.halves(peeled.text) for line in rejoin.unflattened(half)]
            if len(texts) == 1 and rejoin.is_woven(texts[0]):
                self.woven.append(piece.number)
        if texts == [peeled.text]:
            yield peeled
            return
        for text in texts:
            yield peeled._replace(text=text)

    def _held_back(self, piece: Piece, peeled: Peeled) -> Iterator[Item]:
        """Hold a line whose next one may belong to it: behind a box of rich, and in the columns of its log handler."""
        key = _writer_of(peeled)
        holder = key if key in self.held else None
        before = self.held.pop(holder, None)
        width = self.blocks.width.get(key)
        if before and (more := _continued(before[1], piece, peeled, width)) is not None:
            self.held[holder] = _joined(before, piece, more)
            return
        if before:
            yield before
            self.blocks.width.pop(key, None)
        if peeled.text.strip() and (_RICH.intersection(peeled.layers[-1:]) or (width and not before)):
            self.held[key] = piece, peeled
        else:
            yield piece, peeled

    # ------------------------------------------------------------ the line

    def _line(self, base: dict[str, Any], piece: Piece, peeled: Peeled, *, gap: bool) -> LogLine:
        fields = peeled.fields
        if base:
            fields = {**base, **fields}
        if not _NOT_OF_A_LINE.isdisjoint(fields):
            fields = {name: value for name, value in fields.items() if name not in _NOT_OF_A_LINE}
            self.repeated += peeled.fields.get("repeated", 0)
        if self.form.two_clocks and fields.get("stamp") is fields.get("arrival"):
            fields = {name: value for name, value in fields.items() if name != "stamp"}
        return LogLine(Source(self.path, piece.number), peeled.text, piece.raw, layers=peeled.layers, gap=gap, **fields)

    def doubts(self) -> Iterator[str]:
        """What the reader of the answer must know about how this file was read."""
        if self.reported:
            where = ", ".join(f"{first}-{last}" for first, last in self.reported)
            yield f"{self.path}: lines {where} are an earlier report of logsig and were not read as a log"
        if self.passed:
            where = ", ".join(f"{first}-{last}" for first, last in self.passed)
            yield f"{self.path}: lines {where} are tests that passed; the errors they provoked were not counted"
        if self.repeated:
            yield (
                f"{self.path}: Ray folded {self.repeated} similar lines (`repeated … across cluster`); what other "
                "ranks printed there is not shown, so a rank without lines need not be silent"
            )
        if self.rejoined:
            yield f"{self.path}: its lines were cut at {self.form.width} columns; {self.rejoined} of them rejoined"
        if self.woven:
            where = ", ".join(str(number) for number in self.woven[:5]) + (" …" if len(self.woven) > 5 else "")
            yield (
                f"{self.path}: output of several processes is woven together within lines ({where}); "
                "parts of it could not be read"
            )


# ---------------------------------------------------------------- pieces


def _pieces(excerpt: Excerpt) -> Iterator[Piece]:
    """Lines of an excerpt without escapes; of an overwritten line one piece for each thing it shows."""
    if journal.is_export(excerpt.data):
        for number, text, message in journal.entries(excerpt.data, excerpt.first_line):
            yield Piece(number, text, message)
        return
    text = excerpt.data.decode("utf-8", "replace")
    for number, raw in enumerate(text.removesuffix("\n").split("\n"), excerpt.first_line):
        line = raw.rstrip("\r")
        if "\r" not in line:
            yield Piece(number, escapes.without_escapes(line), line)
            continue
        for state in escapes.last_states(line):
            yield Piece(number, escapes.without_escapes(state), line)


def _without(find: Finder, pieces: list[Piece], noted: list[tuple[int, int]]) -> list[Piece]:
    """The pieces without the stretches found, whose lines are noted; all of them where nothing would remain."""
    found = list(find([piece.text for piece in pieces]))
    left_out = {at for begin, end in found for at in range(begin, end)}
    kept = [piece for at, piece in enumerate(pieces) if at not in left_out]
    if not any(piece.text.strip() for piece in kept):
        return pieces
    noted += [(pieces[begin].number, pieces[end - 1].number) for begin, end in found]
    return kept


def _behind(text: str, piece: Piece) -> Piece:
    """The piece without the text that stands before every line, which an empty line may have lost the end of."""
    if piece.text.startswith(text) or piece.text == text.rstrip():
        return piece._replace(text=piece.text[len(text) :])
    return piece


def _sample(pieces: Sequence[Sequence[Piece]]) -> list[list[str]]:
    """Windows of consecutive lines, spread over the file."""
    windows: list[list[str]] = []
    for part in pieces:
        windows += [[piece.text for piece in part[start : start + WINDOW]] for start in range(0, len(part), WINDOW)]
    total = sum(map(len, windows))
    return windows[:: max(1, total // SAMPLE)]


def _facts_of(origin: Origin) -> dict[str, Any]:
    """What the file's place says about each of its lines."""
    names = ("attempt", "local_rank", "rank", "task", "node", "stream")
    return {name: value for name in names if (value := getattr(origin, name)) is not None}


# ---------------------------------------------------------------- who and where


def _as_it_is(peeled: Peeled) -> Peeled:
    return peeled


def _number(item: Item) -> int:
    return item[0].number


def _joined(item: Item, more: Piece, text: str) -> Item:
    """The line of ``item`` with ``text``, which stands in ``more``, behind it."""
    piece, peeled = item
    return piece._replace(raw=piece.raw + more.raw), peeled._replace(text=peeled.text + text)


def _writer_of(peeled: Peeled) -> Hashable:
    """Who wrote a line, as far as it says; None where it says nothing."""
    if peeled.fields.keys().isdisjoint(_WHO):
        return None
    get = peeled.fields.get
    return get("rank"), get("local_rank"), get("node"), get("node_rank"), get("task"), get("pid")


def _outer_of_glued(peeled: Peeled) -> Peeled:
    """What still holds for text that another writer put on the line: where it was collected, not who spoke."""
    kept = {name: value for name, value in peeled.fields.items() if name in _WHERE}
    if "arrival" in kept:
        kept["stamp"] = kept["arrival"]
    return NOTHING_PEELED._replace(fields=kept)


def _glued_tracebacks(text: str) -> Iterator[int]:
    """Positions where a traceback begins behind text that was written without a line end."""
    at = text.find(_TRACEBACK, 1)
    while at > 0:
        before = text[at - 1]
        if (before == ":" and text.startswith(_TRACEBACK)) or not (before.isspace() or before in "\"'`([{<=:\\,|─━"):
            yield at
        at = text.find(_TRACEBACK, at + 1)
    if text.startswith('  File "'):
        yield from (match.start() for match in _FRAME_BEHIND.finditer(text, 8))


def _continued(before: Peeled, piece: Piece, peeled: Peeled, width: int | None) -> str | None:
    """What to put behind ``before`` where ``peeled`` goes on with it, else None."""
    text = peeled.text
    if _RICH.intersection(before.layers[-1:]):
        more = text.strip() if piece.text.startswith(" " * 25) and peeled.layers == () else ""
        return _spaced(before.text, more) if more else None
    if not width or not text.strip() or text.startswith(("  ", "Traceback")) or text[0] in boxes.EDGES:
        return None
    fits = len(before.text) % (width + 1) + 1 + len(text.split()[0]) <= width
    return None if fits else _spaced(before.text, text)


def _spaced(before: str, more: str) -> str:
    return more if before.endswith(" ") else f" {more}"
