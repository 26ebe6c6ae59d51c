"""Tracebacks of rich, of exception groups, of Loguru with values, or without indentation, in their usual form again.

``Blocks`` keeps, for each writer, what a line needs to know of the lines before it.
"""

from __future__ import annotations

from collections.abc import Hashable

from logsig.late import late

EDGES = frozenset("│╭╰┃┏┗╔╚║├└┌")
"""With what a line of a box begins."""

_TITLE = late(r"[╭┌┏╔][─━═]*\s*Traceback \(most recent call last\)\s*[─━═]*[╮┐┓╗]?\s*$")
_BORDER = late(r"[╭╰┌└┏┗╔╚├][─━═┄]*(?: [^─━═╮╯]{1,80} )?[─━═]*[╮╯┐┘┓┛╗╝┤]?\s*$")
_FRAME = late(r"((?:/|[A-Za-z]:\\|<|[\w.-]+/)[^:]*):(\d+) in (.+)$")
_CODE = late(r"❱ *\d+(?: (.*))?$")
_CONTEXT = late(r"\d+(?: .*)?$|[│┃╭╰]")
_VALUES = late(r"\s+(?:│\s+)*└ ")
"""How Loguru draws the values below a line of code."""
_GROUP = late(r"\s*\+ Exception Group Traceback \(most recent call last\):\s*$")
_MEMBER = late(r"\s*\+-\+?-+ \d+ -+\s*$")
_IN_GROUP = late(r"\s*(?:\| ?(.*)|\+-+\s*)$")
_BARE_FRAME = late(r"File \"[^\"]+\", line \d+(?:, in .*)?$")
_LAST_LINE = late(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: |:?$)|[=*-]{8,}|\[|During |The above ")
"""How an exception or the next message begins, right behind a frame without source."""


class Blocks:
    """What goes on over several lines of one writer."""

    def __init__(self) -> None:
        self._path: dict[Hashable, str] = {}
        self._bare: set[Hashable] = set()
        self._groups: dict[Hashable, bool] = {}
        """Writers within an exception group, and whether in one of the exceptions that it holds."""
        self.width: dict[Hashable, int] = {}
        """Of writers whose box has just ended: the console's width, at which rich wraps what follows."""

    def __bool__(self) -> bool:
        return bool(self._path or self._bare or self._groups or self.width)

    def texts(self, writer: Hashable, text: str) -> list[str]:
        """Plain lines in place of one line; none for a border or a line of context of a box."""
        if text[:1] and text[0] in EDGES:
            return self._unboxed(writer, text)
        if _GROUP.match(text):
            self._groups[writer] = False
            return [text]
        if writer in self._groups and (inside := self._in_group(writer, text)) is not None:
            return inside
        if text.startswith('> File "'):
            return [f"  {text[2:]}"]
        if _VALUES.match(text):
            return []
        if text.startswith('File "') and _BARE_FRAME.match(text):
            self._bare.add(writer)
            return [f"  {text}"]
        if writer in self._bare:
            self._bare.discard(writer)
            if text and not text[0].isspace() and not _LAST_LINE.match(text):
                return [f"    {text}"]
        return [text]

    def _in_group(self, writer: Hashable, text: str) -> list[str] | None:
        """Lines of the exceptions that a group holds, freed: they are what happened. None behind the group."""
        if _MEMBER.match(text):
            self._groups[writer] = True
            return []
        found = _IN_GROUP.match(text)
        if found is None:
            del self._groups[writer]
            return None
        if not self._groups[writer]:
            return [text]
        return [] if found[1] is None else [found[1]]

    def _unboxed(self, writer: Hashable, text: str) -> list[str]:
        if _TITLE.match(text):
            return ["Traceback (most recent call last):"]
        if _BORDER.match(text):
            if text[0] in "╰└┗╚":
                self.width[writer] = len(text.rstrip())
            return []
        inner = text[1:].rstrip().removesuffix(text[0]).strip()
        return self._inside(writer, inner)

    def _inside(self, writer: Hashable, inner: str) -> list[str]:
        path = self._path.pop(writer, "")
        frame = _FRAME.match(inner) or (path and (_FRAME.match(path + inner) or _FRAME.match(f"{path} {inner}")))
        if frame:
            return [f'  File "{frame[1]}", line {frame[2]}, in {frame[3]}']
        if code := _CODE.match(inner):
            return [f"    {(code[1] or '').lstrip('│ ').strip()}"]
        if inner.startswith("/") and " " not in inner:
            self._path[writer] = path + inner
            return []
        if not inner or _CONTEXT.match(inner):
            return []
        return [inner]
