"""Taking prefixes off a line, layer by layer, outermost first; and finding where another writer's text is glued on.

A ``Peeler`` belongs to one file's ``Dialect`` and holds nothing of the log; which patterns to try is ``grammar``'s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from logsig import digits, envelope, pods
from logsig.dialects import NUMBERS, Prefix, fact_of
from logsig.grammar import NEAR, Alternatives, Grammar
from logsig.model import Stamp
from logsig.progress import shape_of
from logsig.record import dataclass

MAX_LAYERS = 12
"""Deeper nesting than any real log has; a bound for hostile lines."""

LEVELS = {
    **dict.fromkeys(("DEBUG", "TRACE", "NOTSET", "VERBOSE", "V", "D", "10", "7"), "D"),
    **dict.fromkeys(("INFO", "SUCCESS", "NOTICE", "I", "20", "6", "5"), "I"),
    **dict.fromkeys(("WARNING", "WARN", "W", "30", "4"), "W"),
    **dict.fromkeys(("ERROR", "ERR", "E", "40", "3"), "E"),
    **dict.fromkeys(("CRITICAL", "FATAL", "PANIC", "EMERG", "ALERT", "CRIT", "C", "F", "50", "2", "1", "0"), "F"),
}
"""Words and letters of loggers, numbers of Python's and of syslog's."""
STREAMS = {"stdout": "stdout", "stderr": "stderr", "O": "stdout", "E": "stderr", "stddiag": "stderr"}
PARTS = {"P": "P", "F": "F", " ": "B", "": "B", "+": "P"}
"""Pieces of a cut line: ``P``: more follows; ``F``: it ends; ``B``: it begins, and ends where the next begins."""


class Peeled(NamedTuple):
    """A line without its prefixes: ``text`` is what remains, ``start`` where it began in the line given."""

    text: str
    start: int
    layers: tuple[str, ...]
    fields: dict[str, Any]


_DATELESS = frozenset({"hms", "uptime"})
NOTHING_PEELED = Peeled("", 0, (), {})


# ---------------------------------------------------------------- what holds for a file


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels a weak dialect was seen with: how they look, and how large their numbers can be."""

    forms: frozenset[str]
    largest: int

    @classmethod
    def of(cls, labels: Iterable[str]) -> Labels:
        """From labels seen; the largest number is taken generously, as only a sample was looked at."""
        seen = Counter(labels)
        often = [label for label, count in seen.items() if count > 1] or list(seen)
        numbers = [digits.number(label) for label in often if label.isdecimal()]
        return cls(frozenset(_form(label) for label in often), 16 * (max(numbers, default=0) + 1))

    def admit(self, label: str) -> bool:
        """True where the label is of the kind seen."""
        return _form(label) in self.forms and not (label.isdecimal() and digits.number(label) > self.largest)


@lru_cache(maxsize=10_000)
def _form(label: str) -> str:
    return re.sub(r"\d+", "0", label)


def label_of(match: re.Match[str], groups: Iterable[int] | None = None) -> str:
    """Who a line says it is from: the first fact it carries, else the whole prefix."""
    values = match.groups() if groups is None else [match[group] for group in groups]
    return next((value for value in values if value), match.group())


@dataclass(frozen=True, slots=True)
class Dialect:
    """What was settled for a whole file."""

    known: Mapping[str, Labels | None] = field(default_factory=dict)
    """Weak dialects it shows throughout, with the labels it uses (None where the labels are line numbers)."""
    label: Literal["rank", "local_rank"] = "rank"
    """What the number of a custom tee template means."""


# ---------------------------------------------------------------- lines alike

PLANS = 4096
"""Shapes of lines (their text with any digit for each) that are remembered. No pattern asks for a certain digit."""

_Step = tuple[Prefix, str, bool, int, int]
"""(prefix, fact, a plain number?, where its value begins and ends in the line)."""


class _Plan(NamedTuple):
    """How a line was peeled, for those of its shape."""

    start: int
    layers: tuple[str, ...]
    steps: tuple[_Step, ...]


class Peeler:
    """Peels the lines of one file."""

    def __init__(self, grammar: Grammar, dialect: Dialect) -> None:
        self.grammar = grammar
        self.dialect = dialect
        self._usable = [p for p in grammar.prefixes if p.consistent is None or p.name in dialect.known]
        with_pattern = [(p, grammar.compiled[p.name]) for p in self._usable if p.pattern]
        self._at_end = [(prefix, pattern) for prefix, pattern in with_pattern if prefix.place == "end"]
        self._glue = [(prefix, pattern, prefix.glue) for prefix, pattern in with_pattern if prefix.glue]
        self._signs = _signs_of([prefix for prefix, _, _ in self._glue])
        self._table = grammar.table(self._usable)
        self._plans: dict[tuple[int, bytes], _Plan] = {}

    def peel(self, line: str, outer: Peeled = NOTHING_PEELED, limit: int = MAX_LAYERS) -> Peeled:
        """Take off the prefixes at the start of ``line``, at most ``limit``; ``outer`` is what was known before it.

        Stops behind a mark that says that the line is only a part of one.
        """
        if outer is not NOTHING_PEELED or len(line) > NEAR:
            return self._peel(line, outer, limit)[0]
        shape = limit, shape_of(line)
        if (plan := self._plans.get(shape)) is not None:
            return self._like(plan, line)
        peeled, steps = self._peel(line, outer, limit)
        if steps is not None and len(self._plans) < PLANS:
            self._plans[shape] = _Plan(peeled.start, peeled.layers, tuple(steps))
        return peeled

    def _like(self, plan: _Plan, line: str) -> Peeled:
        """Peel a line as one was that differed from it in digits only."""
        fields: dict[str, Any] = {}
        for prefix, fact, plain, start, end in plan.steps:
            if plain:
                fields[fact] = int(line[start:end])
            else:
                self._set(fields, prefix, fact, line[start:end])
        return Peeled(line[plan.start :], plan.start, plan.layers, fields)

    def _peel(  # noqa: C901, PLR0912, PLR0915 (the hot loop: a call more per layer costs a fifth)
        self, line: str, outer: Peeled, limit: int
    ) -> tuple[Peeled, list[_Step] | None]:
        """Gives besides where each fact stood, unless more than the shape of the line decided."""
        steps: list[_Step] | None = []
        text, pos = line, 0
        layers = outer.layers
        fields = dict(outer.fields)
        state = self.grammar.state(layers, fields) if fields else 0
        length = len(text)
        known = self.dialect.known
        while pos < length and len(layers) < limit:
            character = text[pos]
            if character == "{":
                steps = None
                opened = envelope.open_line(text[pos:], self.grammar.envelopes)
                if opened is None:
                    break
                self._take(opened, fields)
                text, pos, length = opened.message, 0, len(opened.message)
                layers = (*layers, opened.prefix.name)
                if "\n" in text or ("part" in fields and "part" not in outer.fields):
                    break
                state = self.grammar.state(layers, fields)
                continue
            try:
                alternatives = self._table[state, character]
            except KeyError:
                alternatives = self._alternatives(state, character)
            found = alternatives.find(text, pos) if alternatives is not None else None
            if found is None:
                break
            match, (prefix, layer, groups, bits) = found
            if known and prefix.name in known:
                steps = None
                labels = known[prefix.name]
                if prefix.name in layers or not (labels is None or labels.admit(_label(match, groups))):
                    break
            layers += layer
            state |= bits
            for fact, group, plain, bit in groups:
                value = match[group]
                if not value:
                    continue
                state |= bit
                if steps is not None:
                    steps.append((prefix, fact, plain, *match.span(group)))
                if plain:
                    fields[fact] = int(value)
                else:
                    self._set(fields, prefix, fact, value)
            end = match.end()
            if end == pos or ("part" in fields and "part" not in outer.fields):
                pos = end
                break
            pos = end
            if prefix.unescape:
                steps = None
                text, pos = _xml_text(text[pos:]), 0
                length = len(text)
        rest = text[pos:] if pos else text
        for prefix, pattern in self._at_end:
            if prefix.needs in rest:
                before = layers
                rest, layers = self._without_tail(prefix, pattern, rest, layers, fields)
                steps = steps if layers is before else None
        return Peeled(rest, pos, layers, fields), steps

    def peel_whole(self, line: str) -> Peeled:
        """Take off all prefixes, also behind the mark of a part."""
        peeled = self.peel(line)
        return self.peel(peeled.text, peeled) if "part" in peeled.fields and "\n" not in peeled.text else peeled

    def _without_tail(
        self, prefix: Prefix, pattern: re.Pattern[str], text: str, layers: tuple[str, ...], fields: dict[str, Any]
    ) -> tuple[str, tuple[str, ...]]:
        if prefix.after and not any(tag in layers for tag in prefix.after):
            return text, layers
        found = pattern.search(text, max(0, len(text) - 500))
        if found is None:
            return text, layers
        for name, value in found.groupdict().items():
            if value is not None:
                self._set(fields, prefix, fact_of(name), value)
        return text[: found.start()], (*layers, prefix.name)

    # ------------------------------------------------------------ glued writers

    def may_be_glued(self, text: str) -> bool:
        """A quick look: False where no other writer's text can begin inside ``text``."""
        for bracket, literals in self._signs:
            if bracket in text:
                for literal in literals:
                    if literal in text:
                        return True
        return False

    def glued(self, text: str) -> Iterator[int]:
        """Positions inside ``text`` where another writer's text begins."""
        found: set[int] = set()
        for prefix, pattern, literals in self._glue:
            for literal in literals:
                if literal in text:
                    found.update(self._glue_positions(prefix, pattern, text))
                    break
        behind = 1
        for at in sorted(found):
            if at >= behind:
                yield at
                behind = at + max(1, self.peel(text[at : at + NEAR]).start)

    def _glue_positions(self, prefix: Prefix, pattern: re.Pattern[str], text: str) -> Iterator[int]:
        for match in pattern.finditer(text, 1):
            if self._is_glue(prefix, text, match):
                yield match.start()

    def _is_glue(self, prefix: Prefix, text: str, match: re.Match[str]) -> bool:
        """True where a text written without line end was followed by another writer's; False for a mention."""
        before = text[match.start() - 1]
        if before in "\"'`([{<=\\/":
            return False
        if not before.isspace():
            return prefix.glue_kind == "strong" or before.isalnum() or before in "]).!%"
        rest = text[match.end() : match.end() + NEAR]
        if prefix.glue_kind == "label":
            return _same_beginning(text, rest)
        return rest.startswith("Traceback (most recent") or bool(self.peel(rest).layers)

    # ------------------------------------------------------------ facts

    def _take(self, opened: envelope.Opened, fields: dict[str, Any]) -> None:
        if opened.part is not None:
            fields["part"] = opened.part
        for fact, value in opened.facts.items():
            text = str(value)
            if fact == "time":
                self._set_time(fields, opened.prefix, Stamp(text, _time_format(opened.prefix, value)))
            elif fact not in NUMBERS or (text.isascii() and text.isdecimal() and len(text) < 10):
                self._set(fields, opened.prefix, fact, text)

    def _set(self, fields: dict[str, Any], prefix: Prefix, fact: str, value: str) -> None:
        """One fact of one layer. An inner layer knows better who speaks and when, an outer one where."""
        if fact == "label":
            fields["label"] = fields[self.dialect.label] = int(value)
        elif fact == "nth":
            fields["node_rank"] = int(value) - 1
        elif fact in NUMBERS:
            fields[fact] = int(value)
        elif fact == "time":
            self._set_time(fields, prefix, Stamp(value, prefix.time_format))
        elif fact == "level":
            fields["level"] = LEVELS.get(value.upper())
        elif fact == "stream":
            fields["stream"] = STREAMS.get(value, value)
        elif fact == "part":
            fields["part"] = PARTS[value]
        else:
            fields.setdefault("node", value)
            if fact == "pod" and (index := pods.node_rank(value)) is not None:
                fields["node_rank"] = index

    def _set_time(self, fields: dict[str, Any], prefix: Prefix, stamp: Stamp) -> None:
        """The innermost clock counts, but one without a date can't replace one that has it."""
        if stamp.format not in _DATELESS or "stamp" not in fields:
            fields["stamp"] = stamp
        if prefix.collector:
            fields.setdefault("arrival", stamp)

    def _alternatives(self, state: int, character: str) -> Alternatives | None:
        found = self.grammar.alternatives(self._usable, state, character)
        if len(self._table) < 10_000:
            self._table[state, character] = found
        return found


def _signs_of(prefixes: Sequence[Prefix]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Literals of which glued text holds one, below the bracket that it must hold besides: most lines have none."""
    by_bracket: dict[str, set[str]] = {}
    for prefix in prefixes:
        brackets = [bracket for bracket in "])>" if f"\\{bracket}" in (prefix.pattern or "")]
        for bracket in brackets or [""]:
            by_bracket.setdefault(bracket, set()).update(prefix.glue)
    return tuple((bracket, tuple(sorted(literals))) for bracket, literals in sorted(by_bracket.items()))


def _label(match: re.Match[str], groups: Sequence[tuple[str, int, bool, int]]) -> str:
    return label_of(match, (group for _, group, _, _ in groups))


def _time_format(prefix: Prefix, value: str | float) -> str:
    return prefix.time_format if isinstance(value, str) else "epoch"


def _same_beginning(text: str, rest: str) -> bool:
    """True for ``step=2 … [rank 1] step=2 …``: what follows the label begins as the line does."""
    first, second = re.match(r"[A-Za-z]+", text), re.match(r"[A-Za-z]+", rest)
    return bool(first and second and first.group() == second.group())


def _xml_text(text: str) -> str:
    from html import unescape

    return unescape(re.sub(r"</\w+>$", "", text.rstrip())).removesuffix("\n")
