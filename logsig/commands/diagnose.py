"""``logsig diagnose``: one job's logs in, one diagnosis out, in as many formats as asked for.

Everything heavy is imported when the command runs, so that ``--help`` of other commands stays quick.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from logsig import outputs
from logsig.errors import LogsigError, OutputError
from logsig.options import COLOR, FormatFile, Size
from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.mask import What
    from logsig.model import Diagnosis
    from logsig.stdin import Patience

STDIN = "-"
UNREADABLE = 3
OUTPUT_FAILED = 2
FAILURE_FOUND = 1
FAILED = ("failure", "unrecognised", "interrupted")
"""Outcomes that ``--fail-on`` counts; a recovered run is none."""
SEVERITIES = {"error": ("error", "fatal"), "fatal": ("fatal",)}
BUFFER = 1 << 20


class Format(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """The name of a report format: a module of ``logsig.report``."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Says in the help what may stand here."""
        return "[" + "|".join(_format_names()) + "]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Checks what stands here."""
        from logsig.report import formats

        if not formats(value):
            self.fail(f"there is no format {value!r}; formats are {', '.join(_format_names())}", param, ctx)
        return value


def _format_names() -> list[str]:
    from logsig.report import formats

    return list(formats())


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options of one call, as click has checked them."""

    form: str | None
    output: str | None
    also: tuple[tuple[str, str], ...]
    template: str | None
    signatures: tuple[Path, ...]
    jobs: int | None
    max_bytes: int | None
    fail_on: str | None
    mask: What | None
    color: str
    keep: str | None
    echo: bool


@dataclass(frozen=True, slots=True)
class Target:
    """A report that was asked for: where it goes, and what makes its text."""

    path: str
    render: Callable[[Diagnosis], str]


class _Diagnose(click.Command):
    """Takes ``--mask`` without a value, which click can't tell from a log that follows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Completes a bare ``--mask``."""
        end = args.index("--") if "--" in args else len(args)
        args = ["--mask=secrets" if arg == "--mask" and at < end else arg for at, arg in enumerate(args)]
        return super().parse_args(ctx, args)


@click.command(cls=_Diagnose)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[LOG]...")
@click.option("-f", "--format", "form", type=Format(), default=None, help="What to print (default: text).")
@click.option("-o", "--output", metavar="FILE", help="Write the report there instead of printing it.")
@click.option(
    "-O",
    "also",
    type=FormatFile(Format(), "markdown=report.md"),
    multiple=True,
    help="Write this report as well; may be repeated.",
)
@click.option(
    "--template", type=click.Path(), metavar="FILE", help="Print by a Jinja2 template over the JSON's fields."
)
@click.option(
    "--signatures", type=click.Path(path_type=Path), multiple=True, metavar="DIR", help="Add signatures of DIR."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Use at most N processes.")
@click.option("--max-bytes", type=Size(), help="Read at most this much of each input (500M, 2G).")
@click.option("--fail-on", type=click.Choice(["error", "fatal"]), help="Exit 1 if such a failure is found.")
@click.option(
    "--mask",
    type=click.Choice(["secrets", "all"]),
    metavar="[=all]",
    help="Mask secrets in every format (shareable ones always are); =all: identities as well.",
)
@COLOR
@click.option("--keep", type=click.Path(), metavar="FILE", help="Store what comes on stdin in FILE.")
@click.option("--echo", is_flag=True, help="Pass on what comes on stdin (to stderr if stdout carries another format).")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> None:
    """Say which rank failed first, why, and what to do.

    All LOGs are one job: per-rank files, several nodes' logs, a torchrun --log-dir tree. '-' is stdin; so is a pipe
    with no LOG at all.

    \b
    Exit codes:
      0        analysed, whatever was found
      1        with --fail-on: such a failure was found
      2        usage, a missing path, a bad signature, a report not written
      3        an input was unreadable in part; the rest was diagnosed
      130 143  interrupted
    """  # noqa: D301 - click's mark for a paragraph kept as it is
    from logsig.stdin import is_fed

    if not paths and not is_fed():
        click.echo(ctx.get_help())
        ctx.exit(2)
    chosen = Chosen(**options)
    targets = _targets(chosen)
    found, signal_code = _analyse(paths or (STDIN,), chosen)
    written = [_write(target, found) for target in targets]
    ctx.exit(signal_code or _exit_code(found, all(written), chosen.fail_on))


def _targets(chosen: Chosen) -> list[Target]:
    """Settles what is written where, before anything is read: a bad template costs no analysis."""
    also = [_by_format(name, path, chosen) for name, path in chosen.also]
    first = chosen.output or STDIN
    if not chosen.template:
        return [*also, _by_format(chosen.form or "text", first, chosen)]
    if chosen.form:
        raise click.UsageError("--template and --format exclude each other: a template is the format")
    from logsig.report.template import load

    return [*also, Target(first, _masking(load(chosen.template), chosen.mask))]


def _by_format(name: str, path: str, chosen: Chosen) -> Target:
    """What goes to others is masked also unasked."""
    from logsig import console
    from logsig.report import Options, checkout, formats, is_shareable

    root = checkout.root_of(os.environ)
    on_screen = path == STDIN
    options = (
        console.look(sys.stdout, chosen.color, root=root)
        if on_screen
        else Options(color=chosen.color == "always", root=root)
    )
    render = formats(name)[name]
    what = chosen.mask or ("secrets" if is_shareable(name) else None)
    return Target(path, _masking(lambda found: render(found, options), what))


def _masking(render: Callable[[Diagnosis], str], what: What | None) -> Callable[[Diagnosis], str]:
    if what is None:
        return render
    from logsig.mask import mask

    return lambda found: render(mask(found, what))


def _analyse(paths: tuple[str, ...], chosen: Chosen) -> tuple[Diagnosis, int | None]:
    """Runs the line; gives the diagnosis, and 130 or 143 where a signal came while stdin was read."""
    import logsig

    catalog = logsig.load_catalog(chosen.signatures)
    if STDIN not in paths:
        _refuse_stdin_options(chosen)
        return logsig.analyze(paths, catalog, jobs=chosen.jobs, max_bytes=chosen.max_bytes), None
    with _stdin(chosen) as (stream, patience), patience:
        found = logsig.analyze(paths, catalog, jobs=chosen.jobs, max_bytes=chosen.max_bytes, stdin=stream)
        return found, patience.code


@contextmanager
def _stdin(chosen: Chosen) -> Iterator[tuple[BinaryIO, Patience]]:
    """Opens stdin as a log: kept and passed on where asked, and patient with signals."""
    from logsig.stdin import Copy, Patience, Stdin

    copies = []
    if chosen.keep:
        copies.append(Copy(chosen.keep, _open_keep(chosen.keep), _say))
    if chosen.echo:
        is_text = chosen.form in (None, "text") and not chosen.template and not chosen.output
        copies.append(Copy("--echo", (sys.stdout if is_text else sys.stderr).buffer, _say))
    raw = Stdin(_say, copies=tuple(copies))
    yield io.BufferedReader(raw, BUFFER), Patience(raw, _say)


def _open_keep(path: str) -> BinaryIO:
    try:
        return open(path, "wb", buffering=0)
    except OSError as error:
        raise OutputError(f"--keep {path}: {error.strerror}") from error


def _refuse_stdin_options(chosen: Chosen) -> None:
    for name, is_set in (("keep", chosen.keep), ("echo", chosen.echo)):
        if is_set:
            raise click.UsageError(f"--{name} is for a log on stdin; the logs named here are files already")


def _write(target: Target, found: Diagnosis) -> bool:
    """Writes one report; a failure is said and doesn't lose the others."""
    try:
        text = target.render(found)
        if target.path == STDIN:
            outputs.write_stdout(text)
        else:
            outputs.write_file(target.path, text)
    except BrokenPipeError:
        raise
    except LogsigError as error:
        _say(str(error))
        return False
    return True


def _exit_code(found: Diagnosis, written: bool, fail_on: str | None) -> int:
    if not written:
        return OUTPUT_FAILED
    if fail_on and is_failure(found, fail_on):
        return FAILURE_FOUND
    return UNREADABLE if found.unreadable else 0


def is_failure(found: Diagnosis, severity: str) -> bool:
    """Tells whether the job failed at least so badly; a failure that no signature knows is as bad as any."""
    if found.outcome not in FAILED:
        return False
    if found.root_cause is None:
        return found.outcome == "unrecognised" or severity == "error"
    return found.root_cause.severity in SEVERITIES[severity]


def _say(message: str) -> None:
    from logsig.report.inert import block

    click.echo(block(f"logsig: {message}"), err=True)
