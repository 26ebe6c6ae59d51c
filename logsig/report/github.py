"""Workflow commands for GitHub Actions: annotations on the project's own code, and the evidence folded below them.

Nothing but commands goes out. The quoted lines stand between ``stop-commands`` marks whose token is the digest of the
very lines, so that no line can contain it. The step summary is ``-O markdown=$GITHUB_STEP_SUMMARY``.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, checkout, inert, wording
from logsig.report.page import Page, causes_of, page

if TYPE_CHECKING:
    from logsig.model import Cause, Diagnosis

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

MOST_ANNOTATIONS = 10
"""GitHub shows no more of a step."""
LONGEST_MESSAGE = 4000
_LEVEL = {"recovered": "warning", "unfinished": "notice", "empty": "notice"}


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives the commands: the cause first, then further causes; a run that recovered is a warning."""
    shown = page(diagnosis)
    found = shown.diagnosis
    level = _LEVEL.get(found.outcome, "error")
    lines = []
    for index, cause in enumerate(causes_of(found)[:MOST_ANNOTATIONS]):
        spot = checkout.spot(cause, options.root) or checkout.log_spot(cause, options.root)
        lines.append(_annotation(level, cause.signature, spot, _message(shown, index, cause)))
    if not lines and found.outcome != "healthy":
        lines = [_annotation(level, found.outcome, None, shown.verdict)]
    return "".join(f"{line}\n" for line in [*lines, *_evidence(shown)])


def _annotation(level: str, title: str, spot: checkout.Spot | None, message: str) -> str:
    properties = {"title": f"logsig: {title}"}
    if spot:
        properties = {"file": spot.path, "line": str(spot.line), **properties}
    said = ",".join(f"{name}={inert.workflow_property(text)}" for name, text in properties.items())
    return f"::{level} {said}::{inert.workflow_message(wording.cut(message, LONGEST_MESSAGE))}"


def _message(shown: Page, index: int, cause: Cause) -> str:
    lines = [shown.verdict if index == 0 else f"Also: {cause.summary}"]
    lines += [f"{each.source.path}:{each.source.line}: {each.text}" for each in cause.evidence[:1]]
    if index == 0 and shown.remedies:
        lines.append(f"help: {shown.remedies[0].title}")
        lines += [f"{number}. {step}" for number, step in enumerate(shown.remedies[0].steps, start=1)]
    return "\n".join(lines)


def _evidence(shown: Page) -> list[str]:
    """Folds the quoted lines; between the marks a runner obeys nothing."""
    quotes = [quote for finding in shown.findings for quote in finding.quotes] + list(shown.unexplained)
    if not quotes:
        return []
    lines = []
    for quote in quotes:
        lines.append(f"{quote.place} {quote.writer}".rstrip())
        for line in quote.lines:
            lines += ["  ⋮"] if line.is_apart else []
            lines.append(f"{'>' if line.is_hit else ' '} {line.number} | {line.text}")
    token = hashlib.sha256("\n".join(lines).encode("utf-8", "backslashreplace")).hexdigest()
    return ["::group::logsig: evidence", f"::stop-commands::{token}", *lines, f"::{token}::", "::endgroup::"]
