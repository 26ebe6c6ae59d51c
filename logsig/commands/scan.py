"""``logsig scan``: many jobs' logs in, a row each, then the kinds of failure, the hosts, and what is new.

Everything heavy is imported when the command runs, so that ``--help`` of other commands stays quick.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logsig import signals
from logsig.errors import OutputError
from logsig.options import COLOR, LOG, FormatFile, Size

if TYPE_CHECKING:
    from logsig.batch.model import Plan, Row, Verdict
    from logsig.batch.pool import Stop
    from logsig.batch.progress import Progress
    from logsig.batch.rows import Rows
    from logsig.report import Options

STDOUT = "-"
PROBLEMS = 3
FAILURE_FOUND = 1
SEVERITIES = {"error": ("error", "fatal"), "fatal": ("fatal",)}
TWICE = 0.5
"""Seconds in which a second signal is the first once more: ``timeout`` sends it to the process and to its group."""


class Format(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """The name of a format of scans: a module of ``logsig.report.scans``."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Says in the help what may stand here."""
        return "[" + "|".join(_names()) + "]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Checks what stands here."""
        if value not in _names():
            self.fail(f"there is no format {value!r} of scans; formats are {', '.join(_names())}", param, ctx)
        return value


class Pattern(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A regular expression."""

    name = "pattern"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Says in the help what may stand here."""
        return "PATTERN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        """Checks what stands here."""
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(value)
        except re.error as error:
            self.fail(f"{value!r} is no regular expression: {error}", param, ctx)


def _names() -> list[str]:
    from logsig.report import scans

    return scans.names()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options of one call, as click has checked them."""

    form: str
    output: str | None
    also: tuple[tuple[str, str], ...]
    job_by: re.Pattern[str] | None
    plan: bool
    store: str | None
    baseline: bool
    thorough: bool
    drafts: Path | None
    signatures: tuple[Path, ...]
    jobs: int | None
    timeout: float | None
    memory: int | None
    max_bytes: int | None
    fail_on: str | None
    color: str

    @property
    def targets(self) -> list[tuple[str, str]]:
        """Gives (format, path) of everything that is written; what goes to stdout stands last."""
        return [*self.also, (self.form, self.output or STDOUT)]


@click.command()
@click.argument("paths", nargs=-1, type=LOG, metavar="PATH...")
@click.option("-f", "--format", "form", type=Format(), default="text", help="What to print (default: text).")
@click.option("-o", "--output", metavar="FILE", help="Write the report there instead of printing it.")
@click.option(
    "-O",
    "also",
    type=FormatFile(Format(), "html=index.html"),
    multiple=True,
    help="Write this report as well; may be repeated.",
)
@click.option("--job-by", type=Pattern(), help="Files of one job: those whose path gives the same first group.")
@click.option("--plan", is_flag=True, help="Only print the jobs found, and why files belong together.")
@click.option("--store", metavar="FILE", help="Remember the scan there; unchanged jobs are not read again.")
@click.option("--baseline", is_flag=True, help="Mark failures whose lines healthy runs print, too.")
@click.option("--thorough", is_flag=True, help="Read every log as 'diagnose' does, not only where a quick look doubts.")
@click.option(
    "--drafts",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write drafted signatures of unknown failures there.",
)
@click.option(
    "--signatures", type=click.Path(path_type=Path), multiple=True, metavar="DIR", help="Add signatures of DIR."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Use at most N processes.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Time for one job (default: by size)."
)
@click.option("--memory", type=Size(), help="Memory for one job (default: 4G).")
@click.option("--max-bytes", type=Size(), help="Read at most this much of each log (500M, 2G).")
@click.option("--fail-on", type=click.Choice(["error", "fatal"]), help="Exit 1 if a job failed so.")
@COLOR
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> None:
    """Find the jobs under each PATH and say how they failed, how often, and which hosts start failures.

    A file is a job; so is a torchrun --log-dir run, the files of one Slurm job id, a Kubernetes job's pods, a Ray
    session, a W&B run, a SageMaker job, a rotated set, a file per rank. Archives are read in place.

    \b
    Exit codes:
      0        scanned, whatever was found
      1        with --fail-on: a job failed so
      2        usage, a missing path, a bad signature
      3        something was not read, stored or written (the summary
               names it); all else is done
      129 130 143  interrupted; what was done is shown and stored
    """  # noqa: D301 - click's mark for a paragraph kept as it is
    if not paths:
        click.echo(ctx.get_help())
        ctx.exit(2)
    if STDOUT in paths:
        raise click.UsageError("'-' can't be scanned: a scan reads files and folders; 'logsig diagnose -' reads stdin")
    chosen = Chosen(**options)
    from logsig.batch import jobs

    plan = jobs.find(paths, chosen.job_by)
    if chosen.plan:
        ctx.exit(_print_plan(plan, chosen.form))
    ctx.exit(_scan(paths, plan, chosen))


# ---------------------------------------------------------------- the plan


def _print_plan(plan: Plan, form: str) -> int:
    """Prints what would be read."""
    import json

    from logsig import outputs
    from logsig.batch import documents
    from logsig.report import inert
    from logsig.report.scans._fields import many

    for job in plan.jobs:
        if form == "jsonl":
            files = [inert.no_surrogates(log.path) for log in job.logs]
            told: dict[str, Any] = {
                "type": "plan",
                "job": inert.no_surrogates(job.name),
                "why": job.why,
                "files": files,
            }
            told["sure"] = not documents.may_be_one(job)
            outputs.write_stdout(inert.json_text(json.dumps(told)) + "\n")
        else:
            doubt = ", perhaps no log" if documents.may_be_one(job) else ""
            lines = [f"{inert.line(job.name)}  ({job.why}{doubt})"]
            lines += [f"    {inert.line(log.path)}" for log in job.logs] if len(job.logs) > 1 else []
            outputs.write_stdout("\n".join(lines) + "\n")
    if form != "jsonl":
        count = sum(len(job.logs) for job in plan.jobs)
        left = f"; {many(plan.left_out, 'file')} left out" if plan.left_out else ""
        unsure = sum(map(documents.may_be_one, plan.jobs))
        perhaps = f", {unsure:,} of them perhaps no log{'s' if unsure > 1 else ''}" if unsure else ""
        outputs.write_stdout(f"{many(len(plan.jobs), 'job')} in {many(count, 'file')}{perhaps}{left}\n")
    for problem in plan.problems:
        _say(str(problem))
    return PROBLEMS if plan.problems else 0


# ---------------------------------------------------------------- the scan


def _scan(paths: tuple[str, ...], plan: Plan, chosen: Chosen) -> int:
    """Scans, writes every report, and gives the exit code."""
    from logsig import outputs
    from logsig.batch import scanning
    from logsig.batch.pool import Stop
    from logsig.batch.progress import Progress
    from logsig.batch.reading import Manner
    from logsig.batch.rows import Rows

    _check_formats(chosen)
    written = [path for _, path in chosen.targets]
    outputs.spare_inputs(paths, written)
    outputs.refuse_twice(written)
    manner = Manner(chosen.thorough, chosen.max_bytes, chosen.baseline, _reports_folder(chosen))
    asked = scanning.Asked(
        paths, manner, chosen.jobs, chosen.signatures, chosen.store, chosen.timeout, chosen.memory or scanning.MEMORY
    )
    progress = Progress(sys.stderr, len(plan.jobs), sum(job.size for job in plan.jobs))
    stop = Stop()
    with Rows() as rows, _interruptible(stop) as interruption:
        watch = _Watch(chosen, progress)
        try:
            verdict = scanning.scan(plan, asked, watch, rows, stop)
        finally:
            progress.clear()
        verdict = _write_all(verdict, rows, chosen, watch)
    if interruption.code is not None and verdict.summary.unread:
        return interruption.code
    if chosen.fail_on and watch.worst_is(chosen.fail_on):
        return FAILURE_FOUND
    return PROBLEMS if verdict.summary.problems or watch.fault else 0


class _Watch:
    """Prints rows as they come, where the format can, and shows how far the scan is."""

    def __init__(self, chosen: Chosen, progress: Progress) -> None:
        from logsig.report import scans

        form, path = chosen.targets[-1]
        self.form = scans.module(form)
        self.is_streamed = path == STDOUT and hasattr(self.form, "row")
        self.options = _options(chosen, path)
        self.fault: str | None = None
        self._progress = progress
        self._severities: set[str] = set()
        if self.is_streamed:
            self.show(self.form.head(self.options))

    def row(self, row: Row) -> None:
        """Prints a row."""
        if row.is_failed:
            self._severities.add(row.severity or "error")
        if self.is_streamed:
            self._progress.clear()
            self.show(self.form.row(row, self.options))

    def tick(self, jobs: int, size: int, failures: int) -> None:
        """Shows how far the scan is."""
        self._progress.show(jobs, size, failures)

    def worst_is(self, severity: str) -> bool:
        """Tells whether a job failed at least so badly."""
        return any(each in SEVERITIES[severity] for each in self._severities)

    def show(self, text: str) -> None:
        """Prints; a full disk behind stdout is said once, and the scan goes on."""
        from logsig import outputs

        if self.fault is not None or not text:
            return
        try:
            outputs.write_stdout(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.fault = f"stdout: the report wasn't written: {error.strerror or error}"
            _drop_stdout()
            _say(self.fault)


def _write_all(verdict: Verdict, rows: Rows, chosen: Chosen, watch: _Watch) -> Verdict:
    """Writes files first, so that the summary printed last can name what went wrong with them."""
    from logsig.batch.model import Problem
    from logsig.report import scans

    troubles = []
    for form, path in chosen.targets:
        if path == STDOUT:
            continue
        result = scans.Result(rows, verdict, os.path.basename(_folder_of(path)) if form == "html" else None)
        try:
            _write(scans.parts(scans.module(form), result, _options(chosen, path)), path)
        except OutputError as error:
            troubles.append(Problem(path, str(error).removeprefix(f"{path}: ")))
    troubles += _write_drafts(verdict, chosen.drafts) if chosen.drafts is not None else []
    problems = (*verdict.summary.problems, *troubles)
    verdict = replace(verdict, summary=replace(verdict.summary, problems=problems))
    form, path = chosen.targets[-1]
    if path == STDOUT:
        result = scans.Result(rows, verdict)
        pieces = (
            watch.form.rest(result, watch.options)
            if watch.is_streamed
            else scans.parts(watch.form, result, watch.options)
        )
        for piece in pieces:
            watch.show(piece) if isinstance(piece, str) else sys.stdout.buffer.write(piece)
    else:
        for problem in verdict.summary.problems:
            _say(str(problem))
    return verdict


def _write(pieces: Iterator[str | bytes], path: str) -> None:
    from logsig.batch.writing import write_file

    write_file(path, pieces)


def _write_drafts(verdict: Verdict, folder: Path) -> list[Any]:
    """Writes a draft per unknown kind of failure; a file that is there stays as it is."""
    from logsig.batch.model import Problem

    troubles = []
    for group in verdict.groups:
        if group.signature is not None or not group.draft:
            continue
        found = re.search(r"^id: ([a-z0-9-]+)", group.draft, re.MULTILINE)
        path = folder / f"{found[1] if found else group.id}.yaml"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(group.draft)
        except FileExistsError:
            continue
        except OSError as error:
            troubles.append(Problem(str(path), error.strerror or str(error)))
    return troubles


def _check_formats(chosen: Chosen) -> None:
    """Refuses what can't be written before anything is read."""
    for form, path in chosen.targets:
        if form == "parquet":
            from logsig.report.scans import parquet

            parquet.require()
            if path == STDOUT and sys.stdout.isatty():
                raise click.UsageError("parquet is no text: -o FILE writes it to a file")


def _reports_folder(chosen: Chosen) -> str | None:
    """Gives the folder of the single reports: beside the first index that is written to a file."""
    for form, path in chosen.targets:
        if form == "html" and path != STDOUT:
            folder = _folder_of(path)
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise OutputError(f"{folder}: {error.strerror}") from error
            return folder
    return None


def _folder_of(path: str) -> str:
    return f"{os.path.splitext(path)[0]}-reports"


def _options(chosen: Chosen, path: str) -> Options:
    from logsig import console
    from logsig.report import Options, checkout

    root = checkout.root_of(os.environ)
    if path == STDOUT:
        return console.look(sys.stdout, chosen.color, root=root)
    return Options(color=chosen.color == "always", root=root)


# ---------------------------------------------------------------- signals


class _Interruption:
    """Which signal came, if any."""

    code: int | None = None


@contextmanager
def _interruptible(stop: Stop) -> Iterator[_Interruption]:
    """Lets the first Ctrl-C end the scan with what is done; a second one ends it at once."""
    found = _Interruption()

    def interrupt(number: int, _frame: object) -> None:
        if stop.asked is not None:
            if time.monotonic() - stop.asked < TWICE:
                return
            raise KeyboardInterrupt
        found.code = signals.code(number)
        stop.ask()

    before = {number: signal.signal(number, interrupt) for number in signals.heard()}
    try:
        yield found
    finally:
        if found.code is None:  # else the program is about to end, and a late second signal changes nothing of its code
            for number, handler in before.items():
                signal.signal(number, handler)


def _drop_stdout() -> None:
    """Points stdout at nothing, so that the flush at exit doesn't fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def _say(message: str) -> None:
    from logsig import outputs

    outputs.say(message)
