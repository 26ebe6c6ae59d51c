"""Finds the signatures in messages: literals over all cleaned text at once, patterns on candidates only.

Takes messages and the catalog, gives matched messages with facts. Decides which signature a message *is* when several
fit (more specific ones win by ``over`` and ``net``, never by order of files), and where a text is only quoted. Knows
nothing of ranks and causes.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from logsig import digits
from logsig.engine import Engine
from logsig.late import late
from logsig.model import LogLine, Message, Writer
from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.catalog import Catalog, Entry, Pattern

PATTERN_SECONDS = 0.25
"""Time limit of one pattern on one message. A pattern that needs longer is given up and said in ``doubts``."""
MAX_TEXT = 16_384
"""Characters of one message that patterns see; more is cut."""
_ROLE_ORDER = {"initiator": 0, "either": 1, "collateral": 2, "notice": 3, "witness": 4}

_LEAD = late(
    r"""^[^\w\#/>]{0,3}(?:
        (?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Failed|Timeout|Closed|Fault)?\w*:\s+
      | (?:ERROR|Error|error|FATAL|Fatal|fatal|CRITICAL|Exception|Warning|WARNING|WARN|E|F)\s?[:\]|-]\s*
      | \[[^\]\n]{0,160}\]:?\s*
      | what\(\):\s+
      | (?:C\+\+\s)?exception\ from:\s
      | (?:std::exception|in\ worker\ process\ \d+|Original\ error|Caused\ by|caused\ by|Reason|reason
          |Message|message|Last\ error|last\ error)\s?[:=]?\s*
      | \w[\w .,()/-]{0,50}(?:[Ee]rror|[Ff]ailed|[Ff]ailure|[Ee]xception|[Cc]rashed|[Cc]aught
          |[Rr]aised|[Aa]borted|[Tt]erminated)\b[\w .()/-]{0,40}[:=]\s+
      | (?:[Rr]ank|RANK|[Pp]rocess|[Ww]orker|[Gg]pu|GPU)\s?\#?\d+\s?[:|,-]\s*
    )*(?:(?:[A-Za-z_]\w*\.)+|\W{0,2})$  # the module of a bare exception name, or little""",
    re.VERBOSE,
)
"""What may stand on the line before an error that speaks for itself."""
_HEARSAY = late(
    r"\b(?:if|when|whether|hint|note|notes|see|e\.g|expect\w*|example|help|usage|todo|fix\w*|avoid|about|test_\w+|"
    r"like|such as)\b",
    re.IGNORECASE,
)
_COMMENT = late(r"\s*(?:#|//)\s")
_OPEN_QUOTE = late(r"""[`'"“\u2018]\s*$""")


@dataclass(frozen=True, slots=True)
class Matched:
    """A message that one signature recognised."""

    entry: Entry
    message: Message
    link: Message
    """The link of the message's exception chain that matched; most messages have but one."""
    facts: Mapping[str, Any]
    line: LogLine
    """The line on which the match begins."""
    order: int
    """Index of the message among all messages."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How the clauses of one signature fared on one message, up to the one that failed."""

    span: tuple[int, int] | None = None
    """What matched, where every clause held."""
    facts: dict[str, Any] = field(default_factory=dict)
    forbidden: tuple[int, int] | None = None
    """What an ``unless`` pattern found."""
    quoted: tuple[int, ...] = ()
    """Where matches begin that don't speak for themselves."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A signature that fits a message and isn't what the message is."""

    hit: Matched
    to: Matched
    rule: str
    """``over``, ``net``, ``notice``, ``role``, ``literal`` (the longer), ``name``, or ``chain`` (raised earlier)."""


@dataclass(frozen=True, slots=True)
class Matches:
    """All that was recognised, in reading order; what gave way; and what could not be tried to the end."""

    found: tuple[Matched, ...]
    doubts: tuple[str, ...]
    losses: tuple[Loss, ...] = ()


def match(messages: Sequence[Message], catalog: Catalog, engine: Engine) -> Matches:
    """Returns what each message is: at most one failure or notice, and any testimony besides."""
    return Matcher(messages, catalog).run(engine)


class Matcher:
    """Tries signatures on messages."""

    def __init__(self, messages: Sequence[Message], catalog: Catalog) -> None:
        self.messages = messages
        self.catalog = catalog
        self.gave_up: set[str] = set()

    @cached_property
    def neighbours(self) -> _Neighbours:
        """What stands before and behind each message: few signatures ask."""
        return _Neighbours(self.messages)

    def run(self, engine: Engine) -> Matches:
        """Finds what every message is."""
        found: list[Matched] = []
        losses: list[Loss] = []
        for order, ids in self.candidates(engine):
            message = self.messages[order]
            entries = [self.catalog.get(name) for name in sorted(ids)]
            hits = (self._hits(entries, message, link, order) for link in (*message.caused_by, message))
            found.extend(choose([settle(link, losses) for link in hits], losses))
        doubts = tuple(
            f"the pattern of {name} took too long on a line and was given up there" for name in sorted(self.gave_up)
        )
        return Matches(tuple(found), doubts, tuple(losses))

    def candidates(self, engine: Engine) -> Iterator[tuple[int, set[str]]]:
        """Message index -> ids of which a literal stands in it, in order of index."""
        texts = [searchable(message).encode("utf-8", "replace") for message in self.messages]
        starts, position = [], 0
        for text in texts:
            starts.append(position)
            position += len(text) + 1
        ids: dict[int, set[str]] = defaultdict(set)
        for literal, end in engine.find(b"\0".join(texts)):
            ids[bisect_right(starts, end - 1) - 1].update(self.catalog.by_literal[literal])
        for order, message in enumerate(self.messages):
            if message.raised and message.exception:
                ids[order].update(self.traceback_nets)
        yield from sorted(ids.items())

    @cached_property
    def traceback_nets(self) -> tuple[str, ...]:
        """Nets that take every traceback, though its first line is no part of the message's text."""
        return tuple(
            name
            for name, entry in self.catalog.signatures.items()
            if entry.match.net and any("Traceback" in literal for literal in entry.match.literals)
        )

    # ------------------------------------------------------------ one signature, one message

    def _hits(self, entries: Sequence[Entry], message: Message, link: Message, order: int) -> list[Matched]:
        """The signatures that fit one link of an exception chain (most messages have one).

        A traceback that torch's own hook printed ended its process, whatever its message says of going on.
        """
        hits = []
        ended = message.fatal and bool(link.frames) and link is message
        for entry in entries:
            if ended and entry.role == "notice":
                continue
            trial = self.trial(entry, link)
            if trial.span is not None:
                self._enrich(entry, link, order, trial.facts)
                hits.append(Matched(entry, message, link, trial.facts, line_at(link, trial.span[0]), order))
        return hits

    def trial(self, entry: Entry, message: Message) -> Trial:
        """Asks the clauses of a signature of one message: ``unless``, ``pattern``, ``where``."""
        patterns = self.catalog.patterns(entry.id)
        text = message.text[:MAX_TEXT]
        for pattern in patterns.unless:
            if hit := self._search(entry, pattern, text):
                return Trial(forbidden=hit.span())
        if not patterns.pattern:
            return self._literal_alone(entry, text)
        best: Trial | None = None
        quoted: list[int] = []
        for pattern in patterns.pattern:
            for hit in self._all(entry, pattern, text):
                if not self._speaks(entry, text, hit.start()):
                    quoted.append(hit.start())
                    continue
                facts = convert(hit.groupdict(), entry.captures)
                if best is None:
                    best = Trial(hit.span(), facts)
                else:
                    for name, value in facts.items():
                        best.facts.setdefault(name, value)
                break
        return best or Trial(quoted=tuple(quoted))

    def _literal_alone(self, entry: Entry, text: str) -> Trial:
        """Without a pattern the first literal confirms."""
        spans = [(at, at + len(literal)) for literal in entry.match.literals if (at := text.find(literal)) >= 0]
        if not spans:
            return Trial()
        first = min(spans)
        return Trial(first) if self._speaks(entry, text, first[0]) else Trial(quoted=first[:1])

    def _speaks(self, entry: Entry, text: str, position: int) -> bool:
        lead = text[text.rfind("\n", 0, position) + 1 : position]
        if entry.match.where == "anywhere":
            return not _COMMENT.match(lead) and not (_OPEN_QUOTE.search(lead) and _HEARSAY.search(lead))
        return speaks(lead)

    def _search(self, entry: Entry, pattern: Pattern, text: str) -> Any:
        try:
            return pattern.search(text, timeout=PATTERN_SECONDS)
        except TimeoutError:
            self.gave_up.add(entry.id)
            return None

    def _all(self, entry: Entry, pattern: Pattern, text: str) -> Iterator[Any]:
        try:
            for count, hit in enumerate(pattern.finditer(text, timeout=PATTERN_SECONDS)):
                if count >= 8:
                    return
                yield hit
        except TimeoutError:
            self.gave_up.add(entry.id)

    def _enrich(self, entry: Entry, message: Message, order: int, facts: dict[str, Any]) -> None:
        """Adds captures from what stands around the message; never changes those of the message itself."""
        patterns = self.catalog.patterns(entry.id)
        sources: list[tuple[Sequence[Any], str]] = []
        if patterns.follow:
            sources.append(
                (
                    patterns.follow,
                    message.text[:MAX_TEXT] + "\n" + self.neighbours.after(order, entry.match.follow_lines),
                )
            )
        if patterns.before:
            sources.append((patterns.before, self.neighbours.before(order, entry.match.before_lines)))
        if patterns.frames:
            sources.append((patterns.frames, frames_text(message)))
        for group, text in sources:
            for pattern in group:
                hit = self._search(entry, pattern, text)
                if hit:
                    for name, value in convert(hit.groupdict(), entry.captures).items():
                        facts.setdefault(name, value)


def settle(hits: list[Matched], losses: list[Loss] | None = None) -> list[Matched]:
    """Chooses what a message is: notices silence, nets give way, ``over`` decides; testimony stands beside.

    Whatever gives way is added to ``losses``.
    """
    told: list[Loss] = [] if losses is None else losses
    over = {name: hit for hit in hits for name in hit.entry.match.over}
    witnesses = [hit for hit in hits if hit.entry.role == "witness"]
    rest = _without([hit for hit in hits if hit.entry.role != "witness"], over, "over", told)
    if rest:
        witnesses = _without(witnesses, over, "over", told)
    stronger = next(iter([*(hit for hit in rest if not hit.entry.match.net), *witnesses]), None)
    if stronger is not None:
        rest = _without(rest, {hit.entry.id: stronger for hit in rest if hit.entry.match.net}, "net", told)
    notices = [hit for hit in rest if hit.entry.role == "notice"]
    if notices:
        quietest = min(notices, key=lambda hit: hit.entry.id)
        others = [hit for hit in (*rest, *witnesses) if hit is not quietest]
        _without(others, {hit.entry.id: quietest for hit in others}, "notice", told)
        return [quietest]
    winner = min(rest, key=_rank_of_hit, default=None)
    if winner is None:
        return witnesses
    told.extend(Loss(hit, winner, _decisive(winner, hit)) for hit in rest if hit is not winner)
    return [winner, *witnesses]


def _without(hits: list[Matched], stronger: Mapping[str, Matched], rule: str, losses: list[Loss]) -> list[Matched]:
    """Gives the hits that no stronger one beats, and notes the others."""
    losses.extend(Loss(hit, stronger[hit.entry.id], rule) for hit in hits if hit.entry.id in stronger)
    return [hit for hit in hits if hit.entry.id not in stronger]


def choose(links: Sequence[list[Matched]], losses: list[Loss] | None = None) -> list[Matched]:
    """Picks the link of an exception chain that counts: what was raised first, unless it is a mere step on the way.

    A peer error raised first makes what was raised while handling it secondary, and the other way round. A general
    first link (``queue.Empty``, ``KeyError``) gives way to a known cause further on.
    """
    witnesses = [hit for link in links for hit in link if hit.entry.role == "witness"]
    winners = [hit for link in links for hit in link if hit.entry.role != "witness"]
    first = winners[0] if winners else None
    if first is not None and first.entry.match.net:
        first = next((hit for hit in winners if not hit.entry.match.net and hit.entry.role == "initiator"), first)
    if losses is not None and first is not None:
        losses.extend(Loss(hit, first, "chain") for hit in winners if hit is not first)
    return [*([first] if first else []), *witnesses]


def _decisive(winner: Matched, loser: Matched) -> str:
    """Names the first measure in which two hits differ."""
    pairs = zip(("role", "literal", "name"), _rank_of_hit(winner), _rank_of_hit(loser), strict=True)
    return next((rule for rule, mine, other in pairs if mine != other), "name")


def _rank_of_hit(hit: Matched) -> tuple[int, int, str]:
    longest = max((len(literal) for literal in hit.entry.match.literals if literal in hit.link.text), default=0)
    return (_ROLE_ORDER[hit.entry.role], -longest, hit.entry.id)


def speaks(lead: str) -> bool:
    """True where an error may begin after this text: nothing, an exception's name, a logger's lead-in; no quotation."""
    if not lead.strip():
        return True
    if len(lead) > 400 or _OPEN_QUOTE.search(lead) or _HEARSAY.search(lead):
        return False
    return bool(_LEAD.match(lead))


def frames_text(message: Message) -> str:
    """The frames as text that ``frames`` patterns see: ``path:line:function`` and the source line, outermost first."""
    return "\n".join(f"{frame.path}:{frame.line}:{frame.function}\n    {frame.code}" for frame in message.frames)


def searchable(message: Message) -> str:
    """Gives the text in which literals are looked for: the message, and the earlier links of its chain."""
    parts = [link.text[:MAX_TEXT] for link in message.caused_by]
    return "\n".join((*parts, message.text[:MAX_TEXT]))


def line_at(message: Message, position: int) -> LogLine:
    """Gives the line on which a position of the message's text stands."""
    index = message.head + message.text.count("\n", 0, position)
    return message.lines[min(index, len(message.lines) - 1)]


class _Neighbours:
    """The messages of each writer in order, for ``before`` and ``follow``."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.of: dict[Writer, list[int]] = defaultdict(list)
        self.place: list[tuple[Writer, int]] = []
        for order, message in enumerate(messages):
            writer = message.lines[-1].writer
            self.place.append((writer, len(self.of[writer])))
            self.of[writer].append(order)

    def after(self, order: int, lines: int) -> str:
        writer, at = self.place[order]
        return self._text(self.of[writer][at + 1 : at + 1 + lines], lines)

    def before(self, order: int, lines: int) -> str:
        writer, at = self.place[order]
        return self._text(self.of[writer][max(0, at - lines) : at], lines)

    def _text(self, orders: Iterable[int], lines: int) -> str:
        texts: list[str] = []
        for order in orders:
            texts.extend(line.text for line in self.messages[order].lines)
            if len(texts) >= lines:
                break
        return "\n".join(texts[:lines])[:MAX_TEXT]


# ---------------------------------------------------------------- facts

_UNITS = {
    "": 1,
    "b": 1,
    "bytes": 1,
    "byte": 1,
    "kb": 1 << 10,
    "kib": 1 << 10,
    "mb": 1 << 20,
    "mib": 1 << 20,
    "gb": 1 << 30,
    "gib": 1 << 30,
    "tb": 1 << 40,
    "tib": 1 << 40,
}
_FLOAT = late(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_NUMBER = late(r"^\s*([\d.]+)\s*([A-Za-z]*)")
_SECONDS = {
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "second": 1.0,
    "ms": 0.001,
    "milliseconds": 0.001,
    "min": 60.0,
    "minutes": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "hours": 3600.0,
}


def convert(groups: Mapping[str, str | None], types: Mapping[str, str]) -> dict[str, Any]:
    """Turns captured text into facts of their declared type; what can't be read as its type stays away."""
    facts = {}
    for name, text in groups.items():
        if text is None:
            continue
        value = _as(types.get(name, "str"), text)
        if value is not None:
            facts[name] = value
    return facts


def _as(kind: str, text: str) -> Any:
    if kind == "flag":
        return True
    if kind == "int":
        whole = text.strip().replace(",", "")
        return int(whole) if re.fullmatch(r"[+-]?\d{1,20}", whole) else None
    if kind == "float":
        return _finite(float(text)) if _FLOAT.fullmatch(text) else None
    if kind == "ints":
        return [digits.number(number) for number in re.findall(r"-?\d+", text)][:512]
    if kind == "strs":
        parts = (part.strip("\"'.") for part in re.split(r"[,\s]+", text.strip().strip("[]")))
        return [part for part in parts if part][:512]
    if kind == "bytes":
        return _scaled(text, _UNITS, int)
    if kind == "secs":
        return _scaled(text, _SECONDS, float)
    return text.strip()[:2000]


def _scaled(text: str, units: Mapping[str, float], number: type) -> Any:
    found = _NUMBER.match(text.replace(",", ""))
    if not found or found[1].count(".") > 1 or found[1] == ".":
        return None
    unit = found[2].lower()
    amount = _finite(float(found[1]) * units[unit]) if unit in units else None
    return None if amount is None else number(amount)


def _finite(value: float) -> float | None:
    """No more digits than a float holds: neither JSON nor a whole number can say what is infinite."""
    return value if math.isfinite(value) else None
