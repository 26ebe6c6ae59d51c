"""Rebuilds the collective ledger from text: per process group, where each rank stood when it hung.

Takes the events of one attempt, gives ``LedgerGroup``s with suspects. Sequence numbers are compared only within one
group. A rank that printed a watchdog line waited; a rank that never enqueued what others wait for, ran another
operation, or is silent though expected, is a suspect.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from logsig.model import MAX_WORLD, Event, LedgerGroup, LedgerRow
from logsig.record import dataclass

OWN_TIMEOUT = "Timeout"
"""Variant of the counters' line by which a rank's own watchdog reports a timeout (torch 2.3 to 2.5)."""
NOBODY = "The counters name nobody."
DEFAULT_GROUPS = ("0", "default_pg", "")
POINT_TO_POINT = frozenset({"SEND", "RECV", "RECVANYSOURCE"})
"""Operations between two ranks: each pair counts them on its own, so ranks can't be compared by them."""

Suspects = tuple[set[int], str, dict[int, str]]
"""Ranks, the sentence that says why, and rank -> note for its row."""


@dataclass(slots=True)
class _Row:
    rank: int
    group_rank: int | None = None
    enqueued: int | None = None
    completed: int | None = None
    seq: int | None = None
    op: str | None = None
    numel: str | None = None
    own: bool = False
    """Its own watchdog spoke: the rank waited."""
    told_by: int | None = None
    wait: float | None = None


def build(events: Sequence[Event], ranks: Iterable[int], world_size: int | None) -> tuple[LedgerGroup, ...]:
    """Returns a group for each process group of which some rank reported a stuck collective."""
    groups: dict[str, dict[int, _Row]] = defaultdict(dict)
    seq_group: dict[tuple[int, int | None], str] = {}
    relevant = [
        (event.rank, event)
        for event in events
        if event.rank is not None and ({"seq", "last_enqueued", "elapsed_ms"} & event.facts.keys())
    ]
    for rank, event in relevant:
        seq = event.facts.get("seq", event.facts.get("last_enqueued"))
        if "pg" in event.facts and seq is not None:
            seq_group.setdefault((rank, seq), str(event.facts["pg"]))
    for rank, event in relevant:
        pg = str(event.facts.get("pg") or seq_group.get((rank, event.facts.get("seq")), "0"))
        _enter(groups[pg].setdefault(rank, _Row(rank)), event)
    known = set(ranks)
    return tuple(
        _judge(pg, rows, known, world_size)
        for pg, rows in sorted(groups.items())
        if any(row.seq is not None or row.own or row.enqueued is not None for row in rows.values())
    )


def _enter(row: _Row, event: Event) -> None:
    facts = event.facts
    row.group_rank = facts.get("group_rank", row.group_rank)
    row.enqueued = facts.get("last_enqueued", row.enqueued)
    row.completed = facts.get("last_completed", row.completed)
    if "elapsed_ms" in facts or ("seq" in facts and "op" in facts):
        if row.seq is None or facts.get("seq", row.seq) <= row.seq:
            row.seq = facts.get("seq", row.seq)
            row.op = facts.get("op", row.op)
            row.numel = str(facts.get("numel_in", facts.get("numel", row.numel)) or "") or row.numel
        row.own = row.own or "elapsed_ms" in facts
        if event.time is not None and "elapsed_ms" in facts and row.wait is None:
            row.wait = event.time - facts["elapsed_ms"] / 1000
    elif "seq" in facts and row.seq is None:
        row.seq = facts["seq"]
    row.own = row.own or facts.get("variant") == OWN_TIMEOUT
    if "peer_rank" in facts and row.told_by is None and not row.own:
        row.told_by = facts["peer_rank"]


def _judge(pg: str, rows: Mapping[int, _Row], known: set[int], world_size: int | None) -> LedgerGroup:
    ordered = [rows[rank] for rank in sorted(rows)]
    stuck = [row for row in ordered if row.seq is not None]
    expected = set(known)
    if pg in DEFAULT_GROUPS and world_size and world_size <= MAX_WORLD:
        expected |= set(range(world_size))
    elif pg not in DEFAULT_GROUPS:
        expected = set(rows)
    unheard = expected - set(rows)
    if pg in DEFAULT_GROUPS:
        unheard |= set(range(max(rows, default=0))) - set(rows)
    suspects, verdict, notes = _suspects(ordered, stuck, expected, len(unheard))
    shown = [_shown(row, notes.get(row.rank, "waited" if row.own else "told")) for row in ordered]
    shown += [_shown(_Row(rank), notes[rank]) for rank in sorted(suspects) if rank not in rows]
    return LedgerGroup(pg, tuple(sorted(shown, key=lambda row: row.rank)), verdict, tuple(sorted(suspects)))


def _suspects(rows: Sequence[_Row], stuck: Sequence[_Row], expected: set[int], unheard: int) -> Suspects:
    """Whom the counters of one group accuse: those with an odd operation, those behind, else the silent ones.

    ``unheard``: how many ranks might side with a minority, as their counters aren't in the log.
    """
    completed = {row.completed for row in rows if row.completed is not None}
    if completed == {-1}:
        said = (
            "No collective of this group ever completed: the transport never worked, or a rank never joined the group."
        )
        return set(), said, {}
    paired = any(row.op in POINT_TO_POINT for row in rows)
    odd = set() if paired else _odd_operation(stuck, unheard)
    if odd:
        said = f"At sequence number {stuck[0].seq} {_names(odd)} ran another operation or size than the others."
        return odd, said, dict.fromkeys(odd, "other operation")
    waited = [row for row in rows if row.own and row.seq is not None]
    behind = None if paired else _behind(rows, waited, unheard)
    if behind is not None:
        return behind
    silent = expected - {row.rank for row in rows}
    if waited and silent and len(silent) <= max(1, len(expected) // 2) and len(expected) > 1:
        said = f"{_names(silent).capitalize()} said nothing while the other ranks reported a stuck collective."
        return silent, said, dict.fromkeys(silent, "silent")
    if len(stuck) > 1 and len({row.seq for row in stuck}) == 1 and not paired:
        return set(), "All that report were stuck in the same collective: nobody can be named from the counters.", {}
    return set(), NOBODY, {}


def _behind(rows: Sequence[_Row], waited: Sequence[_Row], unheard: int) -> Suspects | None:
    """The minority that never enqueued the furthest collective that a rank waited in, or waited in an earlier one."""
    front = max((row.seq for row in waited if row.seq is not None), default=None)
    if front is None:
        return None
    arrived = {row.rank for row in waited if row.seq is not None and row.seq >= front}
    never = {row.rank for row in rows if row.enqueued is not None and row.enqueued < front} - arrived
    early = {row.rank for row in waited} - arrived
    if early and unheard and len(early) + unheard >= len(arrived):
        return set(), NOBODY, {}  # which of the two is the minority isn't known
    if never and len(never) < len(rows) and len(never) <= max(1, len(rows) // 2):
        said = f"{_names(never).capitalize()} never enqueued collective {front}, on which the others waited."
        return never, said, dict.fromkeys(never, "never entered")
    if early and len(early) <= len(waited) // 2:
        said = f"{_names(early).capitalize()} waited in an earlier collective than the others: "
        return early, said + "the ranks took different paths.", dict.fromkeys(early, "behind")
    return None


def _odd_operation(stuck: Sequence[_Row], unheard: int) -> set[int]:
    """At one sequence number the ranks with the rarest (operation, size), where that is a clear minority."""
    by_seq: dict[int, list[_Row]] = defaultdict(list)
    for row in stuck:
        if row.seq is not None and row.op:
            by_seq[row.seq].append(row)
    for rows in by_seq.values():
        counts = Counter((row.op, row.numel) for row in rows)
        if len(counts) > 1:
            common, most = counts.most_common(1)[0]
            rest = {row.rank for row in rows if (row.op, row.numel) != common}
            if most > len(rest) + unheard:
                return rest
    return set()


def _names(ranks: Iterable[int]) -> str:
    from logsig.verdict import name_ranks

    return name_ranks(sorted(ranks))


def _shown(row: _Row, note: str) -> LedgerRow:
    return LedgerRow(
        row.rank,
        row.group_rank,
        row.enqueued,
        row.completed,
        row.seq,
        row.op,
        row.numel,
        row.own,
        row.told_by,
        row.wait,
        note,
    )
