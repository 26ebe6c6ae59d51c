"""Rules on what is left when nobody failed by itself: who left, who is named, who is missing, who only waited.

Each takes a ``Case`` and gives a ``Verdict``, or nothing where it doesn't apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from logsig import hang, ledger
from logsig.model import Confidence, Event, Grade, LedgerGroup
from logsig.stories import Story
from logsig.verdict import Case, Verdict, list_ranks, name_ranks
from logsig.witness import NAMES

FEW = 4
"""Ranks of a group, below which one against the others is no clear majority, unless the world is known."""


def _suspect(root: Event | None, rank: int, confidence: Confidence, *because: str, grade: Grade = "B") -> Verdict:
    return Verdict(
        root=root,
        rank=rank,
        confidence=confidence,
        grade=grade,
        scope="one-rank",
        failed=(rank,),
        suspects=(rank,),
        because=because,
    )


# ---------------------------------------------------------------- who ended or left


def exit_code(case: Case) -> Verdict | None:
    """A positive exit code without a traceback names the initiator if others lost a peer or were stopped."""
    found = [story for story in case.stories.ranks.values() if story.failed_code is not None]
    if not found or not (case.peers or len(case.stories.ranks) > len(found)):
        return None
    names = tuple(story.rank for story in found)
    if len(found) > 1 or found[0].failed_code is None:
        said = f"{name_ranks(names).capitalize()} left with an exit code and printed no error."
        return Verdict(scope="several-ranks", candidates=names, failed=names, because=(said,), finding="exit-code")
    said = f"Rank {names[0]} left with exit code {found[0].failed_code.code} and {_last_words(found[0])}; "
    said += "no other rank left by itself without losing a peer."
    verdict = _suspect(None, names[0], _sureness_of_code(case, found[0]), said)
    return replace(verdict, finding="exit-code", suspects=())


def _last_words(story: Story) -> str:
    words = story.log.last_words
    return f"its last words were “{words.text.strip()[:80]}”" if words else "printed no error"


def _sureness_of_code(case: Case, story: Story) -> Confidence:
    """Code 1 is also what a peer error leaves with: it counts in full where the rank's own output is in the log."""
    heard = story.log.last_step is not None or story.log.finished is not None or story.log.exhausted is not None
    heard = heard or story.log.last_words is not None
    special = story.failed_code is not None and story.failed_code.code != 1
    if case.peers:
        return "high" if heard or special else "medium"
    return "medium" if heard or special else "low"


def left_early(case: Case) -> Verdict | None:
    """A rank that said its data had ended, or left with exit code 0, while others still waited."""
    loose = [event for event in case.stories.loose_peer if case.entry(event).family != "launcher"]
    if not (case.peers or loose):
        return None
    quiet = case.quiet()
    stories = [story for story in case.stories.ranks.values() if story.rank in quiet]
    gone = [story for story in stories if story.log.exhausted or story.log.finished]
    said = bool(gone)
    if not gone and case.has_table() and _all_but_one_are_told_of(case):
        gone = [story for story in stories if story.ending is None and _is_missing_from_table(case, story.rank)]
    if len(gone) != 1:
        return None
    verdict = _suspect(None, gone[0].rank, "high" if said else "medium", _leaving(gone[0]))
    return replace(verdict, finding="early-exit", suspects=())


def _all_but_one_are_told_of(case: Case) -> bool:
    """True where agents list the ends of all processes but one, or tell that they stopped them: that one was gone."""
    attempt = case.stories.attempt
    ended = {(item.node, item.pid) for item in attempt.exits if item.pid is not None}
    pids = {pid for _, pid in ended}
    stopped = {
        (event.line.source.path, event.facts.get("pid"))
        for event in attempt.events
        if event.signature == "elastic-sigterm" and event.facts.get("pid") not in pids
    }
    return len(ended) + len(stopped) == len(case.ranks) - 1


def _is_missing_from_table(case: Case, rank: int) -> bool:
    """A table lists its own node's failures: the rank must be of a node whose table is there, and not in it."""
    listed = [item for item in case.stories.attempt.exits if item.witness == "elastic-child-failed"]
    if rank in {item.rank for item in listed}:
        return False
    first = {item.rank - item.local_rank for item in listed if item.rank is not None and item.local_rank is not None}
    below = [start for start in first if start <= rank]
    return bool(below) and not any(max(below) < start <= rank for start in first)


def _leaving(story: Story) -> str:
    line = story.log.exhausted or story.log.finished
    how = f"said “{line.text.strip()[:80]}” and left" if line else "is in no exit report, so it left with exit code 0,"
    return f"Rank {story.rank} {how} while the others were still in a collective."


# ---------------------------------------------------------------- who is named


def named(case: Case) -> Verdict | None:
    """A message that names who is missing: monitoredBarrier, a desync report."""
    telling = [event for event in (*case.stories.witnesses, *case.stories.events()) if event.facts.get("ranks")]
    if not telling:
        return None
    root = min(telling, key=lambda event: event.order)
    ranks = tuple(sorted(Counter(int(rank) for event in telling for rank in event.facts["ranks"])))
    if len(ranks) == 1:
        said = f"The message itself names rank {ranks[0]} as the one that didn't arrive; those that print it waited."
        return _suspect(root, ranks[0], "high", said, grade="A")
    quiet = [rank for rank in ranks if rank not in case.peers]
    if len(quiet) == 1:
        said = f"The message names {name_ranks(ranks)}; of these only rank {quiet[0]} didn't report a lost peer itself."
        return _suspect(root, quiet[0], "medium", said, grade="A")
    said = f"The message names {name_ranks(ranks)} as missing; which of them was first isn't told."
    return Verdict(root=root, scope="several-ranks", candidates=ranks, failed=ranks, because=(said,))


def by_ledger(case: Case) -> Verdict | None:
    """The collective ledger names who never entered, ran another operation, or is silent."""
    telling = [group for group in case.groups if group.suspects]
    if not telling:
        return None
    suspects = tuple(sorted({rank for group in telling for rank in group.suspects}))
    root = case.waiting_event(suspects)
    because = tuple(group.verdict for group in telling)
    notes = {row.note for group in telling for row in group.rows if row.rank in group.suspects}
    unheard = notes == {"silent"} and suspects[0] not in case.stories.ranks
    unheard = unheard or (notes == {"silent"} and _is_folded(case))
    if len(suspects) == 1 and not (unheard and len(case.peers) < max(2, len(case.ranks) - 1)):
        root = _as(case, "collective-mismatch", root) if "other operation" in notes else root
        few = case.world_size is None and all(len(group.rows) < FEW for group in telling)
        verdict = _suspect(root, suspects[0], "medium" if notes == {"silent"} or few else "high", *because)
        return replace(verdict, ledger_decided=True)
    decided = _shows_much(telling)
    return Verdict(root=root, candidates=suspects, suspects=suspects, because=because, ledger_decided=decided)


def _shows_much(groups: Sequence[LedgerGroup]) -> bool:
    """True where a table of ranks says more than the sentence alone."""
    return any(len(group.rows) > 1 for group in groups)


def _as(case: Case, signature: str, event: Event | None) -> Event | None:
    """The same event under the signature that the analysis found it to be."""
    if event is None or signature not in case.catalog.signatures:
        return event
    return replace(event, signature=signature, role=case.catalog.get(signature).role)


# ---------------------------------------------------------------- who is missing


def one_missing(case: Case) -> Verdict | None:
    """When every other rank shows only peer or timeout errors, the one without an error is first."""
    peers, quiet = case.peers, case.quiet()
    if not peers or not quiet or _is_folded(case):
        return None
    unheard = set(range(max(case.ranks))) - case.ranks  # lower ranks must exist, and may have been the first
    if len(quiet) > 1 or unheard or len(peers) != len(case.ranks) - 1:
        return _neighbours(case, quiet | unheard, peers)
    rank = next(iter(quiet))
    story = case.story(rank)
    seen = story is not None and story.log.first_line is not None
    said = f"Every other rank ({list_ranks(sorted(peers))}) reports a lost or waiting peer; "
    said += f"rank {rank} alone shows no error"
    said += "." if seen else " and not a single line."
    return _suspect(case.waiting_event(), rank, "medium" if len(peers) > 1 or seen else "low", said, *_stopped(story))


def _is_folded(case: Case) -> bool:
    """True where Ray folded equal lines of several ranks into one: a rank without a line needn't be silent."""
    return any("ray-repeated" in line.layers for event in case.stories.events() for line in (event.line, *event.lines))


def _stopped(story: Story | None) -> tuple[str, ...]:
    if story is None or not story.stopped or story.ending is None:
        return ()
    signal = NAMES.get(story.ending.signal or 0, "a signal")
    return (f"It was still alive when the launcher ended it ({signal}): it was stuck, not dead.",)


def _neighbours(case: Case, quiet: set[int], peers: set[int]) -> Verdict | None:
    """In gloo's ring rank r talks to r-1 and r+1: the two that complain enclose the one that is gone."""
    size = max(case.ranks) + 1
    peer = {rank: case.stories.ranks[rank].peer for rank in peers}
    ring = {rank for rank in peers if any(case.entry(event).family == "gloo" for event in peer[rank])}
    enclosed = [rank for rank in quiet if {(rank - 1) % size, (rank + 1) % size} <= ring]
    if size < 3 or len(enclosed) != 1 or len(ring) > 3:
        return None
    rank = enclosed[0]
    said = f"Only {name_ranks(sorted(ring))} lost a peer; they are rank {rank}'s neighbours in gloo's ring, "
    said += f"and rank {rank} shows no error."
    return _suspect(case.waiting_event(), rank, "medium", said)


def store_host(case: Case) -> Verdict | None:
    """Clients that can't reach the store say that its host isn't up: without a launcher's store that is rank 0."""
    events = [event for event in case.stories.events() if event.rank is not None]
    names = {event.signature for event in events}
    agents = case.has_table() or any("torchelastic" in layer for event in events for layer in event.line.layers)
    unreachable = "rendezvous-connection-failed" in names and names <= {"rendezvous-connection-failed", "store-timeout"}
    if 0 in case.stories.ranks or agents or not unreachable:
        return None
    ranks = sorted({event.rank for event in events if event.rank is not None})
    said = f"{name_ranks(ranks).capitalize()} can't reach the store; rank 0 hosts it and isn't in the log at all."
    return _suspect(case.waiting_event(), 0, "medium" if len(ranks) > 1 else "low", said)


def straggler(case: Case) -> Verdict | None:
    """Where all ranks complain, the one that alone lost a connection while all others timed out came late."""
    if case.quiet() or len(case.peers) < 2:
        return None
    peer = {rank: case.stories.ranks[rank].peer for rank in case.peers}
    timed = {rank for rank, events in peer.items() if any("timeout" in event.signature for event in events)}
    closed = peer.keys() - timed
    if len(closed) != 1 or len(timed) < 2:
        return None
    rank = next(iter(closed))
    given_up = [min(event.order for event in peer[other]) for other in timed]
    if min(event.order for event in peer[rank]) < max(given_up):
        return None  # it complained before the others had given up: not late
    said = (
        f"{name_ranks(sorted(timed)).capitalize()} timed out waiting; rank {rank} alone lost a connection instead, "
        "so it came to the collective after they had given up."
    )
    return _suspect(case.waiting_event(), rank, "medium", said)


# ---------------------------------------------------------------- only consequences


def peers_only(case: Case) -> Verdict | None:
    """Only consequences are in the log: the cause isn't, and nobody is named."""
    root = case.waiting_event()
    if root is None:
        return None
    events = case.stories.events()
    alone = len({event.rank for event in events if event.signature == root.signature}) == 1
    if case.entry(root).points_at == "speaker" and root.rank is not None and alone:
        said = f"Rank {root.rank} alone reports it, and it speaks of its own side."
        return replace(_suspect(root, root.rank, "medium", said), suspects=())
    told = _of_counters(case)
    alike = len(case.peers) > 1 and case.peers >= case.ranks and len({event.signature for event in events}) == 1
    if told is None and alike:
        told = "Every rank reports the same and none shows a failure of its own: nobody can be named."
    told = told or "The log holds only consequences of a failure that it doesn't show; nobody can be named."
    heard = len(case.stories.ranks) == len(case.ranks)
    quiet = tuple(sorted(case.quiet())) if heard else ()  # with most ranks unheard, naming the heard ones would mislead
    return Verdict(root=root, candidates=quiet[:16], because=(told,))


def _of_counters(case: Case) -> str | None:
    """What the ledger says where it names nobody: all stuck in the same collective, or nothing ever completed."""
    telling = [group.verdict for group in case.groups if len(group.rows) > 1 and group.verdict != ledger.NOBODY]
    return telling[0] if telling else None


def witness_only(case: Case) -> Verdict | None:
    """Only a launcher's report is in the log."""
    if not case.stories.failed_exits:
        # exits that were told with their code or signal, and explained as no failure
        told = any(item.code is not None or item.signal is not None for item in case.stories.attempt.exits)
        witnesses = (event for event in case.stories.witnesses if event.signature != "worker-exit" or not told)
        witness = next(witnesses, None)
        said = "Only a launcher's report of a failure is in the log."
        return Verdict(root=witness, because=(said,)) if witness else None
    exits = [item for item in case.stories.failed_exits if item.signal != 15]
    if not exits:
        said = "Every process was ended by SIGTERM and none failed by itself: something outside stopped the job."
        return Verdict(scope="not-a-rank", because=(said,), finding="exit-sigterm")
    ranks = tuple(sorted({item.rank for item in exits if item.rank is not None}))
    if len(ranks) == 1:
        story = case.story(ranks[0])
        lines = "its own lines show no known error" if story and story.is_heard else "no line is marked as its own"
        said = f"The launcher reports that rank {ranks[0]} failed; {lines}."
        return replace(_suspect(None, ranks[0], "medium", said), finding="exit-code", suspects=())
    said = "The launcher reports that a process failed; no line that is known tells why."
    return Verdict(candidates=ranks, failed=ranks, because=(said,), finding="exit-code")


# ---------------------------------------------------------------- hangs


def silent_end(case: Case) -> Verdict | None:
    """The log stops in mid-training, with positive evidence of a hang."""
    if case.stories.failed_exits:
        return None
    found = hang.find(case.stories)
    return hang_verdict(found) if found is not None else None


def hang_verdict(found: hang.Hang) -> Verdict:
    """Turns a hang into a verdict: its suspect is named only where the lag is sure."""
    if found.rank is not None and found.sure:
        verdict = _suspect(None, found.rank, "medium", *found.reasons)
    else:
        candidates = (found.rank,) if found.rank is not None else ()
        verdict = Verdict(candidates=candidates, suspects=candidates, because=found.reasons)
    return replace(verdict, finding="silent-end", line=found.line)
