"""What is kept of a diagnosis: takes a job and its answer, gives a ``Row``.

Beside the diagnosis it looks at the excerpts for what only a scan asks: when the log ends, which hosts it names before
anything fails, what a healthy run prints, and a draft for a failure that no signature knows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from logsig.batch import failure, hosts, unknown
from logsig.batch.drafting import draft_from
from logsig.batch.model import Job, Row
from logsig.batch.template import template_of

if TYPE_CHECKING:
    from logsig.batch.reading import Manner
    from logsig.catalog import Catalog
    from logsig.model import Cause, Diagnosis, Excerpt, JobLog, LogLine, Scan, Source

MOST_FILES = 20
HEAD = 16 << 10
TAIL = 8 << 10
MOST_SEEN = 40
LONGEST = 400


@dataclass(frozen=True, slots=True)
class Read:
    """What reading a job gave."""

    found: Diagnosis | None
    problems: tuple[str, ...] = ()
    seen: Scan | None = None
    job: JobLog | None = None
    is_whole: bool = True
    """All bytes were kept: reading more would change nothing."""


def unread(job: Job, error: str, problems: tuple[str, ...] = (), *, set_aside: bool = False) -> Row:
    """Gives the row of a job that couldn't be read at all."""
    ended, by = _changed(job)
    return Row(
        job=job.name,
        files=tuple(log.path for log in job.logs[:MOST_FILES]),
        file_count=len(job.logs),
        size=job.size,
        outcome=None,
        error=error,
        set_aside=set_aside,
        ended=ended,
        ended_by=by,
        problems=problems,
    )


def row_of(job: Job, read: Read, catalog: Catalog, manner: Manner) -> Row:
    """Gives the row of a job that was read."""
    found, seen, log = read.found, read.seen, read.job
    assert found is not None  # noqa: S101 - unread() is for the others
    assert seen is not None  # noqa: S101
    assert log is not None  # noqa: S101
    cause = found.root_cause
    odd = unknown.telling_line(found, log, catalog)
    template = template_of(odd.text) if odd is not None else NO_LINE if found.outcome == "unrecognised" else None
    facts = failure.telling_facts(cause, catalog) if cause else {}
    place, text = _shown(cause, odd)
    ended, by = _ended(seen.excerpts, job)
    names, named_by = hosts.exposure(
        found.job.nodes,
        found.first_failing_node,
        _heads(seen.excerpts, place),
        [log.path for log in job.logs],
        _nodes_expected(found),
    )
    row = Row(
        job=job.name,
        files=tuple(log.path for log in job.logs[:MOST_FILES]),
        file_count=len(job.logs),
        size=sum(seen.sizes.values()),
        outcome=found.outcome,
        signature=cause.signature if cause else None,
        family=cause.family if cause else None,
        title=cause.title if cause else None,
        severity=cause.severity if cause else None,
        confidence=cause.confidence if cause else None,
        retryable=cause.retryable if cause else None,
        first_failing_rank=found.first_failing_rank,
        rank_confidence=found.rank_confidence,
        grade=found.grade,
        first_failing_node=found.first_failing_node,
        scope=found.scope,
        hosts=names,
        hosts_by=named_by,
        launcher=found.job.launcher,
        framework=found.job.framework,
        world_size=found.job.world_size,
        ended=ended,
        ended_by=by,
        group=_group(cause.signature if cause else None, facts, template),
        facts=facts,
        template=template,
        summary=cause.summary if cause else None,
        remedy=found.remedies[0].title if found.remedies else None,
        evidence_file=place.path if place else None,
        evidence_line=place.line if place else None,
        evidence_text=text[:LONGEST] if text else None,
        problems=read.problems,
        seen=tuple(_printed(log, catalog)) if manner.baseline and found.outcome == "healthy" else (),
        draft=draft_from(seen.excerpts, odd.source) if odd is not None else None,
    )
    if manner.reports is not None and row.group is not None:
        return _with_report(row, found, os.path.join(manner.reports, report_name(job.name)))
    return row


def _group(signature: str | None, facts: dict[str, object], template: str | None) -> str | None:
    if template is not None:
        return failure.fingerprint_of_template(template)
    return failure.fingerprint(signature, facts) if signature is not None else None


def _shown(cause: Cause | None, odd: LogLine | None) -> tuple[Source | None, str | None]:
    """Gives the line that shows the failure: the odd one of an unknown failure, else the cause's."""
    if odd is not None:
        return odd.source, odd.raw
    evidence = next(iter(cause.evidence), None) if cause else None
    return (evidence.source, evidence.text) if evidence else (None, None)


NO_LINE = "(no line stands out)"


# ---------------------------------------------------------------- time and place

_MOMENT = re.compile(rb"\b(20\d\d)-(\d\d)-(\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?")


def _ended(excerpts: tuple[Excerpt, ...], job: Job) -> tuple[str | None, str | None]:
    """Gives the last full date and time that the ends of the logs print; else when a file was last written."""
    last: dict[str, Excerpt] = {excerpt.origin.path: excerpt for excerpt in excerpts}
    moments = [moment for excerpt in last.values() if (moment := _last_moment(excerpt.data)) is not None]
    return (max(moments), "log") if moments else _changed(job)


def _last_moment(data: bytes) -> str | None:
    found = None
    for match in _MOMENT.finditer(data, max(0, len(data) - TAIL)):
        found = match
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(group) for group in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
        zone = (found[7] or b"").decode().replace(":", "")
        if zone not in ("", "Z"):
            offset = datetime.strptime(zone, "%z").utcoffset()
            moment = moment - offset if offset is not None else moment
    except ValueError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _changed(job: Job) -> tuple[str | None, str | None]:
    changed = max((log.changed for log in job.logs), default=0)
    try:
        return datetime.fromtimestamp(changed / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S"), "file"
    except (OverflowError, OSError, ValueError):
        return None, None


def _heads(excerpts: tuple[Excerpt, ...], failure_at: Source | None) -> str:
    """Gives the starts of the logs, up to where the failure speaks."""
    heads = []
    met: set[str] = set()
    for excerpt in excerpts:
        if excerpt.origin.path in met or excerpt.first_line != 1:
            continue
        met.add(excerpt.origin.path)
        text = excerpt.data[:HEAD].decode("utf-8", "replace")
        if failure_at is not None and failure_at.path == excerpt.origin.path:
            text = "".join(text.splitlines(keepends=True)[: failure_at.line - 1])
        heads.append(text)
    return "\n".join(heads)


def _nodes_expected(found: Diagnosis) -> int | None:
    """Gives how many nodes the job must have had, by its world size and the local ranks seen."""
    locals_seen = [state.local_rank for state in found.ranks if state.local_rank is not None]
    if not found.job.world_size or not locals_seen:
        return None
    return -(-found.job.world_size // (max(locals_seen) + 1))


# ---------------------------------------------------------------- baseline


def _printed(log: JobLog, catalog: Catalog) -> Iterator[str]:
    """Gives fingerprints of what a healthy run printed: events that could be causes, and lines that alarm."""
    from logsig import unusual
    from logsig.model import Cause

    keys: dict[str, None] = {}
    for attempt in log.attempts:
        for event in attempt.events:
            entry = catalog.get(event.signature)
            stand_in = Cause(event.signature, entry.family, "", "", "low", "", (), event.facts, "no")
            keys[failure.fingerprint(event.signature, failure.telling_facts(stand_in, catalog))] = None
    for line in unusual.find(log.lines):
        keys[failure.fingerprint_of_template(template_of(line.text))] = None
    yield from list(keys)[:MOST_SEEN]


# ---------------------------------------------------------------- single reports


def report_name(job: str) -> str:
    """Names the file of a job's single report: a part of the job's name, and a digest of all of it."""
    import hashlib

    digest = hashlib.sha256(job.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", job)[-60:].strip("-.") or "job"
    return f"{plain}-{digest}.html"


def _with_report(row: Row, found: Diagnosis, path: str) -> Row:
    """Writes the single report; that it couldn't be written costs nothing of the row."""
    from logsig import outputs
    from logsig.errors import OutputError
    from logsig.report import html

    try:
        outputs.write_file(path, html.render(found))
    except OutputError as error:
        return replace(row, problems=(*row.problems, str(error)))
    return row
