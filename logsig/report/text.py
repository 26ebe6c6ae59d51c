"""The terminal report: one primary error with its lines, the ranks, why, what to do, the verdict again last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, inert, templates
from logsig.report.layout import Layout
from logsig.report.page import page

if TYPE_CHECKING:
    from logsig.model import Diagnosis

MOST_REMEDIES = 3
"""More remedies than this are named only."""


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Lays the report out for a terminal of ``options.width`` columns."""
    text = templates.fill("text.txt.j2", page=page(diagnosis), lay=Layout(options), most_remedies=MOST_REMEDIES)
    return inert.document(text)
