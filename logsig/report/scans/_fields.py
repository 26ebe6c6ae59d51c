"""What the formats of a scan share: rows, groups and hosts as plain fields, and the words for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from logsig.report import wording

if TYPE_CHECKING:
    from logsig.batch.model import Group, Host, HostTest, Row, Summary, Verdict

COLUMNS = (
    "job",
    "outcome",
    "error",
    "signature",
    "family",
    "title",
    "severity",
    "confidence",
    "retryable",
    "group",
    "first_failing_rank",
    "rank_confidence",
    "grade",
    "first_failing_node",
    "scope",
    "world_size",
    "launcher",
    "framework",
    "ended",
    "ended_by",
    "size",
    "file_count",
    "summary",
    "remedy",
    "evidence_file",
    "evidence_line",
    "evidence_text",
)
"""Fields of a row that have one value."""
NUMBERS = ("first_failing_rank", "world_size", "size", "file_count", "evidence_line")


def job(row: Row) -> dict[str, Any]:
    """Gives a row as JSON has it."""
    return {
        "type": "job",
        "job": row.job,
        "files": list(row.files),
        "file_count": row.file_count,
        "size": row.size,
        "outcome": row.outcome,
        "error": row.error,
        "signature": row.signature,
        "family": row.family,
        "title": row.title,
        "severity": row.severity,
        "confidence": row.confidence,
        "retryable": row.retryable,
        "group": row.group,
        "facts": dict(row.facts),
        "first_failing_rank": row.first_failing_rank,
        "rank_confidence": row.rank_confidence,
        "grade": row.grade,
        "first_failing_node": row.first_failing_node,
        "scope": row.scope,
        "hosts": list(row.hosts),
        "hosts_by": row.hosts_by,
        "world_size": row.world_size,
        "launcher": row.launcher,
        "framework": row.framework,
        "ended": row.ended,
        "ended_by": row.ended_by,
        "summary": row.summary,
        "remedy": row.remedy,
        "evidence": evidence(row),
        "problems": list(row.problems),
    }


def evidence(row: Row) -> dict[str, Any] | None:
    """Gives the line that shows it."""
    if row.evidence_file is None:
        return None
    return {"file": row.evidence_file, "line": row.evidence_line, "text": row.evidence_text}


def group(found: Group) -> dict[str, Any]:
    """Gives a group as JSON has it."""
    return {
        "type": "group",
        "group": found.id,
        "signature": found.signature,
        "title": found.title,
        "severity": found.severity,
        "facts": dict(found.facts),
        "count": found.count,
        "share": round(found.share, 4),
        "first_seen": found.first_seen,
        "last_seen": found.last_seen,
        "status": found.status,
        "total": found.total,
        "healthy": found.healthy,
        "example": {"job": found.example.job, **(evidence(found.example) or {})},
        "remedy": found.remedy,
        "days": dict(found.days),
        "draft": found.draft,
    }


def host(found: Host) -> dict[str, Any]:
    """Gives a host as JSON has it."""
    return {
        "type": "host",
        "host": found.name,
        "jobs": found.jobs,
        "starts": found.starts,
        "expected": float(f"{found.expected:.4g}"),
        "p": float(f"{found.p:.4g}"),
        "q": float(f"{found.q:.4g}"),
        "more_than_chance": found.is_named,
        "groups": dict(found.groups),
        "days": dict(found.days),
    }


def summary(verdict: Verdict) -> dict[str, Any]:
    """Gives the summary as JSON has it."""
    found, test = verdict.summary, verdict.hosts
    return {
        "type": "summary",
        "jobs": found.jobs,
        "outcomes": dict(found.outcomes),
        "failures": found.failures,
        "groups": found.groups,
        "files": found.files,
        "size": found.size,
        "first": found.first,
        "last": found.last,
        "days": dict(found.days),
        "hosts_tested": test.tested,
        "host_jobs": test.jobs,
        "host_failures": test.failures,
        "hosts_more_than_chance": [each.name for each in test.hosts if each.is_named],
        "since": found.since,
        "baseline": found.baseline,
        "remembered": found.remembered,
        "unread": found.unread,
        "left_out": found.left_out,
        "empty": list(found.empty),
        "set_aside": list(found.set_aside),
        "problems": [{"path": each.path, "reason": each.reason} for each in found.problems],
    }


def kind(found: Group) -> str:
    """Names a group in one line: its signature or its masked line, and what tells it from others."""
    facts = told(found)
    name = found.signature or "not known"
    return f"{name}: {found.title}" + (f" ({facts})" if facts else "")


def told(found: Group) -> str:
    """Gives the facts that tell a group from others of its signature."""
    facts = dict(found.facts)
    message = facts.get("message", "")
    if any(isinstance(fact, str) and fact in message for name, fact in facts.items() if name not in _SAID_BY_NETS):
        facts = {name: fact for name, fact in facts.items() if name not in _SAID_BY_NETS}
    return ", ".join(f"{name.replace('_', ' ')} {_short(fact)}" for name, fact in facts.items())


_SAID_BY_NETS = ("exception", "message")
"""What a signature for exceptions of all kinds tells; too much where a fact of its own stands in the message."""


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return wording.cut(text, 80)


def share(found: Group) -> str:
    """Shows a group's share of all failures; what is there is never nothing."""
    return "<1%" if 0 < found.share < 0.005 else f"{found.share:.0%}"


def started(found: Host, groups: Sequence[Group]) -> str:
    """Says what a host started, the most frequent first."""
    names = {each.id: each.signature or "not known" for each in groups}
    causes: dict[str, int] = {}
    for identity, count in found.groups.items():
        name = names.get(identity, identity)
        causes[name] = causes.get(name, 0) + count
    return ", ".join(f"{name} {count}" for name, count in sorted(causes.items(), key=lambda each: (-each[1], each[0])))


def outcomes(found: Summary) -> str:
    """Says how the jobs ended, the most frequent first."""
    ordered = sorted(found.outcomes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in ordered)


def times(found: Summary) -> str:
    """Says when the jobs ended: the first and the last, or the one moment."""
    moments = [each.replace("T", " ") for each in (found.first, found.last) if each]
    return " to ".join(dict.fromkeys(moments))


def test_sentence(test: HostTest) -> str:
    """Says what the test of hosts rests on."""
    rest = (
        f"; {many(test.left_out, 'job')} left out: their logs name some of their hosts, not all"
        if test.left_out
        else ""
    )
    if not test.jobs or not test.failures:
        if test.indices:
            rest += f"; {test.indices[0]} and the like count the nodes of a job and name no machine"
        return f"not tested: no failure's first host is known among jobs whose logs name all their hosts{rest}"
    if not test.tested:
        known = f"{many(test.jobs, 'job')} with {many(test.failures, 'failure')} whose first host is known"
        return f"not tested: too few to tell a bad host from chance ({known}){rest}"
    return (
        f"{many(test.tested, 'host')} tested over {many(test.jobs, 'job')} with {many(test.failures, 'failure')}"
        f" whose first host is known"
        f" (exact test against jobs of as many hosts, Benjamini-Hochberg at 5 %){rest}"
    )


many = wording.count


def number(value: float) -> str:
    """Shows a probability or an expectation with two digits that count."""
    return f"{value:.2g}" if value < 0.001 or value >= 100 else f"{value:.3g}"


def size(count: float) -> str:
    """Shows bytes."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return ""
