"""Lines cut at a width put together again; text squeezed into one line, or doubled in it, taken apart.

Maps text to text; which line of the file a piece began in is the caller's to remember.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

from logsig.late import late
from logsig.progress import SHAPES, shape_of

# ---------------------------------------------------------------- hard wraps

COMMON_WIDTHS = frozenset({63, 64, 72, 76, 78, 79, 80, 96, 99, 100, 119, 120, 128, 132, 140, 150, 160, 180, 185, 200})
"""Widths of terminals, tickets and boxes: there a few broken words are proof enough."""
_BEGINNING = late(
    r"\s*(?:Traceback \(most recent|File \"[^\"\s]+)|[=*#─-]{10,}$| {2,}(?!#)\S|\t"
    r"|(?:\[rank\d+\]:)?\[?[VIWECFD]\d{3,4} \d\d:\d\d:\d\d\.\d|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d"
    r"|\[(?:rank|default)\d+\]:"
)
"""How a new line begins, even where the cut went through its prefix."""
_LAST_LETTERS = late(r"[A-Za-z]+$")
_FIRST_LETTERS = late(r"^[a-z]+")
_WORD = late(r"(?<=[^A-Za-z])[A-Za-z]{4,}(?=[^A-Za-z])")
_EXCEPTION = late(r"(?:\w+\.){0,8}\w*(?:Error|Exception): \S")
_RULE = late(r"\s*(\S)\1{9,}\s*$|\s*$")


def wrap_width(lines: Sequence[str], begins: Callable[[str], bool]) -> int | None:
    """Width at which the text was cut into lines, or None; ``begins`` knows the start of a message (a prefix)."""
    counts = Counter(len(line) for line in set(lines) if not _RULE.match(line))
    for width in sorted((width for width in counts if 40 <= width <= 400), reverse=True)[:2]:
        longer = sum(count for length, count in counts.items() if length > width)
        if longer > max(1, sum(counts.values()) // 50):
            return None
        cuts, common = _Cuts(lines, width, begins), width in COMMON_WIDTHS
        if cuts.going_on and cuts.are_a_wrap(common=common, prefixed=common and are_prefixed(lines, begins)):
            return width
    return None


def are_prefixed(lines: Sequence[str], begins: Callable[[str], bool]) -> bool:
    """True where whole lines of this text carry a prefix, so that one without is a rest, or somebody's who has none."""
    return sum(map(begins, lines)) > max(2, 0.3 * len(lines))


class _Cuts:
    """What stands at the ends of lines of one length and at the beginnings of those behind them."""

    def __init__(self, lines: Sequence[str], width: int, begins: Callable[[str], bool]) -> None:
        self.lines = lines
        self.going_on = 0
        """Lines behind that don't look like a beginning …"""
        self.beginning = 0
        """… and that do."""
        self.in_words = self.in_letters = self.at_blanks = self.in_objects = self.in_exceptions = 0
        """Of those that go on: cut in mid-word, between two letters, before a blank, inside a JSON object, between two
        letters of an exception's first line."""
        self.split: set[str] = set()
        """The words cut, whole."""
        full = [pair for pair in pairwise(lines) if len(pair[0]) == width and not _RULE.match(pair[0])]
        for line, following in {(_masked(one), _masked(two)): (one, two) for one, two in full}.values():
            if not following or begins(following) or _BEGINNING.match(following) or _alike(line, following):
                self.beginning += 1
            else:
                self._look_at(line, following)

    def _look_at(self, line: str, following: str) -> None:
        self.going_on += 1
        self.in_words += _is_word(line[-1]) and _is_word(following[0])
        self.at_blanks += following[0] == " " and following[:2] != "  " and line[-1] != " "
        self.in_objects += line.startswith("{") and line[-1] != "}" and following[-1] == "}"
        last, first = _LAST_LETTERS.search(line), _FIRST_LETTERS.match(following)
        if last and first:
            self.in_letters += 1
            self.in_exceptions += bool(_EXCEPTION.match(line))
            self.split.add(last.group() + first.group())

    def are_a_wrap(self, *, common: bool, prefixed: bool) -> bool:
        """True where the text was cut; one cut is enough in mid-object, in a word known from elsewhere, at a prefix.

        At a common width also in an exception's message.
        """
        if self.going_on < self.beginning:
            return False
        if common and self.in_exceptions and self.going_on > self.beginning:
            return True
        if self.in_words >= 3 and self.going_on >= max(4, 3 * self.beginning):
            return True
        if self.in_letters and self.in_words + self.at_blanks >= 2 and self.going_on >= max(3, 3 * self.beginning):
            return True
        if prefixed and (self.in_letters or (self.in_words and self.going_on >= max(2, 4 * self.beginning))):
            return True
        return bool(self.in_objects) or self._splits_a_known_word()

    def _splits_a_known_word(self) -> bool:
        whole = {word for line in self.lines for word in _WORD.findall(line)} if self.split else set()
        return not whole.isdisjoint(self.split)


def _alike(line: str, following: str) -> bool:
    """True where both begin the same but for figures: two entries of a list, not one sentence."""
    return _masked(line[:8]) == _masked(following[:8])


def _masked(text: str) -> bytes:
    """The text with one digit for each number."""
    return _without_sizes(shape_of(text))


@lru_cache(maxsize=SHAPES)
def _without_sizes(shape: bytes) -> bytes:
    return re.sub(rb"0+", b"0", shape)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def goes_on(last: str, following: str, width: int, begins: Callable[[str], bool], *, prefixed: bool) -> str | None:
    """What to put between ``last`` and ``following`` where one line was cut in two there, else None.

    ``prefixed`` says that whole lines of this file carry a prefix, so that a line without one can only go on.
    """
    if not following or _RULE.match(last) or _BEGINNING.match(following) or begins(following):
        return None
    if len(last) == width:
        return ""
    if len(last) == width - 1 and following[0] != " " and (prefixed or following[0].islower()):
        return " "
    return None


# ---------------------------------------------------------------- flattened text

_ESCAPED_BREAK = late(r"(?<!\\)(?:\\r)?\\n")
_FLAT = late(
    r"Traceback \(most recent call last\):(?:\\r)?\\n|\\n\s*File \\?[\"']|\\n\s*frame #\d|\\nException raised from"
    r"|(?:Error|Exception|Exit|Interrupt)\b[^\\\n]{0,300}\\n|\\n[A-Za-z_][\w.]{0,120}(?:Error|Exception)\b"
)
_LIST = late(r"\[\s*(['\"])(?:Traceback \(most recent call last\)|  File )")
_ON_ONE_LINE = late(r"Traceback \(most recent call last\):\s+File \"")
_FRAME_ON_LINE = late(r"(File \"[^\"\n]+\", line \d+, in (?:<[\w ]+>|[\w.<>]+))\s*")
_EXCEPTION_ON_LINE = late(
    r"(?<!raise )(?<![\w.])((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Failure)):? "
)
_CHAIN_ON_LINE = late(
    r"((?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):)\s*"
)


def unflattened(text: str) -> list[str]:
    """Lines of a text squeezed into one: a list's ``repr``, backslash and ``n``, or blanks in place of line ends."""
    if (match := _LIST.search(text)) and (listed := _from_list(text, match.start())):
        return listed
    if "\\n" in text and not text.startswith("    ") and _FLAT.search(text) and not _is_data(text):
        return [_unescaped(line) for line in _ESCAPED_BREAK.split(text)]
    if match := _ON_ONE_LINE.search(text):
        head = [text[: match.start()].rstrip()] if text[: match.start()].strip() else []
        return head + _from_one_line(text[match.start() :])
    return [text]


def _is_data(text: str) -> bool:
    """True for a whole JSON object that is nobody's log line (samples of an evaluation): what it quotes isn't said."""
    if not (text.startswith("{") and text.rstrip().endswith("}")) or '"message"' in text:
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _from_list(text: str, start: int) -> list[str] | None:
    """``['Traceback …', '  File …', …]`` with what stands before and behind it."""
    end = text.rfind("]") + 1
    if end <= start:
        return None
    try:
        items = ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    joined = "".join(item if item.endswith("\n") else f"{item}\n" for item in items if isinstance(item, str))
    lines = joined.rstrip("\n").split("\n")
    head, tail = text[:start].strip(), text[end:].strip()
    return [*([head] if head else []), *lines, *([tail] if tail else [])]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(?:([\"'\\/])|t)", lambda match: match[1] or "\t", text)


def _from_one_line(text: str) -> list[str]:
    """A traceback whose line ends became blanks: frames at ``File "…", line n, in f``, the exception behind them."""
    lines: list[str] = []
    for number, part in enumerate(_CHAIN_ON_LINE.split(text)):
        if number % 2:
            lines += ["", part, ""]
        elif part.strip():
            lines += _frames_of_one_line(part)
    return lines


def _frames_of_one_line(text: str) -> list[str]:
    pieces = _FRAME_ON_LINE.split(text)
    lines = [pieces[0].strip()]
    for frame, code in zip(pieces[1::2], pieces[2::2], strict=True):
        lines.append(f"  {frame}")
        exception = None if code is not pieces[-1] else _EXCEPTION_ON_LINE.search(f"{code} ")
        source = code[: exception.start()] if exception else code
        if source.strip():
            lines.append(f"    {source.strip()}")
        if exception:
            lines.append(code[exception.start() :].strip())
    return lines


# ---------------------------------------------------------------- doubled lines

_TWICE = late(
    r"Traceback \(most.*Traceback \(mo|TTrraac|T\w{0,3}Tr?a?\w*rac|File \".*File \"|most rec\w*most|\(most \(most"
)


_PIECEWISE = late(r"(?P<type>[\w.]{3,100})(?P=type): : (?P<said>.{8,4000})")
"""Two exceptions' last lines, written piece by piece at once: ``KeyErrorKeyError: : 'a''a'``."""


def halves(text: str) -> list[str]:
    """Two equal lines on one (two processes, no line end between), or two woven by letter or piece, as two."""
    if ": : " in text and (both := _PIECEWISE.fullmatch(text)):
        said = both["said"]
        if (second := said.find(said[:8], 8)) > 0:
            return [f"{both['type']}: {said[:second]}", f"{both['type']}: {said[second:]}"]
    half, odd = divmod(len(text), 2)
    if half < 10 or odd:
        return [text]
    for one, other in ((text[:half], text[half:]), (text[::2], text[1::2])):
        if one == other and len(set(text)) >= 5:
            return [one, other]
    return [text]


def is_woven(text: str) -> bool:
    """True where pieces of several tracebacks stand in one line and can't be told apart."""
    return _TWICE.search(text) is not None
