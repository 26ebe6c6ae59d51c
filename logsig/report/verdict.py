"""The answer in one sentence, composed once for all formats: who failed first, how sure that is, and of what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.report.wording import count, ranks_phrase

if TYPE_CHECKING:
    from logsig.model import AttemptResult, Diagnosis

_SURENESS = {"high": "failed first", "medium": "probably failed first", "low": "may have failed first"}

_NO_CAUSE = {
    "healthy": "The job ended well: nothing in this log is a failure.",
    "unfinished": "No failure and no end: the job was still running, or the log was cut, or it hung.",
    "recovered": "An attempt failed and a later one ended well.",
    "interrupted": "The job was stopped from outside.",
    "empty": "The log is empty: there is nothing to diagnose.",
}
_UNREAD = "Nothing could be read, so there is nothing to diagnose."
"""In place of an empty log."""


def verdict(diagnosis: Diagnosis) -> str:
    """Says the whole answer in one sentence."""
    cause = diagnosis.root_cause
    if cause is None:
        return _without_cause(diagnosis)
    said = f"{who(diagnosis)}: {_sentence(_without_subject(cause.summary, diagnosis.first_failing_rank))}"
    if diagnosis.outcome == "recovered":
        return f"The job recovered ({_attempts(diagnosis.attempts)}). Before that, {_lower_first(said)}"
    return said


def short(diagnosis: Diagnosis) -> str:
    """Says who, and the id of what: for a place of few columns."""
    cause = diagnosis.root_cause
    if cause is None:
        return verdict(diagnosis)
    start = "The job recovered; before that, " if diagnosis.outcome == "recovered" else ""
    subject = who(diagnosis)
    return f"{start}{_lower_first(subject) if start else subject}: {cause.title} [{cause.signature}]"


def who(diagnosis: Diagnosis) -> str:
    """Says which rank failed first and how sure that is, or why none is named."""
    if diagnosis.scope == "all-ranks":
        return f"{_everyone(diagnosis)} failed alike"
    if diagnosis.first_failing_rank is not None:
        node = (
            f" on {diagnosis.first_failing_node}"
            if diagnosis.first_failing_node and len(diagnosis.job.nodes) > 1
            else ""
        )
        return f"Rank {diagnosis.first_failing_rank}{node} {_SURENESS[diagnosis.rank_confidence or 'low']}"
    if diagnosis.scope == "not-a-rank":
        node = f" (node {diagnosis.first_failing_node})" if diagnosis.first_failing_node else ""
        return f"{'Stopped from outside' if diagnosis.outcome == 'interrupted' else 'Not a failure of one rank'}{node}"
    if diagnosis.candidates:
        return f"Which rank failed first is undecided ({ranks_phrase(diagnosis.candidates)} could be)"
    return "Which rank failed first is undecided"


def _without_cause(diagnosis: Diagnosis) -> str:
    if diagnosis.outcome == "empty" and diagnosis.unreadable:
        return _UNREAD
    if diagnosis.outcome in _NO_CAUSE:
        return _NO_CAUSE[diagnosis.outcome]
    return f"The job failed and no known signature explains it; {_lower_first(who(diagnosis))}."


def _everyone(diagnosis: Diagnosis) -> str:
    """Names those that were heard to fail; the others were stopped before they could print."""
    world = diagnosis.job.world_size or len(diagnosis.ranks)
    if 1 < len(diagnosis.candidates) < world:
        words = ranks_phrase(diagnosis.candidates)
        return words[:1].upper() + words[1:]
    return {0: "Every rank", 1: "Every rank", 2: "Both ranks"}.get(world, f"All {count(world, 'rank')}")


def _attempts(attempts: tuple[AttemptResult, ...]) -> str:
    good = [attempt.number for attempt in attempts if attempt.outcome == "healthy"]
    return f"attempt {good[-1]} ended well" if good else "a later attempt went on"


def _without_subject(summary: str, rank: int | None) -> str:
    """Says ``it`` where the summary would name the rank a second time."""
    subject = f"Rank {rank} "
    return f"it {summary.removeprefix(subject)}" if summary.startswith(subject) else summary


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
