"""Names the rank that failed first, with a grade and the sentences that led there; or says that the log doesn't decide.

Takes stories, roots and the ledger, gives a ``Verdict``. Each rule is a function that decides or passes on; the first that decides counts.
The rules are those of careful readers (first-rank-rules), in the order of their weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from logsig import causes, hang, ledger
from logsig import skew as clocks_of_nodes
from logsig.catalog import Catalog
from logsig.model import Confidence, Event, Grade, LedgerGroup, LogLine, Scope
from logsig.stories import Stories, Story, is_agents, kind, peers_of
from logsig.witness import NAMES

MISMATCHES = {"ddp-model-mismatch": ("count", "shape"), "collective-mismatch": ("op", "shape")}
"""Signatures that compare two ranks -> captures that hold this side's value (the other side's has ``other_`` before it)."""


@dataclass(frozen=True, slots=True)
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
        if self.world_size and self.world_size <= 65_536:
            known |= set(range(self.world_size))
        return known

    @property
    def peers(self) -> set[int]:
        return peers_of(self.stories.ranks)

    def quiet(self) -> set[int]:
        """Ranks without any failure of their own or from others."""
        return {rank for rank in self.ranks if (story := self.stories.ranks.get(rank)) is None or not (story.own or story.peer or story.derived or story.secondary)}


def decide(stories: Stories, catalog: Catalog, world_size: int | None) -> Verdict:
    """Returns the verdict of the first rule that applies; an empty one where nothing failed."""
    case = Case(stories, catalog, world_size)
    case.roots = causes.roots(stories, catalog)
    case.groups = ledger.build(stories.attempt.events, stories.ranks, world_size)
    for rule in RULES:
        verdict = rule(case)
        if verdict is not None:
            return replace(verdict, groups=case.groups, others=_others(case, verdict))
    return Verdict(groups=case.groups)


def _others(case: Case, verdict: Verdict) -> tuple[Event, ...]:
    """Independent initiators after the first, one of each kind."""
    if verdict.root is None or verdict.scope == "all-ranks":
        return ()
    seen, found = {kind(verdict.root)}, []
    for event in case.roots:
        if event is not verdict.root and kind(event) not in seen:
            seen.add(kind(event))
            found.append(event)
    return tuple(found[:5])


# ---------------------------------------------------------------- rules on initiators


def _mismatch(case: Case) -> Verdict | None:
    """In a comparison that ranks report of one another, the minority value marks the rank (rule 7)."""
    found = [event for event in case.roots if event.signature in MISMATCHES]
    rest = [event for event in case.roots if event.signature not in MISMATCHES and case.catalog.get(event.signature).points_at == "speaker"]
    if not found or rest:
        return None
    first = found[0]
    failed = _ranks(found)
    votes, complete = _votes(found)
    counts = Counter(votes.values())
    if len(counts) > 1:
        (common, most), *rest_counts = counts.most_common()
        odd = sorted(rank for rank, value in votes.items() if value != common)
        if len(odd) == 1 and most > 1:
            return Verdict(
                first, (), odd[0], "high", "A", "one-rank", (), failed,
                (f"Rank {odd[0]} has {_shown(votes[odd[0]])}, the other {most} ranks that are named have {_shown(common)}: the minority diverged.",),
            )  # fmt: skip
        if rest_counts and most > rest_counts[0][1] and len(odd) > 1:
            return Verdict(first, (), None, None, None, "several-ranks", tuple(odd), failed, (f"Ranks {list_ranks(odd)} differ from the {most} others.",))
        pair = sorted(votes)
        return Verdict(
            first, (), None, None, None, "unknown", tuple(pair), failed,
            (f"Ranks {list_ranks(pair)} disagree ({' against '.join(_shown(value) for value in counts)}); no majority tells which is wrong.",),
        )  # fmt: skip
    if first.signature == "ddp-model-mismatch" and not complete:
        return _against_zero(case, first, failed)
    if failed and set(failed) >= case.ranks and len(failed) > 1:
        return Verdict(first, (), None, None, None, "all-ranks", failed, failed, ("Every rank reports the mismatch; the log shows no minority.",))
    return Verdict(first, (), failed[0] if len(failed) == 1 and first.signature == "ddp-model-mismatch" else None, "low" if len(failed) == 1 else None,
                   "E" if len(failed) == 1 else None, "unknown", failed, failed, ("The mismatch was reported, but not which side diverged.",))  # fmt: skip


def _votes(events: Iterable[Event]) -> tuple[dict[int, Any], bool]:
    """rank -> value it has, as itself and its counterparts say."""
    votes: dict[int, Any] = {}
    complete = False
    for event in events:
        names = MISMATCHES[event.signature]
        facts = event.facts
        own = tuple(facts.get(name) for name in names)
        other = tuple(facts.get("other_" + name) for name in names)
        rank = facts.get("rank", event.rank)
        if rank is not None and any(value is not None for value in own):
            votes[int(rank)] = own
        if facts.get("peer_rank") is not None and any(value is not None for value in other):
            complete = True
            votes.setdefault(int(facts["peer_rank"]), other)
    return votes, complete


def _shown(value: tuple[Any, ...]) -> str:
    return " ".join(str(part) for part in value if part is not None)


def _against_zero(case: Case, first: Event, failed: tuple[int, ...]) -> Verdict:
    """“Not the sizes of process 0” is raised by the odd rank only if another non-zero rank passed; if all raise, it is rank 0."""
    others = {rank for rank in case.ranks if rank != 0}
    if len(failed) == 1 and len(others) > 1:
        return Verdict(first, (), failed[0], "high", "A", "one-rank", (), failed, (f"Only rank {failed[0]} differs from process 0; other ranks passed the same comparison.",))
    if set(failed) >= others and len(others) > 1:
        return Verdict(first, (), 0, "high", "B", "one-rank", (), failed, ("Every other rank differs from process 0: rank 0 is the odd one.",))
    if len(failed) > 1:
        return Verdict(first, (), None, None, None, "several-ranks", failed, failed, (f"Ranks {list_ranks(failed)} differ from process 0.",))
    return Verdict(first, (), None, None, None, "unknown", (0, *failed), failed, ("Two ranks disagree; the log doesn't show which one is wrong.",))


def _outside(case: Case) -> Verdict | None:
    """A scheduler, a launcher, a person or a setting stopped the job before any rank failed by itself."""
    outside = [event for event in case.roots if causes.is_outside(event, case.catalog) or (event.rank is None and case.catalog.get(event.signature).family == "launcher")]
    if not outside or len(outside) != len(case.roots):
        return None
    if (stopped := _hung_before(case, outside)) is not None:
        return stopped
    first = min(outside, key=lambda event: (case.catalog.get(event.signature).match.net, event.order))
    copies = sum(1 for event in case.stories.attempt.events if event.signature == first.signature and not is_agents(event))
    if copies > 1 and case.catalog.get(first.signature).family == "launcher" and copies >= len(case.ranks) / 2:
        every = tuple(sorted(case.ranks))
        return Verdict(first, (), None, None, None, "all-ranks", every, every, (f"The same error was printed {copies} times, by every rank it could be: a fault of the command or its settings.",))
    return Verdict(first, (), None, None, None, "not-a-rank", (), _ranks([first]), ("No rank failed by itself before this: the cause lies outside of the ranks.",))


def _hung_before(case: Case, outside: Sequence[Event]) -> Verdict | None:
    """An outside stop long after the last step ended a hang; it didn't cause the failure."""
    first = min(outside, key=lambda event: event.order)
    found = hang.find(case.stories, first.time, outside=True)
    return _hang_verdict(found) if found is not None and case.catalog.get(first.signature).family in ("scheduler", "host", "launcher") else None


def _silent_end(case: Case) -> Verdict | None:
    """The log stops in mid-training, with positive evidence of a hang."""
    if case.stories.failed_exits:
        return None
    found = hang.find(case.stories)
    return _hang_verdict(found) if found is not None else None


def _hang_verdict(found: hang.Hang) -> Verdict:
    rank = found.rank if found.sure else None
    scope: Scope = "one-rank" if rank is not None else "unknown"
    candidates = (found.rank,) if found.rank is not None and rank is None else ()
    return Verdict(
        None, (), rank, "medium" if rank is not None else None, "B" if rank is not None else None, scope, candidates, (), found.reasons,
        (found.rank,) if found.rank is not None else (), finding="silent-end", line=found.line,
    )  # fmt: skip


def _initiators(case: Case) -> Verdict | None:
    """A rank's own failure outranks any number of peer errors, whatever the order (rules 1, 2, 4)."""
    found = [event for event in case.roots if not causes.is_outside(event, case.catalog)]
    if not found:
        return None
    ranked = [event for event in found if event.rank is not None]
    loose = [event for event in found if event.rank is None]
    if not ranked:
        return _loose(case, loose)
    kinds = {kind(event) for event in ranked}
    failed = _ranks(ranked)
    if len(kinds) == 1 and len(failed) > 1 and (symmetric := _symmetric(case, ranked)):
        return symmetric
    if len(failed) == 1:
        return _single(case, ranked[0], loose)
    return _several(case, ranked)


def _symmetric(case: Case, found: Sequence[Event]) -> Verdict | None:
    """Every rank raised the same by itself and no peer error came before: a program error, the print order means nothing."""
    failed = set(_ranks(found))
    begin = min(event.order for event in found)
    early_peers = [rank for rank in case.peers if case.stories.ranks[rank].peer[0].order < begin]
    rest = case.ranks - failed
    unexplained = {rank for rank in rest if rank in case.peers}
    own_elsewhere = {rank for rank in rest if (story := case.stories.ranks.get(rank)) and (story.own or story.derived)}
    if early_peers or own_elsewhere or (unexplained and len(unexplained) * 3 > len(failed)):
        return None
    if unexplained and len(failed) < 3:
        return None
    first = found[0]
    entry = case.catalog.get(first.signature)
    count = len(failed)
    if rest and count == 1:
        return None
    sentence = f"All {count} ranks raised the same error by themselves" if not rest else f"{count} ranks raised the same error by themselves, and the other {len(rest)} were stopped before they could print"
    return Verdict(
        first, (), None, None, None, "all-ranks", _in_order(found), _in_order(found),
        (f"{sentence}: {entry.title[0].lower() + entry.title[1:]} is a fault of the program or its settings, not of one rank.",),
    )  # fmt: skip


def _single(case: Case, event: Event, loose: Sequence[Event]) -> Verdict:
    rank = event.rank
    story = case.stories.ranks.get(rank) if rank is not None else None
    derived = story is not None and story.derived is event
    if derived:
        waiting = case.peers
        reason = f"Rank {rank} ended by {event.facts.get('signal')} and printed nothing of its own"
        reason += f"; rank{'s' if len(waiting) > 1 else ''} {list_ranks(sorted(waiting))} only lost a peer." if waiting else "."
        return Verdict(event, (), rank, "high" if waiting or len(case.stories.ranks) > 1 or event.rank is not None else "medium", "B", "one-rank", (), (rank,) if rank is not None else (), (reason, *_audit(case, rank)))
    others = case.peers
    reason = f"Rank {rank} failed by itself"
    reason += f"; rank{'s' if len(others) > 1 else ''} {list_ranks(sorted(others))} show{'' if len(others) > 1 else 's'} only what a lost or waiting peer causes." if others else ", and no other rank shows a failure of its own."
    return Verdict(event, (), rank, "high", "A", "one-rank", (), (rank,) if rank is not None else (), (reason, *_audit(case, rank)))


def _several(case: Case, found: Sequence[Event]) -> Verdict:
    """Several ranks with failures of their own: a peer error between them, then one clock, decides; else nobody does (rules 12, 13)."""
    failed = _in_order(found)
    first = min(found, key=lambda event: event.order)
    derived = [event for event in found if (story := case.stories.ranks.get(event.rank or 0)) and story.derived is event]
    scope: Scope = "several-ranks"
    if derived and len(derived) == len(found):
        return _several_signals(case, found)
    if derived:
        return Verdict(first, (), None, None, None, scope, failed, failed, (
            f"Ranks {list_ranks(failed)} each failed by themselves, and a killed process prints nothing: which was first can't be told.", ))  # fmt: skip
    between = _peer_between(case, found)
    if between is not None:
        return Verdict(between, (), between.rank, "medium", "B", scope, (), failed, (
            f"Ranks {list_ranks(failed)} each failed by themselves; other ranks lost a peer after rank {between.rank}'s traceback and before the next, and a traceback is printed before sockets close.", ))  # fmt: skip
    if (by_clock := _by_clock(case, found, failed)) is not None:
        return by_clock
    return Verdict(first, (), None, None, None, scope, failed, failed, (f"Ranks {list_ranks(failed)} each failed by themselves, and nothing in the log tells which was first.",))


def _by_clock(case: Case, found: Sequence[Event], failed: tuple[int, ...]) -> Verdict | None:
    """Orders failures by time: on one clock, or on several whose skew the log shows (grades C and D)."""
    skews = clocks_of_nodes.estimate(case.stories.attempt.step_times)
    timed = []
    for event in found:
        clock = event.line.node or event.line.source.path
        if event.time is None:
            return None
        timed.append((event.time + (skews[clock].offset if clock in skews else 0.0), clock, event))
    timed.sort(key=lambda item: item[0])
    (when, clock, first), (later, other, _) = timed[0], timed[1]
    error = clocks_of_nodes.comparable(skews, clock, other)
    if error is None or later - when <= max(1.0 if clock == other else 0.2, 4 * error):
        return None
    names = f"Ranks {list_ranks(failed)} each failed by themselves; "
    if clock == other:
        return Verdict(first, (), first.rank, "medium", "C", "several-ranks", (), failed, (f"{names}on one clock rank {first.rank} was first by {later - when:.1f} s.",))
    moved = {name: skew.offset for name, skew in skews.items() if name in (clock, other)}
    shift = abs(skews[clock].offset - skews[other].offset)
    return Verdict(first, (), first.rank, "medium", "D", "several-ranks", (), failed, (
        f"{names}after correcting {shift:.2f} s of clock skew (from {min(skews[clock].common, skews[other].common)} common steps, ± {error:.2f} s) rank {first.rank} was first by {later - when:.1f} s.", ),
        skew=moved)  # fmt: skip


def _several_signals(case: Case, found: Sequence[Event]) -> Verdict:
    failed = _in_order(found)
    if len({event.signature for event in found}) == 1 and set(failed) >= case.ranks:
        return Verdict(found[0], (), None, None, None, "all-ranks", failed, failed, (f"Every rank ended by {found[0].facts.get('signal')}.",))
    timed = sorted((event for event in found if event.time is not None), key=lambda event: event.time or 0.0)
    if len(timed) == len(found) and len(timed) > 1 and (timed[1].time or 0) - (timed[0].time or 0) >= 2.0:
        several = len({event.node for event in timed}) > 1
        return Verdict(timed[0], (), timed[0].rank, "medium" if not several else "low", "D" if several else "C", "several-ranks", (), failed, (
            f"Ranks {list_ranks(failed)} ended by signals; rank {timed[0].rank} was reported first, {(timed[1].time or 0) - (timed[0].time or 0):.0f} s before the next.", ))  # fmt: skip
    return Verdict(found[0], (), None, None, None, "several-ranks", failed, failed, (f"Ranks {list_ranks(failed)} ended by signals about the same time; which was first can't be told.",))


def _peer_between(case: Case, found: Sequence[Event]) -> Event | None:
    """The earliest own failure, if some other rank lost a peer after it and before every other own failure began (rule 12)."""
    ordered = sorted(found, key=lambda event: event.order)
    first, rest = ordered[0], ordered[1:]
    if any(event.line.source.path != first.line.source.path for event in rest):
        return None
    second = min(event.order - len(event.lines) for event in rest)
    peers = [event.order for rank in case.stories.ranks for event in case.stories.ranks[rank].peer if rank != first.rank]
    return first if any(first.order < order <= second for order in peers) else None


def _loose(case: Case, loose: Sequence[Event]) -> Verdict:
    """Own failures of unknown rank: attributed by elimination where that is certain."""
    first = loose[0]
    same = [event for event in loose if kind(event) == kind(first)]
    known = case.ranks
    if len(same) > 1 and len(same) >= max(2, len(known)):
        return Verdict(first, (), None, None, None, "all-ranks", tuple(sorted(known)), tuple(sorted(known)), (
            f"The same error was printed {len(same)} times, once for each rank: a fault of the program or its settings.", ))  # fmt: skip
    quiet = case.quiet()
    failing = [rank for rank in quiet if (story := case.stories.ranks.get(rank)) and (story.failed_code or (story.ending and (story.ending.code or 0) > 0))]
    if len(same) == 1 and len(failing) == 1 and len(loose) == 1:
        return Verdict(first, (), failing[0], "medium", "B", "one-rank", (), (failing[0],), (
            f"The traceback carries no rank; rank {failing[0]} is the only one that left with an exit code of its own and has no other explanation.", ))  # fmt: skip
    if len(same) == 1 and len(quiet) == 1 and len(known) > 1 and case.peers:
        rank = next(iter(quiet))
        return Verdict(first, (), rank, "medium", "B", "one-rank", (), (rank,), (f"The traceback carries no rank; every other rank shows only a lost or waiting peer, so it is rank {rank}'s.",))
    if len(known) == 1 and case.world_size in (None, 1) and len(same) == 1:
        rank = next(iter(known))
        return Verdict(first, (), rank, "medium", "B", "one-rank", (), (rank,), (f"Rank {rank} is the only rank the log names.",))
    return Verdict(first, (), None, None, None, "unknown", tuple(sorted(failing)), (), ("The failing line carries no rank, and nothing else in the log tells whose it is.",))


# ---------------------------------------------------------------- rules on what is left when nobody failed by itself


def _exit_code(case: Case) -> Verdict | None:
    """A positive exit code without a traceback, while the others lost a peer or were stopped, names the initiator (rule 5)."""
    found = [story for story in case.stories.ranks.values() if story.failed_code is not None]
    if not found or not (case.peers or len(case.stories.ranks) > len(found)):
        return None
    names = tuple(story.rank for story in found)
    if len(found) == 1:
        story = found[0]
        assert story.failed_code is not None
        return Verdict(
            None, (), story.rank, "high" if case.peers else "medium", "B", "one-rank", (), names,
            (f"Rank {story.rank} left with exit code {story.failed_code.code} and printed no error; no other rank left by itself without losing a peer.",),
            finding="exit-code",
        )  # fmt: skip
    return Verdict(None, (), None, None, None, "several-ranks", names, names, (f"Ranks {list_ranks(names)} left with an exit code and printed no error.",), finding="exit-code")


def _named(case: Case) -> Verdict | None:
    """A message that names who is missing (rule 6): monitoredBarrier, a desync report."""
    named: Counter[int] = Counter()
    telling: list[Event] = []
    for event in (*case.stories.witnesses, *case.stories.events()):
        ranks = event.facts.get("ranks")
        if ranks:
            telling.append(event)
            named.update({int(rank) for rank in ranks})
    if not telling:
        return None
    root = min(telling, key=lambda event: event.order)
    ranks = tuple(sorted(named))
    better = next((event for event in case.stories.events() if event.role == "either" and event.signature != root.signature and event.rank not in named), None)
    if len(ranks) == 1:
        return Verdict(root, (), ranks[0], "high", "A", "one-rank", (), ranks, (f"The message itself names rank {ranks[0]} as the one that didn't arrive; those that print it waited.",))
    waiting = [rank for rank in ranks if rank not in case.peers]
    if len(waiting) == 1:
        return Verdict(root, (), waiting[0], "medium", "A", "one-rank", (), ranks, (f"The message names ranks {list_ranks(ranks)}; of these only rank {waiting[0]} didn't report a lost peer itself.",))
    return Verdict(better or root, (), None, None, None, "several-ranks", ranks, ranks, (f"The message names ranks {list_ranks(ranks)} as missing; which of them was first isn't told.",))


def _left_early(case: Case) -> Verdict | None:
    """A rank that said its data had ended, or left with exit code 0, while others still waited (rule 8)."""
    if not (case.peers or case.stories.loose_peer):
        return None
    quiet = case.quiet()
    gone = [story for story in case.stories.ranks.values() if story.rank in quiet and (story.log.exhausted or story.log.finished)]
    said = True
    if not gone and _has_table(case):
        listed = {item.rank for item in case.stories.attempt.exits if item.rank is not None}
        gone = [story for story in case.stories.ranks.values() if story.rank in quiet and story.rank not in listed and story.ending is None]
        said = False
    if len(gone) != 1:
        return None
    story = gone[0]
    line = story.log.exhausted or story.log.finished
    reason = f"Rank {story.rank} said “{line.text.strip()[:80]}” and left" if said and line else f"Rank {story.rank} is in no exit report, so it left with exit code 0,"
    return Verdict(None, (), story.rank, "high" if said else "medium", "B", "one-rank", (), (story.rank,), (f"{reason} while the others were still in a collective.",), finding="early-exit")


def _has_table(case: Case) -> bool:
    return any(item.witness == "elastic-child-failed" for item in case.stories.attempt.exits)


def _ledger(case: Case) -> Verdict | None:
    """The collective ledger names who never entered, ran another operation, or is silent."""
    telling = [group for group in case.groups if group.suspects]
    if not telling:
        return None
    root = _waiting_event(case)
    suspects = sorted({rank for group in telling for rank in group.suspects})
    silent = all(row.note == "silent" for group in telling for row in group.rows if row.rank in group.suspects)
    because = tuple(group.verdict for group in telling)
    if len(suspects) == 1 and not (silent and suspects[0] not in case.stories.ranks and len(case.peers) < max(2, len(case.ranks) - 1)):
        odd = any(row.note == "other operation" for group in telling for row in group.rows)
        mismatch = _as(case, "collective-mismatch", root) if odd else root
        return Verdict(mismatch, (), suspects[0], "medium" if silent else "high", "B", "one-rank", (), tuple(suspects), because, tuple(suspects), ledger_decided=True)
    return Verdict(root, (), None, None, None, "unknown", tuple(suspects), (), because, tuple(suspects), ledger_decided=True)


def _as(case: Case, signature: str, event: Event | None) -> Event | None:
    """The same event under the signature that the analysis found it to be."""
    if event is None or signature not in case.catalog.signatures:
        return event
    return replace(event, signature=signature, role=case.catalog.get(signature).role)


def _waiting_event(case: Case) -> Event | None:
    """The event that says what the job waited for: the best known kind, earliest."""
    events = [event for event in case.stories.events() if event.role in ("either", "witness") or (event.role == "collateral" and case.catalog.get(event.signature).family != "launcher")]
    if not events:
        return None
    return min(events, key=lambda event: (("either", "collateral", "witness").index(event.role), case.catalog.get(event.signature).match.net, event.order))


def _one_missing(case: Case) -> Verdict | None:
    """When every other rank shows only peer or timeout errors, the one without an error is first (rule 3)."""
    peers = case.peers
    quiet = case.quiet()
    if not peers or not quiet:
        return None
    root = _waiting_event(case)
    if len(quiet) == 1 and len(peers) == len(case.ranks) - 1:
        rank = next(iter(quiet))
        story = case.stories.ranks.get(rank)
        seen = story is not None and (story.log.first_line is not None)
        reason = f"Every other rank ({list_ranks(sorted(peers))}) reports a lost or waiting peer; rank {rank} alone shows no error" + ("" if seen else " and not a single line") + "."
        return Verdict(root, (), rank, "medium" if len(peers) > 1 or seen else "low", "B", "one-rank", (), (rank,), (reason, *_stopped(story)), (rank,))
    return _neighbours(case, root, quiet, peers)


def _stopped(story: Story | None) -> tuple[str, ...]:
    if story is not None and story.stopped and story.ending is not None:
        return (f"It was still alive when the launcher ended it ({NAMES.get(story.ending.signal or 0, 'a signal')}): it was stuck, not dead.",)
    return ()


def _neighbours(case: Case, root: Event | None, quiet: set[int], peers: set[int]) -> Verdict | None:
    """In gloo's ring rank r talks to r−1 and r+1: the two that complain enclose the one that is gone."""
    size = max(case.ranks) + 1
    ring = {rank for rank in peers if any(case.catalog.get(event.signature).family == "gloo" for event in case.stories.ranks[rank].peer)}
    enclosed = [rank for rank in quiet if {(rank - 1) % size, (rank + 1) % size} <= ring] if size > 2 else []
    if len(enclosed) == 1 and len(ring) <= 3:
        rank = enclosed[0]
        return Verdict(root, (), rank, "medium", "B", "one-rank", (), (rank,), (
            f"Only ranks {list_ranks(sorted(ring))} lost a peer; they are rank {rank}'s neighbours in gloo's ring, and rank {rank} shows no error.", ), (rank,))  # fmt: skip
    return None


def _store_host(case: Case) -> Verdict | None:
    """Clients that can't reach the store say that its host isn't up: without a launcher's store that is rank 0."""
    events = [event for event in case.stories.events() if event.rank is not None]
    if 0 in case.stories.ranks or not events or any("torchelastic" in layer for event in events for layer in event.line.layers):
        return None
    if case.stories.attempt.exits and any(item.witness == "elastic-child-failed" for item in case.stories.attempt.exits):
        return None
    if {event.signature for event in events} <= {"rendezvous-connection-failed", "store-timeout"} and any(event.signature == "rendezvous-connection-failed" for event in events):
        ranks = sorted({event.rank for event in events if event.rank is not None})
        return Verdict(_waiting_event(case), (), 0, "medium" if len(ranks) > 1 else "low", "B", "one-rank", (), (0,), (
            f"Rank{'s' if len(ranks) > 1 else ''} {list_ranks(ranks)} can't reach the store; rank 0 hosts it and isn't in the log at all.", ), (0,))  # fmt: skip
    return None


def _straggler(case: Case) -> Verdict | None:
    """Where all ranks complain, the one that alone lost a connection while all others timed out came late."""
    if case.quiet() or len(case.peers) < 2:
        return None
    closed, timed = set(), set()
    for rank in case.peers:
        names = {event.signature for event in case.stories.ranks[rank].peer}
        (timed if any("timeout" in name for name in names) else closed).add(rank)
    if len(closed) == 1 and len(timed) >= 2:
        rank = next(iter(closed))
        return Verdict(_waiting_event(case), (), rank, "medium", "B", "one-rank", (), (rank,), (
            f"Ranks {list_ranks(sorted(timed))} timed out waiting; rank {rank} alone lost a connection instead, so it came to the collective after they had given up.", ), (rank,))  # fmt: skip
    return None


def _peers_only(case: Case) -> Verdict | None:
    """Only consequences are in the log: the cause isn't, and nobody is named."""
    root = _waiting_event(case)
    if root is None:
        return None
    entry = case.catalog.get(root.signature)
    quiet = tuple(sorted(rank for rank in case.quiet() if rank in case.stories.ranks))
    if entry.points_at == "speaker" and root.rank is not None and len({event.rank for event in case.stories.events() if event.signature == root.signature}) == 1:
        return Verdict(root, (), root.rank, "medium", "B", "one-rank", (), (root.rank,), (f"Rank {root.rank} alone reports it, and it speaks of its own side.",))
    ranks = case.peers
    if len(ranks) > 1 and set(ranks) >= case.ranks and len({event.signature for event in case.stories.events()}) == 1:
        because: tuple[str, ...] = ("Every rank reports the same and none shows a failure of its own: nobody can be named.",)
    else:
        because = ("The log holds only consequences of a failure that it doesn't show; nobody can be named.",)
    return Verdict(root, (), None, None, None, "unknown", quiet[:16], (), because)


def _witness_only(case: Case) -> Verdict | None:
    """Only a launcher's report is in the log."""
    exits = [item for item in case.stories.failed_exits if item.signal != 15]
    if not exits and not case.stories.failed_exits:
        witness = next((event for event in case.stories.witnesses if event.signature != "worker-exit" or event.facts), None)
        return Verdict(witness, (), None, None, None, "unknown", (), (), ("Only a launcher's report of a failure is in the log.",)) if witness else None
    if not exits:
        return Verdict(None, (), None, None, None, "not-a-rank", (), (), ("Every process was ended by SIGTERM and none failed by itself: something outside stopped the job.",), finding="exit-sigterm")
    ranks = sorted({item.rank for item in exits if item.rank is not None})
    rank = ranks[0] if len(ranks) == 1 else None
    said = f"rank {rank}" if rank is not None else "a process"
    return Verdict(
        None, (), rank, "medium" if rank is not None else None, "B" if rank is not None else None, "one-rank" if rank is not None else "unknown",
        tuple(ranks) if rank is None else (), tuple(ranks), (f"The launcher reports that {said} failed; its own output isn't in the log.",), finding="exit-code",
    )  # fmt: skip


RULES: tuple[Callable[[Case], Verdict | None], ...] = (
    _mismatch, _outside, _initiators, _exit_code, _left_early, _named, _ledger, _one_missing, _store_host, _straggler, _peers_only, _witness_only, _silent_end,
)  # fmt: skip


# ---------------------------------------------------------------- the launcher's own claim, audited


def _audit(case: Case, rank: int | None) -> tuple[str, ...]:
    """Says why the answer agrees or disagrees with torchrun's “first observed failure”."""
    claims = [item for item in case.stories.attempt.exits if item.root and item.rank is not None]
    if not claims or rank is None:
        return ()
    said = sorted({item.rank for item in claims if item.rank is not None})
    if said == [rank]:
        return (f"torchrun's table agrees: it lists rank {rank} as the first observed failure.",)
    claim = next(item for item in claims if item.rank != rank)
    story = case.stories.ranks.get(claim.rank or 0)
    if len(said) > 1 and rank in said:
        return (f"Each node's torchrun names a rank of its own ({list_ranks(said)}); the others' failures follow from rank {rank}'s.",)
    times = {item.time for item in case.stories.attempt.exits if item.witness == "elastic-child-failed"}
    if story is not None and story.peer:
        why = "which only lost its peer"
    elif claim.signal == 6:
        why = "which aborted at teardown"
    else:
        why = "which shows no failure of its own"
    tie = "; without an error file the table's time is when the agent looked, in whole seconds" + (", and all its times tie" if len(times) == 1 else "") if claim.error_file is None else ""
    return (f"torchrun's table names rank {claim.rank} first, {why}{tie}.",)


def _ranks(events: Iterable[Event]) -> tuple[int, ...]:
    return tuple(sorted({event.rank for event in events if event.rank is not None}))


def _in_order(events: Iterable[Event]) -> tuple[int, ...]:
    seen: list[int] = []
    for event in sorted(events, key=lambda event: event.order):
        if event.rank is not None and event.rank not in seen:
            seen.append(event.rank)
    return tuple(seen)


def list_ranks(ranks: Sequence[int]) -> str:
    """Ranks for a sentence: ``0, 1 and 5``; long runs are folded."""
    parts: list[str] = []
    ordered = sorted(ranks)
    index = 0
    while index < len(ordered):
        end = index
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        parts.extend([f"{ordered[index]}–{ordered[end]}"] if end - index >= 2 else [str(rank) for rank in ordered[index : end + 1]])
        index = end + 1
    if len(parts) > 12:
        parts = [*parts[:11], f"{len(parts) - 11} more"]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
