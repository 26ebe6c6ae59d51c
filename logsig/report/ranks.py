"""The rank table: a row per rank where they are few, a row per kind of fate where they are many.

Takes rank states, gives rows of texts; the rank that failed first is marked and never folded away.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from logsig.late import late
from logsig.record import dataclass
from logsig.report import wording

if TYPE_CHECKING:
    from logsig.model import RankState

MOST_ROWS = 12
"""More ranks than this are folded."""
MOST_KINDS = 24
"""More kinds of fate than this are folded by state alone."""
_DATE = late(r"^(?:\d{4}-\d{2}-\d{2}[ T_]|\d{3,4} (?=\d{2}:))")
_FRACTION = late(r"([.,]\d{3})\d+")


@dataclass(frozen=True, slots=True)
class RankRow:
    """What is said of one rank, or of several that behave alike."""

    ranks: str
    count: int
    node: str
    last_seen: str
    step: str
    end: str
    """Exit code or signal."""
    state: str
    what: str
    is_first: bool
    numbers: tuple[int, ...]


def rows(states: tuple[RankState, ...]) -> tuple[RankRow, ...]:
    """Gives the rows, by rank where each has its own, else the first rank's row and then the largest groups."""
    if len(states) <= MOST_ROWS:
        return tuple(_row([state]) for state in sorted(states, key=lambda each: each.rank))
    groups = groups_of(states)
    return tuple(_row(group) for group in groups)


def groups_of(states: Iterable[RankState]) -> list[list[RankState]]:
    """Folds states that behave alike: the first rank's own group in front, then by size, then by rank."""
    states = sorted(states, key=lambda each: each.rank)
    groups = _by(states, lambda each: (each.state, each.what, each.exitcode, each.signal))
    if len(groups) > MOST_KINDS:
        groups = _by(states, lambda each: (each.state,))
    return sorted(groups, key=lambda group: (group[0].state != "first", -len(group), group[0].rank))


def _by(states: Iterable[RankState], key: Callable[[RankState], tuple[Any, ...]]) -> list[list[RankState]]:
    found: dict[tuple[Any, ...], list[RankState]] = {}
    for state in states:
        found.setdefault(key(state), []).append(state)
    return list(found.values())


def _row(group: list[RankState]) -> RankRow:
    numbers = tuple(state.rank for state in group)
    return RankRow(
        ranks=wording.ranges(numbers),
        count=len(group),
        node=_one_or_count([state.node for state in group if state.node], "node"),
        last_seen=_span([moment(state.last_seen) for state in group if state.last_seen]),
        step=_steps([state.last_step for state in group if state.last_step is not None]),
        end=_one_or_count([text for text in map(_end, group) if text], "kind"),
        state=group[0].state,
        what=_commonest([state.what for state in group]),
        is_first=any(state.state == "first" for state in group),
        numbers=numbers,
    )


def moment(text: str) -> str:
    """Shortens a printed time to the day's clock in milliseconds, and a long path to its last two parts."""
    if ":" in text and "/" in text:
        return "/".join(text.split("/")[-2:])
    return _FRACTION.sub(r"\1", _DATE.sub("", text))


def _end(state: RankState) -> str:
    if state.signal:
        return state.signal
    return "" if state.exitcode is None else str(state.exitcode)


def _one_or_count(texts: list[str], thing: str) -> str:
    different = sorted(set(texts))
    return different[0] if len(different) == 1 else wording.count(len(different), thing) if different else ""


def _span(texts: list[str]) -> str:
    """Gives what all times have in common, to the whole unit; the first and the last where that is too little."""
    different = sorted(set(texts))
    if len(different) < 2:
        return "".join(different)
    shared = re.match(r"\d+:\d+(?::\d+)?(?=\D)", os.path.commonprefix(different))  # noqa: RUF071 - of texts, on purpose
    return shared.group() if shared else f"{different[0]} … {different[-1]}"


def _steps(steps: list[int]) -> str:
    if not steps:
        return ""
    return str(steps[0]) if min(steps) == max(steps) else f"{min(steps)}-{max(steps)}"


def _commonest(texts: list[str]) -> str:
    first = max(sorted(set(texts)), key=texts.count)
    return first if len(set(texts)) == 1 else f"{first} (and {wording.count(len(set(texts)) - 1, 'other wording')})"
