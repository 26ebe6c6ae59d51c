"""How far a line says its writer came: a training step, a good end, data that ran out.

Takes one line's text; knows no job. What nearly all lines of a run have in common, their shape, is judged once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from logsig.late import late
from logsig.model import LogLine
from logsig.record import dataclass

SHAPES = 4096
"""Shapes remembered."""
AHEAD = 2
"""Steps on which nobody gets whose peers are dead, and more than what mostly waits in a pipe."""
_NOUGHTS = bytes.maketrans(b"123456789", b"000000000")


def shape_of(text: str) -> bytes:
    """Gives the shape of a line, which nearly all training lines of a run share: every digit is a nought."""
    return text.encode("utf-8", "surrogatepass").translate(_NOUGHTS)


def words_of(shape: bytes) -> str:
    """Gives a shape as text, as long as the line."""
    return shape.decode("utf-8", "surrogatepass")


_STEP = late(
    r"(?:\bglobal[_ ]?step|\bsteps?|\biter(?:ation)?s?|\bit|"
    r"\bbatch(?:_idx)?)['\"]?\s*[:=#]?\s*\[?\s*(?P<step>\d{1,9})(?!\.\d|[\w-])(?:\s*/\s*(?P<of>\d{1,18}))?",
    re.IGNORECASE,
)
_EPOCH_STEP = late(
    r"\bepoch\b['\"]?\s*[:=]?\s*\[?\s*(?P<epoch>\d{1,6})\]?[^\n]{0,30}?[\[ ](?P<step>\d{1,9})\s*/\s*(?P<of>\d{1,9})\b",
    re.IGNORECASE,
)
_EPOCH = late(r"\bepoch\b['\"]?\s*[:=]?\s*\[?\s*(?P<step>\d{1,6})\b(?!\.\d*[1-9])", re.IGNORECASE)
_NAME = late(r"(?:[A-Za-z]+[^\w\s]{0,2} )?[A-Za-z_]+(?=\W*$)")
"""The word for the step and one before it (``eval step``)."""
_LABEL = late(r"[^A-Za-z]+")
EPOCH = "epoch"
"""The name of a step that is an epoch: lines of it are many."""
_TQDM = late(r"\|\s*(?P<step>\d{1,9})/(?P<of>\d{1,9}) \[")
NEEDLES = ("step", "Step", "iter", "Iter", "it ", "poch", "batch", "| ")
_NOT_PROGRESS = late(
    r"\b(?:at|in|from|after|before|until|since|every|resum\w+|load\w+|sav\w+|checkpoint\w*|max|num|total|warmup|"
    r"log\w*|eval|save)[_ ](?:\w+ )?(?:global )?(?:step|iter|epoch|batch)",
    re.IGNORECASE,
)
MAX_SAYING = 300
"""Characters of a line that announces an end; longer ones talk of something else."""
LEFT_WELL = late(r"\bexited with code 0\b|\bstopped \(rc=0\)|\bexits successfully\b")
"""A launcher's words for a good end (foreman and concurrently, honcho, DeepSpeed)."""
SAYS_END = late(
    r"exited with|rc=0|exits|finish|complete|done|exhaust|ran out|no more|end of|early|ended|_runtime|reached|"
    r"success|took|passed",
    re.IGNORECASE,
)
FINISHED = late(
    r"\b(?:training (?:is )?(?:finished|complete[d]?|done|successful\w*)|finished training|done training|"
    r"train(?:ing)? (?:run )?complete|all (?:epochs|steps) (?:done|complete\w*)|"
    r"job (?:finished|complete[d]?)(?: successfully)?|max_epochs=\d+` reached|max_steps=\d+` reached|"
    r"'train_runtime'|training took|exits successfully|run complete[d]?|finished successfully)\b"
    r"|^(?:done|finished|complete[d]?|success)[.!]?$"
    r"|^(?:=+ )?(?:\d+ (?:passed|skipped|deselected|xfailed|xpassed|warnings?)(?:, | (?=in ))){1,6}in [\d.]+s\b",
    re.IGNORECASE,
)
EXHAUSTED = late(
    r"\b(?:dataset|data|loader|dataloader|iterator|stream|shard|samples?|batches)\s*(?:is|are|was|"
    r"were)?\s*(?:exhausted|ran out|used up|depleted)\b|\bfinished early\b|\bran out of (?:data|batches|samples)\b|"
    r"\bno more (?:data|batches|samples)\b|\bend of (?:data|dataset|epoch|shard)\b|\bleaving early\b|"
    r"\bearly (?:exit|stop\w*)\b|\bexiting early\b|\b(?:epoch|training) ended\b|\bexhausted (?:its|the) (?:data|"
    r"inputs?|shard)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Progress:
    """A line that shows how far its writer came."""

    order: int
    line: LogLine
    step: int
    of: int | None = None
    name: str = ""

    @property
    def counter(self) -> tuple[str, int | None]:
        """What is counted, and to which number: an evaluation's steps aren't the training's."""
        return self.name, self.of


@dataclass(slots=True)
class Course:
    """One writer's steps by one counter: what is only shown again is no progress."""

    last: int = -1
    top: int = -1
    advanced: int = -1
    """Order of the last line with which the writer came further."""
    going_on: int = -1
    """Order of the last line behind which the writer got on by ``AHEAD``; -1 for none."""
    _recent: tuple[Progress, ...] = ()
    _again: int = -1

    def take(self, item: Progress) -> None:
        """Adds a line. A step above the last, or far below it (the next epoch), is progress.

        The same step, or one a little below, is a bar drawn again, or what another process had in its buffer. A full
        bar, or an epoch, is shown anew where it is shown yet again: a dying process draws its bar once.
        """
        begins_anew = item.step * 2 < self.last
        if item.step <= self.last and not begins_anew:
            if item.step == self.last and (item.step == item.of or item.name == EPOCH):
                self.advanced, self._again = max(self.advanced, self._again), item.order
            return
        recent = () if begins_anew else self._recent
        self.going_on = max((one.order for one in recent if one.step + AHEAD <= item.step), default=self.going_on)
        self._recent = (*(one for one in recent if one.step + AHEAD > item.step), item)
        self.last, self.top, self.advanced = item.step, max(item.step, self.top), item.order


class Step(NamedTuple):
    """A training step as a line reports it."""

    number: int
    """Grows within a run."""
    of: int | None
    """How many there are; of an epoch, where epochs count."""
    name: str
    """What the line calls it."""


class _Place(NamedTuple):
    """Where a line shows its numbers, and what it calls the step."""

    step: tuple[int, int]
    of: tuple[int, int] | None = None
    epoch: tuple[int, int] | None = None
    name: str = ""


def read_step(text: str) -> Step | None:
    """Gives the training step a line reports; none where one is only mentioned."""
    place = _step_place(shape_of(text))
    if place is None:
        return None
    if not place:
        epoch = _EPOCH.search(text)
        return Step(int(epoch["step"]), None, EPOCH) if epoch else None
    number = int(text[slice(*place.step)])
    of = int(text[slice(*place.of)]) if place.of else None
    return Step(int(text[slice(*place.epoch)]) * (of or 0) + number if place.epoch else number, of, place.name)


@lru_cache(maxsize=SHAPES)
def _step_place(shape: bytes) -> _Place | tuple[()] | None:
    """Where lines of this shape show their step; empty where digits decide."""
    words = words_of(shape)
    if (found := _EPOCH_STEP.search(words)) is not None:
        return _Place(found.span("step"), found.span("of"), found.span("epoch"))
    if (found := _TQDM.search(words)) is not None:
        return _Place(found.span("step"), found.span("of"), name=_LABEL.sub("", words[: found.start()]))
    if _NOT_PROGRESS.search(words):
        return None
    if (found := _STEP.search(words)) is not None:
        name = _NAME.search(words, 0, found.start("step"))
        return _Place(
            found.span("step"), found.span("of") if found["of"] else None, name=name[0].lower() if name else ""
        )
    return ()


def says_finished(text: str) -> bool:
    """True for words of a good end, the process's own or its launcher's."""
    return _may_end(text) and bool(FINISHED.search(text) or LEFT_WELL.search(text))


def says_exhausted(text: str) -> bool:
    """True where a process says that its data ended or that it leaves early."""
    return _may_end(text) and bool(EXHAUSTED.search(text))


def _may_end(text: str) -> bool:
    return len(text) <= MAX_SAYING and bool(SAYS_END.search(text))
