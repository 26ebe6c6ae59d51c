"""How far a pattern gets in a text that it doesn't match: what authors of signatures want to know first.

Takes a pattern's source and a text, gives the longest beginning of the pattern that is found there, and where the text
goes another way. Knows nothing of signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from logsig.catalog import compiled
from logsig.record import dataclass

SECONDS = 0.25
_QUANTIFIERS = "*+?"


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of a pattern that a text has, and the rest of both."""

    matched: str
    """Of the text: what the beginning of the pattern found."""
    missing: str
    """Of the pattern: what the text lacks there."""
    instead: str
    """Of the text: how it goes on."""


def reach(patterns: Sequence[str], text: str) -> Reach:
    """Gives the furthest way into the text that any alternative of any pattern gets."""
    tried = [_one(list(pieces), text) for pattern in patterns for pieces in alternatives(pattern)]
    return max(tried, key=lambda found: len(found.matched), default=Reach("", "", text))


def _one(pieces: list[str], text: str) -> Reach:
    """Halves the pattern's beginning until one piece more would not be found."""
    found, low, high = (0, 0), 0, len(pieces)
    while low < high:
        middle = (low + high + 1) // 2
        hit = _search("".join(pieces[:middle]), text)
        if hit is None:
            high = middle - 1
        else:
            low, found = middle, hit
    return Reach(text[found[0] : found[1]], "".join(pieces[low:]), text[found[1] :])


def _search(pattern: str, text: str) -> tuple[int, int] | None:
    import regex

    try:
        hit = compiled(pattern).search(text, timeout=SECONDS)
    except (regex.error, TimeoutError):
        return None
    return hit.span() if hit else None


def alternatives(pattern: str) -> Iterator[list[str]]:
    """Cuts a pattern at its outermost bars, and each part into atoms that carry their quantifiers."""
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        end = _behind_atom(pattern, at)
        if pattern[at:end] == "|":
            yield pieces
            pieces = []
        else:
            end = _behind_quantifier(pattern, end)
            pieces.append(pattern[at:end])
        at = end
    yield pieces


def _behind_atom(pattern: str, at: int) -> int:
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] == "[":
        return _behind(pattern, at, _skip_in_class)
    if pattern[at] == "(":
        return _behind(pattern, at, _behind_atom)
    return at + 1


def _behind(pattern: str, at: int, skip: Callable[[str, int], int]) -> int:
    """Gives the place behind the bracket that closes the one at ``at``."""
    closing = ")" if pattern[at] == "(" else "]"
    at += 1
    if closing == "]":
        at += pattern.startswith("^", at)
        at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != closing:
        at = skip(pattern, at)
    return at + 1


def _skip_in_class(pattern: str, at: int) -> int:
    return at + (2 if pattern[at] == "\\" else 1)


def _behind_quantifier(pattern: str, at: int) -> int:
    """Gives the place behind ``*``, ``+``, ``?`` or ``{m,n}`` and the mark that makes it lazy or possessive."""
    if pattern[at : at + 1] == "{" and (close := pattern.find("}", at)) > 0 and pattern[at + 1 : at + 2].isdigit():
        at = close + 1
    elif pattern[at : at + 1] and pattern[at] in _QUANTIFIERS:
        at += 1
    else:
        return at
    return at + (pattern[at : at + 1] in ("?", "+"))
