"""``logsig signatures``: browse the library, check and draft signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logsig import outputs
from logsig.options import SIGNATURES

if TYPE_CHECKING:
    from logsig import check as checks
    from logsig import survey as surveys
    from logsig.catalog import Catalog
    from logsig.errors import Fault

FAULTY = 2


@click.group(no_args_is_help=False)
def command() -> None:
    """Browse the signature library, check a pack, draft a new signature."""


@command.command("list")
@click.option("--family", metavar="NAME", help="Only this family.")
@click.option("--role", metavar="NAME", help="Only this role: initiator, collateral, either, witness or notice.")
@SIGNATURES
def list_(family: str | None, role: str | None, extra: tuple[Path, ...]) -> None:
    """List the signatures by family: id, role, title."""
    catalog = _load(extra)
    _refuse_unknown(catalog, "family", family)
    _refuse_unknown(catalog, "role", role)
    chosen = [
        entry
        for entry in catalog.signatures.values()
        if (family is None or entry.family == family) and (role is None or entry.role == role)
    ]
    width = max((len(entry.id) for entry in chosen), default=0)
    for name in sorted({entry.family for entry in chosen}):
        members = [entry for entry in chosen if entry.family == name]
        click.secho(f"{name} ({len(members)})", bold=True)
        for entry in members:
            outputs.write_line(f"  {entry.id:<{width}}  {entry.role:<10}  {entry.title}")
    click.echo(f"{len(chosen)} of {len(catalog.signatures)} signatures; 'logsig explain ID' shows one")


def _refuse_unknown(catalog: Catalog, kind: str, value: str | None) -> None:
    known = sorted({getattr(entry, kind) for entry in catalog.signatures.values()})
    if value is not None and value not in known:
        raise click.BadParameter(f"found {value!r}, expected one of {', '.join(known)}", param_hint=f"--{kind}")


@command.command()
@click.argument("identity", metavar="ID")
@SIGNATURES
def show(identity: str, extra: tuple[Path, ...]) -> None:
    """Print the file of a signature as it was written."""
    catalog = _load(extra)
    if identity not in catalog.signatures:
        raise click.UsageError(unknown(catalog, identity))
    outputs.write_raw(Path(catalog.file(identity)).read_text(encoding="utf-8"))


def unknown(catalog: Catalog, identity: str) -> str:
    """Say that there is no such id, and which one was meant."""
    import difflib

    close = difflib.get_close_matches(identity, catalog.signatures, 3, 0.6)
    meant = f"; did you mean {' or '.join(close)}?" if close else "; 'logsig signatures list' lists them"
    return f"no signature {identity!r}{meant}"


@command.command()
@click.argument("targets", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[DIR|FILE]...")
@click.option("--no-samples", is_flag=True, help="Don't run examples and counterexamples (quick).")
@click.pass_context
def check(ctx: click.Context, targets: tuple[Path, ...], no_samples: bool) -> None:
    """Check signatures as strictly as the library's own: all faults of all files, exit 2 if there are any.

    Without DIR the library itself is checked. A folder or file inside the library is checked against all of it;
    any other folder is a pack, checked against the library and itself.
    """
    from logsig import catalog, check

    line = None if no_samples else _line()
    reports = [check.check(target, line) for target in targets or (catalog.library_folder(),)]
    faults = sorted({fault for report in reports for fault in report.faults}, key=_place)
    for fault in faults:
        outputs.write_line(_shortened(str(fault)))
    signatures, samples = sum(report.signatures for report in reports), sum(report.samples for report in reports)
    told = _counted(len(faults), "fault") if faults else "no faults"
    click.echo(f"{_counted(signatures, 'signature')}, {_counted(samples, 'sample')}: {told}")
    ctx.exit(FAULTY if faults else 0)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _place(fault: Fault) -> tuple[str, int, str]:
    return fault.path, fault.line or 0, str(fault)


def _line() -> checks.Line:
    import logsig
    from logsig import check

    return check.Line(logsig.match_text, logsig.analyze_text)


def _shortened(text: str) -> str:
    """Name paths below the current folder relative to it."""
    return text.replace(os.getcwd() + os.sep, "")


@command.command()
@click.argument("healthy", nargs=-1, type=click.Path(exists=True), metavar="[HEALTHY-LOG]...")
@SIGNATURES
@click.option("--all", "everything", is_flag=True, help="List also the lines whose loss must silence an example.")
def report(healthy: tuple[str, ...], extra: tuple[Path, ...], everything: bool) -> None:
    """Report where the library is thin, double or costly; nothing in it is a fault as such.

    Signatures that come out of no sample; pairs of which one never fits a message alone, and how they are settled;
    overlaps that only the length of a literal decides; each change of winner when an example loses one line; and in
    each HEALTHY-LOG (a job that ended well) how often each literal fires, and every false alarm.
    """
    from logsig import survey

    found = survey.survey(_load(extra), _line(), healthy, *_readers())
    for heading, rows in _tables(found, everything):
        click.secho(f"{heading} ({len(rows)})", bold=True)
        for row in rows:
            outputs.write_line(f"  {row}")


def _readers() -> tuple[surveys.Scanner, surveys.Analyst]:
    import logsig
    from logsig.scan import scan

    return scan, logsig.analyze


def _tables(found: surveys.Survey, everything: bool) -> Iterator[tuple[str, list[str]]]:
    yield "Signatures that come out of no sample", list(found.never)
    yield "Initiators that are the root cause of none of their examples", list(found.never_root)
    yield (
        "Overlaps that only chance decides",
        [f"{each.winner} before {each.loser}, by {each.rule}: {each.sample}" for each in found.chances],
    )
    yield (
        "Pairs of which the first never fits a message alone",
        [
            f"{pair.first} {'and' if pair.both else 'beside'} {pair.second}: {_counted(pair.messages, 'message')}, "
            f"settled by {', '.join(pair.rules) or 'nothing: both stand'}"
            for pair in found.pairs
        ],
    )
    yield (
        "Another winner when one line is dropped",
        [
            f"{drop.sample} without line {drop.line}: {drop.after} instead of {drop.before}"
            for drop in found.drops
            if drop.after
        ],
    )
    silent = [drop for drop in found.drops if drop.after is None]
    yield (
        "No winner when a line beside the message is dropped",
        [
            f"{drop.sample} without line {drop.line}: nothing instead of {drop.before}"
            for drop in silent
            if not drop.evidence
        ],
    )
    lost = [f"{drop.sample} without line {drop.line}" for drop in silent if drop.evidence]
    yield (
        "No winner when a line of the message itself is dropped" + ("" if everything else "; --all lists them"),
        (lost if everything else [f"{len(lost)} in {found.samples} samples"]),
    )
    yield (
        f"Literals in {found.healthy_bytes / (1 << 20):.1f} MB of healthy logs",
        [
            f"{heat.count:>8} {heat.per_megabyte:>10.2f}/MB  {heat.literal!r}  {', '.join(heat.signatures)}"
            for heat in found.heat
        ],
    )
    yield (
        "False alarms in healthy logs",
        [f"{_shortened(alarm.path)}: {alarm.outcome}, {', '.join(alarm.signatures)}" for alarm in found.alarms],
    )


@command.command()
def schema() -> None:
    """Print the JSON Schema of a signature file, for editors."""
    from logsig import library

    click.echo(library.schema_text(), nl=False)


@command.command()
@click.option(
    "--from", "source", required=True, metavar="LOG[:LINES]", help="A log, or lines of it: train.log:118-125."
)
@click.option("--id", "identity", metavar="ID", help="The id (default: made of the message).")
@click.option("--family", metavar="NAME", help="The family (default: guessed).")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there; never overwrites."
)
def new(source: str, identity: str | None, family: str | None, output: Path | None) -> None:
    """Draft a signature from a failure that none describes yet.

    LINES such as 118-125 become the example as they are; a single line is taken with its message and two lines around
    it, and without LINES the failure that the log tells is. Literals and a pattern are proposed, what varies is masked;
    FILL marks what you have to write.
    """
    from logsig import draft
    from logsig.signature import Family

    if family is not None and family not in set(Family):
        raise click.BadParameter(f"found {family!r}, expected one of {', '.join(Family)}", param_hint="--family")
    path, span = draft.split_target(source)
    text = draft.draft(path, span, identity, family)
    if output is None:
        outputs.write_raw(text)
        return
    _write_new(output, text)
    outputs.say(f"{output}: drafted; replace every FILL, then run: logsig signatures check {output}")


def _write_new(output: Path, text: str) -> None:
    from logsig.errors import OutputError

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8", newline="\n") as file:
            file.write(_editor_line(output) + text)
    except FileExistsError as error:
        raise OutputError(f"{output}: exists already, expected a new file") from error
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}") from error


def _editor_line(output: Path) -> str:
    """Give the line that makes editors complete and check, where the schema is at hand: beside the library's files."""
    from logsig.catalog import library_folder

    if output.resolve().parent.parent != library_folder().resolve():
        return ""
    return "# yaml-language-server: $schema=../../docs/signature.schema.json\n"


def _load(extra: tuple[Path, ...]) -> Catalog:
    from logsig.catalog import load_catalog

    return load_catalog(extra)
