"""What the picture of a job draws: marks on a lane per rank.

Takes stories and the verdict, gives a ``Timeline``: in seconds where every failure carries a time, else in reading
order.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsig.model import Event, Mark, Timeline
from logsig.stories import Stories, Story
from logsig.verdict import Verdict


def timeline(stories: Stories, verdict: Verdict) -> Timeline | None:
    """Returns the marks of all ranks; none where nothing happened to any but steps."""
    events = [event for event in stories.events() if event.rank is not None]
    timed = bool(events) and all(event.time is not None for event in events)
    painter = _Painter(verdict, stories.attempt.number, timed)
    marks = [mark for story in stories.ranks.values() for mark in painter.lane(story)]
    if all(mark.kind == "step" for mark in marks):
        return None
    marks.sort(key=lambda mark: (mark.rank, mark.start, mark.kind))
    return Timeline("seconds" if timed else "order", tuple(marks), dict(verdict.skew))


class _Painter:
    def __init__(self, verdict: Verdict, attempt: int, timed: bool) -> None:
        self.verdict = verdict
        self.attempt = attempt
        self.timed = timed
        waits = [row.wait_started for group in verdict.groups for row in group.rows if row.wait_started is not None]
        self.hang_start = min(waits, default=None)

    def lane(self, story: Story) -> Iterator[Mark]:
        """Gives the marks of one rank: last step, waiting, what happened."""
        log = story.log
        at = log.last_step_time if self.timed else (float(log.last_step_order) if log.last_step_order >= 0 else None)
        if log.last_step_line is not None and at is not None:
            yield Mark(story.rank, "step", at, None, f"step {log.last_step}", log.last_step_line.source, self.attempt)
        for event in (*story.own[:1], *((story.derived,) if story.derived else ()), *story.peer[:1]):
            yield from self._event(story, event)
        if story.rank == self.verdict.rank and not story.own and not story.derived:
            yield from self._suspect(story)

    def _event(self, story: Story, event: Event) -> Iterator[Mark]:
        at = self._at(event)
        kind = "collateral"
        if event in story.own or event is story.derived:
            kind = "first" if story.rank == self.verdict.rank else ("killed" if event.derived else "failed")
        elapsed = event.facts.get("elapsed_ms")
        if elapsed and self.timed:
            yield Mark(story.rank, "wait", at - elapsed / 1000, at, "waited", event.line.source, self.attempt)
        yield Mark(story.rank, kind, at, None, event.signature, event.line.source, self.attempt)

    def _suspect(self, story: Story) -> Iterator[Mark]:
        """A rank named without a failure of its own: where the others began to wait, or its last sign of life."""
        line = story.log.last_step_line or story.log.last_line
        if line is None:
            return
        at = self.hang_start if self.timed else float(max(story.log.last_step_order, 0))
        if at is None:
            at = story.log.last_step_time
        if at is not None:
            yield Mark(story.rank, "first", at, None, "suspect", line.source, self.attempt)

    def _at(self, event: Event) -> float:
        return float(event.time or 0.0) if self.timed else float(event.order)
