"""Text measured and laid out in terminal columns: wide letters count two, combining marks none.

Takes harmless strings (``inert``), gives strings of a known width. Knows nothing of colour.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_PATH = re.compile(r"[(`“]*(?=[^/]*/)[\w.~/:@%+=?&#,-]+[)`”.,;]*")


def width(text: str) -> int:
    """Gives the columns that a terminal needs."""
    if text.isascii():
        return len(text)
    return sum(_width_of(character) for character in text)


def _width_of(character: str) -> int:
    if unicodedata.combining(character) or "\ufe00" <= character <= "\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, columns: int) -> str:
    """Fills up with blanks."""
    return text + " " * (columns - width(text))


def cut(text: str, columns: int, more: str = "…") -> str:
    """Cuts at the end to what fits, with a mark where something was cut."""
    if width(text) <= columns:
        return text
    return head(text, columns - width(more)) + more


def head(text: str, columns: int) -> str:
    """Gives as much of the start as fits."""
    if text.isascii():
        return text[: max(columns, 0)]
    used = 0
    for at, character in enumerate(text):
        used += _width_of(character)
        if used > columns:
            return text[:at]
    return text


def wrap(text: str, columns: int, first: str = "", rest: str = "", *, breaks_paths: bool = False) -> list[str]:
    """Breaks text at blanks into lines of at most ``columns``; a word that is too long is broken where it must.

    Paths and addresses are there to be copied: they stay whole, however long, unless ``breaks_paths``.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += _wrap_one(paragraph, columns, first if not lines else rest, rest, breaks_paths=breaks_paths)
    return lines


def _wrap_one(text: str, columns: int, first: str, rest: str, *, breaks_paths: bool) -> list[str]:
    lines, current, is_empty = [], first, True
    for word in text.split(" "):
        if not is_empty and width(current) + 1 + width(word) > columns:
            lines.append(current)
            current, is_empty = rest, True
        current += word if is_empty else f" {word}"
        is_empty = False
        while (breaks_paths or not _PATH.fullmatch(word)) and width(current) > columns > width(rest) + 8:
            part = head(current, columns)
            lines.append(part)
            current = rest + current[len(part) :]
    return [line.rstrip() for line in [*lines, current]]


def flow(items: Sequence[str], columns: int, indent: str, gap: str = "   ") -> list[str]:
    """Sets items side by side, breaking lines only between them."""
    lines: list[str] = []
    for item in items:
        if lines and width(lines[-1] + gap + item) <= columns:
            lines[-1] += gap + item
        else:
            lines.append(indent + item)
    return lines


def window(
    text: str, span: tuple[int, int] | None, columns: int, more: str = "…"
) -> tuple[str, tuple[int, int] | None]:
    """Cuts a long line to what surrounds the match; gives the cut line and the span of the match in its columns."""
    if width(text) <= columns:
        return text, _span_in_columns(text, span)
    if span is None or width(text[: span[1]]) <= columns - len(more) or width(text[: span[0]]) <= columns // 3:
        shown = cut(text, columns, more)
        return shown, _span_in_columns(shown, _within(span, len(shown)))
    start = span[0] - columns // 5
    moved = (span[0] - start + len(more), span[1] - start + len(more))
    shown = cut(more + text[start:], columns, more)
    return shown, _span_in_columns(shown, _within(moved, len(shown)))


def _within(span: tuple[int, int] | None, length: int) -> tuple[int, int] | None:
    return (min(span[0], length), min(span[1], length)) if span else None


def _span_in_columns(text: str, span: tuple[int, int] | None) -> tuple[int, int] | None:
    return (width(text[: span[0]]), width(text[: span[1]])) if span else None


def table(rows: Sequence[Sequence[str]], columns: int, gap: int = 2) -> list[list[str]]:
    """Lays rows out in aligned columns, the last one wrapped to what is left; a row may become several lines.

    Gives per row its lines, so that the caller may colour a row as a whole.
    """
    count = len(rows[0])
    widths = [max(width(row[at]) for row in rows) for at in range(count - 1)]
    left = sum(size + gap for size in widths)
    laid = []
    for row in rows:
        start = "".join(pad(row[at], widths[at] + gap) for at in range(count - 1))
        laid.append(wrap(row[-1], columns, start, " " * left, breaks_paths=True))
    return laid
