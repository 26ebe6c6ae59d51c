"""``logsig explain``: the page of a signature, by its id or by a piece of the message."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logsig.late import late
from logsig.options import COLOR, SIGNATURES

if TYPE_CHECKING:
    from logsig.catalog import Catalog
    from logsig.page import Block, Section

MAX_LISTED = 12
_HEAD = 'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n'
"""What stands above a bare exception in a log."""
_ID = late(r"[a-z0-9]+(-[a-z0-9]+)*")


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="ID|MESSAGE...")
@SIGNATURES
@COLOR
def command(words: tuple[str, ...], extra: tuple[Path, ...], color: str) -> None:
    """Explain a failure: what happened, what to do, what it resembles.

    ID is a signature's id ('logsig signatures list' has them); anything else is looked for as a piece of a message:
    logsig explain "Expected to have finished reduction".
    """
    import sys

    from logsig import console, outputs
    from logsig.catalog import load_catalog
    from logsig.report.inert import document

    options = console.look(sys.stdout, color)
    catalog = load_catalog(extra)
    text = " ".join(words)
    found = identify(catalog, text)
    shown = layout(catalog, found[0], options.width) if len(found) == 1 else listing(catalog, found)
    shown = document(shown)
    outputs.write_stdout(shown if options.color else click.unstyle(shown))


def identify(catalog: Catalog, text: str) -> tuple[str, ...]:
    """Give the id itself, or those that the text may mean; refuse what means none."""
    from logsig.commands.signatures import unknown
    from logsig.page import find

    if text in catalog.signatures:
        return (text,)
    own, general = _recognised(catalog, text)
    found = (own,) if own else find(catalog, text) or general
    if not found:
        if _ID.fullmatch(text):
            raise click.UsageError(unknown(catalog, text))
        raise click.UsageError(f"no signature speaks of {text!r}; 'logsig signatures list' lists all")
    return found


def _recognised(catalog: Catalog, text: str) -> tuple[str | None, tuple[str, ...]]:
    """Give the one signature that the whole line recognises in the text, and the general nets that do."""
    import logsig

    events = logsig.match_text(text + "\n", catalog) or logsig.match_text(f"{_HEAD}{text}\n", catalog)
    names = dict.fromkeys(event.signature for event in events)
    nets = tuple(name for name in names if catalog.get(name).match.net)
    own = [name for name in names if name not in nets]
    return own[0] if len(own) == 1 else None, nets


def listing(catalog: Catalog, found: tuple[str, ...]) -> str:
    """List several candidates."""
    from logsig.report import inert

    width = max(len(name) for name in found)
    rows = [f"  {name:<{width}}  {inert.line(catalog.get(name).title)}" for name in found[:MAX_LISTED]]
    more = [f"  and {len(found) - MAX_LISTED} more"] if len(found) > MAX_LISTED else []
    return "\n".join([f"{len(found)} signatures may be meant; 'logsig explain ID' shows one:", *rows, *more]) + "\n"


# ---------------------------------------------------------------- the page on a terminal


def layout(catalog: Catalog, identity: str, width: int) -> str:
    """Lay the page out for so many columns."""
    from logsig.page import sections
    from logsig.report import inert
    from logsig.signature import CAPTURES, CONTEXT

    parts = [click.style(identity, bold=True), *_wrapped(inert.line(catalog.get(identity).title), width, "")]
    for section in sections(catalog, identity):
        parts += ["", *_section(section, width)]
    fact = next((name for name in (*CAPTURES, *CONTEXT) if any(f"<{name}>" in part for part in parts)), None)
    if fact:
        parts += [
            "",
            *_wrapped(f"<{fact}> and the like stand for what a log tells; 'logsig LOG' fills them in.", width, ""),
        ]
    return "\n".join(part.rstrip() for part in parts) + "\n"


def _section(section: Section, width: int) -> list[str]:
    lines = [click.style(section.heading, bold=True)]
    before = None
    for block in section.blocks:
        if before and (block.kind == "label" or "code" in (block.kind, before)):
            lines.append("")
        lines += _block(block, width)
        before = block.kind
    return lines


def _block(block: Block, width: int) -> list[str]:
    from logsig.report import inert

    text = inert.block(block.line)
    if block.kind == "code":
        return [f"      {line}" for line in text.split("\n")]
    if block.kind == "point":
        return _wrapped(text, width, "  - ", "    ")
    if block.kind in ("label", "variant"):
        return [click.style(line, bold=True) for line in _wrapped(text, width, "  ")]
    return _wrapped(text, width, "  ")


def _wrapped(text: str, width: int, first: str, rest: str | None = None) -> list[str]:
    rest = first if rest is None else rest
    return textwrap.wrap(
        " ".join(text.split()),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
