"""Undoing what terminals, tickets and collectors do to lines, before their prefixes are peeled.

Everything here maps text to text; which line of the file a piece began in is the caller's to remember.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, erase
    r"|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # titles, hyperlinks
    r"|\x1b[P_^X](?!bk;t=)[^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # strings for the terminal
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b(?!_bk;t=)[0-Z\\^-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"  # the same colours in one byte
    r"|[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]"
    r"|.\x08"
)
_DIRTY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\x9b]")
_BUILDKITE = re.compile(r"^\x1b_bk;t=\d+\x07")
_MOVING = re.compile(r"[\d.:,%/|\[\]<>?=#█▏▎▍▌▋▊▉━╸╺─░▒▓\s-]+|(?:[kMGT]?(?:it|B|s)/(?:s|it))")


def without_escapes(text: str) -> str:
    """Without colours, cursor movements, titles and other control characters; tabs stay, and Buildkite's time mark in front."""
    if text.isprintable() or not _DIRTY.search(text):
        return text
    mark = _BUILDKITE.match(text)
    head = mark.group() if mark else ""
    return head + _ESCAPES.sub("", text[len(head) :])


def last_states(text: str) -> list[str]:
    """What a line overwritten by carriage returns shows: of a progress bar its last state, of everything else all of it."""
    if "\r" not in text:
        return [text]
    pieces = [piece for piece in text.split("\r") if piece.strip()]
    kept = [a for a, b in zip(pieces, pieces[1:], strict=False) if not _same_bar(a, b)]
    return (kept + pieces[-1:]) or [""]


def _same_bar(old: str, new: str) -> bool:
    """True where ``new`` is a later state of the bar ``old``: equal but for figures and bar signs."""
    return _MOVING.sub("", old) == _MOVING.sub("", new)


# ---------------------------------------------------------------- hard wraps

COMMON_WIDTHS = frozenset({63, 64, 72, 76, 78, 79, 80, 96, 99, 100, 119, 120, 128, 132, 140, 150, 160, 180, 185, 200})
"""Widths of terminals, tickets and boxes: there a few broken words are proof enough."""
_BEGINNING = re.compile(
    r"\s*(?:Traceback \(most recent|File \"[^\"\s]+)|[=*#─-]{10,}$| {2,}(?!#)\S|\t"
    r"|(?:\[rank\d+\]:)?\[?[VIWECFD]\d{3,4} \d\d:\d\d:\d\d\.\d|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[(?:rank|default)\d+\]:"
)
"""How a new line begins, even where the cut went through its prefix."""
_RULE = re.compile(r"\s*(\S)\1{9,}\s*$|\s*$")


def wrap_width(lines: Sequence[str], begins: Callable[[str], bool]) -> int | None:
    """Width at which the text was cut into lines, or None; ``begins`` knows the start of a message (a prefix)."""
    counts = Counter(len(line) for line in set(lines) if not _RULE.match(line))
    longest_first = sorted((width for width, count in counts.items() if 40 <= width <= 400), reverse=True)
    longer = 0
    for width in longest_first[:2]:
        longer = sum(count for length, count in counts.items() if length > width)
        if longer > max(1, sum(counts.values()) // 50):
            return None
        if _is_width(lines, width, begins):
            return width
    return None


def _is_width(lines: Sequence[str], width: int, begins: Callable[[str], bool]) -> bool:
    """True where lines of exactly this length go on in the next line, often in mid-word."""
    broken_words = split_letters = going_on = beginning = 0
    pairs = [pair for pair in zip(lines, lines[1:], strict=False) if len(pair[0]) == width and not _RULE.match(pair[0])]
    for line, following in {(_masked(line), _masked(following)): (line, following) for line, following in pairs}.values():
        if not following or begins(following) or _BEGINNING.match(following) or _alike(line, following):
            beginning += 1
            continue
        going_on += 1
        broken_words += _is_word(line[-1]) and _is_word(following[0])
        split_letters += line[-1].isalpha() and following[0].islower()
    if broken_words >= 3 and going_on >= 4 and going_on >= 3 * beginning:
        return True
    if width not in COMMON_WIDTHS:
        return False
    return (split_letters >= 1 and going_on >= beginning) or (broken_words >= 1 and going_on >= 2 and going_on >= 4 * beginning)


def _alike(line: str, following: str) -> bool:
    """True where both begin the same but for figures: two entries of a list, not one sentence."""
    return _masked(line[:8]) == _masked(following[:8])


def _masked(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def goes_on(last: str, following: str, width: int, begins: Callable[[str], bool], prefixed: bool) -> str | None:
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

_ESCAPED_BREAK = re.compile(r"(?<!\\)(?:\\r)?\\n")
_FLAT = re.compile(
    r"Traceback \(most recent call last\):(?:\\r)?\\n|\\n\s*File \\?[\"']|\\n\s*frame #\d|\\nException raised from"
    r"|(?:Error|Exception|Exit|Interrupt)\b[^\\\n]{0,2000}\\n|\\n[A-Za-z_][\w.]{0,120}(?:Error|Exception)\b"
)
_LIST = re.compile(r"\[\s*(['\"])(?:Traceback \(most recent call last\)|  File )")
_ON_ONE_LINE = re.compile(r"Traceback \(most recent call last\):\s+File \"")
_FRAME_ON_LINE = re.compile(r"\s*(File \"[^\"\n]+\", line \d+, in (?:<[\w ]+>|[\w.<>]+))\s*")
_EXCEPTION_ON_LINE = re.compile(r"(?<!raise )(?<![\w.])((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Failure)):? ")
_CHAIN_ON_LINE = re.compile(
    r"\s*((?:The above exception was the direct cause of the following exception|During handling of the above exception, another exception occurred):)\s*"
)


def unflattened(text: str) -> list[str]:
    """Lines of a text that was squeezed into one: a list's ``repr``, literal ``\\n``, or blanks in place of line ends."""
    if (match := _LIST.search(text)) and (listed := _from_list(text, match.start())):
        return listed
    if "\\n" in text and not text.startswith("    ") and _FLAT.search(text):
        return [_unescaped(line) for line in _ESCAPED_BREAK.split(text)]
    if match := _ON_ONE_LINE.search(text):
        head = [text[: match.start()].rstrip()] if text[: match.start()].strip() else []
        return head + _from_one_line(text[match.start() :])
    return [text]


def _from_list(text: str, start: int) -> list[str] | None:
    """``['Traceback …:\\n', '  File …\\n', …]`` with what stands before and behind it."""
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
    """A traceback whose line ends became blanks: frames at ``File "…", line n, in f``, the exception behind the last."""
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


# ---------------------------------------------------------------- boxes

BOX = frozenset("│╭╰┃┏┗╔╚║├└┌")
_BOX_TITLE = re.compile(r"[╭┌┏╔][─━═]*\s*Traceback \(most recent call last\)\s*[─━═]*[╮┐┓╗]?\s*$")
_BORDER = re.compile(r"[╭╰┌└┏┗╔╚├][─━═┄\s]*(?:[^─━═╮╯]{0,80}[─━═\s]*)?[╮╯┐┘┓┛╗╝┤]?\s*$")
_BOX_FRAME = re.compile(r"((?:/|[A-Za-z]:\\|<|[\w.-]+/)[^:]*):(\d+) in (.+)$")
_BOX_CODE = re.compile(r"❱ *\d+ (?:[│|] ?)?(.*)$")
_BOX_CONTEXT = re.compile(r"\d+(?: (?:[│|].*|\S.*)?)?$|[│┃╭╰]")


class Boxes:
    """Takes the frames off boxed text, writer by writer, and gives tracebacks inside them their usual form."""

    def __init__(self) -> None:
        self._path: dict[Hashable, str] = {}
        self.width: dict[Hashable, int] = {}
        """Of writers whose last box has just ended: the console's width, at which rich wraps what follows."""

    def open(self, writer: Hashable, text: str) -> list[str]:
        """Plain lines in place of one line of a box (none for a border or a line of context)."""
        if _BOX_TITLE.match(text):
            return ["Traceback (most recent call last):"]
        if _BORDER.match(text):
            if text[0] in "╰└┗╚":
                self.width[writer] = len(text.rstrip())
            return []
        inner = text[1:].rstrip().removesuffix(text[0]).strip()
        return self._inside(writer, inner, text)

    def _inside(self, writer: Hashable, inner: str, text: str) -> list[str]:
        path = self._path.pop(writer, "")
        if path and (frame := _BOX_FRAME.match(path + inner) or _BOX_FRAME.match(f"{path} {inner}")):
            return [f'  File "{frame[1]}", line {frame[2]}, in {frame[3]}']
        if frame := _BOX_FRAME.match(inner):
            return [f'  File "{frame[1]}", line {frame[2]}, in {frame[3]}']
        if code := _BOX_CODE.match(inner):
            return [f"    {code[1].lstrip('│ ').strip()}"]
        if inner.startswith("/") and " " not in inner:
            self._path[writer] = path + inner
            return []
        if not inner or _BOX_CONTEXT.match(inner):
            return []
        return [text[1:].rstrip().removesuffix(text[0]).strip()]


# ---------------------------------------------------------------- lost indentation and doubled lines

_BARE_FRAME = re.compile(r"File \"[^\"]+\", line \d+(?:, in .*)?$")
_TWICE = re.compile(r"Traceback \(most.*Traceback \(mo|TTrraac|T\w{0,3}Tr?a?\w*rac|File \".*File \"|most rec\w*most|\(most \(most")


def is_bare_frame(text: str) -> bool:
    """True for a frame line of a traceback that lost its indentation."""
    return text.startswith('File "') and _BARE_FRAME.match(text) is not None


def halves(text: str) -> list[str]:
    """Two equal lines on one (two processes, no line end between), or two woven letter by letter, as two."""
    half, odd = divmod(len(text), 2)
    if half < 12 or odd:
        return [text]
    if text[:half] == text[half:]:
        return [text[:half], text[half:]]
    if text[::2] == text[1::2]:
        return [text[::2], text[1::2]]
    return [text]


def is_woven(text: str) -> bool:
    """True where pieces of several tracebacks stand in one line and can't be told apart."""
    return _TWICE.search(text) is not None
