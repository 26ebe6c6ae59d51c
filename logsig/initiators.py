"""Rules on what failed by itself: an odd one in a comparison, a stop from outside, one rank, several ranks.

Each takes a ``Case`` and gives a ``Verdict``, or nothing where it doesn't apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from logsig import audit, causes, hang
from logsig import skew as clocks_of_nodes
from logsig.model import Event, Grade
from logsig.stories import is_agents, kind
from logsig.verdict import Case, Verdict, in_order, name_ranks, ranks_of
from logsig.waiting import hang_verdict

MISMATCHES = {"ddp-model-mismatch": ("count", "shape"), "collective-mismatch": ("op", "shape")}
"""Signatures that compare two ranks -> captures of this side's value (the other side's have ``other_`` before them)."""
SAME_CLOCK = 1.0
"""Seconds by which failures on one clock must differ to be ordered: a traceback takes time to print."""
SIGNAL_GAP = 2.0
"""Seconds between reports of dead processes that order them: launchers poll, torchrun's table has whole seconds."""

OF_OTHERS = ("gpu", "scheduler")
"""Families of what a kernel or a scheduler says about processes: no rank says it of itself."""

Value = tuple[Any, ...]


# ---------------------------------------------------------------- comparisons


def mismatch(case: Case) -> Verdict | None:
    """In a comparison that ranks report of one another, the minority value marks the rank."""
    found = [event for event in case.roots if event.signature in MISMATCHES]
    rest = (event for event in case.roots if event.signature not in MISMATCHES)
    if not found or any(case.entry(event).points_at == "speaker" for event in rest):
        return None
    votes, complete = _votes(found)
    if not votes and (culprit := _culprit(case, found)) is not None:
        return culprit
    if len(set(votes.values())) > 1:
        return _minority(found, votes)
    if found[0].signature == "ddp-model-mismatch" and not complete:
        return _against_zero(case, found)
    failed = ranks_of(found)
    if set(failed) >= case.ranks and len(failed) > 1:
        said = "Every rank reports the mismatch; the log shows no minority."
        return Verdict(root=found[0], scope="all-ranks", candidates=failed, failed=failed, because=(said,))
    said = "The mismatch was reported, but not which side diverged."
    return Verdict(root=found[0], candidates=failed, failed=failed, because=(said,))


def _culprit(case: Case, found: Sequence[Event]) -> Verdict | None:
    """Torchfrtrace compares every rank with the lowest: a single culprit among several ranks is the odd one."""
    named = {int(rank) for event in found for rank in event.facts.get("ranks", ())}
    if len(named) != 1 or len(case.ranks) < 3:
        return None
    rank = named.pop()
    said = f"The analysis of the flight recorders compares all ranks, and rank {rank} alone differs."
    return Verdict(
        root=found[0],
        rank=rank,
        confidence="high",
        grade="A",
        scope="one-rank",
        failed=(rank,),
        because=(said,),
    )


def _votes(events: Iterable[Event]) -> tuple[dict[int, Value], bool]:
    """Rank -> value it has, as itself and its counterparts say; and whether both sides were told."""
    votes: dict[int, Value] = {}
    complete = False
    for event in events:
        names, facts = MISMATCHES[event.signature], event.facts
        own = tuple(facts.get(name) for name in names)
        other = tuple(facts.get("other_" + name) for name in names)
        rank, peer = facts.get("rank", event.rank), facts.get("peer_rank")
        if rank is not None and any(value is not None for value in own):
            votes[int(rank)] = own
        if peer is not None and any(value is not None for value in other):
            complete = True
            votes.setdefault(int(peer), other)
    return votes, complete


def _minority(found: Sequence[Event], votes: dict[int, Value]) -> Verdict:
    (common, most), (_, second) = Counter(votes.values()).most_common(2)
    odd = tuple(sorted(rank for rank, value in votes.items() if value != common))
    failed = ranks_of(found)
    if most <= second:
        sides = " against ".join(dict.fromkeys(_shown(value) for value in votes.values()))
        said = f"{name_ranks(sorted(votes)).capitalize()} disagree ({sides}); no majority tells which is wrong."
        return Verdict(root=found[0], candidates=tuple(sorted(votes)), failed=failed, because=(said,))
    if len(odd) > 1:
        said = f"{name_ranks(odd).capitalize()} differ from the {most} others."
        return Verdict(root=found[0], scope="several-ranks", candidates=odd, failed=failed, because=(said,))
    said = f"Rank {odd[0]} has {_shown(votes[odd[0]])}, the other {most} ranks that are named have {_shown(common)}: "
    return Verdict(
        root=found[0],
        rank=odd[0],
        confidence="high",
        grade="A",
        scope="one-rank",
        failed=failed,
        because=(said + "the minority diverged.",),
    )


def _shown(value: Value) -> str:
    return " ".join(str(part) for part in value if part is not None)


def _against_zero(case: Case, found: Sequence[Event]) -> Verdict:
    """“Not the sizes of process 0”: one rank that says so, where others passed, is odd; if all others do, rank 0 is."""
    failed = ranks_of(found)
    others = case.ranks - {0}
    if len(others) > 1 and (len(failed) == 1 or set(failed) >= others):
        rank, zero = (failed[0], False) if len(failed) == 1 else (0, True)
        said = (
            "Every other rank differs from process 0: rank 0 is the odd one."
            if zero
            else f"Only rank {rank} differs from process 0; other ranks passed the same comparison."
        )
        return Verdict(
            root=found[0],
            rank=rank,
            confidence="high",
            grade="B" if zero else "A",
            scope="one-rank",
            failed=failed,
            because=(said,),
        )
    if len(failed) > 1:
        said = f"{name_ranks(failed).capitalize()} differ from process 0."
        return Verdict(root=found[0], scope="several-ranks", candidates=failed, failed=failed, because=(said,))
    said = "Two ranks disagree; the log doesn't show which one is wrong."
    return Verdict(root=found[0], candidates=(0, *failed), failed=failed, because=(said,))


# ---------------------------------------------------------------- from outside


def outside(case: Case) -> Verdict | None:
    """A scheduler, a launcher, a person or a setting stopped the job before any rank failed by itself."""
    found = [event for event in case.roots if _is_outside(case, event)]
    if not found or len(found) != len(case.roots):
        return None
    first = min(found, key=lambda event: (case.entry(event).match.net, event.order))
    codes = [story.failed_code.order for story in case.stories.ranks.values() if story.failed_code is not None]
    if codes and min(codes) < first.order:
        return None  # a rank had left with a code of its own before: the stop followed from it
    if case.entry(first).family == "scheduler" and _lost_before(case, first):
        return None  # ranks had lost or waited for a peer before: the scheduler only cleaned up
    if (stopped := _hung_before(case, found)) is not None:
        return stopped
    events = case.stories.attempt.events
    copies = sum(1 for event in events if event.signature == first.signature and not is_agents(event))
    if copies > 1 and case.entry(first).family == "launcher" and copies * 2 >= len(case.ranks):
        every = tuple(sorted(case.ranks))
        said = f"The same error was printed {copies} times, once for each rank: a fault of the command or its settings."
        return Verdict(root=first, scope="all-ranks", candidates=every, failed=every, because=(said,))
    said = "No rank failed by itself before this: the cause lies outside of the ranks."
    return Verdict(root=first, scope="not-a-rank", failed=ranks_of([first]), because=(said,))


def _lost_before(case: Case, stop: Event) -> bool:
    peers = [event for story in case.stories.ranks.values() for event in story.peer] + case.stories.loose_peer
    return any(event.order < stop.order and (event.fatal or event.frames or event.role == "either") for event in peers)


def _is_outside(case: Case, event: Event) -> bool:
    return causes.is_outside(event, case.catalog) or (event.rank is None and case.entry(event).family == "launcher")


def _hung_before(case: Case, found: Sequence[Event]) -> Verdict | None:
    """An outside stop long after the last step ended a hang; it didn't cause the failure."""
    first = min(found, key=lambda event: event.order)
    if case.entry(first).family not in ("scheduler", "host", "launcher"):
        return None
    hung = hang.find(case.stories, first.time, outside=True)
    return hang_verdict(hung) if hung is not None else None


# ---------------------------------------------------------------- own failures


def own_failures(case: Case) -> Verdict | None:
    """A rank's own failure outranks any number of peer errors, whatever the order."""
    found = [event for event in case.roots if not causes.is_outside(event, case.catalog)]
    ranked = [event for event in found if event.rank is not None]
    if not found:
        return None
    if not ranked:
        return _unlabelled(case, found)
    failed = ranks_of(ranked)
    if len(failed) == 1:
        return _with_copies(case, ranked[0]) or _one(case, ranked[0], failed[0])
    symmetric = _symmetric(case, ranked) if len({kind(event) for event in ranked}) == 1 else None
    return symmetric or _several(case, ranked)


def _with_copies(case: Case, event: Event) -> Verdict | None:
    """A DDP or autograd error printed once with a label and again without: the bare copies are the other ranks'."""
    copies = case.stories.bare_copies.get(event.signature, 0)
    size = case.world_size or len(case.ranks)
    if not copies or case.peers or case.entry(event).family not in ("ddp", "autograd") or copies + 1 < size:
        return None
    every = tuple(sorted(case.ranks))
    said = f"The same error was printed {copies + 1} times, with a label only once: every rank raised it."
    return Verdict(root=event, scope="all-ranks", candidates=every, failed=every, because=(said,))


def _one(case: Case, event: Event, rank: int) -> Verdict:
    others = sorted(case.peers)
    if event.derived:
        said = f"Rank {rank} ended by {event.facts.get('signal')} and printed nothing of its own"
        said += f"; {name_ranks(others)} only lost a peer." if others else "."
    else:
        said = f"Rank {rank} failed by itself"
        shows = "show" if len(others) > 1 else "shows"
        said += (
            f"; {name_ranks(others)} {shows} only what a lost or waiting peer causes."
            if others
            else ", and no other rank shows a failure of its own."
        )
    return Verdict(
        root=event,
        rank=rank,
        confidence="high",
        grade="B" if event.derived else "A",
        scope="one-rank",
        failed=(rank,),
        because=(said, *audit.of_table(case, rank)),
    )


def _symmetric(case: Case, found: Sequence[Event]) -> Verdict | None:
    """Every rank raised the same by itself and none lost a peer before: the program's fault, whoever printed first."""
    failed = set(ranks_of(found))
    begin = min(event.order for event in found)
    if any(case.stories.ranks[rank].peer[0].order < begin for rank in case.peers):
        return None
    rest = case.ranks - failed
    if any((story := case.story(rank)) is not None and (story.own or story.derived) for rank in rest):
        return None
    if (found[0].role == "either" or found[0].derived) and _are_few(failed):
        return None
    lost = rest & case.peers
    if lost and (len(lost) * 3 > len(failed) or len(failed) < 3):
        return None
    order = in_order(found)
    said = _symmetric_reason(case, found[0], order, len(rest))
    return Verdict(root=found[0], scope="all-ranks", candidates=order, failed=order, because=(said,))


def _are_few(failed: Collection[int]) -> bool:
    """True where many lower ranks, which must exist, weren't heard: that they fared alike is a guess."""
    return len(set(range(max(failed))) - set(failed)) > len(failed) // 2


def _symmetric_reason(case: Case, event: Event, failed: tuple[int, ...], rest: int) -> str:
    if event.derived:
        ended = f"{name_ranks(failed).capitalize()} ended by {event.facts.get('signal')}"
        return f"{ended}, and no other rank shows a failure."
    said = f"All {len(failed)} ranks raised the same error by themselves"
    if rest:
        said = f"{len(failed)} ranks raised the same error by themselves, "
        said += f"and the other {rest} were stopped before they could print"
    return f"{said}: “{case.entry(event).title}” is a fault of the program or its settings, not of one rank."


def _several(case: Case, found: Sequence[Event]) -> Verdict:
    """Several own failures: a peer error between them, or the clock, tells which was first."""
    failed = in_order(found)
    first = min(found, key=lambda event: event.order)
    names = f"{name_ranks(failed).capitalize()} each failed by themselves"
    if all(event.derived for event in found):
        return _several_signals(case, found)
    if any(event.derived for event in found):
        said = f"{names}, and a killed process prints nothing: which was first can't be told."
        return Verdict(root=first, scope="several-ranks", candidates=failed, failed=failed, because=(said,))
    if _peer_between(case, found):
        said = (
            f"{names}; other ranks lost a peer after rank {first.rank}'s traceback and before the next, "
            "and a traceback is printed before sockets close."
        )
        return _ordered(first, failed, "B", said)
    by_clock = _by_clock(case, found, failed, names)
    if by_clock is not None:
        return by_clock
    said = f"{names}, and nothing in the log tells which was first."
    return Verdict(root=first, scope="several-ranks", candidates=failed, failed=failed, because=(said,))


def _ordered(first: Event, failed: tuple[int, ...], grade: Grade, said: str) -> Verdict:
    return Verdict(
        root=first,
        rank=first.rank,
        confidence="medium",
        grade=grade,
        scope="several-ranks",
        failed=failed,
        because=(said,),
    )


def _peer_between(case: Case, found: Sequence[Event]) -> bool:
    """True if some rank lost a peer after the earliest own failure and before every other one began."""
    first, *rest = sorted(found, key=lambda event: event.order)
    if any(event.line.source.path != first.line.source.path for event in rest):
        return False
    second = min(event.order - len(event.lines) for event in rest)
    peers = [event.order for story in case.stories.ranks.values() for event in story.peer if story.rank != first.rank]
    return any(first.order < order <= second for order in peers)


def _by_clock(case: Case, found: Sequence[Event], failed: tuple[int, ...], names: str) -> Verdict | None:
    """Orders failures by time: on one clock, or on several whose skew the log shows (grades C and D)."""
    if any(event.time is None for event in found):
        return None
    skews = clocks_of_nodes.estimate(case.stories.attempt.step_times)
    timed = []
    for event in found:
        clock = event.line.node or event.line.source.path
        offset = skews[clock].offset if clock in skews else 0.0
        timed.append(((event.time or 0.0) + offset, clock, event))
    timed.sort(key=lambda item: item[0])
    (when, clock, first), (later, other, _) = timed[0], timed[1]
    error = clocks_of_nodes.comparable(skews, clock, other)
    if error is None or later - when <= max(SAME_CLOCK if clock == other else clocks_of_nodes.MAX_SPREAD, 4 * error):
        return None
    if clock == other:
        said = f"{names}; on one clock rank {first.rank} was first by {later - when:.1f} s."
        return _ordered(first, failed, "C", said)
    shift = abs(skews[clock].offset - skews[other].offset)
    common = min(skews[clock].common, skews[other].common)
    said = (
        f"{names}; after correcting {shift:.2f} s of clock skew (from {common} common steps, ± {error:.2f} s) "
        f"rank {first.rank} was first by {later - when:.1f} s."
    )
    moved = {name: skew.offset for name, skew in skews.items() if name in (clock, other)}
    return replace(_ordered(first, failed, "D", said), skew=moved)


def _several_signals(case: Case, found: Sequence[Event]) -> Verdict:
    failed = in_order(found)
    names = name_ranks(failed).capitalize()
    if len({event.signature for event in found}) == 1 and set(failed) >= case.ranks and not _are_few(failed):
        said = f"Every rank ended by {found[0].facts.get('signal')}."
        return Verdict(root=found[0], scope="all-ranks", candidates=failed, failed=failed, because=(said,))
    hard = [event for event in found if event.facts.get("signal") != "SIGABRT"]
    if len(hard) == 1 and len(found) > 1 and hard[0].rank is not None:
        rank = hard[0].rank
        said = f"Rank {rank} ended by {hard[0].facts.get('signal')}; "
        said += "the others aborted (SIGABRT), as ranks do that lose a peer."
        return _ordered(hard[0], failed, "B", said)
    timed = sorted((event for event in found if event.time is not None), key=lambda event: event.time or 0.0)
    gap = (timed[1].time or 0) - (timed[0].time or 0) if len(timed) == len(found) else 0.0
    if gap >= SIGNAL_GAP:
        apart = len({event.node for event in timed}) > 1
        said = f"{names} ended by signals; rank {timed[0].rank} was reported first, {gap:.0f} s before the next"
        said += ", by clocks of several nodes." if apart else "."
        by_clock = _ordered(timed[0], failed, "D" if apart else "C", said)
        return replace(by_clock, confidence="low") if apart else by_clock
    said = f"{names} ended by signals about the same time; which was first can't be told."
    return Verdict(root=found[0], scope="several-ranks", candidates=failed, failed=failed, because=(said,))


# ---------------------------------------------------------------- own failures of unknown rank


def _unlabelled(case: Case, loose: Sequence[Event]) -> Verdict:
    """Own failures of unknown rank: attributed by elimination where that is certain."""
    first = loose[0]
    same = [event for event in loose if kind(event) == kind(first)]
    known = case.ranks
    copies = max(Counter(event.line.layers for event in same).values())  # a rank may log it, and die of it too
    by_ranks = case.entry(first).family not in OF_OTHERS
    if by_ranks and copies > 1 and copies >= len(known):
        every = tuple(sorted(known))
        each = "once for each rank" if copies == len(known) else "as often as there are ranks, or more"
        said = f"The same error was printed {copies} times, {each}: a fault of the program or its settings."
        return Verdict(root=first, scope="all-ranks", candidates=every, failed=every, because=(said,))
    if len(told := _explained_ranks(case, first)) > 1:
        whole = set(told) >= case.ranks
        said = f"The line carries no rank; what it explains stands on {name_ranks(told)}."
        return Verdict(
            root=first, scope="all-ranks" if whole else "several-ranks", candidates=told, failed=told, because=(said,)
        )
    rank, said, failing = _by_elimination(case, loose)
    if rank is None or len(same) != 1:
        said = "The failing line carries no rank, and nothing else in the log tells whose it is."
        return Verdict(root=first, candidates=failing, because=(said,))
    sure = len(known) > 1  # where one rank alone is named, it may be the only one that prints
    return Verdict(
        root=first,
        rank=rank,
        confidence="medium" if sure else "low",
        grade="B" if sure else "E",
        scope="one-rank",
        failed=(rank,),
        because=(said,),
    )


def _explained_ranks(case: Case, event: Event) -> tuple[int, ...]:
    """Ranks with own failures that the signature of an unlabelled line declares to explain."""
    effects = {signature for signature, _ in case.entry(event).explains}
    own = [item for story in case.stories.ranks.values() for item in story.own]
    return in_order(item for item in own if item.signature in effects)


def _by_elimination(case: Case, loose: Sequence[Event]) -> tuple[int | None, str, tuple[int, ...]]:
    """The rank to which one unlabelled failure must belong, why, and the ranks it may belong to."""
    quiet, known = case.quiet(), case.ranks
    failing = tuple(
        sorted(rank for rank in quiet if (story := case.story(rank)) and story.ending and (story.ending.code or 0) > 0)
    )
    if not loose[0].frames and case.entry(loose[0]).family in OF_OTHERS:
        return None, "", ()  # a node's words: which of its ranks they concern only a map can tell
    begin = f"The {'traceback' if loose[0].frames else 'failing line'} carries no rank; "
    if len(failing) == 1 and len(loose) == 1:
        said = f"rank {failing[0]} is the only one that left with an exit code of its own and has no other explanation."
        return failing[0], begin + said, failing
    if len(quiet) == 1 and len(known) > 1 and case.peers:
        rank = next(iter(quiet))
        return rank, f"{begin}every other rank shows only a lost or waiting peer, so it is rank {rank}'s.", failing
    if len(known) == 1 and known == quiet and case.world_size == 1:
        rank = next(iter(known))
        return rank, f"Rank {rank} is the only rank the log names.", failing
    return None, "", failing
