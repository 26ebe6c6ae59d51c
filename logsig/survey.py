"""What the library looks like as a whole: rivals, rules that decide by chance, fragile examples, hot literals.

Takes the catalog, the whole line as functions, and healthy logs; gives a ``Survey``. Nothing in it is a fault as such
(those are ``check``'s); it shows an author where the library is thin, double, or costly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from logsig.catalog import Catalog, Sample
from logsig.check import Line, told_by
from logsig.model import Diagnosis, Excerpt, Origin, Scan
from logsig.record import dataclass
from logsig.understand import Understood, understand

MEGABYTE = 1 << 20
SETTLED = ("over", "net", "notice", "role", "chain")
"""Rules by which an overlap is settled on purpose; the others (``literal``, ``name``) are chance."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two signatures of which the first never fits a message that the second doesn't fit, too."""

    first: str
    second: str
    messages: int
    both: bool
    """True where the same holds the other way round."""
    rules: tuple[str, ...]
    """By which rules they were settled; empty where both stand side by side."""


@dataclass(frozen=True, slots=True)
class Chance:
    """An overlap that neither role nor ``over`` settles."""

    winner: str
    loser: str
    rule: str
    sample: str


@dataclass(frozen=True, slots=True)
class Drop:
    """What an example means once one of its lines is gone."""

    signature: str
    sample: str
    line: int
    before: str | None
    after: str | None
    evidence: bool
    """True where the line carried the message itself."""


@dataclass(frozen=True, slots=True)
class Heat:
    """How often a literal was seen in healthy logs."""

    literal: str
    signatures: tuple[str, ...]
    count: int
    per_megabyte: float


@dataclass(frozen=True, slots=True)
class Alarm:
    """A healthy log in which a failure is seen."""

    path: str
    outcome: str
    signatures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """All that was found."""

    samples: int
    never: tuple[str, ...]
    """Signatures that come out of no sample of the whole library."""
    never_root: tuple[str, ...]
    """Initiators that are the root cause in none of their own examples."""
    pairs: tuple[Pair, ...]
    chances: tuple[Chance, ...]
    drops: tuple[Drop, ...]
    healthy_bytes: int
    heat: tuple[Heat, ...]
    alarms: tuple[Alarm, ...]


Scanner = Callable[[Sequence[str], Sequence[str]], Scan]
"""Reads paths for literals."""
Analyst = Callable[[Sequence[str], Catalog], Diagnosis]
"""Diagnoses the log at some paths."""


def survey(catalog: Catalog, line: Line, healthy: Sequence[str], scan: Scanner, analyze: Analyst) -> Survey:
    """Looks at the whole library."""
    readings = [_Reading(name, sample, catalog) for name, sample in _samples(catalog)]
    roots = {reading.sample: _winner(reading, line, catalog) for reading in readings if reading.is_example}
    seen = {name for reading in readings for name in reading.events}
    seen |= {name for winner in roots.values() for name in winner.told}
    own_roots = {
        reading.signature for reading in readings if roots.get(reading.sample, _NONE).root == reading.signature
    }
    heat, size = _heat(catalog, healthy, scan)
    return Survey(
        len(readings),
        tuple(name for name in catalog.signatures if name not in seen),
        tuple(
            name for name, entry in catalog.signatures.items() if entry.role == "initiator" and name not in own_roots
        ),
        tuple(_pairs(readings, catalog)),
        tuple(_chances(readings)),
        tuple(drop for reading in readings if reading.is_example for drop in _drops(reading, line, catalog, roots)),
        size,
        heat,
        tuple(_alarms(catalog, healthy, analyze)),
    )


# ---------------------------------------------------------------- samples


def _samples(catalog: Catalog) -> Iterator[tuple[str, Sample]]:
    for name in catalog.signatures:
        proof = catalog.proof(name)
        yield from ((name, sample) for sample in (*proof.examples, *proof.counterexamples))


class _Reading:
    """One sample read: which signatures fit which of its messages, and who gave way to whom."""

    def __init__(self, signature: str, sample: Sample, catalog: Catalog) -> None:
        self.signature = signature
        self.sample = f"{signature}/{sample.name}"
        self.log = sample.log
        self.is_example = sample.why is None
        excerpt = Excerpt(Origin("<text>"), 1, 0, sample.log.encode("utf-8", "surrogatepass"), "head")
        understood = understand((excerpt,), catalog, ("<text>",))
        self.events = {event.signature for attempt in understood.job.attempts for event in attempt.events}
        self.losses = [(loss.hit.entry.id, loss.to.entry.id, loss.rule) for loss in understood.matches.losses]
        self.fits = self._fits(understood)
        self.evidence = {
            line.source.line
            for hit in understood.matches.found
            if hit.entry.id == signature
            for line in hit.message.lines
        }

    def _fits(self, understood: Understood) -> dict[int, set[str]]:
        fits: dict[int, set[str]] = defaultdict(set)
        for hit in (*understood.matches.found, *(loss.hit for loss in understood.matches.losses)):
            fits[hit.order].add(hit.entry.id)
        return fits


@dataclass(frozen=True, slots=True)
class _Winner:
    root: str | None
    told: frozenset[str]
    spoke: bool
    """The example's own signature is among the events or causes."""

    def name(self, own: str) -> str | None:
        """Give what a reader would be told: the root cause, else the example's own signature where it spoke."""
        return self.root or (own if self.spoke else None)


_NONE = _Winner(None, frozenset(), spoke=False)


def _winner(reading: _Reading, line: Line, catalog: Catalog) -> _Winner:
    return _judged(reading.log, reading.signature, line, catalog)


def _judged(log: str, own: str, line: Line, catalog: Catalog) -> _Winner:
    diagnosis = line.analyze_text(log, catalog)
    told = told_by(diagnosis)
    root = diagnosis.root_cause.signature if diagnosis.root_cause else None
    spoke = own in told or (root is None and own in {event.signature for event in line.match_text(log, catalog)})
    return _Winner(root, frozenset(told), spoke)


# ---------------------------------------------------------------- overlaps


def _pairs(readings: Sequence[_Reading], catalog: Catalog) -> Iterator[Pair]:
    """Gives the signatures that never fit alone; a general net beside a specific one is meant so."""
    fires: dict[str, set[tuple[int, int]]] = defaultdict(set)
    rules: dict[frozenset[str], set[str]] = defaultdict(set)
    for at, reading in enumerate(readings):
        for order, names in reading.fits.items():
            for name in names:
                fires[name].add((at, order))
        for loser, winner, rule in reading.losses:
            rules[frozenset((loser, winner))].add(rule)
    for first, places in sorted(fires.items()):
        for second, others in sorted(fires.items()):
            if first == second or not places <= others or catalog.get(second).match.net:
                continue
            both = places == others
            if not both or first < second or catalog.get(first).match.net:
                yield Pair(first, second, len(places), both, tuple(sorted(rules[frozenset((first, second))])))


def _chances(readings: Sequence[_Reading]) -> Iterator[Chance]:
    told: set[tuple[str, str, str]] = set()
    for reading in readings:
        for loser, winner, rule in reading.losses:
            key = (min(winner, loser), max(winner, loser), rule)
            if rule not in SETTLED and key not in told:
                told.add(key)
                yield Chance(winner, loser, rule, reading.sample)


# ---------------------------------------------------------------- one line less


def _drops(reading: _Reading, line: Line, catalog: Catalog, roots: dict[str, _Winner]) -> Iterator[Drop]:
    """Drops each line once and gives every change of winner."""
    before = roots[reading.sample].name(reading.signature)
    rows = reading.log.splitlines(keepends=True)
    for at in range(len(rows)):
        log = "".join(rows[:at] + rows[at + 1 :])
        after = _judged(log, reading.signature, line, catalog).name(reading.signature)
        if after != before:
            yield Drop(reading.signature, reading.sample, at + 1, before, after, at + 1 in reading.evidence)


# ---------------------------------------------------------------- healthy logs


def _heat(catalog: Catalog, healthy: Sequence[str], scan: Scanner) -> tuple[tuple[Heat, ...], int]:
    if not healthy:
        return (), 0
    seen = scan(healthy, [literal.decode() for literal in catalog.literals])
    size = sum(seen.sizes.values())
    users = dict(zip((literal.decode() for literal in catalog.literals), catalog.by_literal, strict=True))
    found = [
        Heat(literal, users[literal], count, count * MEGABYTE / max(1, size)) for literal, count in seen.hits.items()
    ]
    return tuple(sorted(found, key=lambda heat: (-heat.count, heat.literal))), size


def _alarms(catalog: Catalog, healthy: Sequence[str], analyze: Analyst) -> Iterator[Alarm]:
    for path in healthy:
        diagnosis = analyze([path], catalog)
        told = tuple(sorted(told_by(diagnosis)))
        if told:
            yield Alarm(path, diagnosis.outcome, told)
