"""Names the rank that failed first, with a grade and the sentences that led there; or says that the log doesn't decide.

Takes the stories of one attempt, gives a ``Verdict``. Each rule is a function that decides or passes on; the first that
decides counts. The rules are those of careful readers, in the order of their weight: what a rank failed of by itself
(``initiators``), then what is left when nobody did (``waiting``), then a hang without an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from logsig import causes, incomplete, initiators, ledger, waiting
from logsig.catalog import Catalog
from logsig.model import Event
from logsig.stories import Stories, kind
from logsig.verdict import Case, Verdict

MAX_OTHERS = 5

RULES: tuple[Callable[[Case], Verdict | None], ...] = (
    initiators.mismatch,
    initiators.outside,
    initiators.own_failures,
    waiting.exit_code,
    waiting.left_early,
    waiting.named,
    waiting.by_ledger,
    waiting.one_missing,
    waiting.store_host,
    waiting.straggler,
    waiting.peers_only,
    waiting.witness_only,
    waiting.silent_end,
)


def decide(stories: Stories, catalog: Catalog, world_size: int | None, *, has_head: bool = True) -> Verdict:
    """Returns the verdict of the first rule that applies; an empty one where nothing failed.

    ``has_head`` is false where the attempt's beginning was cut off.
    """
    case = Case(stories, catalog, world_size)
    case.roots = causes.roots(stories, catalog)
    case.groups = ledger.build(stories.attempt.events, stories.ranks, world_size)
    for rule in RULES:
        verdict = rule(case)
        if verdict is not None:
            verdict = incomplete.weigh(case, verdict, has_head=has_head)
            return replace(verdict, groups=case.groups, others=_others(case, verdict))
    return Verdict(groups=case.groups)


def _others(case: Case, verdict: Verdict) -> tuple[Event, ...]:
    """Independent initiators after the first, one of each kind."""
    if verdict.root is None or verdict.scope == "all-ranks":
        return ()
    found: dict[str, Event] = {}
    for event in case.roots:
        if event is not verdict.root and kind(event) != kind(verdict.root):
            found.setdefault(kind(event), event)
    return tuple(found.values())[:MAX_OTHERS]
