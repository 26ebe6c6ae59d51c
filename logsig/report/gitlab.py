"""GitLab Code Quality: a JSON array with an issue per cause, on the project's own code where it is found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, checkout, inert, wording
from logsig.report.fingerprint import fingerprint
from logsig.report.page import causes_of, page

if TYPE_CHECKING:
    from logsig.model import Cause, Diagnosis

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

_SEVERITY = {"fatal": "blocker", "error": "critical", "notice": "info"}
LONGEST = 1000


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives the array; a job without a cause gives an empty one."""
    shown = page(diagnosis)
    found = shown.diagnosis
    causes = causes_of(found)
    issues = []
    for index, cause in enumerate(causes):
        spot = checkout.spot(cause, options.root) or checkout.log_spot(cause, options.root)
        path, line = (spot.path, spot.line) if spot else _log_name(cause)
        text = shown.verdict if index == 0 else cause.summary
        issues.append(
            {
                "description": wording.cut(inert.line(text), LONGEST),
                "check_name": cause.signature,
                "fingerprint": fingerprint(cause, spot.path if spot else None),
                "severity": "minor" if found.outcome == "recovered" else _SEVERITY.get(cause.severity, "major"),
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return inert.json_text(json.dumps(issues, indent=2, ensure_ascii=options.ascii)) + "\n"


def _log_name(cause: Cause) -> tuple[str, int]:
    """Names the log by its last part where it lies outside the checkout: GitLab takes relative paths only."""
    for evidence in cause.evidence[:1]:
        return evidence.source.path.rsplit("/", 1)[-1] or "log", evidence.source.line
    return "log", 1
