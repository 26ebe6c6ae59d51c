"""One HTML file that opens from disk and asks for nothing: the verdict, the picture, what to do, the evidence.

Reads and draws where scripts and styles are forbidden, too. Every text of the log is escaped by the template; the
content security policy names the one script and the one style sheet by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, cells, drawing, inert, templates
from logsig.report import markdown as markdown_format
from logsig.report.json_v1 import document
from logsig.report.page import LEDGER_COLUMNS, Page, page

if TYPE_CHECKING:
    from markupsafe import Markup

    from logsig.model import Diagnosis

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

LONGEST_LINE = 2000
"""Characters of a quoted line; the JSON inside the page has more of it."""
_RETRY = {"yes": "yes", "no": "no", "after-fix": "after a fix", "other-node": "on another node"}


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives the page."""
    del options  # the browser decides what it can show
    shown = page(diagnosis)
    style, script = templates.source("report.css"), templates.source("report.js")
    text = templates.fill(
        "report.html.j2",
        page=shown,
        drawing=drawing.draw(shown.picture) if shown.picture else None,
        colors=drawing.COLORS,
        ledger_columns=LEDGER_COLUMNS,
        tags=_tags(diagnosis, shown),
        prose=prose,
        cut=lambda text: cells.cut(text, LONGEST_LINE),
        marked=_marked,
        style=raw(style),
        script=raw(script),
        style_digest=digest(style),
        script_digest=digest(script),
        data=document(shown.diagnosis),
        markdown=markdown_format.render(diagnosis),
    )
    return inert.document(text)


def _tags(diagnosis: Diagnosis, shown: Page) -> list[tuple[str, str]]:
    """Gives the words under the verdict."""
    pairs = [("outcome", shown.outcome)]
    if shown.findings:
        pairs.append(("signature", shown.findings[0].signature))
    if diagnosis.root_cause:
        pairs.append(("confidence in the cause", diagnosis.root_cause.confidence))
    if diagnosis.first_failing_rank is not None:
        pairs.append(("confidence in the rank", f"{diagnosis.rank_confidence}, grade {diagnosis.grade}"))
    if diagnosis.root_cause:
        pairs.append(("scope", diagnosis.scope.replace("-", " ")))
        pairs.append(("retry", _RETRY[diagnosis.root_cause.retryable]))
    return pairs


def prose(text: str) -> Markup:
    """Shows what a sentence has between backticks as code."""
    from markupsafe import Markup, escape

    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


def _marked(text: str, span: tuple[int, int] | None) -> Markup:
    """Marks the match in a quoted line, and cuts a very long line around it."""
    from markupsafe import Markup, escape

    shown, span = cells.window(text, span, LONGEST_LINE)
    if span is None or cells.width(shown) != len(shown):  # columns are characters only where none is wide
        return escape(shown)
    return Markup("{}<mark>{}</mark>{}").format(shown[: span[0]], shown[span[0] : span[1]], shown[span[1] :])


def raw(text: str) -> Markup:
    """Takes a text of our own as HTML."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own style sheet and script, from our own folder


@cache
def digest(text: str) -> str:
    """Gives the name by which a content security policy allows a script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
