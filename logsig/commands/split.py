"""``logsig split``: a file per rank out of one mixed log, the line numbers of the log kept."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from typing import IO, TYPE_CHECKING

import click

from logsig import digits
from logsig.commands.show import UNREADABLE, text_of
from logsig.errors import OutputError
from logsig.options import LOG, require_log

if TYPE_CHECKING:
    from logsig.whole import Whole

MOST_OPEN = 128
"""Files held open at a time; thousands of ranks need no more."""


@click.command()
@click.argument("paths", nargs=-1, type=LOG, metavar="[LOG]...")
@click.option("-d", "--directory", type=click.Path(), required=True, metavar="DIR", help="Where the files go.")
@click.option("--raw", is_flag=True, help="The lines as the log has them, prefixes included.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], directory: str, *, raw: bool) -> None:
    """Write a file per rank, each line with its number in the log.

    Lines whose rank the log doesn't tell go to unattributed.log. Files of an earlier split are replaced.
    """
    from logsig import outputs, whole

    require_log(ctx, paths)
    with whole.read(paths or ("-",), sys.stdin.buffer if sys.stdin else None) as log:
        counts = _split(log, _Files(directory), is_raw=raw)
        for name, count in sorted(counts.items(), key=lambda item: _order(item[0])):
            outputs.write_line(f"{count:>9,} {'line ' if count == 1 else 'lines'} {os.path.join(directory, name)}")
        for doubt in log.doubts:
            outputs.say(doubt)
        ctx.exit(UNREADABLE if log.unreadable else 0)


def _split(log: Whole, files: _Files, *, is_raw: bool) -> dict[str, int]:
    """Deals the lines out; gives how many went where."""
    counts: dict[str, int] = {}
    last: dict[str, str] = {}
    for rank, line in log:
        name = "unattributed.log" if rank is None else f"rank_{rank}.log"
        counts[name] = counts.get(name, 0) + 1
        heading = f"==> {line.source.path} <==\n" if last.get(name) != line.source.path else ""
        last[name] = line.source.path
        text = line.raw if is_raw else text_of(line)
        files.write(name, f"{heading}{line.source.line:>7} {text}\n")
    files.close()
    return counts


class _Files:
    """The files of a split; the least recently used ones are closed and opened again when needed."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._open: OrderedDict[str, IO[str]] = OrderedDict()
        self._known: set[str] = set()
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{directory}: {error.strerror}") from error

    def write(self, name: str, text: str) -> None:
        """Adds a line."""
        try:
            self._file(name).write(text)
        except OSError as error:
            raise OutputError(f"{os.path.join(self._directory, name)}: {error.strerror}") from error

    def close(self) -> None:
        """Closes all."""
        for file in self._open.values():
            file.close()

    def _file(self, name: str) -> IO[str]:
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name]
        if len(self._open) >= MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        mode = "a" if name in self._known else "w"
        self._known.add(name)
        path = os.path.join(self._directory, name)
        file = open(path, mode, encoding="utf-8", errors="surrogateescape", newline="")  # noqa: SIM115 - closed by close
        self._open[name] = file
        return file


def _order(name: str) -> tuple[int, int]:
    number = name.removeprefix("rank_").removesuffix(".log")
    return (0, digits.number(number)) if number.isdecimal() else (1, 0)
