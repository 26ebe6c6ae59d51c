"""JUnit XML as GitLab and Jenkins read it: one test case per job, named the same in every build.

A failure of the job is a ``failure``, an interruption an ``error``, a log that tells no end is ``skipped``; the
terminal report stands in the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, checkout, templates, text
from logsig.report.page import page

if TYPE_CHECKING:
    from logsig.model import Diagnosis

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

_ELEMENT = {
    "failure": "failure",
    "unrecognised": "failure",
    "interrupted": "error",
    "unfinished": "skipped",
    "empty": "skipped",
}
LONGEST_TEXT = 200_000


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives a document of one suite."""
    shown = page(diagnosis)
    found = shown.diagnosis
    spot = checkout.spot(found.root_cause, options.root) if found.root_cause else None
    element = _ELEMENT.get(found.outcome)
    return templates.fill(
        "junit.xml.j2",
        page=shown,
        element=element,
        type=found.root_cause.signature if found.root_cause else found.outcome,
        spot=spot,
        properties=_properties(found),
        report=text.render(diagnosis, DEFAULT)[:LONGEST_TEXT],
    )


def _properties(found: Diagnosis) -> list[tuple[str, str]]:
    cause = found.root_cause
    pairs = [
        ("outcome", found.outcome),
        ("signature", cause.signature if cause else None),
        ("first_failing_rank", found.first_failing_rank),
        ("rank_confidence", found.rank_confidence),
        ("scope", found.scope),
        ("retryable", cause.retryable if cause else None),
    ]
    return [(name, str(value)) for name, value in pairs if value is not None]
