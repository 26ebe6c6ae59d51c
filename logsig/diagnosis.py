"""Concludes: from the job to the answer.

Takes a ``JobLog``, gives a ``Diagnosis``: the attempts as ``judging`` judges them, and all sentences, rows and facts of
the answer. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from logsig import causes, digits, hang, incomplete, judging, marks, remedy, states, tracebacks, unusual
from logsig.catalog import Catalog
from logsig.model import (
    MAX_WORLD,
    Cause,
    Collateral,
    Confidence,
    Diagnosis,
    Event,
    Evidence,
    JobFacts,
    JobLog,
    LogLine,
    Outcome,
    Retryable,
)

MAX_EVIDENCE = 6
RESTARTED = "the job was started again; when the log ends it is neither past the failure nor has it failed anew"


def diagnose(job: JobLog, catalog: Catalog) -> Diagnosis:
    """Returns the answer for the whole job: the first attempt that failed gives the cause, the last one the outcome."""
    judged = judging.judge(job, catalog)
    found = _Answer(job, catalog, judging.telling(judged), judging.outcome(judged)).compose()
    if judged[-1].outcome == "unfinished" and found.outcome not in ("unfinished", "recovered"):
        found = replace(found, doubts=(*found.doubts, RESTARTED))
    return replace(found, attempts=tuple(judging.result(item) for item in judged))


class _Answer:
    def __init__(self, job: JobLog, catalog: Catalog, judged: judging.Judged, outcome: Outcome) -> None:
        self.job = job
        self.catalog = catalog
        self.stories = judged.stories
        self.verdict = judged.verdict
        self.outcome = outcome
        self.root = judged.verdict.root
        self.failed = {*judged.verdict.failed, judged.verdict.rank}
        self.collateral = [
            event for event in causes.collateral_of(self.stories, self._causes()) if not self._is_cause(event)
        ]
        self.facts = self._facts()

    def compose(self) -> Diagnosis:
        verdict = self.verdict
        cause = self._cause(self.root, self.facts, True) if self.root is not None else None
        shown = self.outcome not in ("healthy", "unfinished", "empty")
        rows = states.rows(self.stories, verdict, self.catalog, judging.world_size(self.job))
        silent = self._silent()
        page = self.catalog.page(self.root.signature) if self.root is not None else None
        return Diagnosis(
            job=self._job(),
            outcome=self.outcome,
            root_cause=cause if shown else None,
            other_causes=tuple(self._cause(event, self._facts_of(event), False) for event in verdict.others)
            if shown
            else (),
            first_failing_rank=verdict.rank if shown and verdict.scope != "all-ranks" else None,
            rank_confidence=verdict.confidence if shown and verdict.rank is not None else None,
            grade=verdict.grade if shown and verdict.rank is not None else None,
            first_failing_node=self._node() if shown else None,
            scope=verdict.scope if shown else "unknown",
            candidates=verdict.candidates if shown else (),
            because=verdict.because if shown else (),
            ranks=rows,
            collateral=self._folded() if shown else (),
            silent_ranks=silent,
            ledger=verdict.groups if shown and verdict.groups and verdict.ledger_decided else None,
            remedies=remedy.remedies(page, self.facts) if shown and page else (),
            confirm=remedy.confirmations(page, self.facts) if shown and page else (),
            next_time=states.next_time(self.stories, verdict, self.job, self.outcome) if shown else (),
            doubts=self._doubts(),
            timeline=marks.timeline(self.stories, verdict),
            unexplained=self._unexplained(),
            signature_count=len(self.catalog.signatures),
            library_digest=self.catalog.digest,
        )

    # ------------------------------------------------------------ parts

    def _causes(self) -> list[Event]:
        return [event for event in (self.root, *self.verdict.others) if event is not None]

    def _is_cause(self, event: Event) -> bool:
        """The same failure on another rank of an all-ranks failure is the cause too, not its consequence."""
        return self.root is not None and event.signature == self.root.signature and event.rank in self.failed

    def _job(self) -> JobFacts:
        facts = self.job.facts
        seen = tuple(sorted({rank for attempt in self.job.attempts for rank in attempt.ranks}))
        return JobFacts(
            self.job.files,
            facts.get("launcher"),
            judging.world_size(self.job),
            seen,
            self.job.nodes,
            len(self.job.attempts),
            facts.get("versions", {}),
            facts.get("framework"),
        )

    def _node(self) -> str | None:
        rank = self.verdict.rank
        story = self.stories.ranks.get(rank) if rank is not None else None
        if story is not None and story.log.node:
            return story.log.node
        if self.root is not None and (self.verdict.rank is None or self.root.rank == self.verdict.rank):
            return self.root.node or self.root.facts.get("host")
        return None

    def _cause(self, event: Event, facts: Mapping[str, Any], is_root: bool) -> Cause:
        entry = self.catalog.get(event.signature)
        ranks = self.verdict.failed if is_root else tuple(sorted({event.rank} if event.rank is not None else set()))
        public = {name: value for name, value in event.facts.items() if value is not None}
        return Cause(
            event.signature,
            entry.family,
            entry.title,
            entry.severity,
            self._cause_confidence(event),
            remedy.summary(self.catalog.page(event.signature), facts) or entry.title,
            self._evidence(event),
            public,
            _retryable(entry.retryable, event),
            ranks,
            event.node,
            event.frames,
        )

    def _cause_confidence(self, event: Event) -> Confidence:
        if event is self.root and self.verdict.may_be_caught:
            return "low"
        if event.role == "initiator":
            return "medium" if self.catalog.get(event.signature).match.net and not event.fatal else "high"
        if event.role == "either":
            return "medium" if self.verdict.rank is None else "high"
        return "low" if event.role == "collateral" else "medium"

    def _evidence(self, event: Event) -> tuple[Evidence, ...]:
        """The matched line of each rank that shows the same, then what the ledger or the witnesses add."""
        same = [event]
        for other in self.stories.events():
            if (
                other is not event
                and other.signature == event.signature
                and other.rank != event.rank
                and len(same) < MAX_EVIDENCE
            ):
                same.append(other)
        return tuple(_shown(item) for item in same)

    def _facts_of(self, event: Event) -> dict[str, Any]:
        return {**self._context(event), **event.facts}

    def _facts(self) -> dict[str, Any]:
        if self.root is None:
            return {}
        return {**self._context(self.root), **self._job_wide(self.root), **self.root.facts}

    def _job_wide(self, root: Event) -> dict[str, Any]:
        """Facts that only all events of the cause's signature tell together."""
        found: dict[str, Any] = {}
        values: dict[str, set[str]] = {}
        for event in self.stories.events():
            if event.signature == root.signature:
                for name, value in event.facts.items():
                    found.setdefault(name, value)
                    if name in ("param_indices", "param_names", "shape", "count"):
                        values.setdefault(name, set()).add(str(value))
        found["differing"] = any(len(value) > 1 for value in values.values())
        return found

    def _context(self, event: Event) -> dict[str, Any]:
        job, verdict = self.job.facts, self.verdict
        versions = job.get("versions", {})
        story = self.stories.ranks.get(event.rank) if event.rank is not None else None
        steps = [log.last_step for log in self.stories.attempt.ranks.values() if log.last_step is not None]
        waiting = sorted(rank for rank, item in self.stories.ranks.items() if item.peer and rank != verdict.rank)
        waits = [row.wait_started for group in verdict.groups for row in group.rows if row.wait_started is not None]
        return {
            "first_rank": verdict.rank,
            "first_node": self._node(),
            "scope": verdict.scope,
            "failed_ranks": list(verdict.failed),
            "waiting_ranks": waiting,
            "gaps": not set(range(max(waiting, default=0))) <= self.stories.ranks.keys(),
            "silent_ranks": list(self._silent()),
            "suspects": list(verdict.suspects or verdict.candidates),
            "all_ranks": verdict.scope == "all-ranks",
            "world_size_read": job.get("world_size"),
            "nodes": list(self.job.nodes),
            "framework": job.get("framework"),
            "launcher": job.get("launcher"),
            "torch": versions.get("torch"),
            "torch_at_least": lambda wanted: _at_least(versions.get("torch"), wanted),
            "nccl": versions.get("nccl"),
            "cuda": versions.get("cuda"),
            "last_step": (
                story.log.last_step if story and story.log.last_step is not None else max(steps, default=None)
            ),
            "flags": dict(job.get("flags", {})),
            "first_step": not steps,
            "hang_started": states.clock_text(min(waits)) if waits else None,
            "differing": False,
            **tracebacks.context_of(event.frames),
        }

    def _folded(self) -> tuple[Collateral, ...]:
        groups: dict[str, list[Event]] = {}
        for event in self.collateral:
            groups.setdefault(event.signature, []).append(event)
        return tuple(
            Collateral(
                name,
                tuple(sorted({event.rank for event in found if event.rank is not None})),
                sum(event.count for event in found),
                found[0].line.source,
            )
            for name, found in sorted(groups.items(), key=lambda item: item[1][0].order)
        )

    def _unexplained(self) -> tuple[Evidence, ...]:
        """The lines that stand out, where no signature says what went wrong."""
        known = self.root is not None and self.root.signature != "worker-exit"
        if known or self.outcome in ("healthy", "unfinished", "empty"):
            return ()
        return tuple(
            Evidence(line.source, line.raw, line.rank, line.node, line.stamp.text if line.stamp else None)
            for line in unusual.odd(self.job, self.job.lines) or (unusual.find(self.job.lines) if not self.root else ())
        )

    def _silent(self) -> tuple[int, ...]:
        size = judging.world_size(self.job)
        if not size or size > MAX_WORLD or not self.stories.ranks:
            return ()
        speaking = {rank for rank, story in self.stories.ranks.items() if story.log.first_line is not None}
        return tuple(rank for rank in range(size) if rank not in speaking) if len(speaking) * 2 > size else ()

    def _doubts(self) -> tuple[str, ...]:
        found = list(self.job.doubts)
        if self.root is not None:
            found.extend(incomplete.HEAD.format(path=path) for path in incomplete.cut_files(self.job.lines)[:3])
            found.extend(self.verdict.doubts)
        size = judging.world_size(self.job)
        seen = len(self.stories.ranks)
        if self.root is not None and size and seen < size and self.verdict.scope != "not-a-rank":
            found.append(f"no line that was read names {size - seen} of the {size} ranks")
        found.extend(self._overcome(event) for event in self.stories.recovered[:3])
        if self.outcome == "unfinished":
            found.append("the log ends without an error and without an end: the job is running, was cut off, or hangs")
            if (behind := hang.behind(self.stories)) is not None:
                found.append(f"{behind}: it is stuck, or its output still waits in a buffer")
        return tuple(dict.fromkeys(found))

    def _overcome(self, event: Event) -> str:
        title = self.catalog.get(event.signature).title
        return f"{_where(event)} shows “{title}”, after which the run went on; it was not counted"


def _retryable(told: Retryable | None, event: Event) -> Retryable:
    """What a restart would do, by the signature; a fault of the program needs a fix first."""
    if told is not None:
        return told
    return "after-fix" if event.role == "initiator" else "yes"


def _at_least(version: str | None, wanted: str) -> bool | None:
    if version is None:
        return None

    def parts(text: str) -> list[int]:
        return [
            digits.number("".join(ch for ch in part if ch.isdecimal()) or "0")
            for part in text.split("+", maxsplit=1)[0].split(".")[:3]
        ]

    return parts(version) >= parts(wanted)


def _where(event: Event) -> str:
    return f"{event.line.source.path}:{event.line.source.line}"


def _span(line: LogLine, said: str) -> tuple[int, int] | None:
    """Where the message's first line stands in the raw line; else where the line's own text does."""
    first, text = said.split("\n", 1)[0].strip(), line.text.strip()
    if first and (at := line.raw.find(first[:200])) >= 0:
        return at, at + min(len(first), 200)
    if text and (at := line.raw.find(text[:60])) >= 0:
        return at, at + min(len(text), 200)
    return None


def _shown(event: Event) -> Evidence:
    line = event.line
    around = [(item.source.line, item.raw) for item in event.lines if item.source.path == line.source.path]
    here = next((index for index, (number, _) in enumerate(around) if number == line.source.line), 0)
    return Evidence(
        line.source,
        line.raw,
        event.rank,
        event.node,
        line.stamp.text if line.stamp else None,
        _span(line, event.text),
        tuple(around[max(0, here - 5) : here + 3]),
    )
