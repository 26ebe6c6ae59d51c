"""``logsig why``: clause by clause, why a signature won or didn't."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logsig.options import COLOR, LOG, SIGNATURES

if TYPE_CHECKING:
    from logsig.why import Clause, Why

_NAME = 10


@click.command()
@click.argument("identity", metavar="ID")
@click.argument("paths", nargs=-1, required=True, type=LOG, metavar="LOG...")
@SIGNATURES
@COLOR
def command(identity: str, paths: tuple[str, ...], extra: tuple[Path, ...], color: str) -> None:
    """Say why a signature is, or isn't, the root cause in a log.

    For each message that could have been ID, every clause in the order in which it is asked: the literal, what rules it
    out (unless), the pattern, whether an error speaks there or is only quoted (where), which other signature stood
    before it, whether the run recovered, what explains it, and whether it is the root. All LOGs are one job.
    """
    import sys

    from logsig import console, outputs
    from logsig.catalog import load_catalog
    from logsig.commands.signatures import unknown
    from logsig.report import inert
    from logsig.scan import scan
    from logsig.why import why

    catalog = load_catalog(extra)
    if identity not in catalog.signatures:
        raise click.UsageError(unknown(catalog, identity))
    options = console.look(sys.stdout, color)
    seen = scan(paths, [literal.decode() for literal in catalog.scan_literals])
    text = inert.document(layout(inert.clean(why(identity, seen, catalog)), options.width))
    outputs.write_stdout(text if options.color else click.unstyle(text))


def layout(found: Why, width: int) -> str:
    """Lays the answer out for so many columns."""
    from logsig.report import cells, inert

    parts = [click.style(found.conclusion, bold=True), f"{found.signature}: {found.title}", ""]
    parts += [line for clause in found.literals for line in _clause(clause, width)]
    for trail in found.trails:
        more = f" and {trail.count - 1} more that went the same way" if trail.count > 1 else ""
        place = f"{trail.line.source.path}:{trail.line.source.line}{more}"
        quoted = cells.cut(inert.line(trail.line.text.strip()), width - 4)
        parts += ["", click.style(place, bold=True), f"    {quoted}"]
        parts += [line for clause in trail.clauses for line in _clause(clause, width)]
    if found.untold:
        parts += ["", f"and {found.untold} more message{'' if found.untold == 1 else 's'}"]
    return "\n".join(part.rstrip() for part in parts) + "\n"


def _clause(clause: Clause, width: int) -> Iterator[str]:
    mark = click.style("yes", fg="green") if clause.holds else click.style("no ", fg="red")
    indent = " " * (_NAME + 6)
    lines = textwrap.wrap(clause.says, width - len(indent), break_long_words=False, break_on_hyphens=False) or [""]
    yield f"  {mark} {clause.name:<{_NAME}}{lines[0]}"
    yield from (f"{indent}{line}" for line in lines[1:])
