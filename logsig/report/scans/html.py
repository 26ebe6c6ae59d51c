"""The index of a scan: one HTML file that asks for nothing, with links to the single reports beside it.

The table of jobs can be sorted where scripts are forbidden: each row carries its place in every order, and a style
sheet picks one. A script adds reversing and filtering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from logsig.batch.rowing import report_name
from logsig.report import Options, inert, templates
from logsig.report.scans import Result, _charts, _fields

if TYPE_CHECKING:
    from markupsafe import Markup

    from logsig.batch.model import Group, Host, Row

MARK = "<!-- jobs -->"
MOST_ROWS = 50_000
"""Rows of the table; a browser shows no more at once."""
SHOWN_GROUPS = 12
"""Kinds of failure that are shown at once; the rest is folded."""
_RANK: dict[str, int] = {
    "unread": 0,
    "unrecognised": 1,
    "failure": 2,
    "interrupted": 3,
    "recovered": 4,
    "unfinished": 5,
    "empty": 6,
}
ORDERS: tuple[tuple[str, str, Callable[[Row], Any]], ...] = (
    ("job", "job", lambda _row: ()),
    ("outcome", "outcome", lambda row: _RANK.get(row.outcome or "unread", 9)),
    ("cause", "cause", lambda row: (row.group is None, row.signature or "~", row.group or "")),
    ("first", "first", lambda row: (row.first_failing_rank is None, row.first_failing_rank or 0, row.scope or "")),
    ("host", "host", lambda row: (row.first_failing_node is None or row.group is None, row.first_failing_node or "")),
    ("ended", "ended", lambda row: (row.ended is None, row.ended or "")),
    ("size", "size", lambda row: -row.size),
)
"""(name, title, what to sort by); equals stay in the order of the jobs."""


def write(result: Result, options: Options) -> Iterator[str]:
    """Gives the page, the rows of its table one by one."""
    del options
    verdict = result.verdict
    places = _places(result)
    whole = templates.fill(
        "scan.html.j2",
        title=f"{_fields.many(verdict.summary.jobs, 'job')}, {_fields.many(verdict.summary.failures, 'failure')}",
        summary=verdict.summary,
        outcomes=_fields.outcomes(verdict.summary),
        read=f"{_fields.many(verdict.summary.files, 'file')}, {_fields.size(verdict.summary.size)}",
        times=_fields.times(verdict.summary),
        unread=_fields.many(verdict.summary.unread, "job"),
        shown_groups=SHOWN_GROUPS,
        known=[_group(group, result) for group in verdict.groups if group.signature],
        unknown=[_group(group, result) for group in verdict.groups if not group.signature],
        gone=[_group(group, result) for group in verdict.gone],
        has_status=any(group.status for group in verdict.groups),
        baseline=verdict.summary.baseline,
        timeline=_raw(_charts.timeline(verdict.summary.days)),
        timeline_by=_charts.timeline_by(verdict.summary.days),
        heat_map=_raw(_charts.heat_map(verdict.hosts.hosts)),
        hosts=[_host(host, verdict.groups) for host in verdict.hosts.hosts if host.is_named],
        most_hosts=_charts.MOST_HOSTS,
        host_count=len(verdict.hosts.hosts),
        test=_fields.test_sentence(verdict.hosts),
        tested=verdict.hosts.tested,
        orders=[(name, title) for name, title, _ in ORDERS],
        rows_left=max(0, verdict.summary.jobs - MOST_ROWS),
        line=inert.line,
        style=_raw(templates.source("report.css") + templates.source("scan.css")),
        script=_raw(templates.source("scan.js")),
        script_digest=_digest(templates.source("scan.js")),
        mark=_raw(MARK),
    )
    head, _, tail = inert.document(whole).partition(MARK)
    yield head
    for at, row in enumerate(result.rows):
        if at >= MOST_ROWS:
            break
        yield _row(row, [place[at] for place in places], result)
    yield tail


def _places(result: Result) -> list[list[int]]:
    """Gives for each order the place of each row in it."""
    keys: list[list[Any]] = [[] for _ in ORDERS]
    for at, row in enumerate(result.rows):
        if at >= MOST_ROWS:
            break
        for order, (_name, _title, key) in zip(keys, ORDERS, strict=True):
            order.append(key(row))
    places = []
    for order in keys:
        mine = [0] * len(order)
        for place, at in enumerate(sorted(range(len(order)), key=order.__getitem__)):
            mine[at] = place
        places.append(mine)
    return places


def _row(row: Row, places: list[int], result: Result) -> str:
    """Writes the row of a job; every text is escaped."""
    order = ";".join(f"--{name}:{place}" for (name, _, _), place in zip(ORDERS, places, strict=True))
    outcome = row.outcome or "unread"
    name = inert.xml(inert.line(row.job))
    link = _link(row, result)
    cause = row.signature or row.template or row.error or ""
    first = (
        "all ranks" if row.scope == "all-ranks" else "" if row.first_failing_rank is None else row.first_failing_rank
    )
    cells = (
        f'<td class="mono job">{f"<a href={chr(34)}{link}{chr(34)}>{name}</a>" if link else name}</td>'
        f'<td class="o-{outcome}">{outcome}</td>'
        f'<td title="{inert.xml(inert.line(row.summary or ""))}">{inert.xml(inert.line(cause))}</td>'
        f"<td>{first if row.group else ''}</td>"
        f"<td>{inert.xml(inert.line(row.first_failing_node or '')) if row.group else ''}</td>"
        f'<td class="when">{(row.ended or "").replace("T", " ")}</td>'
        f'<td class="number">{_fields.size(row.size)}</td>'
    )
    return f'<tr style="{order}" data-group="{row.group or ""}">{cells}</tr>\n'


def _link(row: Row, result: Result) -> str | None:
    if result.reports is None or row.group is None:
        return None
    return quote(f"{result.reports}/{report_name(row.job)}".encode("utf-8", "surrogateescape"))


def _group(group: Group, result: Result) -> dict[str, Any]:
    example = group.example
    place = f"{example.evidence_file}:{example.evidence_line}" if example.evidence_file else example.job
    return {
        "id": group.id,
        "name": group.signature or "not known",
        "title": inert.line(group.title),
        "told": inert.line(_fields.told(group)),
        "count": group.count,
        "total": group.total,
        "share": _fields.share(group),
        "bar": _raw(_charts.bar(group.share if group.count else 0.0)),
        "first": (group.first_seen or "").replace("T", " "),
        "last": (group.last_seen or "").replace("T", " "),
        "place": inert.line(place),
        "link": _link(example, result) if group.count else None,
        "text": inert.line(_shown(group)),
        "remedy": inert.line(group.remedy or ""),
        "status": group.status,
        "healthy": group.healthy,
        "draft": inert.block(group.draft) if group.draft else None,
    }


def _shown(group: Group) -> str:
    """Gives the line behind a masked title, where the mask hides something of it."""
    text = group.example.evidence_text or ""
    return "" if group.signature or text.strip() == group.title else text


def _host(host: Host, groups: tuple[Group, ...]) -> dict[str, Any]:
    return {
        "name": inert.line(host.name),
        "starts": host.starts,
        "jobs": host.jobs,
        "expected": _fields.number(host.expected),
        "p": _fields.number(host.p),
        "q": _fields.number(host.q),
        "causes": inert.line(_fields.started(host, groups)),
    }


def _raw(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own style sheet, script and drawings, whose texts are escaped


@cache
def _digest(text: str) -> str:
    import base64
    import hashlib

    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
