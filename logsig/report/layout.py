"""Pieces of a report in terminal columns: quoted lines with the match underlined, tables, the timeline in blocks.

Takes parts of a ``Page`` and what the place can show; gives finished lines. The order of the pieces is the template's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from logsig.report import Options, cells, wording
from logsig.report.lanes import LEGEND
from logsig.report.page import LEDGER_COLUMNS, Page

if TYPE_CHECKING:
    from logsig.report.lanes import Lane, Piece
    from logsig.report.page import Finding, Quote, QuotedLine
    from logsig.report.ranks import RankRow

MOST_QUOTES = 3
"""More evidence than this is counted, not shown; ``--format json`` has all of it."""
MOST_CONTEXT = 6
LONGEST_LAST_LINE = 240
_STYLES = {"bad": "1;31", "doubtful": "1;33", "good": "1;32", "bold": "1", "dim": "2", "gutter": "34", "help": "1;36"}
_GLYPHS = {
    "step": "━",
    "wait": "░",
    "last": "┤",
    "collateral": "▼",
    "killed": "■",
    "failed": "x",
    "first": "✖",
    "nothing": "·",
}
_ASCII_GLYPHS = {
    "nothing": "-",
    "step": "=",
    "wait": ".",
    "last": "|",
    "collateral": "v",
    "killed": "#",
    "failed": "x",
    "first": "X",
}
_LEGEND = {**LEGEND, "nothing": "no line"}
_TO_ASCII = {
    0x2013: "-",
    0x2019: "'",
    ord("…"): "...",
    ord("⋮"): ":",
    ord("—"): "-",
    ord("→"): "->",
    ord("“"): '"',
    ord("”"): '"',
}


class Layout:
    """What the template asks for: pieces of the report as finished lines, each ending with a newline."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._columns = options.width

    # ------------------------------------------------------------ words

    def style(self, text: str, name: str) -> str:
        """Colours text where colour is wanted."""
        if not self._options.color or not text:
            return text
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m"

    def heading(self, title: str, rest: str = "") -> str:
        """Begins a section."""
        lines = cells.wrap(self._plain(f"{title} {rest}".rstrip()), self._columns)
        lines[0] = self.style(title, "bold") + lines[0][len(title) :]
        return self._lines(lines)

    def sentence(self, text: str, style: str = "", indent: str = "", first: str | None = None) -> str:
        """Wraps a sentence to the terminal."""
        lines = cells.wrap(self._plain(text), self._columns, indent if first is None else first, indent)
        return self._lines([self.style(line, style) if style else line for line in lines])

    def items(self, texts: Sequence[str], indent: str = "  ") -> str:
        """Lists sentences."""
        return "".join(self.sentence(text, indent=indent + "  ", first=indent + "- ") for text in texts)

    def steps(self, texts: Sequence[str]) -> str:
        """Numbers the steps of a remedy; a single one needs no number."""
        if len(texts) == 1:
            return self.sentence(texts[0], indent="  ")
        return "".join(
            self.sentence(text, indent="     ", first=f"  {number}. ") for number, text in enumerate(texts, start=1)
        )

    def code(self, text: str) -> str:
        """Shows code to paste: indented, never wrapped."""
        return self._lines(["", *(f"       {line}".rstrip() for line in self._plain(text).splitlines())])

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Shows names with their texts."""
        left = max(cells.width(name) for name, _ in pairs) + 4
        return "".join(
            self.sentence(text, indent=" " * left, first=cells.pad(f"  {name}", left)) for name, text in pairs
        )

    def last_line(self, found: Page) -> str:
        """Repeats the verdict, with the id, on one line however long: ``tail -n 1`` must tell all of it."""
        signature = f" [{found.findings[0].signature}]" if found.findings else ""
        whole = found.verdict + signature
        shown = whole if len(whole) <= LONGEST_LAST_LINE else found.short
        return self.style(self._plain(" ".join(shown.split())), found.tone) + "\n"

    # ------------------------------------------------------------ evidence

    def finding(self, found: Finding) -> str:
        """Shows a cause as a compiler shows an error."""
        style = {"error": "bad", "warning": "doubtful"}.get(found.level, "bold")
        head = f"{found.level}[{found.signature}]: {found.title}"
        blocks = [self.sentence(head, style)]
        quotes = found.quotes[:MOST_QUOTES]
        gutter = max((len(str(line.number)) for quote in quotes for line in quote.lines), default=1) + 1
        blocks += [self.quote(quote, gutter) for quote in quotes]
        if len(found.quotes) > MOST_QUOTES:
            more = wording.count(len(found.quotes) - MOST_QUOTES, "more piece")
            blocks.append(self._note(gutter, f"{more} of evidence: --format json"))
        blocks += [self._note(gutter, text) for text in (*found.facts, found.note)]
        return "".join(blocks)

    def quote(self, quote: Quote, gutter: int = 0) -> str:
        """Shows where a piece of evidence stands, and its lines."""
        gutter = gutter or max(len(str(line.number)) for line in quote.lines) + 1
        arrow = self.style("-->", "gutter")
        place = self._link(self._plain(quote.place), quote.path)
        writer = f"  {self._plain(quote.writer)}" if quote.writer else ""
        bar = " " * gutter + " " + self.style("|", "gutter")
        lines = [f"{' ' * (gutter - 1)}{arrow} {place}{writer}", bar]
        for index, line in enumerate(quote.lines[-MOST_CONTEXT:]):
            if index and line.is_apart:
                lines.append(f"{self.style(self._plain('⋮').rjust(gutter), 'gutter')} {self.style('|', 'gutter')}")
            lines += self._quoted(line, gutter, bar)
        return self._lines(lines)

    def _quoted(self, line: QuotedLine, gutter: int, bar: str) -> list[str]:
        text, span = self._plain_with_span(line.text, line.span)
        text, span = cells.window(text, span, self._columns - gutter - 3, self._plain("…"))
        shown = [f"{self.style(f'{line.number:>{gutter}}', 'gutter')} {self.style('|', 'gutter')} {text}".rstrip()]
        if span and span[1] > span[0]:
            shown.append(f"{bar} {' ' * span[0]}{self.style('^' * (span[1] - span[0]), 'bad')}")
        return shown

    def _note(self, gutter: int, text: str) -> str:
        lead = " " * gutter + " = "
        return self.sentence(text, indent=" " * len(lead), first=lead)

    # ------------------------------------------------------------ tables

    def ranks(self, rows: Sequence[RankRow]) -> str:
        """Shows the rank table; columns that say nothing are left out."""
        heads = {"rank": "ranks", "node": "node", "last sign of life": "last_seen", "step": "step", "exit": "end"}
        several_nodes = len({row.node for row in rows}) > 1
        shown = [
            (head, name)
            for head, name in heads.items()
            if any(getattr(row, name) for row in rows) and (name != "node" or several_nodes)
        ]
        marker = self._plain("▶") if not self._options.ascii else ">"
        head = [" ", *(title for title, _ in shown), "what happened"]
        body = [
            [marker if row.is_first else " ", *(self._cell(row, name) for _, name in shown), self._what(row)]
            for row in rows
        ]
        laid = cells.table([[f"  {first}", *rest] for first, *rest in [head, *body]], self._columns, gap=2)
        styles = ["dim", *("bad" if row.is_first else "" for row in rows)]
        return self._painted(laid, styles)

    def _painted(self, laid: Sequence[Sequence[str]], styles: Sequence[str]) -> str:
        return self._lines(
            [
                self.style(line, style) if style else line
                for lines, style in zip(laid, styles, strict=True)
                for line in lines
            ]
        )

    def _cell(self, row: RankRow, name: str) -> str:
        limit = {"ranks": 22, "node": 16, "last_seen": 27}.get(name, 12)
        text = str(getattr(row, name))
        if name == "ranks" and row.count > 2:
            text = f"{cells.cut(text, limit - 8, self._plain('…'))} ({row.count:,})"
        return cells.cut(self._plain(text), limit, self._plain("…"))

    def _what(self, row: RankRow) -> str:
        return self._plain(f"failed first: {row.what}" if row.is_first else row.what)

    def ledger(self, rows: Sequence[tuple[str, ...]]) -> str:
        """Shows one process group's collectives."""
        body = [
            [*(cells.cut(self._plain(text), 24, self._plain("…")) for text in row[:-1]), self._plain(row[-1])]
            for row in rows
        ]
        laid = cells.table([[f"  {first}", *rest] for first, *rest in [LEDGER_COLUMNS, *body]], self._columns)
        styles = ["dim", *[""] * len(body)]
        return self._painted(laid, styles)

    # ------------------------------------------------------------ timeline

    def timeline(self, found: Page) -> str:
        """Draws a lane per rank, or per kind of fate, in block characters, with a legend."""
        picture = found.picture
        if picture is None:
            return ""
        names = [self._lane_name(lane) for lane in picture.lanes]
        left = max(cells.width(name) for name in names) + 2
        size = min(self._columns - left - 2, 100)
        rows = [self._draw(lane, size) for lane in picture.lanes]
        drawn = [[(cells.pad(name, left) + row).rstrip()] for name, row in zip(names, rows, strict=True)]
        lines = [self._painted(drawn, ["bad" if lane.is_first else "" for lane in picture.lanes]).rstrip("\n")]
        nothing = ("nothing",) if any(self._glyph("nothing") in row for row in rows) else ()
        legend = [f"{self._glyph(kind)} {_LEGEND[kind]}" for kind in (*picture.kinds, *nothing)]
        lines += cells.flow(legend, self._columns, " " * left)
        if picture.skew:
            lines += cells.wrap(self._plain(picture.skew), self._columns, " " * left, " " * left)
        return self._lines(lines)

    def _lane_name(self, lane: Lane) -> str:
        many = f" ({len(lane.ranks):,})" if len(lane.ranks) > 2 else ""
        attempt = f"attempt {lane.attempt}, " if lane.attempt else ""
        marker = ("> " if self._options.ascii else "▶ ") if lane.is_first else "  "
        return f"  {marker}{attempt}{cells.cut(lane.name, 14, self._plain('…'))}{many}"

    def _draw(self, lane: Lane, size: int) -> str:
        row = [" "] * size
        spans = [self._position(piece, size) for piece in lane.pieces]
        begin, end = min(start for start, _ in spans), max(end for _, end in spans)
        row[begin : end + 1] = self._glyph("nothing") * (end + 1 - begin)
        for piece in lane.pieces:
            start, end = self._position(piece, size)
            for at in range(start, end + 1):
                row[at] = self._glyph(piece.kind)
        return "".join(row)

    @staticmethod
    def _position(piece: Piece, size: int) -> tuple[int, int]:
        start = min(int(piece.start * (size - 1) + 0.5), size - 1)
        end = min(int(piece.end * (size - 1) + 0.5), size - 1)
        return (start, end) if piece.kind in ("step", "wait") else (start, start)

    def _glyph(self, kind: str) -> str:
        return (_ASCII_GLYPHS if self._options.ascii else _GLYPHS)[kind]

    # ------------------------------------------------------------ characters

    def _plain(self, text: str) -> str:
        """Brings text to what the place can show."""
        if not self._options.ascii:
            return text
        return text.translate(_TO_ASCII).encode("ascii", "backslashreplace").decode("ascii")

    def _plain_with_span(self, text: str, span: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
        if span is None:
            return self._plain(text), None
        head, body, tail = (self._plain(part) for part in (text[: span[0]], text[span[0] : span[1]], text[span[1] :]))
        return head + body + tail, (len(head), len(head) + len(body))

    def _link(self, shown: str, path: str) -> str:
        """Makes a place clickable on terminals that take hyperlinks."""
        if not self._options.links or path.startswith("<"):
            return shown
        import os
        import socket
        from urllib.parse import quote

        target = f"file://{socket.gethostname()}{quote(os.path.abspath(path))}"
        return f"\x1b]8;;{target}\x1b\\{shown}\x1b]8;;\x1b\\"

    @staticmethod
    def _lines(lines: Sequence[Any]) -> str:
        return "".join(f"{line}\n" for line in lines)
