"""The scan for a terminal: a line per job while it runs, then groups, hosts, unknown failures, the summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from logsig.report import Options, cells, inert
from logsig.report.scans import Result, _fields

if TYPE_CHECKING:
    from logsig.batch.model import Group, Host, Row, Summary

OUTCOME = 12
WIDE, NARROW = (30, 22), (24, 14)
"""Columns of the cause and of who was first; the job's name has the rest."""
ROOMY = 110
"""Columns of a terminal from which on the wide ones fit."""
MOST_GROUPS = 30
MOST_HOSTS = 20
MOST_PROBLEMS = 20
_STYLES = {
    "failure": "31",
    "unrecognised": "1;31",
    "interrupted": "33",
    "healthy": "32",
    "recovered": "33",
    "unread": "1;35",
}
_STATUS = {"new": "1;31", "back": "1;33", "gone": "32"}


def head(options: Options) -> str:
    """Names the columns."""
    cause, first = _columns(options)
    title = f"{'outcome':<{OUTCOME}}  {'cause':<{cause}}  {'first':<{first}}  job"
    return _style(title, "1", options) + "\n"


def row(row: Row, options: Options) -> str:
    """Gives the line of a job; its name stands last, and whole where nobody watches."""
    outcome = row.outcome or "unread"
    what = inert.line(row.signature or row.template or (row.error if row.outcome is None else None) or "")
    cause, first = _columns(options)
    texts = [
        _style(cells.pad(outcome, OUTCOME), _STYLES.get(outcome, ""), options),
        cells.pad(cells.cut(what, cause, _more(options)), cause),
        cells.pad(cells.cut(_first(row), first, _more(options)), first),
        _name(row.job, options),
    ]
    return _plain("  ".join(texts), options) + "\n"


def _is_watched(options: Options) -> bool:
    """Tells a terminal from a file or a pipe."""
    return options.color or options.links


def _columns(options: Options) -> tuple[int, int]:
    return NARROW if _is_watched(options) and options.width < ROOMY else WIDE


def _first(row: Row) -> str:
    """Says who failed first."""
    rank = "all ranks" if row.scope == "all-ranks" else ""
    rank = f"rank {row.first_failing_rank}" if row.first_failing_rank is not None else rank
    return inert.line(" ".join(part for part in (rank, row.first_failing_node) if part)) if row.group else ""


def _name(job: str, options: Options) -> str:
    name = inert.line(job)
    columns = options.width - OUTCOME - sum(_columns(options)) - 6
    if not _is_watched(options) or cells.width(name) <= columns:
        return name
    return _more(options) + name[-max(columns - 1, 20) :] if columns > 20 else name


def _more(options: Options) -> str:
    return "..." if options.ascii else "…"


def rest(result: Result, options: Options) -> Iterator[str]:
    """Gives what stands below the jobs."""
    verdict = result.verdict
    known = [group for group in verdict.groups if group.signature is not None]
    unknown = [group for group in verdict.groups if group.signature is None]
    yield from _section(_groups_title(verdict.summary, known), _groups(known, options), options)
    if unknown:
        title = (
            f"Not known to any signature: {_fields.many(sum(group.count for group in unknown), 'failure')}"
            f" of {_fields.many(len(unknown), 'kind')}"
        )
        yield from _section(title, _groups(unknown, options), options)
    if verdict.gone:
        yield from _section(
            f"Gone: {_fields.many(len(verdict.gone), 'kind')} of earlier scans", _groups(verdict.gone, options), options
        )
    named = [host for host in verdict.hosts.hosts if host.is_named]
    count = f": {len(named) or 'none'}" if verdict.hosts.tested else ""
    title = f"Hosts that start failures more often than chance{count}"
    yield from _section(title, _hosts(named, verdict.groups, options), options)
    yield _plain("".join(_wrapped(_fields.test_sentence(verdict.hosts), options, "  ")), options)
    yield from _section("Summary", _summary(verdict.summary, options), options)


def _section(title: str, lines: Iterator[str], options: Options) -> Iterator[str]:
    yield "\n" + _plain(_style(title, "1", options), options) + "\n"
    for line in lines:
        yield _plain(line, options)


def _groups_title(summary: Summary, known: Sequence[Group]) -> str:
    if not summary.groups:
        return "Failures: none"
    failed = f"{summary.failures:,} of {_fields.many(summary.jobs, 'job')} failed"
    stopped = summary.outcomes.get("interrupted", 0)
    ends = summary.failures - stopped - sum(summary.outcomes.get(name, 0) for name in ("failure", "unrecognised"))
    notes = [f"{stopped:,} of them stopped from outside"] if stopped else []
    notes += [f"{ends:,} of them unfinished"] if ends > 0 else []
    failed += f" ({'; '.join(notes)})" if notes else ""
    return f"Failures: {failed}, {_fields.many(len(known), 'kind')} recognised"


def _groups(groups: Sequence[Group], options: Options) -> Iterator[str]:
    for group in groups[:MOST_GROUPS]:
        count = f"{group.count:>7,}  {_fields.share(group):>4}" if group.count else f"{'':>7}  {'':>4}"
        status = f"[{group.status}] " if group.status else ""
        kind = inert.line(_fields.kind(group) if group.signature else group.title)
        first, *rest = _wrapped(status + kind, options)
        told = _style(first.strip().removeprefix(status), "1", options)
        yield f"{count}  {_style(status, _STATUS.get(group.status or '', ''), options)}{told}\n"
        yield from (_style(line.rstrip(), "1", options) + "\n" for line in rest)
        yield from _wrapped(_when(group), options)
        if group.healthy:
            yield from _wrapped(f"healthy runs print the same: {group.healthy:,}", options)
        yield from _wrapped(f"e.g. {inert.line(_place(group))}", options)
        if group.remedy:
            yield from _wrapped(f"do: {inert.line(group.remedy)}", options)
        if group.draft:
            where = f"{group.example.evidence_file}:{group.example.evidence_line}"
            yield from _wrapped(f"draft: --drafts DIR, or logsig signatures new --from {inert.line(where)}", options)
    if len(groups) > MOST_GROUPS:
        yield f"         … and {len(groups) - MOST_GROUPS:,} more kinds: --format jsonl\n"


def _when(group: Group) -> str:
    ever = f"; {group.total:,} ever" if group.total is not None and group.total != group.count else ""
    if group.first_seen == group.last_seen:
        return f"seen {_moment(group.first_seen)}{ever}"
    return f"first seen {_moment(group.first_seen)}, last seen {_moment(group.last_seen)}{ever}"


def _moment(text: str | None) -> str:
    return text.replace("T", " ") if text else "at an unknown time"


def _place(group: Group) -> str:
    if group.example.evidence_file is None:
        return group.example.job
    return f"{group.example.evidence_file}:{group.example.evidence_line}"


def _hosts(hosts: Sequence[Host], groups: Sequence[Group], options: Options) -> Iterator[str]:
    for host in hosts[:MOST_HOSTS]:
        told = (
            f"started {_fields.many(host.starts, 'failure')} in its {_fields.many(host.jobs, 'job')},"
            f" by chance {_fields.number(host.expected)}; p = {_fields.number(host.p)}, q = {_fields.number(host.q)};"
            f" {inert.line(_fields.started(host, groups))}"
        )
        yield f"  {_style(inert.line(host.name), '1;31', options)}\n"
        yield from _wrapped(told, options, "    ")
    if len(hosts) > MOST_HOSTS:
        yield f"  … and {len(hosts) - MOST_HOSTS:,} more: --format jsonl\n"


def _summary(summary: Summary, options: Options) -> Iterator[str]:
    times = f", {_fields.times(summary)}" if summary.first else ""
    yield from _wrapped(
        f"{_fields.many(summary.jobs, 'job')} in {_fields.many(summary.files, 'file')},"
        f" {_fields.size(summary.size)}{times}",
        options,
        "  ",
    )
    yield from _wrapped(_fields.outcomes(summary) or "nothing was read", options, "  ")
    if summary.remembered:
        yield from _wrapped(f"{_fields.many(summary.remembered, 'job')} unchanged and not read again", options, "  ")
    if summary.baseline is not None:
        yield from _wrapped(f"baseline: {_fields.many(summary.baseline, 'healthy run')}", options, "  ")
    if summary.unread:
        yield from _wrapped(f"interrupted: {_fields.many(summary.unread, 'job')} not read", options, "  ")
    if summary.left_out:
        yield from _wrapped(
            f"{_fields.many(summary.left_out, 'file')} left out: not logs by name or content, or met before",
            options,
            "  ",
        )
    problems = summary.problems
    for problem in problems[:MOST_PROBLEMS]:
        yield from _wrapped(f"problem: {inert.line(str(problem))}", options, "  ")
    if len(problems) > MOST_PROBLEMS:
        yield f"  … and {len(problems) - MOST_PROBLEMS:,} more problems: --format jsonl\n"


def _wrapped(text: str, options: Options, indent: str = "               ") -> Iterator[str]:
    width = options.width if _is_watched(options) else 10_000
    for line in cells.wrap(indent + text.strip(), width, "", indent + "  "):
        yield line + "\n"


def _style(text: str, code: str, options: Options) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if options.color and code and text else text


_TO_ASCII = {ord("…"): "...", 0x2013: "-", 0x2019: "'"}


def _plain(text: str, options: Options) -> str:
    return text.translate(_TO_ASCII) if options.ascii else text
