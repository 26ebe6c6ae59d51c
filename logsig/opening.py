"""The characters a match of a regular expression can begin with: a quick no for most patterns on most lines."""

from __future__ import annotations

import re
from functools import cache

from logsig.late import late

ANY: frozenset[str] = frozenset({"any character"})
"""Stands for all characters; told by identity."""

_CLASSES = {"d": frozenset("0123456789"), "s": frozenset(" \t\r\n\f\v"), "t": frozenset("\t"), "n": frozenset("\n")}
_QUANTIFIER = late(r"[*+?]|\{\d*,?\d*\}")
_LOOK = late(r"\(\?(?:=|!|<=|<!)")
_OPEN = late(r"\((?:\?(?::|P<\w+>|>))?")
_WIDE = late(r"\[\^|\\[wSDW]|[^\x00-\x7f]")


@cache
def first_characters(pattern: str) -> frozenset[str]:
    """Give them all, or ``ANY``; errs only to the side of more."""
    try:
        found, empty, _ = _alternatives(pattern, 0)
    except (IndexError, re.error):
        return ANY
    return ANY if empty else found


def opens(first: frozenset[str], character: str) -> bool:
    """True where a match may begin with ``character``."""
    return first is ANY or character in first


def _alternatives(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    """(characters, can be empty, position behind) of all up to the closing parenthesis."""
    found: frozenset[str] = frozenset()
    can_be_empty = False
    still_open = True
    while pos < len(pattern) and pattern[pos] != ")":
        if pattern[pos] == "|":
            can_be_empty |= still_open
            still_open, pos = True, pos + 1
            continue
        first, empty, pos = _atom(pattern, pos)
        if quantifier := _QUANTIFIER.match(pattern, pos):
            empty |= quantifier.group() in "*?" or quantifier.group().startswith(("{0", "{,"))
            pos = quantifier.end() + (pattern[quantifier.end() : quantifier.end() + 1] in ("?", "+"))
        if still_open:
            found = ANY if ANY in (found, first) else found | first
            still_open = empty
    return found, can_be_empty | still_open, pos


def _atom(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    character = pattern[pos]
    if character == "(":
        look = _LOOK.match(pattern, pos)
        head = look or _OPEN.match(pattern, pos)
        found, empty, end = _alternatives(pattern, head.end() if head else pos + 1)
        return (frozenset(), True, end + 1) if look else (found, empty, end + 1)
    if character == "[":
        return _class(pattern, pos)
    if character == "\\":
        return _escape(pattern, pos)
    if character in "^$":
        return frozenset(), True, pos + 1
    return (ANY if character == "." else frozenset(character)), False, pos + 1


def _escape(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    escaped = pattern[pos + 1]
    if escaped in "xu":
        end = pos + (4 if escaped == "x" else 6)
        return frozenset(chr(int(pattern[pos + 2 : end], 16))), False, end
    if escaped in "bBAZ":
        return frozenset(), True, pos + 2
    if escaped.isalpha():
        return _CLASSES.get(escaped, ANY), False, pos + 2
    return frozenset(escaped), False, pos + 2


def _class(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    end = pos + 1 + (pattern[pos + 1] == "^")
    end += pattern[end] == "]"
    while pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    text = pattern[pos : end + 1]
    if _WIDE.search(text):
        return ANY, False, end + 1
    compiled = re.compile(text)
    return frozenset(character for character in map(chr, range(128)) if compiled.match(character)), False, end + 1
