"""The launcher's own claim, audited: why the answer agrees or disagrees with torchrun's “first observed failure”."""

from __future__ import annotations

from logsig.model import Exit
from logsig.stories import Story
from logsig.verdict import Case, list_ranks


def of_table(case: Case, rank: int | None) -> tuple[str, ...]:
    """Returns a sentence where a table names a rank; nothing otherwise."""
    claims = [item for item in case.stories.attempt.exits if item.root and item.rank is not None]
    if not claims or rank is None:
        return ()
    said = sorted({item.rank for item in claims if item.rank is not None})
    if said == [rank]:
        return (f"torchrun's table agrees: it lists rank {rank} as the first observed failure.",)
    if rank in said:
        names = f"Each node's torchrun names a rank of its own ({list_ranks(said)})"
        return (f"{names}; the others' failures follow from rank {rank}'s.",)
    claim = next(item for item in claims if item.rank != rank)
    why = _why(claim, case.story(claim.rank))
    return (f"torchrun's table names rank {claim.rank} first, {why}{_tie(case, claim)}.",)


def _why(claim: Exit, story: Story | None) -> str:
    if story is not None and story.peer:
        return "which only lost its peer"
    return "which aborted at teardown" if claim.signal == 6 else "which shows no failure of its own"


def _tie(case: Case, claim: Exit) -> str:
    """Without an error file the table's time is when the agent looked."""
    if claim.error_file is not None:
        return ""
    times = {item.time for item in case.stories.attempt.exits if item.witness == "elastic-child-failed"}
    tie = ", and all its times tie" if len(times) == 1 else ""
    return f"; without an error file the table's time is when the agent looked, in whole seconds{tie}"
