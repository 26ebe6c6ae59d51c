"""``logsig diagnose``: one job's logs in, one diagnosis out, in as many formats as asked for.

Everything heavy is imported when the command runs, so that ``--help`` of other commands stays quick.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from logsig import outputs
from logsig.errors import LogsigError, OutputError
from logsig.options import COLOR, LOG, FormatFile, Size, require_log
from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.catalog import Catalog
    from logsig.mask import What
    from logsig.model import Diagnosis
    from logsig.stdin import Copy
    from logsig.watch import Change

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
    lenient: bool
    jobs: int | None
    max_bytes: int | None
    fail_on: str | None
    mask: What | None
    color: str
    keep: str | None
    echo: bool
    follow: bool


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
@click.argument("paths", nargs=-1, type=LOG, metavar="[LOG]...")
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
@click.option("--lenient", is_flag=True, help="Use the good files of a pack that has bad ones; the faults are said.")
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
@click.option(
    "--follow", is_flag=True, help="Watch a log that grows: tell a failure or a hang when it shows, until Ctrl-C."
)
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
      129 130 143  interrupted
    """  # noqa: D301 - click's mark for a paragraph kept as it is
    require_log(ctx, paths)
    chosen = Chosen(**options)
    targets = _targets(chosen)
    files = [*(target.path for target in targets), chosen.keep]
    outputs.spare_inputs(paths or (STDIN,), files)
    outputs.refuse_twice(files)
    if chosen.follow:
        ctx.exit(_follow(paths or (STDIN,), chosen, targets))
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
    masked = _masker(what)
    return lambda found: render(masked(found))


def _masker(what: What | None) -> Callable[[Diagnosis], Diagnosis]:
    if what is None:
        return lambda found: found
    from logsig.mask import mask

    return lambda found: mask(found, what)


def _catalog(chosen: Chosen) -> Catalog:
    """Loads library and packs; with ``--lenient`` what is wrong with a pack is said and the rest is used."""
    import logsig

    catalog = logsig.load_catalog(chosen.signatures, chosen.lenient)
    for fault in catalog.doubts:
        outputs.say(f"left out: {fault}")
    return catalog


def _analyse(paths: tuple[str, ...], chosen: Chosen) -> tuple[Diagnosis, int | None]:
    """Runs the line; gives the diagnosis, and an exit code where a signal came while stdin was read."""
    import logsig

    catalog = _catalog(chosen)
    if STDIN not in paths:
        _refuse_stdin_options(chosen)
        return logsig.analyze(paths, catalog, jobs=chosen.jobs, max_bytes=chosen.max_bytes), None
    from logsig.stdin import Patience, Stdin

    raw = Stdin(outputs.say, copies=_copies(chosen))
    with Patience(raw, outputs.say) as patience:
        stream = io.BufferedReader(raw, BUFFER)
        found = logsig.analyze(paths, catalog, jobs=chosen.jobs, max_bytes=chosen.max_bytes, stdin=stream)
        return found, patience.code


def _copies(chosen: Chosen) -> tuple[Copy, ...]:
    """Opens what a log on stdin is kept in and passed on to; the last is the echo."""
    from logsig.stdin import Copy

    copies = []
    if chosen.keep:
        copies.append(Copy(chosen.keep, _open_keep(chosen.keep), outputs.say))
    if chosen.echo:
        copies.append(Copy("--echo", (sys.stdout if _is_text(chosen) else sys.stderr).buffer, outputs.say))
    return tuple(copies)


def _is_text(chosen: Chosen) -> bool:
    """Tells whether stdout carries text, among which lines of a log do no harm."""
    return chosen.form in (None, "text") and not chosen.template and not chosen.output


def _open_keep(path: str) -> BinaryIO:
    try:
        return open(path, "wb", buffering=0)
    except OSError as error:
        raise OutputError(f"--keep {path}: {error.strerror}") from error


def _refuse_stdin_options(chosen: Chosen) -> None:
    for name, is_set in (("keep", chosen.keep), ("echo", chosen.echo)):
        if is_set:
            raise click.UsageError(f"--{name} is for a log on stdin; the logs named here are files already")


# ---------------------------------------------------------------- a log that grows


def _follow(paths: tuple[str, ...], chosen: Chosen, targets: list[Target]) -> int:
    """Watches one log to its end, or to a signal; gives the exit code."""
    from logsig.follow import follow
    from logsig.stdin import GRACE, Calls, Stdin
    from logsig.watch import watch

    if len(paths) != 1:
        raise click.UsageError(f"--follow watches one log; {len(paths)} are named")
    if chosen.max_bytes:
        raise click.UsageError("--follow and --max-bytes exclude each other: a log that grows has no limit")
    if paths[0] != STDIN:
        _refuse_stdin_options(chosen)
    catalog = _catalog(chosen)
    copies = _copies(chosen)
    teller = _Teller(chosen, targets, copies[-1] if chosen.echo else None)
    is_piped = paths[0] == STDIN
    with Calls(outputs.say, GRACE if is_piped else 0.0) as calls:
        stdin = Stdin(outputs.say, copies=copies) if is_piped else None
        news = follow(paths[0], catalog.scan_engine(), stdin=stdin, is_over=calls.are_done)
        for change in watch(news, catalog, _masker(chosen.mask)):
            teller.tell(change)
    return calls.code or _exit_code(change.found, teller.has_written, chosen.fail_on)


class _Teller:
    """Prints changes: text as lines and reports, JSON lines as one each; any other format only when all is over."""

    def __init__(self, chosen: Chosen, targets: list[Target], echo: Copy | None) -> None:
        self.has_written = True
        self._is_text = _is_text(chosen)
        self._is_lines = chosen.form == "jsonl" and not chosen.output
        self._targets = targets
        self._echo = echo
        self._last: dict[int, Diagnosis] = {}

    def tell(self, change: Change) -> None:
        """Tells it wherever it is awaited."""
        if change.line and (change.is_stall or not (self._is_text and change.is_report)):
            self._tell_line(change.line)
        for number, target in enumerate(self._targets):
            if self._is_awaited(target.path, change) and change.found != self._last.get(number):
                self._last[number] = change.found
                if target.path == STDIN:
                    self._begin_line()
                self.has_written &= _write(target, change.found)

    def _is_awaited(self, path: str, change: Change) -> bool:
        if change.is_end:
            return True
        if path == STDIN:
            return self._is_lines or (self._is_text and change.is_report)
        return change.is_report and not outputs.is_appended_to(path)

    def _tell_line(self, text: str) -> None:
        from logsig.report import inert

        if self._is_text:
            self._begin_line()
            outputs.write_stdout(inert.document(f"logsig: {inert.line(text)}\n"))
        elif not self._is_lines:
            outputs.say(text)

    def _begin_line(self) -> None:
        """Ends the line of the log that stands on stdout half echoed."""
        if self._is_text and self._echo is not None and self._echo.is_mid_line:
            outputs.write_stdout("\n")
            self._echo.is_mid_line = False


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
        outputs.say(str(error))
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
