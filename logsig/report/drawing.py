"""The rank timeline in coordinates, for an SVG drawn by attributes alone: it needs no style sheet and no script.

Takes lanes (positions between 0 and 1), gives rectangles, points and ticks of a fixed canvas. Every kind has a shape of
its own; colour only repeats what the shape says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.record import dataclass
from logsig.report import cells, wording
from logsig.report.lanes import LEGEND

if TYPE_CHECKING:
    from logsig.report.lanes import Lane, Picture, Piece

WIDTH = 1000
LEFT = 236
RIGHT = 24
TOP = 30
LANE = 26
SPANS = ("step", "wait")
COLORS = {
    "step": "#2a78d6",
    "wait": "#8a9099",
    "last": "#6b7280",
    "collateral": "#c77700",
    "killed": "#8250c4",
    "failed": "#c62828",
    "first": "#d32f2f",
}
_LONGEST_NAME = 28
_NICE = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)


@dataclass(frozen=True, slots=True)
class Shape:
    """A span (``wide``) or a point of a lane, with what it says when pointed at."""

    kind: str
    x: float
    y: float
    wide: float
    says: str


@dataclass(frozen=True, slots=True)
class Row:
    """A lane on the canvas."""

    name: str
    full_name: str
    y: float
    is_first: bool
    thread: tuple[float, float]
    """From the first to the last thing heard of it."""
    shapes: tuple[Shape, ...]
    heading: str | None
    """Said above the lane where a new attempt begins."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The canvas."""

    width: int
    height: float
    left: int
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    legend: tuple[tuple[str, float, str], ...]
    """Kind, position and words."""
    says: str
    """The picture in a sentence, for those who don't see it."""


def draw(picture: Picture) -> Drawing:
    """Places every lane."""
    rows: list[Row] = []
    y, attempt = float(TOP), picture.lanes[0].attempt if picture.lanes else 0
    has_attempts = len({lane.attempt for lane in picture.lanes}) > 1
    for index, lane in enumerate(picture.lanes):
        heading = f"attempt {lane.attempt}" if has_attempts and (index == 0 or lane.attempt != attempt) else None
        attempt = lane.attempt
        y += LANE if heading else 0
        rows.append(_row(lane, y, heading))
        y += LANE
    ticks = _ticks(picture)
    return Drawing(WIDTH, y + (58 if ticks else 24), LEFT, tuple(rows), ticks, _legend(picture), _says(picture))


def _row(lane: Lane, y: float, heading: str | None) -> Row:
    shapes = tuple(_shape(piece, y) for piece in lane.pieces)
    thread = (min(shape.x for shape in shapes), max(shape.x + shape.wide for shape in shapes))
    word = "rank" if len(lane.ranks) == 1 else "ranks"
    many = f" ({len(lane.ranks):,})" if len(lane.ranks) > 2 else ""
    name = f"{word} {cells.cut(lane.name, _LONGEST_NAME - len(word) - 1 - len(many))}{many}"
    return Row(name, f"{word} {lane.name}", y, lane.is_first, thread, shapes, heading)


def _shape(piece: Piece, y: float) -> Shape:
    start, end = _x(piece.start), _x(piece.end)
    who = f" on {wording.count(piece.count, 'rank')}" if piece.count > 1 else ""
    says = f"{LEGEND[piece.kind]}: {piece.label}{who}" + (f" ({piece.place})" if piece.place else "")
    wide = max(end - start, 1.5) if piece.kind in SPANS else 0.0
    return Shape(piece.kind, start, y, round(wide, 1), says)


def _x(position: float) -> float:
    return round(LEFT + position * (WIDTH - LEFT - RIGHT), 1)


def _ticks(picture: Picture) -> tuple[tuple[float, str], ...]:
    """Gives round times below the lanes; none where only an order is known."""
    length = picture.seconds
    if length is None or length < 0.001:
        return ()
    unit = 1.0
    while length / unit < 2 and unit > 0.001:
        unit /= 10
    step = next((nice * unit for nice in _NICE if length / (nice * unit) <= 8), length / 4)
    count = int(length / step + 1e-9)
    return tuple(
        (_x(number * step / length), wording.duration(number * step) if number else "0") for number in range(count + 1)
    )


def _legend(picture: Picture) -> tuple[tuple[str, float, str], ...]:
    x, placed = float(LEFT), []
    for kind in picture.kinds:
        placed.append((kind, x, LEGEND[kind]))
        x += 46 + 7 * len(LEGEND[kind])
    return tuple(placed)


def _says(picture: Picture) -> str:
    first = [lane.name for lane in picture.lanes if lane.is_first]
    start = f"Timeline of {wording.count(sum(len(lane.ranks) for lane in picture.lanes), 'rank')}"
    return f"{start}; rank {first[0]} failed first." if first else f"{start}."
