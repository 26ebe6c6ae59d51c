"""Lines as compilers print them, for editors and problem matchers: ``PATH:LINE:COL: error: MESSAGE [ID]``.

The error stands on the user's own frame where it is found below the current folder, else on the line of the log; the
notes after it stand on the evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, checkout, inert, wording
from logsig.report.page import causes_of, page

if TYPE_CHECKING:
    from logsig.model import Cause, Diagnosis, Evidence

LONGEST = 500


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives a line for each cause, and a note for each line of evidence and the first remedy."""
    shown = page(diagnosis)
    found = shown.diagnosis
    causes = causes_of(found)
    lines: list[str] = []
    for index, cause in enumerate(causes):
        place = _place(cause, options.root)
        level = "warning" if found.outcome == "recovered" or cause.severity == "notice" else "error"
        lines.append(_line(place, level, shown.verdict if index == 0 else cause.summary, cause.signature))
        lines += [_line(_at(each), "note", each.text.strip(), cause.signature) for each in cause.evidence]
        if index == 0 and shown.remedies:
            lines.append(_line(place, "note", f"help: {shown.remedies[0].title}", cause.signature))
    return "".join(f"{line}\n" for line in lines)


def _place(cause: Cause, root: str) -> str:
    spot = checkout.spot(cause, root)
    if spot:
        return f"{spot.path}:{spot.line}:1"
    return _at(cause.evidence[0]) if cause.evidence else "-:1:1"


def _at(evidence: Evidence) -> str:
    column = evidence.match[0] + 1 if evidence.match else 1
    path = inert.line(evidence.source.path).strip() or "-"
    return f"{path}:{evidence.source.line}:{column}"


def _line(place: str, level: str, message: str, signature: str) -> str:
    message = " ".join(inert.line(message).split())
    short = wording.cut(message, LONGEST)
    return inert.document(f"{place}: {level}: {short} [{signature}]")
