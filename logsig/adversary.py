"""Texts that make a pattern work as hard as it can: they begin like a match, go on for long, and never become one.

Takes a pattern and a text it matches, gives descriptions of hostile texts. Two sources: the pattern's own repeats, each
driven by what it eats and by what stands behind it; and the match, with each kind of run blown up.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CHARACTERS = 1024
"""Length of a hostile text: longer than honest junk inside a message. What is cubic at this length takes seconds."""
FIRST_CHARACTERS = 256
FIRST_SECONDS = 0.001
"""A pattern that passes a shorter text so quickly needs no longer one: not even cubic growth would exceed the limit."""
SECONDS = 0.1
"""Processor time a pattern may take on one: well below the matcher's limit, so that a slower machine agrees."""
SPOILT = "\x01"
"""A character that ends no match."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A text that repeats a piece, with what stands before and after it."""

    head: str
    piece: str
    tail: str

    def text(self, characters: int) -> str:
        """Write it out."""
        room = characters - len(self.head) - len(self.tail)
        return self.head + self.piece * max(1, room // max(1, len(self.piece))) + self.tail

    def __str__(self) -> str:
        return f"{self.head[-40:]!r}, then {self.piece[:40]!r} many times, then {self.tail[:40]!r}"


def slow_text(pattern: Any, samples: Iterable[str], seconds: float) -> Hostile | None:
    """Find a text on which a compiled pattern of ``regex`` exceeds its time."""
    tried: set[Hostile] = set()
    for hostile in (*from_pattern(pattern.pattern), *from_match(_longest_match(pattern, list(samples)))):
        if (
            hostile not in tried
            and _is_suspect(pattern, hostile)
            and _exceeds(pattern, hostile.text(CHARACTERS), seconds)
        ):
            return hostile
        tried.add(hostile)
    return None


def _longest_match(pattern: Any, samples: Sequence[str]) -> str:
    """Give the longest match in the samples, or where there is none, the beginning of one."""
    hits = (_match(pattern, sample) for sample in samples)
    return max((hit for hit in hits if hit), key=len, default=samples[0][:400] if samples else "")


def _match(pattern: Any, sample: str) -> str:
    try:
        hit = pattern.search(sample, timeout=SECONDS)
    except TimeoutError:
        return ""
    return hit.group() if hit else ""


def _is_suspect(pattern: Any, hostile: Hostile) -> bool:
    start = time.process_time()
    try:
        pattern.search(hostile.text(FIRST_CHARACTERS), timeout=SECONDS)
    except TimeoutError:
        return True
    return time.process_time() - start > FIRST_SECONDS


def _exceeds(pattern: Any, text: str, seconds: float) -> bool:
    """Tell whether the pattern exceeds its time, twice: the first time may have been the machine's fault."""
    for _ in range(2):
        try:
            pattern.search(text, timeout=seconds)
        except TimeoutError:
            continue
        return False
    return True


# ---------------------------------------------------------------- from a match

MAX_RUNS = 8
_RUNS = re.compile(r"\d+|[^\W\d_]+|\s+|[^\w\s]+|_+")
_PIECES = (" ", "a", "0", "a ", "1, ", "\n")


def from_match(match: str) -> Iterator[Hostile]:
    """Blow up each kind of run in a match, or the whole of it; spoil the end."""
    broken = match[:-1] + SPOILT
    runs = list(_RUNS.finditer(match))
    for run in runs[:: max(1, len(runs) // MAX_RUNS)]:
        yield Hostile(match[: run.start()], run.group(), broken[run.end() :])
        yield Hostile(match[: run.end()], run.group()[0], SPOILT)
    for piece in (match, broken, match[: len(match) // 2 + 1]):
        yield Hostile("", piece, SPOILT)
    for piece in _PIECES:
        yield Hostile(match[:-1], piece, SPOILT)


# ---------------------------------------------------------------- from the pattern itself

MANY = 10
"""A repeat that may go on for so long is worth driving."""
MAX_LEAD = 160
_CANDIDATES = "a0 _-.:/,'\"()[]=A<>{}+*#;|\t\n\x01é"
_GROUP_NAME = re.compile(r"\(\?P<\w+>")
_BACK_REFERENCE = re.compile(r"\(\?P=\w+\)")


def from_pattern(pattern: str) -> Iterator[Hostile]:
    """Drive each repeat of the pattern, behind a text that leads there; nothing where ``re`` can't read the pattern."""
    tree = _parse(pattern)
    if tree is None:
        return
    whole = _sample(tree)
    yield Hostile("", whole[:-1] or "a", SPOILT)
    for head, piece, rest in _repeats(tree, "", ""):
        for driver in dict.fromkeys((piece, rest[:1], rest[:40], piece + rest[:1])):
            if driver:
                yield Hostile(head, driver, f"{rest[:-1]}{SPOILT}\n{rest}")


def _parse(pattern: str) -> Any:
    """Parse with the standard library's own parser; ``regex`` allows more (a name twice), so names are dropped."""
    try:
        from re import _parser  # type: ignore[attr-defined]

        return list(_parser.parse(_BACK_REFERENCE.sub("", _GROUP_NAME.sub("(?:", pattern))))
    except (ImportError, re.error, RecursionError, OverflowError):
        return None


def _repeats(items: Sequence[Any], head: str, rest: str) -> Iterator[tuple[str, str, str]]:
    """Give every long repeat: a text that leads to it, what it eats, and a text that would follow."""
    texts = [_one(str(kind), argument) for kind, argument in items]
    for index, (kind, argument) in enumerate(items):
        after = ("".join(texts[index + 1 :]) + rest)[:MAX_LEAD]
        name = str(kind)
        if name.endswith("REPEAT"):
            _, most, inner = argument
            if int(most) >= MANY:
                yield head, _sample(inner), after
            yield from _repeats(list(inner), head, after)
        else:
            for inner in _inside(name, argument):
                yield from _repeats(list(inner), head, after)
        head = (head + texts[index])[-MAX_LEAD:]


def _inside(name: str, argument: Any) -> list[Any]:
    """Give the sequences inside a group, a branch or an assertion."""
    if name == "SUBPATTERN":
        return [argument[-1]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    return [argument] if name == "ATOMIC_GROUP" else []


def _sample(items: Iterable[Any]) -> str:
    """Write a text that the items match, roughly."""
    return "".join(_one(str(kind), argument) for kind, argument in items)


def _one(name: str, argument: Any) -> str:
    if name == "LITERAL":
        return chr(argument)
    if name == "NOT_LITERAL":
        return "a" if argument != ord("a") else "b"
    if name == "ANY":
        return "a"
    if name == "IN":
        return _member(argument)
    if name.endswith("REPEAT"):
        least, most, inner = argument
        return _sample(inner) * min(max(int(least), 1), int(most), 3)
    if name == "BRANCH":
        return _sample(argument[1][0])
    if name == "SUBPATTERN":
        return _sample(argument[-1])
    return _sample(argument) if name == "ATOMIC_GROUP" else ""


def _member(parts: Sequence[Any]) -> str:
    """Choose a character of a set."""
    negated = str(parts[0][0]) == "NEGATE"
    if not negated:
        for kind, argument in parts:
            if str(kind) == "LITERAL":
                return chr(argument)
            if str(kind) == "RANGE":
                return chr(argument[0])
    return next((character for character in _CANDIDATES if _is_in(character, parts) != negated), "a")


_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
    "WORD": lambda character: character.isalnum() or character == "_",
}


def _is_in(character: str, parts: Sequence[Any]) -> bool:
    for kind, argument in parts:
        name = str(kind)
        if name == "LITERAL" and chr(argument) == character:
            return True
        if name == "RANGE" and argument[0] <= ord(character) <= argument[1]:
            return True
        if name == "CATEGORY":
            category = str(argument).removeprefix("CATEGORY_")
            if _CATEGORIES[category.removeprefix("NOT_")](character) != category.startswith("NOT_"):
                return True
    return False
