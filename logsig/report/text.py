"""The terminal report: one primary error with its lines, the ranks, why, what to do, the verdict again last.

The order of the pieces stands here; ``layout`` makes each of them. It is written out in Python because Jinja2 takes
longer to compile a template than all the rest of the report takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from logsig.report import DEFAULT, Options, inert
from logsig.report.layout import Layout
from logsig.report.page import page

if TYPE_CHECKING:
    from logsig.model import Diagnosis, Remedy
    from logsig.report.page import Page

MOST_REMEDIES = 3
"""More remedies than this are named only."""


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Lays the report out for a terminal of ``options.width`` columns."""
    found, lay = page(diagnosis), Layout(options)
    verdict, read = lay.sentence(found.verdict, found.tone), lay.heading("Read") + lay.pairs(found.environment)
    sections = [verdict, *_what(found, lay), *_why(found, lay), *_cure(found, lay), read, lay.last_line(found)]
    return inert.document("\n".join(sections))  # a blank line between two


def _what(found: Page, lay: Layout) -> Iterator[str]:
    """Gives the causes with their lines, and what every rank did."""
    yield from map(lay.finding, found.findings)
    if found.unexplained:
        title = "note: no signature explains the failure; these lines stand out"
        yield lay.sentence(title, "bold") + "".join(map(lay.quote, found.unexplained))
    if found.ranks:
        yield lay.heading("Ranks", f"({found.ranks_title})") + lay.ranks(found.ranks)
    if found.picture:
        yield lay.heading("Timeline", f"({found.picture.length})") + lay.timeline(found)
    for group in found.ledger:
        verdict = lay.sentence(group.verdict, indent="  ", first="  ")
        yield lay.heading("Collectives", f"of process group {group.group}") + verdict + lay.ledger(group.rows)


def _why(found: Page, lay: Layout) -> Iterator[str]:
    """Gives the attempts and the reasons."""
    if found.attempts:
        yield lay.heading("Attempts") + lay.items(found.attempts)
    if found.because or found.consequences:
        yield lay.heading("Why") + lay.items(found.because + found.consequences)


def _cure(found: Page, lay: Layout) -> Iterator[str]:
    """Gives what to do, and what the log didn't tell."""
    for remedy in found.remedies[:MOST_REMEDIES]:
        yield _remedy(remedy, lay)
    if rest := found.remedies[MOST_REMEDIES:]:
        title = lay.sentence("help: less likely, but also possible", "help")
        yield title + lay.items([remedy.title for remedy in rest])
    if found.confirm:
        yield lay.heading("To make sure of the cause") + lay.items(found.confirm)
    if found.next_time:
        yield lay.heading("To know more next time") + lay.items(found.next_time)
    if found.doubts:
        yield lay.heading("Not seen") + lay.items(found.doubts)


def _remedy(remedy: Remedy, lay: Layout) -> str:
    """Shows one remedy with its steps and what to paste."""
    pieces = [lay.sentence(f"help: {remedy.title}", "help"), lay.steps(remedy.steps)]
    notes = [f"{name}: {text}" for name, text in (("cost", remedy.cost), ("verify", remedy.verify)) if text]
    if remedy.code:
        pieces += [lay.code(remedy.code), *(["\n"] if notes else [])]
    return "".join(pieces + [lay.sentence(note, indent="     ", first="  ") for note in notes])
