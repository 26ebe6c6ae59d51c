"""Why a signature won or didn't: the same steps as a diagnosis, told for one signature, clause by clause.

Takes a scan, the catalog and an id; gives ``Why``: per message that could have been it, each clause and its answer.
Judges nothing itself: it asks ``match``, ``stories``, ``causes`` and ``diagnosis`` and puts their answers into words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from logsig import causes, judging, match
from logsig.catalog import Catalog, Entry
from logsig.judging import Judged
from logsig.match import Loss, Matched, Matcher, Trial
from logsig.model import Event, LogLine, Message, Scan
from logsig.reach import reach
from logsig.record import dataclass
from logsig.stories import Stories
from logsig.understand import Understood, understand
from logsig.verdict import name_ranks

MAX_SHOWN = 6
"""Messages that are told one by one; more of the same fate are counted."""
MAX_QUOTED = 100


@dataclass(frozen=True, slots=True)
class Clause:
    """One question that was asked, and its answer."""

    name: str
    holds: bool
    says: str


@dataclass(frozen=True, slots=True)
class Trail:
    """One message, from its literal to the root cause, or to the clause that ended it."""

    line: LogLine
    clauses: tuple[Clause, ...]
    count: int = 1
    """How many messages went the same way."""


@dataclass(frozen=True, slots=True)
class Why:
    """The answer for one signature and one log."""

    signature: str
    title: str
    is_root: bool
    conclusion: str
    literals: tuple[Clause, ...]
    trails: tuple[Trail, ...]
    untold: int = 0
    """Messages whose way isn't told."""


def why(identity: str, seen: Scan, catalog: Catalog) -> Why:
    """Follows one signature through a log."""
    files = tuple(dict.fromkeys(origin.path for origin in seen.origins))
    return _Inquiry(identity, seen, catalog, understand(seen.excerpts, catalog, files, seen.doubts)).answer()


class _Inquiry:
    def __init__(self, identity: str, seen: Scan, catalog: Catalog, understood: Understood) -> None:
        self.entry: Entry = catalog.get(identity)
        self.seen = seen
        self.catalog = catalog
        self.messages = understood.messages
        self.matches = understood.matches
        self.matcher = Matcher(understood.messages, catalog)
        self.judged = judging.judge(understood.job, catalog)
        self.telling = judging.telling(self.judged)
        self.events = [event for attempt in understood.job.attempts for event in attempt.events]

    def answer(self) -> Why:
        candidates = [order for order, ids in self.matcher.candidates(self.catalog.engine()) if self.entry.id in ids]
        trails = [trail for order in candidates for trail in self._trails(self.messages[order])]
        shown = _folded(sorted(trails, key=_progress))
        is_root = self._root_id() == self.entry.id
        return Why(
            self.entry.id,
            self.entry.title,
            is_root,
            self._conclusion(is_root, trails),
            (*self._literals(candidates), *self._findings()),
            tuple(shown[:MAX_SHOWN]),
            sum(trail.count for trail in shown[MAX_SHOWN:]),
        )

    # ------------------------------------------------------------ before any message

    def _literals(self, candidates: Sequence[int]) -> Iterator[Clause]:
        """Says of each literal how often it was read, and in how many messages it stands once they are cleaned."""
        if self.entry.id in self.matcher.traceback_nets:
            yield Clause("literal", bool(candidates), f"takes every traceback: {_many(len(candidates), 'message')}")
            return
        texts = [match.searchable(self.messages[order]) for order in candidates]
        unseen = []
        for literal in self.entry.match.literals:
            count = sum(literal in text for text in texts)
            raw = self.seen.hits.get(literal, 0)
            if count or raw:
                yield Clause("literal", count > 0, f"{literal!r} stands in {_many(count, 'message')}{_raw(raw, count)}")
            else:
                unseen.append(literal)
        if len(unseen) == len(self.entry.match.literals) and unseen:
            yield Clause("literal", False, f"nowhere in the log: {', '.join(map(repr, unseen))}")
            yield from self._pattern_alone()

    def _pattern_alone(self) -> Iterator[Clause]:
        """A message that the pattern alone would take shows its author which literal is missing."""
        if not self.entry.match.pattern:
            return
        for message in self.messages:
            trial = self.matcher.trial(self.entry, message)
            if trial.span is not None:
                where = _place(match.line_at(message, trial.span[0]))
                yield Clause("pattern", True, f"would match {where}, but none of its literals stands there")
                return

    def _findings(self) -> Iterator[Clause]:
        """Says of what no message shows, but the analysis finds, whether it did."""
        found = [event for item in self.judged for event in self._found_in(item)]
        for event in found:
            yield Clause("finding", True, f"the analysis found it: {_whose(event)}, {_place(event.line)}")
        if self.entry.match.derived and not found:
            yield Clause("finding", False, f"the analysis found no {' or '.join(self.entry.match.derived)}")

    def _found_in(self, item: Judged) -> Iterator[Event]:
        """Events of this signature that no match made: an exit by a signal, a hang, the true nature of a timeout."""
        matched = {id(event.line) for event in self.events if event.signature == self.entry.id}
        made = {id(event): event for event in (*_derived(item.stories), item.verdict.root) if event is not None}
        for event in made.values():
            if event.signature == self.entry.id and id(event.line) not in matched:
                yield event

    # ------------------------------------------------------------ one message

    def _trails(self, message: Message) -> Iterator[Trail]:
        """Follows every link of the message's exception chain that holds a literal, or fits."""
        links = (*message.caused_by, message)
        trials = [(link, self.matcher.trial(self.entry, link)) for link in links]
        telling = [(link, trial) for link, trial in trials if trial.span or self._literal_in(link)]
        for link, trial in telling or trials[-1:]:
            literal = self._literal_in(link)
            at = trial.span[0] if trial.span else link.text.find(literal) if literal else 0
            line = match.line_at(link, at)
            yield Trail(line, tuple(self._clauses(message, link, trial)))

    def _literal_in(self, link: Message) -> str:
        return next((literal for literal in self.entry.match.literals if literal in link.text), "")

    def _clauses(self, message: Message, link: Message, trial: Trial) -> Iterator[Clause]:
        text = link.text[: match.MAX_TEXT]
        if trial.forbidden is not None:
            yield Clause(
                "unless", False, f"the message holds {_quote(text[slice(*trial.forbidden)])}, which rules it out"
            )
            return
        if unless := self.entry.match.unless:
            yield Clause("unless", True, f"none of {len(unless)} stands in it" if len(unless) > 1 else "isn't in it")
        if trial.span is None and not trial.quoted:
            yield Clause("pattern", False, self._how_far(text))
            return
        if trial.span is None:
            yield Clause("where", False, self._spoken(text, trial.quoted[0]))
            return
        yield Clause("pattern", True, f"matches {_quote(text[slice(*trial.span)])}")
        yield Clause("where", True, self._voice(text, trial.span[0]))
        yield from self._rivals(message, link)
        matched = self._matched(message, link)
        if matched is not None:
            yield from self._fate(matched)

    def _how_far(self, text: str) -> str:
        if not self.entry.match.pattern:
            return "no literal stands in this link of the exception chain"
        far = reach(self.entry.match.pattern, text)
        if not far.matched:
            return f"not even its beginning is in {_quote(text)}"
        end = _quote(far.instead) if far.instead else "its end"
        return f"gets as far as {_quote_end(far.matched)}, then wants {_cut(far.missing)} where the message has {end}"

    def _voice(self, text: str, at: int) -> str:
        lead = _lead(text, at)
        if self.entry.match.where == "anywhere":
            return "may stand anywhere on the line"
        return f"an error speaks, after {_quote_end(lead)}" if lead.strip() else "an error speaks, at the line's start"

    def _spoken(self, text: str, at: int) -> str:
        lead = _lead(text, at)
        return f"no error speaks here: the match follows {_quote_end(lead)}"

    def _rivals(self, message: Message, link: Message) -> Iterator[Clause]:
        """Says to which signature it gave way on the message, or which gave way to it."""
        losses = [loss for loss in self.matches.losses if loss.hit.message is message]
        lost = [loss for loss in losses if loss.hit.entry.id == self.entry.id and loss.hit.link is link]
        if lost:
            yield Clause("rival", False, f"gives way to {lost[0].to.entry.id}: {_rule(lost[0])}")
            return
        won = [loss for loss in losses if loss.to.entry.id == self.entry.id and loss.to.link is link]
        for loss in won:
            yield Clause("rival", True, f"stands before {loss.hit.entry.id}: {_rule(loss)}")

    def _matched(self, message: Message, link: Message) -> Matched | None:
        for hit in self.matches.found:
            if hit.entry.id == self.entry.id and hit.message is message and hit.link is link:
                return hit
        return None

    # ------------------------------------------------------------ one event

    def _fate(self, matched: Matched) -> Iterator[Clause]:
        """From the matched message to the root cause."""
        event = next((item for item in self.events if _is(item, matched.line, self.entry.id)), None)
        if event is None:
            yield Clause("event", False, "the same rank had printed the same often before: it was only counted")
            return
        item = next(one for one in self.judged if one.stories.attempt.number == event.attempt)
        event, place = _placed(item.stories, event)
        facts = ", ".join(f"{name} {value!s:.40}" for name, value in event.facts.items() if name in self.entry.captures)
        attempt = f", attempt {event.attempt}" if len(self.judged) > 1 else ""
        yield Clause("event", True, f"counts for {_whose(event)}{attempt}" + (f" with {facts}" if facts else ""))
        yield from self._standing(event, place, item)

    def _standing(self, event: Event, place: str, item: Judged) -> Iterator[Clause]:
        root = item.verdict.root
        if root is not None and _is(root, event.line, self.entry.id):
            yield from self._as_root(item)
        elif place == "own" and _stands_on(item, event):
            said = f"the root cause stands on {name_ranks(item.verdict.failed)}; this is one of them"
            yield Clause("root", True, said)
        elif place in _ASIDE:
            yield Clause(_ASIDE[place][0], False, self._aside(place))
        else:
            yield from self._explained(event, place, item)
            yield Clause("root", False, self._instead(item))

    def _aside(self, place: str) -> str:
        says = _ASIDE[place][1]
        return f"{says}: {self.entry.harmless}" if place == "notice" and self.entry.harmless else says

    def _as_root(self, item: Judged) -> Iterator[Clause]:
        """Nothing explains it: why it, and not another."""
        yield Clause("explained", True, "by nothing else in this attempt")
        if item is not self.telling:
            number = self.telling.stories.attempt.number
            yield Clause("root", False, f"the cause of this attempt, but the answer is told by attempt {number}")
            return
        yield Clause("root", True, " ".join(("the root cause.", *item.verdict.because)))

    def _explained(self, event: Event, place: str, item: Judged) -> Iterator[Clause]:
        """Says which other event accounts for it, by the edges that the analysis draws."""
        others = _candidates(item)
        edges = [(other, causes.edge(other, event, self.catalog)) for other in others if other.line is not event.line]
        drawn = [(other, rule) for other, rule in edges if rule is not None]
        if drawn:
            other, rule = min(drawn, key=lambda pair: (pair[0] is not item.verdict.root, pair[0].order))
            where = f"{other.signature} ({_whose(other)}, {_place(other.line)})"
            yield Clause("explained", False, f"by {where}: {_EDGES[rule]}")
        elif place == "secondary":
            yield Clause("explained", False, "by what the same rank had met before: it follows from that")
        elif place == "peer":
            yield Clause("explained", False, "its rank only tells of another: a cause where nobody failed by itself")
        else:
            yield Clause("explained", True, "by nothing else in this attempt")

    def _instead(self, item: Judged) -> str:
        verdict = item.verdict
        if verdict.root is None:
            return f"no cause is named; the outcome of the attempt is {item.outcome}"
        same = verdict.root.signature == self.entry.id
        what = f"the same signature, {_whose(verdict.root)}" if same else verdict.root.signature
        return " ".join((f"the cause is {what} ({_place(verdict.root.line)}).", *verdict.because))

    # ------------------------------------------------------------ conclusion

    def _root_id(self) -> str | None:
        root = self.telling.verdict.root
        return root.signature if root is not None else None

    def _conclusion(self, is_root: bool, trails: Sequence[Trail]) -> str:
        name, root = self.entry.id, self._root_id()
        if is_root:
            return f"{name} is the root cause."
        instead = f"The root cause is {root}." if root else "No root cause was found."
        if not trails:
            return f"{name} didn't match. {instead}"
        best = max(trails, key=_progress_of)
        failed = next((clause.name for clause in best.clauses if not clause.holds), None)
        return f"{name} {_ENDED.get(failed or '', 'matched and did not become the cause')}. {instead}"


# ---------------------------------------------------------------- where an event stands

_ASIDE = {
    "recovered": ("recovered", "the run went on after it, so it isn't counted as a failure"),
    "witness": ("role", "testimony about a failure, never a cause where anything else is in the log"),
    "notice": ("role", "a notice is never a cause"),
    "repeated": ("repeated", "the same failure again, as a copy without a rank: counted once"),
}
_EDGES = {
    "declared": "that signature's explains names this one",
    "outside": "one of them came from outside of the ranks, and it was there before",
    "earlier": "the same rank had failed before",
    "role": "a failure of its own on another rank accounts for what only waits or loses a peer",
}
_RULES = {
    "over": "declared more specific (over)",
    "net": "a general net gives way",
    "notice": "a notice says that the message is harmless",
    "role": "a role nearer to the cause",
    "literal": "the longer literal, where nothing else decides",
    "name": "the earlier id, where nothing else decides",
    "chain": "raised earlier in the same exception chain",
}
_ENDED = {
    "unless": "was ruled out by what else stands in the message",
    "pattern": "didn't match: its literal is there, its pattern isn't",
    "where": "didn't match: its words are only quoted",
    "rival": "gave way to another signature on the same message",
    "event": "matched, and was only counted",
    "recovered": "matched, and the run recovered from it",
    "repeated": "matched a copy of a failure",
    "role": "matched; its role is never a cause",
    "explained": "matched, and another event explains it",
    "root": "matched, and something else was judged the cause",
}


def _rule(loss: Loss) -> str:
    return _RULES[loss.rule]


def _is(event: Event, line: LogLine, signature: str) -> bool:
    return event.line is line and event.signature == signature


def _stands_on(item: Judged, event: Event) -> bool:
    """True for the same failure on another rank."""
    root = item.verdict.root
    return root is not None and root.signature == event.signature and event.rank in item.verdict.failed


def _derived(stories: Stories) -> list[Event]:
    found = [story.derived for story in stories.ranks.values() if story.derived is not None]
    return [*found, *(event for event in stories.nobody if event.derived)]


def _candidates(item: Judged) -> list[Event]:
    """The events that may account for another: all that count, and the chosen cause."""
    root = item.verdict.root
    return [*item.stories.events(), *([root] if root is not None else [])]


def _placed(stories: Stories, event: Event) -> tuple[Event, str]:
    """Finds the event in its attempt's stories, where it may have been given a rank."""
    places: list[tuple[str, Iterable[Event]]] = [
        *((name, getattr(story, name)) for story in stories.ranks.values() for name in ("own", "peer", "secondary")),
        ("nobody", stories.nobody),
        ("peer", stories.loose_peer),
        ("recovered", stories.recovered),
        ("witness", stories.witnesses),
        ("notice", stories.notices),
    ]
    for place, events in places:
        for item in events:
            if _is(item, event.line, event.signature):
                return item, place
    return event, "repeated"


# ---------------------------------------------------------------- words


def _place(line: LogLine) -> str:
    return f"{line.source.path}:{line.source.line}"


def _whose(event: Event) -> str:
    return name_ranks([event.rank]) if event.rank is not None else "no rank that is known"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}" if count else f"no {noun}"


def _raw(raw: int, count: int) -> str:
    return f" (read {_many(raw, 'time')})" if raw and raw != count else ""


def _lead(text: str, at: int) -> str:
    """Gives what stands on the line before a position."""
    return text[text.rfind("\n", 0, at) + 1 : at]


def _quote(text: str) -> str:
    return repr(_cut(text))


def _quote_end(text: str) -> str:
    return repr(text if len(text) <= MAX_QUOTED else "…" + text[1 - MAX_QUOTED :])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"


def _progress_of(trail: Trail) -> tuple[int, bool]:
    return len(trail.clauses), trail.clauses[-1].holds


def _progress(trail: Trail) -> tuple[int, bool]:
    """Sorts the trails that got furthest first; the sort keeps the order of the log among equals."""
    length, holds = _progress_of(trail)
    return -length, not holds


def _folded(trails: Sequence[Trail]) -> list[Trail]:
    """Puts trails together that ended alike."""
    groups: dict[tuple[object, ...], list[Trail]] = defaultdict(list)
    for trail in trails:
        fate = tuple((clause.name, clause.holds) for clause in trail.clauses)
        groups[fate, trail.clauses[-1].says].append(trail)
    return [replace(group[0], count=len(group)) for group in groups.values()]
