"""What the rules of ``first`` take and give: a ``Case`` in, a ``Verdict`` out; and ranks in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from logsig.catalog import Catalog, Entry
from logsig.model import MAX_WORLD, Confidence, Event, Grade, LedgerGroup, LogLine, Scope
from logsig.record import dataclass
from logsig.stories import Stories, Story, peers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one attempt's log says about the cause and the first rank."""

    root: Event | None = None
    others: tuple[Event, ...] = ()
    rank: int | None = None
    confidence: Confidence | None = None
    grade: Grade | None = None
    scope: Scope = "unknown"
    candidates: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    """Ranks on which the root cause stands."""
    because: tuple[str, ...] = ()
    suspects: tuple[int, ...] = ()
    groups: tuple[LedgerGroup, ...] = ()
    ledger_decided: bool = False
    finding: str | None = None
    """A finding of the analysis that stands for the cause (``early-exit`` …)."""
    line: LogLine | None = None
    """The line on which a finding stands, where no event carries it."""
    doubts: tuple[str, ...] = ()
    """What the reader must know of how far the log goes."""
    may_be_caught: bool = False
    """The cause is an exception that the program perhaps survived."""
    skew: Mapping[str, float] = field(default_factory=dict)
    """Seconds added per clock where clocks of several nodes were compared."""


@dataclass(slots=True)
class Case:
    """All that the rules look at."""

    stories: Stories
    catalog: Catalog
    world_size: int | None
    roots: list[Event] = field(default_factory=list)
    groups: tuple[LedgerGroup, ...] = ()

    @property
    def ranks(self) -> set[int]:
        """Ranks that exist: named anywhere, or implied by the world size."""
        known = set(self.stories.ranks)
        if self.world_size and self.world_size <= MAX_WORLD:
            known |= set(range(self.world_size))
        return known

    @property
    def peers(self) -> set[int]:
        """Ranks that show only what reached them from others."""
        return peers_of(self.stories.ranks)

    def story(self, rank: int | None) -> Story | None:
        """Gives the story of a rank the log names."""
        return self.stories.ranks.get(rank) if rank is not None else None

    def entry(self, event: Event) -> Entry:
        """Gives the signature of an event."""
        return self.catalog.get(event.signature)

    def quiet(self) -> set[int]:
        """Ranks without any failure of their own or from others."""
        return {rank for rank in self.ranks if not _has_events(self.stories.ranks.get(rank))}

    def has_table(self) -> bool:
        """True where torchrun's failure table is in the log."""
        return any(item.witness == "elastic-child-failed" for item in self.stories.attempt.exits)

    def waiting_event(self, suspects: Collection[int] = ()) -> Event | None:
        """Gives the event that says what the job waited for: the best known kind, earliest; outside stops last.

        What an earlier one declares to explain is not what it waited for, and what ``suspects`` say themselves comes
        after what those say that waited for them.
        """
        roles = ("either", "collateral", "witness")
        events = [
            event
            for event in self.stories.events()
            if event.role in roles and not (event.role == "collateral" and self.entry(event).family == "launcher")
        ]

        def rank(event: Event) -> tuple[bool, int, bool, bool, int]:
            entry = self.entry(event)
            is_suspect = event.rank in suspects
            return entry.points_at == "nobody", roles.index(event.role), entry.match.net, is_suspect, event.order

        begins: dict[str, int] = {}
        for event in events:
            for signature, _ in self.entry(event).explains:
                begins[signature] = min(event.order, begins.get(signature, event.order))
        events = [event for event in events if begins.get(event.signature, event.order) >= event.order] or events
        return min(events, key=rank, default=None)


def _has_events(story: Story | None) -> bool:
    return story is not None and bool(story.own or story.peer or story.derived or story.secondary)


def ranks_of(events: Iterable[Event]) -> tuple[int, ...]:
    """Gives the global ranks of events, ascending."""
    return tuple(sorted({event.rank for event in events if event.rank is not None}))


def in_order(events: Iterable[Event]) -> tuple[int, ...]:
    """Gives the global ranks of events in the order they were printed."""
    ordered = sorted(events, key=lambda event: event.order)
    return tuple(dict.fromkeys(event.rank for event in ordered if event.rank is not None))


def list_ranks(ranks: Sequence[int]) -> str:
    """Puts ranks into a sentence: ``0, 1 and 5``; runs of three and more are folded, long lists cut."""
    parts: list[str] = []
    ordered = sorted(ranks)
    index = 0
    while index < len(ordered):
        end = index
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        run = ordered[index : end + 1]
        parts.extend([f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(rank) for rank in run])
        index = end + 1
    if len(parts) > 12:
        parts = [*parts[:11], f"{len(parts) - 11} more"]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else "none"


def name_ranks(ranks: Sequence[int]) -> str:
    """Puts ranks into a sentence with their noun: ``rank 3``, ``ranks 0, 1 and 5``."""
    return f"rank{'s' if len(ranks) != 1 else ''} {list_ranks(ranks)}"
