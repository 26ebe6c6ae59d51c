"""What an incomplete log leaves of a verdict: its head or its end isn't there, or the words of a rank that failed.

``tail``, ``kubectl logs --tail`` and rotation cut logs anywhere, and so does a job that still writes. A rank is sure
only where what is missing can't accuse another: an own failure, if others did otherwise; a silent end, if the rank was
heard before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from logsig.late import late
from logsig.model import Confidence, Event, LogLine
from logsig.stories import Story
from logsig.verdict import Case, Verdict, name_ranks

HEAD = "{path} begins in the middle of a message: what stood before was not read, and may name another rank"
END = "the log ends here; other ranks may have said the same"

_INSIDE = late(r"(?:\t| {2,})\S")
"""The inside of a traceback or of a table. (An agent's own file may well begin with how a worker ended.)"""
_IN_REPORT = late(r"(?:\[\d+\]:|Root Cause \(first observed failure\):|Failures:|[=-]{40,}|\S+ FAILED)\s*$")
"""The inside of the table with which torchrun ends."""
_IN_ENTRY = late(r"\[\d+\]:$|Failures:$|  (?:time|host|rank|exitcode|error_file|traceback) {0,8}: ")
"""A line of that table behind which another must come."""
_FRAGMENT = late(r"[^\[\]\n]{0,80}\][: ]")
"""The rest of a line: it closes a bracket that it doesn't open."""
_OF_OTHERS = late(
    r"peer|\branks?\b|time[ds]?[ -]?out|connect|socket|broken pipe|nccl|gloo|\bmpi|collective|all_?(?:reduce|gather)|"
    r"broadcast|barrier|\blost\b|neighbou?r|\bothers?\b|\bstore\b|rendezvous|heartbeat|watchdog|remote|Traceback|Error\b",
    re.IGNORECASE,
)
"""Words of an error that may have reached a rank from another, or that says nothing without its other lines."""
_NUMBER = late(r"\d+")
SHORTEST = 8
"""Characters that the rest of a line must have to be known from another rank's whole one."""
_SYMMETRIC = frozenset({"ddp", "autograd"})
"""Families of faults of the program: whoever prints first, mostly every rank raises them."""
_COLLECTIVE = late(r"torch/distributed/(?:distributed_c10d|c10d_logger)\.py$")
_COMPARED = frozenset({"ddp-model-mismatch"})
"""Those in which the message itself tells who is odd."""


def cut_files(lines: Sequence[LogLine]) -> tuple[str, ...]:
    """Gives the paths of the files whose first line can't be a log's first."""
    of_file: dict[str, list[LogLine]] = defaultdict(list)
    for line in lines:
        of_file[line.source.path].append(line)
    return tuple(path for path, (first, *rest) in of_file.items() if first.source.line == 1 and _is_rest(first, rest))


def _is_rest(first: LogLine, others: Sequence[LogLine]) -> bool:
    """True where the line is the rest of a message: by its form, or because another line ends with it in mid-word."""
    text = first.text
    if is_inside(text):
        return True
    if first.layers or len(text) < SHORTEST:
        return False
    text = _NUMBER.sub("0", text)
    size = len(text)
    same = (_NUMBER.sub("0", line.text) for line in others if line.text.endswith(first.text[-1]))
    return any(len(other) > size and other.endswith(text) and (other[-size - 1] + text[0]).isalnum() for other in same)


def is_inside(text: str) -> bool:
    """Tells a line that goes on with what other lines began."""
    return any(pattern.match(text) for pattern in (_INSIDE, _IN_REPORT, _FRAGMENT))


def weigh(case: Case, verdict: Verdict, *, has_head: bool) -> Verdict:
    """Gives what remains of the verdict, where the log may not hold all that was said."""
    counted = verdict.ledger_decided and verdict.confidence == "high"
    if verdict.rank is None or counted or (verdict.root and verdict.root.signature in _COMPARED):
        return verdict
    if _speaks(verdict):
        return _of_one_that_speaks(case, verdict, has_head=has_head)
    return _of_a_silent_one(case, verdict, has_head=has_head)


def _speaks(verdict: Verdict) -> bool:
    """True where the verdict stands on what the rank itself printed of its own failure."""
    root = verdict.root
    return root is not None and root.rank == verdict.rank and not root.derived and not verdict.suspects


# ---------------------------------------------------------------- a rank with a failure of its own


def _of_one_that_speaks(case: Case, verdict: Verdict, *, has_head: bool) -> Verdict:
    if _is_cut_short(case, verdict.root):
        return _capped(verdict, "low", END)
    if _is_of_a_collective(case, verdict.root):
        return _capped(verdict, "low")
    unheard = {rank for rank, story in case.stories.ranks.items() if _failed_in_silence(story)} - {verdict.rank}
    if unheard and not has_head:
        return _withheld(verdict, unheard)
    ends_here = _ends_here(case, verdict)
    if has_head and not unheard and not ends_here:
        return verdict
    lost = _is_symmetric(case, verdict) or verdict.scope == "several-ranks"
    return _capped(verdict, "low" if lost else "medium", END if ends_here else "")


def _is_symmetric(case: Case, verdict: Verdict) -> bool:
    return verdict.root is not None and case.entry(verdict.root).family in _SYMMETRIC


def _is_cut_short(case: Case, root: Event | None) -> bool:
    """True where the log ends inside an exception that no signature knows: what it would have said isn't there."""
    return root is not None and any(line.cut for line in root.lines) and case.entry(root).match.net


def _is_of_a_collective(case: Case, root: Event | None) -> bool:
    """True for unknown words out of a collective's C++ side: mostly a peer's doing; an argument's fault is Python's."""
    if root is None or not root.frames or not case.entry(root).match.net:
        return False
    own = str(root.facts.get("exception", "")).rsplit(".", 1)[-1] in ("ValueError", "TypeError", "AssertionError")
    return not own and _COLLECTIVE.search(root.frames[-1].path) is not None


def _ends_here(case: Case, verdict: Verdict) -> bool:
    """True where nothing follows the failure, neither a launcher's words nor another rank's; or only half a table."""
    attempt, root = case.stories.attempt, verdict.root
    if attempt.last_line is not None and _IN_ENTRY.match(attempt.last_line.text):
        return True
    if root is not None and any(_is_last_word(case, event, root) for event in attempt.events):
        return True
    if root is None or attempt.exits or case.peers or case.stories.loose_peer:
        return False
    behind = [event for event in attempt.events if event.order > root.order]
    return not any(event.rank != root.rank or event.role == "witness" for event in behind)


def _is_last_word(case: Case, event: Event, root: Event) -> bool:
    """True for another rank's failure with which the log ends: it may have gone on, to the same as the root's."""
    if event.rank in (None, root.rank) or (event.lines or (event.line,))[-1] is not case.stories.attempt.last_line:
        return False
    return event.role == "initiator" or (event.role == "either" and case.entry(event).family == case.entry(root).family)


# ---------------------------------------------------------------- a rank that printed no failure


def _of_a_silent_one(case: Case, verdict: Verdict, *, has_head: bool) -> Verdict:
    silent = {rank for rank, story in case.stories.ranks.items() if _failed_in_silence(story)}
    if not has_head and not (silent <= {verdict.rank} and not case.peers):
        return _withheld(verdict, silent)
    if _is_unheard(case, verdict.rank) and _is_seldom_silent(case, verdict):
        return _capped(verdict, "low")
    if (verdict.suspects or verdict.finding == "exit-code") and _is_still_printing(case, verdict.rank):
        return _capped(verdict, "medium" if _speaks_of_itself(case, verdict.rank) else "low")
    if verdict.suspects and (last := case.stories.attempt.last_line) and last.cut:
        return _capped(verdict, "low", END)
    return verdict


def _is_seldom_silent(case: Case, verdict: Verdict) -> bool:
    """Tells an end that a process hardly meets without a word: an abort, or the exit code of an exception."""
    story = case.story(verdict.rank)
    if verdict.finding == "exit-code":
        return story is None or story.failed_code is None or story.failed_code.code == 1
    return verdict.root is not None and verdict.root.derived and verdict.root.facts.get("signal") == "SIGABRT"


def _is_still_printing(case: Case, rank: int | None) -> bool:
    """Tells a rank that only seems to have no error: its last words are one that nobody could read."""
    story = case.story(rank)
    if story is None or story.log.last_line is None or not _is_heard(story):
        return False
    last = story.log.last_line
    if any(line is last for event in case.stories.recovered for line in event.lines):
        return False
    return last.level in ("E", "F") or is_inside(last.text) or "Error" in last.text


def _speaks_of_itself(case: Case, rank: int | None) -> bool:
    """Tells an error that a program logged, in a sentence that names neither a peer nor what ranks do together."""
    story = case.story(rank)
    words = story.log.last_words if story is not None else None
    return words is not None and _OF_OTHERS.search(words.text) is None and not is_inside(words.text)


def _is_unheard(case: Case, rank: int | None) -> bool:
    """Tells a rank whose words aren't there, though others' are; where steps have no label, any rank may be heard."""
    ranks = case.stories.ranks.values()
    anonymous = case.stories.attempt.last_progress_order >= 0 and all(story.log.last_step is None for story in ranks)
    return not (anonymous or _is_heard(case.story(rank)))


def _is_heard(story: Story | None) -> bool:
    return story is not None and story.is_heard


def _failed_in_silence(story: Story) -> bool:
    """Tells a rank that ended by itself, badly, and printed neither an error of its own nor one that reached it."""
    has_failed = story.derived is not None or story.failed_code is not None
    return has_failed and not story.own and not story.peer


# ---------------------------------------------------------------- what remains


def _withheld(verdict: Verdict, unheard: set[int]) -> Verdict:
    said = f"The log's beginning is missing, and with it what {name_ranks(sorted(unheard))} printed."
    candidates = tuple(sorted({*unheard, *((verdict.rank,) if verdict.rank is not None else ())}))
    return replace(
        verdict,
        rank=None,
        confidence=None,
        grade=None,
        scope="unknown",
        candidates=candidates,
        because=(said, *verdict.because),
    )


def _capped(verdict: Verdict, most: Confidence, doubt: str = "") -> Verdict:
    order: tuple[Confidence, ...] = ("low", "medium", "high")
    least = min(order.index(verdict.confidence or "low"), order.index(most))
    return replace(verdict, confidence=order[least], doubts=(*verdict.doubts, *((doubt,) if doubt else ())))
