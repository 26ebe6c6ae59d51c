"""The JSON contract, version 1 (``logsig.diagnosis/1``): own types, converted from ``Diagnosis``.

Fields are only added within version 1. Renaming a field of ``model`` can't break a reader of this: the conversion below
is the only place where the two meet. Plain dictionaries at run time; ``schema`` derives the published JSON Schema from
the same types and is the only one that needs pydantic.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from logsig.report import DEFAULT, Options, inert

if TYPE_CHECKING:
    from logsig import model

LONGEST_TEXT = 4000
"""Characters of a quoted line; more of a longer one is cut around the match."""


class Tool(TypedDict):
    """Who answered, with which library."""

    name: Literal["logsig"]
    version: str
    signatures: int
    """How many signatures were consulted."""
    digest: str
    """Digest of the signature library: the same digest and the same log give the same answer."""


class Job(TypedDict):
    """The job as read."""

    files: list[str]
    launcher: str | None
    world_size: int | None
    ranks_seen: list[int]
    nodes: list[str]
    attempt_count: int
    versions: dict[str, str]
    """Of torch, nccl, cuda and others, as read in the log."""
    framework: str | None


class Evidence(TypedDict):
    """A line of the log."""

    file: str
    line: int
    """1-based."""
    rank: int | None
    node: str | None
    time: str | None
    """As printed."""
    text: str


class Cause(TypedDict):
    """A failure that nothing else present explains."""

    signature: str
    """Stable id; ``logsig explain ID`` is its page."""
    family: str
    title: str
    severity: str
    confidence: Literal["high", "medium", "low"]
    summary: str
    evidence: list[Evidence]
    facts: dict[str, Any]
    """Captured from this log, by standard name."""
    retryable: Literal["yes", "no", "after-fix", "other-node"]


class Rank(TypedDict):
    """What is known of one rank."""

    rank: int
    local_rank: int | None
    node: str | None
    last_seen: str | None
    """Time as printed, or ``file:line`` where the log has no clock."""
    last_step: int | None
    state: str
    """first, failed, collateral, waiting, killed, stopped, exited, finished, silent or running."""
    exitcode: int | None
    signal: str | None
    what: str
    """What happened to it, in a few words."""


class Place(TypedDict):
    """A line of a file, 1-based."""

    file: str
    line: int


class Collateral(TypedDict):
    """Consequences of one kind, folded."""

    signature: str
    ranks: list[int]
    count: int
    first: Place


class LedgerRow(TypedDict):
    """One rank of a process group."""

    rank: int
    group_rank: int | None
    last_enqueued: int | None
    last_completed: int | None
    stuck_seq: int | None
    op: str | None
    numel: str | None
    own_watchdog: bool
    told_by: int | None
    wait_started: float | None
    note: str


class LedgerGroup(TypedDict):
    """One process group's collectives."""

    pg: str
    """The process group."""
    rows: list[LedgerRow]
    verdict: str
    suspects: list[int]


Outcome = Literal["failure", "healthy", "unfinished", "recovered", "interrupted", "unrecognised", "empty"]


class Attempt(TypedDict):
    """One start of all workers."""

    number: int
    outcome: Outcome
    signature: str | None
    first_failing_rank: int | None
    last_step: int | None


class Remedy(TypedDict):
    """What to do, filled with this log's facts."""

    title: str
    steps: list[str]
    code: str | None
    cost: str | None
    verify: str | None
    when: str | None
    """The condition that chose it."""


class Diagnosis(TypedDict):
    """The conclusion for one job, with reasons and doubts."""

    schema: Literal["logsig.diagnosis/1"]
    tool: Tool
    job: Job
    outcome: Outcome
    root_cause: Cause | None
    other_causes: list[Cause]
    """Independent causes after the first."""
    first_failing_rank: int | None
    """Global rank; null when undecided and when every rank failed alike."""
    rank_confidence: Literal["high", "medium", "low"] | None
    grade: Literal["A", "B", "C", "D", "E"] | None
    """What the rank rests on: A named by a message, B the collective ledger or exit codes, C one clock, D several
    clocks, E the order in the file."""
    first_failing_node: str | None
    scope: Literal["one-rank", "several-ranks", "all-ranks", "not-a-rank", "unknown"]
    candidates: list[int]
    because: list[str]
    ranks: list[Rank]
    collateral: list[Collateral]
    silent_ranks: list[int]
    """Expected, and unheard where the others speak."""
    ledger: list[LedgerGroup] | None
    attempts: list[Attempt]
    remedies: list[Remedy]
    """Best first."""
    confirm: list[str]
    """How to make sure of the cause, cheapest first."""
    next_time: list[str]
    """Settings that would have told more."""
    doubts: list[str]
    """What was not seen, cut or ambiguous."""
    unexplained: list[Evidence]
    """Lines that stand out where no signature explains the failure."""
    verdict: str
    """The answer in one sentence, for people."""


def render(diagnosis: model.Diagnosis, options: Options = DEFAULT) -> str:
    """Gives the document, indented; non-ASCII text as it is unless the place can't show it."""
    return _encode(document(diagnosis), options, indent=2) + "\n"


def document(diagnosis: model.Diagnosis) -> Diagnosis:
    """Converts a diagnosis into the contract's form, field by field."""
    from logsig.report.verdict import verdict

    return {
        "schema": "logsig.diagnosis/1",
        "tool": _tool(diagnosis),
        "job": _job(diagnosis.job),
        "outcome": diagnosis.outcome,
        "root_cause": _cause(diagnosis.root_cause) if diagnosis.root_cause else None,
        "other_causes": [_cause(cause) for cause in diagnosis.other_causes],
        "first_failing_rank": diagnosis.first_failing_rank,
        "rank_confidence": diagnosis.rank_confidence,
        "grade": diagnosis.grade,
        "first_failing_node": diagnosis.first_failing_node,
        "scope": diagnosis.scope,
        "candidates": list(diagnosis.candidates),
        "because": list(diagnosis.because),
        "ranks": [_rank(state) for state in diagnosis.ranks],
        "collateral": [_collateral(found) for found in diagnosis.collateral],
        "silent_ranks": list(diagnosis.silent_ranks),
        "ledger": None if diagnosis.ledger is None else [_group(group) for group in diagnosis.ledger],
        "attempts": [_attempt(attempt) for attempt in diagnosis.attempts],
        "remedies": [_remedy(remedy) for remedy in diagnosis.remedies],
        "confirm": list(diagnosis.confirm),
        "next_time": list(diagnosis.next_time),
        "doubts": list(diagnosis.doubts),
        "unexplained": [_evidence(each) for each in diagnosis.unexplained],
        "verdict": verdict(diagnosis),
    }


def encode_line(diagnosis: model.Diagnosis, options: Options = DEFAULT) -> str:
    """Gives the document on one line, for ``jsonl``."""
    return _encode(document(diagnosis), options, indent=None) + "\n"


def schema() -> dict[str, Any]:
    """Derives the JSON Schema that is published as ``docs/diagnosis.schema.json``."""
    from pydantic import ConfigDict, TypeAdapter, with_config
    from pydantic.json_schema import GenerateJsonSchema

    class Plain(GenerateJsonSchema):
        """Leaves out titles that only repeat a field's name."""

        def field_title_should_be_set(self, _schema: Any) -> bool:
            return False

    for each in (
        Tool,
        Job,
        Evidence,
        Cause,
        Rank,
        Place,
        Collateral,
        LedgerRow,
        LedgerGroup,
        Attempt,
        Remedy,
        Diagnosis,
    ):
        with_config(ConfigDict(use_attribute_docstrings=True))(each)
    described = TypeAdapter(Diagnosis).json_schema(schema_generator=Plain)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "logsig diagnosis, version 1",
        **{key: value for key, value in described.items() if key != "title"},
    }


def _encode(found: Diagnosis, options: Options, indent: int | None) -> str:
    text = json.dumps(_storable(found), indent=indent, ensure_ascii=options.ascii, allow_nan=False)
    return inert.json_text(text)


def _storable(value: Any) -> Any:
    """Replaces what JSON can't carry: lone surrogates, infinities, tuples and sets among the facts."""
    if isinstance(value, str):
        return inert.no_surrogates(value)
    if isinstance(value, Mapping):
        return {inert.no_surrogates(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_storable(item) for item in value), key=str)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _tool(diagnosis: model.Diagnosis) -> Tool:
    from logsig._version import __version__

    return {
        "name": "logsig",
        "version": __version__,
        "signatures": diagnosis.signature_count,
        "digest": diagnosis.library_digest,
    }


def _job(job: model.JobFacts) -> Job:
    return {
        "files": list(job.files),
        "launcher": job.launcher,
        "world_size": job.world_size,
        "ranks_seen": list(job.ranks_seen),
        "nodes": list(job.nodes),
        "attempt_count": job.attempt_count,
        "versions": dict(job.versions),
        "framework": job.framework,
    }


def _cause(cause: model.Cause) -> Cause:
    return {
        "signature": cause.signature,
        "family": cause.family,
        "title": cause.title,
        "severity": cause.severity,
        "confidence": cause.confidence,
        "summary": cause.summary,
        "evidence": [_evidence(each) for each in cause.evidence],
        "facts": dict(cause.facts),
        "retryable": cause.retryable,
    }


def _evidence(evidence: model.Evidence) -> Evidence:
    return {
        "file": evidence.source.path,
        "line": evidence.source.line,
        "rank": evidence.rank,
        "node": evidence.node,
        "time": evidence.time,
        "text": _cut(evidence.text, evidence.match),
    }


def _cut(text: str, match: tuple[int, int] | None) -> str:
    """Cuts a line of many megabytes to what surrounds the match."""
    if len(text) <= LONGEST_TEXT:
        return text
    start = max(0, min((match or (0, 0))[0] - LONGEST_TEXT // 4, len(text) - LONGEST_TEXT))
    end = start + LONGEST_TEXT
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _rank(state: model.RankState) -> Rank:
    return {
        "rank": state.rank,
        "local_rank": state.local_rank,
        "node": state.node,
        "last_seen": state.last_seen,
        "last_step": state.last_step,
        "state": state.state,
        "exitcode": state.exitcode,
        "signal": state.signal,
        "what": state.what,
    }


def _collateral(found: model.Collateral) -> Collateral:
    return {
        "signature": found.signature,
        "ranks": list(found.ranks),
        "count": found.count,
        "first": {"file": found.first.path, "line": found.first.line},
    }


def _group(group: model.LedgerGroup) -> LedgerGroup:
    return {
        "pg": group.pg,
        "rows": [_row(row) for row in group.rows],
        "verdict": group.verdict,
        "suspects": list(group.suspects),
    }


def _row(row: model.LedgerRow) -> LedgerRow:
    return {
        "rank": row.rank,
        "group_rank": row.group_rank,
        "last_enqueued": row.last_enqueued,
        "last_completed": row.last_completed,
        "stuck_seq": row.stuck_seq,
        "op": row.op,
        "numel": row.numel,
        "own_watchdog": row.own_watchdog,
        "told_by": row.told_by,
        "wait_started": row.wait_started,
        "note": row.note,
    }


def _attempt(attempt: model.AttemptResult) -> Attempt:
    return {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "signature": attempt.signature,
        "first_failing_rank": attempt.first_rank,
        "last_step": attempt.last_step,
    }


def _remedy(remedy: model.Remedy) -> Remedy:
    return {
        "title": remedy.title,
        "steps": list(remedy.steps),
        "code": remedy.code,
        "cost": remedy.cost,
        "verify": remedy.verify,
        "when": remedy.when,
    }
