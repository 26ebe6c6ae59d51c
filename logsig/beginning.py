"""Tells a log whose head is missing (``tail``, ``kubectl logs --tail``, rotation), and what its verdict is then worth.

Where the head is gone, a rank that printed nothing may have printed its traceback there. So a rank is named only if no
other rank failed in silence, and the named one speaks for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logsig.late import late
from logsig.model import LogLine
from logsig.stories import Story
from logsig.verdict import Case, Verdict, name_ranks

DOUBT = "{path} begins in the middle of a message: what stood before was not read, and may name another rank"

_INSIDE = late(r"(?:\t| {2,})\S")
"""The inside of a traceback or of a table. (An agent's own file may well begin with how a worker ended.)"""


def cut_files(lines: Sequence[LogLine]) -> tuple[str, ...]:
    """Gives the paths of the files whose first line can't be a log's first."""
    first: dict[str, LogLine] = {}
    for line in lines:
        first.setdefault(line.source.path, line)
    return tuple(path for path, line in first.items() if line.source.line == 1 and _INSIDE.match(line.text))


def without_head(case: Case, verdict: Verdict) -> Verdict:
    """Gives what remains of the verdict on an attempt whose beginning wasn't read."""
    if verdict.rank is None or verdict.ledger_decided:
        return verdict
    named = case.story(verdict.rank)
    silent = {rank for rank, story in case.stories.ranks.items() if _failed_in_silence(story)}
    speaks = named is not None and bool(named.own)
    unknown = silent - {verdict.rank} if speaks else silent
    if speaks and not unknown:
        return verdict
    if not speaks and silent <= {verdict.rank} and not _peers(case):
        return verdict
    said = f"The log's beginning is missing, and with it what {name_ranks(sorted(unknown))} printed."
    candidates = tuple(sorted({*unknown, verdict.rank}))
    return replace(
        verdict,
        rank=None,
        confidence=None,
        grade=None,
        scope="unknown",
        candidates=candidates,
        because=(said, *verdict.because),
    )


def _failed_in_silence(story: Story) -> bool:
    """Tells a rank that ended by itself, badly, and printed neither an error of its own nor one that reached it."""
    has_failed = story.derived is not None or story.failed_code is not None
    return has_failed and not story.own and not story.peer


def _peers(case: Case) -> bool:
    return any(story.peer for story in case.stories.ranks.values())
