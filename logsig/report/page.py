"""What every report says, in the order in which it says it: a ``Diagnosis`` turned into sentences, quotes and rows.

Takes a diagnosis, gives a ``Page`` of harmless strings (``inert.clean``). Formats and their templates only lay a page
out; they compose nothing. Knows no format.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from logsig import clocks
from logsig.model import Stamp
from logsig.record import dataclass
from logsig.report import inert, ranks, verdict, wording

if TYPE_CHECKING:
    from logsig.model import AttemptResult, Cause, Diagnosis, Evidence, LedgerGroup, Remedy, Source
    from logsig.report.lanes import Picture
    from logsig.report.ranks import RankRow

Tone = Literal["bad", "doubtful", "good"]

MOST_FACTS = 8
LONGEST_FACT = 300
_TONES: dict[str, Tone] = {"healthy": "good", "recovered": "doubtful", "unfinished": "doubtful", "empty": "doubtful"}
_RETRY = {
    "yes": "a restart may well pass",
    "no": "a restart will fail again",
    "after-fix": "a restart fails again until it is fixed",
    "other-node": "restart on another node",
}
_AROUND = frozenset({"host", "scheduler", "gpu", "nccl", "gloo", "rendezvous", "launcher"})
"""Families whose causes may lie outside of the program, and be gone by the next start: others' memory, a lost node."""
_QUOTED_ANYWAY = ("exception", "message", "variant")
_GRADES = {
    "A": "its own failure, or a message that names it",
    "B": "the collective ledger or exit codes name it",
    "C": "the timestamps of one clock order it",
    "D": "timestamps of several clocks order it, skew estimated",
    "E": "only the order in the file speaks for it",
}


@dataclass(frozen=True, slots=True)
class QuotedLine:
    """A line of the log as the file has it."""

    number: int
    text: str
    span: tuple[int, int] | None = None
    """What matched, on the line that carries the evidence."""
    is_hit: bool = False
    is_apart: bool = False
    """Lines between the one before and this one are left out."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Evidence: where it stands, who wrote it, the lines."""

    path: str
    line: int
    writer: str
    lines: tuple[QuotedLine, ...]

    @property
    def place(self) -> str:
        """Gives ``file:line``."""
        return f"{self.path}:{self.line}"

    @property
    def hit(self) -> QuotedLine:
        """Gives the line that carries the evidence, without its neighbours."""
        return next(line for line in self.lines if line.is_hit)


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause with its evidence."""

    level: str
    """``error``, ``warning`` or ``note``."""
    signature: str
    title: str
    summary: str
    quotes: tuple[Quote, ...]
    facts: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """One process group's collectives, as far as they decided."""

    group: str
    verdict: str
    rows: tuple[tuple[str, ...], ...]
    """Texts by ``LEDGER_COLUMNS``."""


LEDGER_COLUMNS = ("rank", "enqueued", "completed", "stuck in", "what it did")


@dataclass(frozen=True, slots=True)
class Page:
    """One diagnosis, ready to be laid out."""

    diagnosis: Diagnosis
    """The diagnosis itself, harmless."""
    verdict: str
    short: str
    tone: Tone
    outcome: str
    findings: tuple[Finding, ...]
    unexplained: tuple[Quote, ...]
    ranks: tuple[RankRow, ...]
    ranks_title: str
    picture: Picture | None
    ledger: tuple[LedgerTable, ...]
    attempts: tuple[str, ...]
    because: tuple[str, ...]
    consequences: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    confirm: tuple[str, ...]
    next_time: tuple[str, ...]
    doubts: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def page(diagnosis: Diagnosis) -> Page:
    """Composes everything a report says."""
    found = inert.clean(diagnosis)
    causes = ((found.root_cause,) if found.root_cause else ()) + found.other_causes
    from logsig.report.lanes import picture

    return Page(
        diagnosis=found,
        verdict=verdict.verdict(found),
        short=verdict.short(found),
        tone=_TONES.get(found.outcome, "bad"),
        outcome=found.outcome,
        findings=tuple(_finding(cause, found.outcome, is_root=index == 0) for index, cause in enumerate(causes)),
        unexplained=tuple(_quote(each) for each in found.unexplained),
        ranks=ranks.rows(found.ranks),
        ranks_title=_ranks_title(found),
        picture=picture(found) if found.timeline else None,
        ledger=tuple(_ledger(group) for group in found.ledger or ()),
        attempts=tuple(_attempt(each) for each in found.attempts) if len(found.attempts) > 1 else (),
        because=(*found.because, *_sureness(found)),
        consequences=tuple(_collateral(found)),
        remedies=found.remedies,
        confirm=found.confirm,
        next_time=found.next_time,
        doubts=found.doubts,
        environment=tuple(_environment(found)),
    )


def causes_of(found: Diagnosis) -> tuple[Cause, ...]:
    """Gives what a list of problems shows: the causes, or a failure that no signature knows as one of its own."""
    if found.root_cause:
        return (found.root_cause, *found.other_causes)
    if found.outcome != "unrecognised":
        return ()
    from logsig.model import Cause

    title = "The job failed, and no known signature explains it"
    ranks = () if found.first_failing_rank is None else (found.first_failing_rank,)
    return (Cause("unrecognised", "unrecognised", title, "error", "low", title, found.unexplained, {}, "no", ranks),)


def _finding(cause: Cause, outcome: str, is_root: bool) -> Finding:
    level = {"fatal": "error", "error": "error"}.get(cause.severity, "warning")
    which = "this cause" if is_root else "this further cause, independent of the first"
    return Finding(
        level=level,
        signature=cause.signature,
        title=cause.title,
        summary=cause.summary,
        quotes=tuple(_quote(each) for each in cause.evidence),
        facts=tuple(_facts(cause)),
        note=f"confidence in {which}: {cause.confidence}; {_retry(cause, outcome)}",
    )


def _retry(cause: Cause, outcome: str) -> str:
    """What a restart would do, as sure as the cause is: nothing that isn't the program's own doing must come again."""
    if outcome == "recovered":
        return "a restart got past it"
    told = cause.facts.keys()
    was_killed = not told.isdisjoint({"signal", "worker_pid"})
    has_neighbours = told >= {"other_bytes", "in_use_bytes"}
    is_outside = cause.family in _AROUND or was_killed or has_neighbours or cause.confidence == "low"
    if cause.retryable == "after-fix" and is_outside:
        return "a restart helps only if its cause is gone"
    return _RETRY[cause.retryable]


def _facts(cause: Cause) -> list[str]:
    """Gives the captured facts that a person reads, in the unit that their name carries."""
    shown = []
    for name, found in cause.facts.items():
        if found is None or found is False or found in ("", [], ()) or name in _QUOTED_ANYWAY:
            continue
        text = wording.fact_name(name) if found is True else f"{wording.fact_name(name)}: {wording.fact(name, found)}"
        shown.append(inert.line(wording.cut(text, LONGEST_FACT)))
    return shown[:MOST_FACTS]


def _quote(evidence: Evidence) -> Quote:
    number = evidence.source.line
    around = {at: text for at, text in evidence.context if at != number}
    numbers = sorted({*around, number})
    lines = [
        QuotedLine(at, evidence.text, evidence.match, is_hit=True, is_apart=at > before + 1)
        if at == number
        else QuotedLine(at, around[at], is_apart=at > before + 1)
        for before, at in zip([numbers[0], *numbers], numbers, strict=False)
    ]
    writer = [f"rank {evidence.rank}"] if evidence.rank is not None else []
    writer += [part for part in (evidence.node, _moment(evidence.time or "")) if part]
    return Quote(evidence.source.path, number, ", ".join(writer), tuple(lines))


def _moment(printed: str) -> str:
    """Spells out the time of C++ loggers, ``903 01:50:50.118273645``; others are as printed."""
    return clocks.text(Stamp(printed, "glog")) if re.fullmatch(r"\d{3,4} [\d:]{8}\.\d{1,9}", printed) else printed


def _ranks_title(found: Diagnosis) -> str:
    world, heard = found.job.world_size, len(found.job.ranks_seen)
    title = wording.count(world or heard, "rank")
    if world and heard < world:
        title += f", {heard:,} heard"
    if len(found.job.nodes) == 1:
        title += f"; node {found.job.nodes[0]}" if world and heard < world else f" on {found.job.nodes[0]}"
    elif found.job.nodes:
        title += f" on {wording.count(len(found.job.nodes), 'node')}"
    return title


def _ledger(group: LedgerGroup) -> LedgerTable:
    """Folds ranks that stand at the same place of the same collective into one row, suspects first."""
    folded: dict[tuple[str, ...], list[int]] = {}
    for row in group.rows:
        stuck = " ".join(wording.value(each) for each in (row.op, row.stuck_seq) if each is not None)
        told = f", told by rank {row.told_by}" if row.told_by is not None else ""
        key = (_number(row.last_enqueued), _number(row.last_completed), stuck or "-", row.note + told)
        folded.setdefault(key, []).append(row.rank)
    order = sorted(folded.items(), key=lambda item: (not set(item[1]) & set(group.suspects), item[1]))
    rows = tuple((wording.ranges(numbers), *key) for key, numbers in order)
    return LedgerTable(group.pg, group.verdict, rows)


def _number(found: int | None) -> str:
    return "?" if found is None else str(found)


def _attempt(attempt: AttemptResult) -> str:
    said = {"failure": "failed", "healthy": "ended well", "unrecognised": "failed, no signature explains it"}
    text = f"attempt {attempt.number}: {said.get(attempt.outcome, attempt.outcome)}"
    if attempt.signature:
        text += f", {attempt.signature}"
    if attempt.first_rank is not None:
        text += f", rank {attempt.first_rank} first"
    if attempt.last_step is not None:
        text += f", last step {attempt.last_step}"
    return text


def _sureness(found: Diagnosis) -> list[str]:
    if found.first_failing_rank is None or found.grade is None:
        return []
    rests = f"confidence {found.rank_confidence}, grade {found.grade} ({_GRADES[found.grade]})"
    return [f"Rank {found.first_failing_rank} as the first: {rests}."]


def _collateral(found: Diagnosis) -> list[str]:
    silent = [f"Expected and not heard: {wording.ranks_phrase(found.silent_ranks)}."] if found.silent_ranks else []
    return [
        f"It explains {each.signature}{f' on {wording.ranks_phrase(each.ranks)}' if each.ranks else ''} "
        f"({wording.count(each.count, 'time')}, first at {_place(each.first, found.job.files)})."
        for each in found.collateral
    ] + silent


def _place(source: Source, files: tuple[str, ...]) -> str:
    """Names a line inside a sentence: one file needs no path, of several the last parts tell them apart."""
    parts = source.path.split("/")
    return f"{'/'.join(parts[-1:] if len(files) == 1 else parts[-3:])}:{source.line}"


def _environment(found: Diagnosis) -> list[tuple[str, str]]:
    from logsig._version import __version__

    job = found.job
    pairs: list[tuple[str, str | None]] = [
        ("launcher", job.launcher),
        ("framework", job.framework),
        *sorted(job.versions.items()),
        ("nodes", _few(job.nodes)),
        ("files", _few(job.files)),
        ("more", f"logsig explain {found.root_cause.signature}" if found.root_cause else None),
        ("logsig", __version__),
    ]
    return [(name, text) for name, text in pairs if text]


def _few(names: tuple[str, ...], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
