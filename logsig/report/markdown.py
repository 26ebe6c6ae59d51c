"""Markdown for issues, pull requests and step summaries: the verdict first, details folded.

Log text stands in code only. Stays below the smallest limit of the places where it is pasted (an issue's 65,536
characters); what had to go is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, cells, inert, templates, wording
from logsig.report.layout import Layout
from logsig.report.page import LEDGER_COLUMNS, Page, page

if TYPE_CHECKING:
    from logsig.model import Diagnosis
    from logsig.report.page import Finding, Quote
    from logsig.report.ranks import RankRow

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

LIMIT = 60_000
MOST_QUOTES = 5
MOST_ITEMS = 25
LONGEST_LINE = 400
_CUT = "\n\n*The report was cut here: it is longer than an issue takes. `--format html` has all of it.*\n"


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives GitHub-flavoured Markdown, as GitLab, Buildkite and others read it too."""
    del options  # Markdown looks the same wherever it is shown
    text = templates.fill("markdown.md.j2", page=page(diagnosis), mark=_Marks())
    return inert.document(text if len(text) <= LIMIT else _cut(text))


def _cut(text: str) -> str:
    """Cuts between the folded parts, so that none is left open."""
    kept = text[:LIMIT]
    end = kept.rfind("\n</details>")
    return (kept[: end + len("\n</details>")] if end > 0 else kept[: kept.rfind("\n\n")]) + _CUT


class _Marks:
    """What the template asks for: pieces of Markdown."""

    text = staticmethod(inert.markdown)
    code = staticmethod(inert.code_span)

    @staticmethod
    def bold(text: str) -> str:
        """Shows a title."""
        shown = inert.markdown(text).strip()
        return f"**{shown}**" if shown else ""

    @staticmethod
    def fence(text: str, language: str = "text") -> str:
        """Shows a block as it is."""
        return inert.fence(text, language)

    @staticmethod
    def items(texts: Sequence[str]) -> str:
        """Lists sentences, and says how many more there are."""
        lines = [f"- {inert.markdown(text)}" for text in texts[:MOST_ITEMS]]
        if len(texts) > MOST_ITEMS:
            lines.append(f"- … and {len(texts) - MOST_ITEMS} more")
        return "\n".join(lines)

    @staticmethod
    def steps(texts: Sequence[str]) -> str:
        """Numbers the steps of a remedy."""
        return "\n".join(f"{number}. {inert.markdown(text)}" for number, text in enumerate(texts, start=1))

    @staticmethod
    def quotes(found: Finding) -> tuple[Quote, ...]:
        """Gives the evidence that is shown."""
        return found.quotes[:MOST_QUOTES]

    @staticmethod
    def more(found: Finding) -> str:
        """Counts the evidence that isn't."""
        return wording.count(len(found.quotes) - MOST_QUOTES, "more piece") + " of evidence"

    @staticmethod
    def lines(quote: Quote) -> str:
        """Shows the lines of a quote with their numbers."""
        wide = max(len(str(line.number)) for line in quote.lines)
        shown = []
        for line in quote.lines:
            text, _ = cells.window(line.text, line.span, LONGEST_LINE)
            shown += [f"  {'⋮':>{wide}} |"] if line.is_apart else []
            shown.append(f"{'>' if line.is_hit else ' '} {line.number:>{wide}} | {text}")
        return inert.fence("\n".join(shown))

    @staticmethod
    def ranks(rows: Sequence[RankRow]) -> str:
        """Shows the rank table."""
        body = [
            (
                f"**{row.ranks}** (first)" if row.is_first else row.ranks,
                _code(row.node),
                _code(row.last_seen),
                row.step,
                _code(row.end),
                _cell(row.what),
            )
            for row in rows
        ]
        return _table(("rank", "node", "last sign of life", "step", "exit", "what happened"), body)

    @staticmethod
    def ledger(rows: Sequence[tuple[str, ...]]) -> str:
        """Shows one process group's collectives."""
        return _table(LEDGER_COLUMNS, [tuple(_cell(text) for text in row) for row in rows])

    @staticmethod
    def timeline(found: Page) -> str:
        """Draws the timeline in block characters."""
        return inert.fence(Layout(DEFAULT).timeline(found).rstrip("\n"))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    used = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    lines = [[heads[at] for at in used], ["---"] * len(used), *([row[at] for at in used] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: str) -> str:
    return inert.code_span(text, in_table=True)


def _cell(text: str) -> str:
    return inert.markdown(text, in_table=True)
