"""Options that several commands take, and the kinds of values that click doesn't know."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from logsig import digits

LOG = click.Path(readable=False)
"""A log's path. Click would refuse one that may not be read; the rest is to be diagnosed all the same, with exit 3."""
SIGNATURES = click.option(
    "--signatures",
    "extra",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Add signatures of DIR.",
)
COLOR = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour (default: auto)."
)


def require_log(ctx: click.Context, paths: tuple[str, ...]) -> None:
    """Ends a call without a log: with the help at a terminal, else (cron, CI) in one line."""
    from logsig.stdin import is_fed

    if paths or is_fed():
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("no log: none is named, and stdin is empty", ctx)
    click.echo(ctx.get_help())
    ctx.exit(2)


class FormatFile(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """``FORMAT=FILE``, with the command's own kinds of formats."""

    name = "format=file"

    def __init__(self, form: click.ParamType, example: str) -> None:  # type: ignore[type-arg]  # as above
        self._form = form
        self._example = example

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Says in the help what may stand here."""
        return "FORMAT=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Checks what stands here."""
        if isinstance(value, tuple):
            return value
        name, sign, path = value.partition("=")
        if not sign or not path:
            self.fail(f"found {value!r}, expected FORMAT=FILE such as {self._example}", param, ctx)
        return self._form.convert(name, param, ctx), path


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A number of bytes, with K, M, G or T for powers of 1,024."""

    name = "size"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Says in the help what may stand here."""
        return "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Checks what stands here."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", value.strip().lower())
        if not found or digits.number(found[1]) == 0:
            self.fail(f"found {value!r}, expected a size such as 500M or 2G", param, ctx)
        return digits.number(found[1]) << (10 * " kmgt".index(found[2] or " "))
