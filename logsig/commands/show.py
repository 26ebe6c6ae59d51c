"""``logsig show``: the log as the parser reads it, or one rank's lines of it, with the numbers of the file."""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from logsig.options import LOG, require_log

if TYPE_CHECKING:
    from logsig.model import LogLine

UNREADABLE = 3


class Ranks(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """``3``, ``0-3,7``."""

    name = "ranks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[int]:
        """Checks what stands here."""
        if isinstance(value, frozenset):
            return value
        wanted: set[int] = set()
        for part in value.split(","):
            found = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part.strip())
            if not found or (found[2] and int(found[2]) < int(found[1])):
                self.fail(f"found {value!r}, expected ranks such as 3 or 0-3,7", param, ctx)
            wanted.update(range(int(found[1]), int(found[2] or found[1]) + 1))
        return frozenset(wanted)


@click.command()
@click.argument("paths", nargs=-1, type=LOG, metavar="[LOG]...")
@click.option("-r", "--rank", "ranks", type=Ranks(), metavar="N", help="Only these global ranks (3, or 0-3,7).")
@click.option("--no-rank", is_flag=True, help="Only lines whose rank the log doesn't tell.")
@click.option("-n", "--last", type=click.IntRange(min=1), metavar="N", help="Only the last N of the lines.")
@click.option("--raw", is_flag=True, help="The lines as the file has them, prefixes included.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], ranks: frozenset[int] | None, **chosen: Any) -> None:
    """Show the lines of a rank, with the line numbers of the file.

    Prefixes of launchers and collectors are taken off; a line of several ranks is shown for each of them.
    """
    from logsig import outputs, whole
    from logsig.verdict import name_ranks

    require_log(ctx, paths)
    known: set[int] = set()
    with whole.read(paths or ("-",), sys.stdin.buffer if sys.stdin else None) as log:
        chosen_lines: Iterable[tuple[int | None, LogLine]] = (
            (rank, line) for rank, line in _noted(log, known) if _is_wanted(rank, ranks, no_rank=chosen["no_rank"])
        )
        if chosen["last"]:
            chosen_lines = deque(chosen_lines, maxlen=chosen["last"])
        with_rank, with_files = not ranks or len(ranks) > 1, len(paths) > 1 or any(map(os.path.isdir, paths))
        shown = False
        for text in _texts(chosen_lines, with_files=with_files, with_rank=with_rank, is_raw=chosen["raw"]):
            shown = True
            sys.stdout.write(text)
        for doubt in log.doubts:
            outputs.say(doubt)
        if not shown and ranks:
            has = f"it has lines of {name_ranks(sorted(known))}" if known else "it names no rank at all"
            outputs.say(f"the log shows no line of {name_ranks(sorted(ranks))}; {has}")
        ctx.exit(UNREADABLE if log.unreadable else 0)


def _noted(log: Iterable[tuple[int | None, LogLine]], known: set[int]) -> Iterator[tuple[int | None, LogLine]]:
    """Gives the lines on, and remembers whose they are."""
    for rank, line in log:
        if rank is not None:
            known.add(rank)
        yield rank, line


def _is_wanted(rank: int | None, ranks: frozenset[int] | None, *, no_rank: bool) -> bool:
    if no_rank:
        return rank is None or (ranks is not None and rank in ranks)
    return ranks is None or rank in ranks


def _texts(
    found: Iterable[tuple[int | None, LogLine]], *, with_files: bool, with_rank: bool, is_raw: bool
) -> Iterator[str]:
    path = None
    for rank, line in found:
        if with_files and line.source.path != path:
            path = line.source.path
            yield f"==> {_inert(path)} <==\n"
        label = f"{'' if rank is None else f'rank {rank}':<9} " if with_rank else ""
        yield f"{line.source.line:>7} {label}{_inert(line.raw if is_raw else text_of(line))}\n"


def text_of(line: LogLine) -> str:
    """Gives a line's message with its time and its level, without the other prefixes."""
    return " ".join(part for part in (line.stamp and line.stamp.text, line.level, line.text) if part)


def _inert(text: str) -> str:
    from logsig.report.inert import document, line

    encoding = (sys.stdout.encoding if sys.stdout else None) or "utf-8"
    return document(line(text)).encode(encoding, "backslashreplace").decode(encoding)
