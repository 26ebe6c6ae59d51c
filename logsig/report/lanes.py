"""The rank timeline, as lanes with positions between 0 and 1: what the terminal's blocks and the browser's SVG draw.

Ranks that behave alike share a lane, so that a thousand of them still fit on a screen; the first rank has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.record import dataclass
from logsig.report import wording
from logsig.report.ranks import MOST_ROWS, groups_of

if TYPE_CHECKING:
    from logsig.model import Diagnosis, Mark, RankState, Timeline

LEGEND = {
    "step": "steps",
    "wait": "waiting",
    "last": "last sign of life",
    "collateral": "failed in its wake",
    "killed": "killed",
    "failed": "failed",
    "first": "failed first",
}
"""Kind of mark -> its name for a reader, in the order in which they are drawn: the last covers the others."""
KINDS = tuple(LEGEND)


@dataclass(frozen=True, slots=True)
class Piece:
    """A point or a span of a lane."""

    kind: str
    start: float
    end: float
    label: str
    place: str | None
    count: int
    """How many ranks show it."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One rank, or several that behave alike."""

    name: str
    ranks: tuple[int, ...]
    is_first: bool
    attempt: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """All lanes, the length of their common axis, and what was done to the clocks."""

    lanes: tuple[Lane, ...]
    length: str
    """The length of the axis in words."""
    seconds: float | None
    """The same in seconds, or None where only the order of the lines is known."""
    skew: str | None
    kinds: tuple[str, ...]
    """Kinds of marks that occur, for the legend."""


def picture(diagnosis: Diagnosis) -> Picture | None:
    """Gives the lanes of a diagnosis that has something to draw."""
    timeline = diagnosis.timeline
    if timeline is None or len(timeline.marks) < 2:
        return None  # one point is no picture
    if timeline.unit == "order" and len({mark.source.path for mark in timeline.marks if mark.source}) > 1:
        return None  # the order of lines means nothing between files
    start = min(mark.start for mark in timeline.marks)
    end = max(mark.end if mark.end is not None else mark.start for mark in timeline.marks)
    length = max(end - start, 1e-9)
    lanes = tuple(
        _lane(attempt, group, marks, start, length)
        for attempt in sorted({mark.attempt for mark in timeline.marks})
        for group, marks in _grouped(diagnosis.ranks, [mark for mark in timeline.marks if mark.attempt == attempt])
    )
    shown = {piece.kind for lane in lanes for piece in lane.pieces}
    is_clock = timeline.unit == "seconds"
    return Picture(
        lanes=lanes,
        length=wording.duration(length) if is_clock else "in the order of the lines; not all of them carry a time",
        seconds=length if is_clock else None,
        skew=_skew(timeline),
        kinds=tuple(kind for kind in KINDS if kind in shown),
    )


def _grouped(states: tuple[RankState, ...], marks: list[Mark]) -> list[tuple[list[int], list[Mark]]]:
    by_rank: dict[int, list[Mark]] = {}
    for mark in marks:
        by_rank.setdefault(mark.rank, []).append(mark)
    if len(by_rank) <= MOST_ROWS:
        return [([rank], by_rank[rank]) for rank in sorted(by_rank)]
    groups = [[state.rank for state in group if state.rank in by_rank] for group in groups_of(states)]
    known = {rank for group in groups for rank in group}
    groups.append(sorted(set(by_rank) - known))
    return [(group, [mark for rank in group for mark in by_rank[rank]]) for group in groups if group]


def _lane(attempt: int, group: list[int], marks: list[Mark], start: float, length: float) -> Lane:
    name = wording.ranges(group)
    pieces = _pieces(marks, start, length)
    return Lane(name, tuple(group), any(piece.kind == "first" for piece in pieces), attempt, pieces)


def _pieces(marks: list[Mark], start: float, length: float) -> tuple[Piece, ...]:
    """Joins the marks of one kind where several ranks share the lane: one span from the earliest to the latest."""
    joined = []
    for kind in KINDS:
        of_kind = [mark for mark in marks if mark.kind == kind]
        ranks = {mark.rank for mark in of_kind}
        for cluster in [of_kind] if len(ranks) > 1 else [[mark] for mark in of_kind]:
            joined += [_join(kind, cluster, start, length)] if cluster else []
    return tuple(joined)


def _join(kind: str, marks: list[Mark], start: float, length: float) -> Piece:
    first = min(marks, key=lambda mark: mark.start)
    begin = first.start
    end = max(mark.end if mark.end is not None else mark.start for mark in marks)
    place = f"{first.source.path}:{first.source.line}" if first.source else None
    return Piece(
        kind, (begin - start) / length, (end - start) / length, first.label, place, len({mark.rank for mark in marks})
    )


def _skew(timeline: Timeline) -> str | None:
    shifted = {node: by for node, by in sorted(timeline.skew.items()) if abs(by) >= 0.001}
    if not shifted:
        return None
    return "clocks brought together: " + wording.join([f"{node} {by:+.3g} s" for node, by in shifted.items()])
