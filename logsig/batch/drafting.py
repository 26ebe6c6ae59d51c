"""A draft of a signature for a failure that a scan met: takes lines around the telling one, gives the YAML text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from logsig.errors import LogsigError

if TYPE_CHECKING:
    from logsig.model import Excerpt, Source


def draft_from(excerpts: Sequence[Excerpt], place: Source) -> str | None:
    """Gives a draft, as ``signatures new`` would write it; None where the lines hold no message."""
    from logsig.draft import AFTER, BEFORE

    for excerpt in excerpts:
        last = excerpt.first_line + excerpt.data.count(b"\n")
        if excerpt.origin.path == place.path and excerpt.first_line <= place.line <= last:
            rows = excerpt.data.decode("utf-8", "replace").split("\n")
            at = place.line - excerpt.first_line
            start = max(0, at - BEFORE)
            near = [row.rstrip("\r") for row in rows[start : at + 1 + AFTER]]
            return _draft(near, excerpt.first_line + start, place.line)
    return None


def _draft(rows: Sequence[str], first: int, line: int) -> str | None:
    from logsig import draft, lines, messages
    from logsig.model import Excerpt, Origin

    try:
        reading = lines.read([Excerpt(Origin("<log>"), first, 0, "\n".join(rows).encode(), "hit")])
        chosen = draft.choose(messages.group(reading.lines), (line, line))
        if chosen is None:
            return None
        example = draft.example_lines(rows, first, chosen)
        return draft.write(draft.slug(chosen), draft.guess_family(chosen), draft.propose(chosen), example, chosen)
    except (LogsigError, ValueError, IndexError):
        return None
