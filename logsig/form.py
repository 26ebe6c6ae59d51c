"""What a file as a whole shows: which weak dialects it speaks, and whether its lines were cut at a width.

Takes windows of consecutive lines as a sample. Settled once per file, before any line is read in earnest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from logsig import clocks, rejoin
from logsig.peeling import MAX_LAYERS, Dialect, Peeled, Peeler
from logsig.prefix import Prefixes
from logsig.record import dataclass

_TRACEBACK = ("Traceback (most recent call last)", '  File "')

Windows = Sequence[Sequence[str]]
Peel = Callable[[str], Peeled]

MIN_SHARED = 5
"""Lines without which no text counts as one that all share."""
LONGEST = 100
"""Characters that such a text has at most."""
LATENCY = 2.0
"""Seconds that a collector may be behind."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one file."""

    dialect: Dialect
    width: int | None = None
    """Columns at which its lines were cut."""
    depth: int = 0
    """How many outer layers every line carries, the pieces of cut lines too."""
    prefixed: bool = False
    """Many whole lines carry a prefix behind those layers."""
    two_clocks: bool = False
    """The collector's clock and the processes' own differ, so that one can't stand in for the other."""


def peeled_once(prefixes: Prefixes) -> Peel:
    """Peels without any weak dialect and remembers what it gave: a sample is looked at several times."""
    return cache(prefixes.peeler().peel_whole)


def settle(windows: Windows, prefixes: Prefixes, plain: Peel) -> Form:
    """The form of a file, from windows of consecutive lines; ``plain`` is ``peeled_once``."""
    lines = [line for window in windows for line in window]
    dialect = prefixes.decide(lines, plain)
    peeler = prefixes.peeler(dialect)
    peel = cache(peeler.peel_whole) if dialect.known else plain
    form = _wrapping(lines, peeler, peel)
    if form.width and not form.depth:
        again = prefixes.decide(_rejoined(windows, _begins(peel), form), plain)
        if again.known.keys() != dialect.known.keys():
            peeler = prefixes.peeler(again)
            form = _wrapping(lines, peeler, peeler.peel_whole)
    return replace(form, two_clocks=_differ([peel(line).fields for line in lines]))


def _differ(said: Sequence[Mapping[str, Any]]) -> bool:
    """True where lines that carry both clocks show them more than ``LATENCY`` apart (a zone, mostly)."""
    pairs = [
        (f["arrival"], f["stamp"]) for f in said if f.get("arrival") is not None and f["arrival"] is not f["stamp"]
    ]
    year = clocks.year_of(stamp for pair in pairs for stamp in pair)
    found = [(clocks.seconds(arrival, year), clocks.seconds(stamp, year)) for arrival, stamp in pairs]
    apart = [there - here for here, there in found if here is not None and there is not None]
    return bool(apart) and abs(_median(apart)) > LATENCY


def _median(values: Sequence[float]) -> float:
    """The middle one (``statistics`` is slow to import)."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def beginnings(peeler: Peeler) -> Callable[[str], bool]:
    """Knows the start of a message: it carries a prefix."""
    return _begins(peeler.peel)


def _begins(peel: Peel) -> Callable[[str], bool]:
    return lambda text: bool(peel(text).layers)


def _wrapping(lines: Sequence[str], peeler: Peeler, peel: Peel) -> Form:
    begins = _begins(peel)
    if len(lines) > 2:
        for depth in dict.fromkeys((0, _common_depth([peel(line) for line in lines if line]))):
            texts = [_behind(depth, line, peeler, peel) for line in lines] if depth else lines
            if width := rejoin.wrap_width(texts, begins):
                return Form(peeler.dialect, width, depth, rejoin.are_prefixed(texts, begins))
    return Form(peeler.dialect)


def _behind(depth: int, line: str, peeler: Peeler, peel: Peel) -> str:
    """The text behind so many layers."""
    whole = peel(line)
    return whole.text if len(whole.layers) <= depth else peeler.peel(line, limit=depth).text


def _common_depth(peeled: Sequence[Peeled]) -> int:
    """How many leading layers nearly all lines share."""
    depth = 0
    most = 1 if any("part" in one.fields for one in peeled) else MAX_LAYERS
    while peeled and depth < most:
        (layers, count), *_ = Counter(one.layers[: depth + 1] for one in peeled).most_common(1)
        if len(layers) <= depth or count < 0.9 * len(peeled):
            break
        depth += 1
    return depth


def _rejoined(windows: Windows, begins: Callable[[str], bool], form: Form) -> list[str]:
    """The sample with its cut lines put together."""
    joined: list[str] = []
    for window in windows:
        last: str | None = None
        for line in window:
            glue = None if last is None else rejoin.goes_on(last, line, form.width or 0, begins, prefixed=form.prefixed)
            if glue is None:
                joined.append(line)
            else:
                joined[-1] += glue + line
            last = line
    return joined


def constant(windows: Windows, prefixes: Prefixes, plain: Peel) -> str:
    """The text that some collector puts before every line (``stdout: ``, ``- ``); empty where there is none.

    A text that no dialect knows is one only if nearly every line has it and the lines show far more behind it than
    before: what a program itself writes before each of its lines (``step ``) hides nothing.
    """
    lines = [line for window in windows for line in window if line.strip()]
    if len(lines) < MIN_SHARED:
        return ""
    return _label_around(lines, prefixes, plain) or _unknown(lines, prefixes, plain)


def _label_around(lines: Sequence[str], prefixes: Prefixes, plain: Peel) -> str:
    """The one task label that all lines carry (``[1,0]<stdout>:``), where others speak behind it: a launcher's own."""
    if not (shared := _shared(lines)):
        return ""
    known = plain(lines[0])
    if known.layers and "task" not in known.fields:
        return ""
    first = prefixes.peeler(prefixes.decide(lines, plain)).peel(lines[0], limit=1)
    label = lines[0][: first.start]
    if "task" not in first.fields or not shared.startswith(label.rstrip()):
        return ""
    behind = [line[len(label) :] for line in lines]
    peel = prefixes.peeler(prefixes.decide(behind, plain)).peel_whole
    said = [peel(line).fields for line in behind]
    inner = {fields.get("rank", fields.get("task")) for fields in said} - {None, first.fields["task"]}
    return label if inner else ""


def _unknown(lines: Sequence[str], prefixes: Prefixes, plain: Peel) -> str:
    mark, count = Counter(line[0] for line in lines).most_common(1)[0]
    if count < 0.95 * len(lines):
        return ""
    shared = _shared([line for line in lines if line[0] == mark])
    candidates = [shared[: at + 1] for at, character in enumerate(shared) if character == " "]
    if not candidates:
        return ""
    few, many = 0.1 * len(lines), max(3, 0.15 * len(lines))
    if sum(bool(plain(line).layers) for line in lines) > few:
        return ""
    gains = {text: sum(_tells(line[len(text) :], plain) for line in lines) for text in candidates}
    best = max(candidates, key=lambda text: (gains[text], -len(text)))
    if gains[best] < many:
        return ""
    known = prefixes.peeler(prefixes.decide(lines, plain)).peel_whole
    before = sum(bool(known(line).layers) for line in lines)
    return best if before <= few and gains[best] >= max(many, before + 0.15 * len(lines)) else ""


def _tells(text: str, plain: Peel) -> bool:
    return text.startswith(_TRACEBACK) or bool(plain(text).layers)


def _shared(lines: Sequence[str]) -> str:
    """The text that all lines begin with, as far as ``LONGEST``."""
    first, last = min(lines), max(lines)
    size = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[: min(size, LONGEST)]
