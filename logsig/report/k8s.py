"""A termination message for Kubernetes (and SageMaker's failure file): short, the most important line first.

The kubelet keeps 4,096 bytes and SageMaker shows 1,024 characters: whole lines are given as long as they fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, inert, wording
from logsig.report.page import Page, page

if TYPE_CHECKING:
    from logsig.model import Diagnosis

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

LIMIT = 4000
LONGEST_LINE = 600


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives at most 4,000 bytes of plain text."""
    del options
    text = ""
    for line in _lines(page(diagnosis)):
        longer = text + _short(inert.document(line)) + "\n"
        if len(longer.encode("utf-8", "backslashreplace")) > LIMIT:
            break
        text = longer
    return text


def _lines(shown: Page) -> list[str]:
    """Gives the lines by their importance."""
    causes = [f"cause: {finding.signature} ({finding.note})" for finding in shown.findings]
    quotes = [quote for finding in shown.findings for quote in finding.quotes[:1]] + list(shown.unexplained[:3])
    evidence = [
        f"evidence: {quote.place}: {line.text.strip()}" for quote in quotes for line in quote.lines if line.is_hit
    ]
    help_ = [f"help: {remedy.title}: {' '.join(remedy.steps)}" for remedy in shown.remedies]
    ranks = [f"rank {row.ranks}: {row.what}{f' ({row.node})' if row.node else ''}" for row in shown.ranks]
    because = [f"why: {text}" for text in (*shown.because, *shown.consequences)]
    rest = [*shown.attempts, *help_[1:], *(f"not seen: {text}" for text in shown.doubts)]
    return [shown.verdict, *causes, *evidence, *help_[:1], *because, *ranks[:8], *rest]


def _short(line: str) -> str:
    return wording.cut(line, LONGEST_LINE)
