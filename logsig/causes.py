"""The causal graph of one attempt: which failures nothing else present explains.

Takes stories, gives the roots. An edge goes from a cause to what it accounts for: by a signature's ``explains``, by its
role, by what can follow on the same rank, or by an outside stop that came before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from logsig.catalog import Catalog
from logsig.model import Event
from logsig.stories import Stories


def roots(stories: Stories, catalog: Catalog) -> list[Event]:
    """Returns, in reading order, the own failures, fatal signals and outside stops that no other one explains."""
    candidates = [
        event
        for story in stories.ranks.values()
        for event in (*story.own, *((story.derived,) if story.derived else ()))
    ]
    candidates += stories.nobody
    candidates.sort(key=lambda event: (event.order, event.signature))
    crowd = _Crowd(candidates, catalog)
    return [event for event in candidates if not crowd.explains(event)] or candidates[:1]


Kind = tuple[str, str, bool]
"""(signature, role, derived): events of one kind differ in who, where and when only."""


class _Crowd:
    """The candidates by rank and by kind, so that thousands of ranks aren't held against one another one by one."""

    def __init__(self, candidates: Sequence[Event], catalog: Catalog) -> None:
        self.catalog = catalog
        self.of_rank: dict[int | None, list[Event]] = defaultdict(list)
        self.of_kind: dict[Kind, list[Event]] = defaultdict(list)
        for event in candidates:
            self.of_rank[event.rank].append(event)
            self.of_kind[_kind(event)].append(event)
        self.first_order = {kind: events[0].order for kind, events in self.of_kind.items()}
        self.first_time: dict[tuple[Kind, str | None], float] = {}
        for event in candidates:
            if event.time is not None:
                place = (_kind(event), event.node)
                self.first_time[place] = min(event.time, self.first_time.get(place, event.time))
        self._able: dict[Kind, list[Kind]] = {}

    def explains(self, event: Event) -> bool:
        """True where another candidate accounts for this one."""
        near = self.of_rank[event.rank] if event.rank is not None else ()
        far = (other for kind in self._kinds_for(event) for other in self.of_kind[kind])
        return any(other is not event and explains(other, event, self.catalog) for other in chain(near, far))

    def _kinds_for(self, event: Event) -> Iterator[Kind]:
        """The kinds of which one may account for it from another rank."""
        kind = _kind(event)
        if kind not in self._able:
            self._able[kind] = [other for other in self.of_kind if self._may_explain(other, kind)]
        for other in self._able[kind]:
            if self._is_declared(other, kind) or self._follows(other, kind) or self._may_precede(other, event):
                yield other

    def _may_explain(self, cause: Kind, effect: Kind) -> bool:
        if self._is_declared(cause, effect) or self._follows(cause, effect):
            return True
        outside = self._example_is_outside(cause)
        return (outside and cause[0] != effect[0]) or (not outside and self._example_is_outside(effect))

    def _is_declared(self, cause: Kind, effect: Kind) -> bool:
        return any(signature == effect[0] for signature, _ in self.catalog.get(cause[0]).explains)

    def _follows(self, cause: Kind, effect: Kind) -> bool:
        return _follows(self.of_kind[cause][0], self.of_kind[effect][0], self.catalog)

    def _example_is_outside(self, kind: Kind) -> bool:
        return is_outside(self.of_kind[kind][0], self.catalog)

    def _may_precede(self, kind: Kind, event: Event) -> bool:
        """False where all of the kind came later, by order and by the clock of the event's node."""
        if self.first_order[kind] < event.order:
            return True
        first = self.first_time.get((kind, event.node))
        return first is not None and event.time is not None and first < event.time


def _kind(event: Event) -> Kind:
    return event.signature, event.role, event.derived


def explains(cause: Event, effect: Event, catalog: Catalog) -> bool:
    """True where the cause accounts for the effect; of two that could explain each other the earlier does."""
    return edge(cause, effect, catalog) is not None


def edge(cause: Event, effect: Event, catalog: Catalog) -> str | None:
    """Returns the rule by which the cause accounts for the effect: ``declared``, ``outside``, ``earlier``, ``role``."""
    if _declared(cause, effect, catalog):
        stands = not _declared(effect, cause, catalog) or cause.order < effect.order
        return "declared" if stands else None
    if _declared(effect, cause, catalog):
        return None
    outside_cause, outside_effect = is_outside(cause, catalog), is_outside(effect, catalog)
    if outside_cause or outside_effect:
        return "outside" if _before(cause, effect) and not (outside_cause and _same_kind(cause, effect)) else None
    if cause.rank is not None and cause.rank == effect.rank:
        return "earlier" if _before(cause, effect) else None
    return "role" if _follows(cause, effect, catalog) else None


def _follows(cause: Event, effect: Event, catalog: Catalog) -> bool:
    """True where the roles alone say so."""
    return cause.role == "initiator" and effect.role == "either" and not _is_exit(effect, catalog)


def _declared(cause: Event, effect: Event, catalog: Catalog) -> bool:
    for signature, reach in catalog.get(cause.signature).explains:
        if signature != effect.signature:
            continue
        if reach == "job" or cause.rank is None or effect.rank is None:
            return True
        if (reach == "same-rank") == (cause.rank == effect.rank):
            return True
    return False


def is_outside(event: Event, catalog: Catalog) -> bool:
    """True for what a scheduler, a launcher, a person or a setting did: its signature accuses no rank."""
    return catalog.get(event.signature).points_at == "nobody" and not event.derived


def _is_exit(event: Event, catalog: Catalog) -> bool:
    """A fatal signal, by report or by a dying process's own words, is nobody's consequence by default."""
    return event.derived or any(name.startswith("exit-") for name in catalog.get(event.signature).match.derived)


def _same_kind(first: Event, second: Event) -> bool:
    return first.signature == second.signature


def _before(first: Event, second: Event) -> bool:
    """By time where both are on one clock and more than a second apart, else by reading order."""
    if (
        first.time is not None
        and second.time is not None
        and first.node == second.node
        and abs(first.time - second.time) > 1.0
    ):
        return first.time < second.time
    return first.order < second.order


def collateral_of(stories: Stories, chosen: Sequence[Event]) -> list[Event]:
    """Returns all events but the chosen causes, in reading order: what the causes account for."""
    kept = {id(event) for event in chosen}
    found = [event for event in stories.events() if id(event) not in kept]
    found += [event for story in stories.ranks.values() for event in story.secondary]
    return sorted(found, key=lambda event: (event.order, event.signature))
