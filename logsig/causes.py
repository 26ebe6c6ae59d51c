"""The causal graph of one attempt: which failures nothing else present explains.

Takes stories, gives the roots. An edge goes from a cause to what it accounts for: by a signature's ``explains``, by its
role, by what can follow on the same rank, or by an outside stop that came before.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    standing = [
        event
        for event in candidates
        if not any(other is not event and explains(other, event, catalog) for other in candidates)
    ]
    return standing or candidates[:1]


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
    follows = cause.role == "initiator" and effect.role == "either" and not _is_exit(effect, catalog)
    return "role" if follows else None


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
