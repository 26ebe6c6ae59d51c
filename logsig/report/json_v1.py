"""The JSON contract, version 1 (``logsig.diagnosis/1``): its own types (``contract``), converted from ``Diagnosis``.

Renaming a field of ``model`` can't break a reader of this: the conversion below is the only place where the two meet.
Plain dictionaries at run time; the types are for checkers and for the published JSON Schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from logsig.report import DEFAULT, Options, inert

if TYPE_CHECKING:
    from logsig import model
    from logsig.report.contract import (
        Attempt,
        Cause,
        Collateral,
        Diagnosis,
        Evidence,
        Job,
        LedgerGroup,
        LedgerRow,
        Rank,
        Remedy,
        Tool,
    )

LONGEST_TEXT = 4000
"""Characters of a quoted line; more of a longer one is cut around the match."""


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
    from logsig.report import contract

    return contract.schema()


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
