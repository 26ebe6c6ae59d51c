"""JUnit XML for the whole scan: a test case per job, as GitLab and Jenkins read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from logsig.report import Options, inert
from logsig.report.scans import Result

if TYPE_CHECKING:
    from logsig.batch.model import Row

_ELEMENT = {
    "failure": "failure",
    "unrecognised": "failure",
    "interrupted": "error",
    "unfinished": "skipped",
    "empty": "skipped",
    None: "error",
}


def write(result: Result, options: Options) -> Iterator[str]:
    """Gives the document."""
    del options
    outcomes = result.verdict.summary.outcomes
    counts = {
        element: sum(count for outcome, count in outcomes.items() if _element(outcome) == element)
        for element in ("failure", "error", "skipped")
    }
    told = (
        f'tests="{sum(outcomes.values())}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {told}>\n'
    yield f'<testsuite name="logsig scan" {told} time="0">\n'
    for row in result.rows:
        yield _case(row)
    yield "</testsuite>\n</testsuites>\n"


def _element(outcome: str | None) -> str | None:
    return "error" if outcome == "unread" else _ELEMENT.get(outcome)


def _case(row: Row) -> str:
    element = _element(row.outcome)
    name = f'<testcase classname="logsig.scan" name="{inert.xml(inert.line(row.job))}" time="0"'
    if element is None:
        return f"{name}/>\n"
    kind = row.signature or row.outcome or "unread"
    message = row.summary or row.template or row.error or row.outcome or ""
    place = f"{row.evidence_file}:{row.evidence_line}: {row.evidence_text}" if row.evidence_file else ""
    body = "\n".join(text for text in (place, f"Do: {row.remedy}" if row.remedy else "") if text)
    if element == "skipped":
        return f'{name}><skipped message="{inert.xml(inert.line(message))}"/></testcase>\n'
    return (
        f'{name}><{element} type="{inert.xml(kind)}" message="{inert.xml(inert.line(message))}">'
        f"{inert.xml(inert.document(body))}</{element}></testcase>\n"
    )
