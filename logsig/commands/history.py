"""``logsig history``: what a store of scans tells over time, per kind of failure and per host."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from logsig.options import COLOR

if TYPE_CHECKING:
    from logsig.batch.history import History, HostTrend, Trend
    from logsig.report import Options

MOST = 40


class Day(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A day."""

    name = "day"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Says in the help what may stand here."""
        return "YYYY-MM-DD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Checks what stands here."""
        from datetime import datetime

        try:
            return datetime.strptime(value, "%Y-%m-%d").date().isoformat()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            self.fail(f"found {value!r}, expected a day such as 2026-05-01", param, ctx)


@click.command()
@click.argument("file", required=False, type=click.Path(), metavar="[STORE]")
@click.option("--store", metavar="FILE", help="The store that 'logsig scan --store FILE' keeps.")
@click.option("--since", type=Day(), help="Only jobs that ended on that day or later.")
@click.option("--group", metavar="ID", help="Only failures of this kind: its id, the start of it, or a signature.")
@click.option("--host", metavar="NAME", help="Only jobs that ran on this host.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "jsonl"]), default="text", help="What to print.")
@COLOR
@click.pass_context
def command(ctx: click.Context, /, file: str | None, store: str | None, form: str, color: str, **chosen: Any) -> None:
    """Show what earlier scans found: how often each kind of failure came, when, and which hosts started it.

    Reads the STORE that 'logsig scan --store' keeps; logs are not needed.
    """
    from logsig import console, outputs
    from logsig.batch.history import history
    from logsig.batch.store import Store

    path = store or file
    if path is None:
        click.echo(ctx.get_help())
        ctx.exit(2)
    opened = Store(path, must_exist=True)
    try:
        found = history(opened, chosen["since"], chosen["group"], chosen["host"])
    finally:
        opened.close()
    for what, word, count in (("host", "job on host", found.jobs), ("group", "failure of kind", len(found.trends))):
        if chosen[what] and not count:
            raise click.UsageError(f"{path} has no {word} {chosen[what]!r}; without --{what} all are shown")
    options = console.look(sys.stdout, color, root=os.curdir)
    for piece in _json(found) if form == "jsonl" else _text(found, options):
        outputs.write_stdout(piece)


# ---------------------------------------------------------------- text


def _text(found: History, options: Options) -> Iterator[str]:
    from logsig.report.scans._fields import many

    ended = [scan for scan in found.scans if scan.state == "complete"]
    days = " to ".join(dict.fromkeys(scan.began[:10] for scan in (*found.scans[:1], *found.scans[-1:])))
    recovered = f", {found.recovered:,} recovered" if found.recovered else ""
    yield _bold(f"{many(found.jobs, 'job')}, {many(found.failures, 'failure')}{recovered}", options) + (
        f" in {many(len(found.scans), 'scan')} ({len(ended):,} complete){days and f', {days}'}\n"
    )
    yield from _trends(found.trends, found.days, options)
    yield from _hosts(found.hosts, found.days, options)
    yield "\n" + _bold("Scans", options) + "\n"
    for scan in found.scans[-MOST:]:
        jobs = f"{many(scan.jobs, 'job')}, {many(scan.failures or 0, 'failure')}" if scan.jobs is not None else "no end"
        yield f"  {scan.number:>5}  {scan.began.replace('T', ' ').rstrip('Z')}  {scan.state:<11}  {jobs}\n"


def _trends(trends: tuple[Trend, ...], days: Mapping[str, int], options: Options) -> Iterator[str]:
    from logsig.batch.history import sparkline
    from logsig.report import cells, inert
    from logsig.report.scans import _fields

    yield "\n" + _bold("Kinds of failure", options) + "\n" if trends else "\nNo failures\n"
    width = options.width if options.color or options.links else 10_000
    for trend in trends[:MOST]:
        group = trend.group
        status = f"[{group.status}] " if group.status else ""
        kind = f"{group.count:>7,}  {group.id}  {status}{inert.line(_fields.kind(group))}"
        yield "".join(_bold(line, options) + "\n" for line in cells.wrap(kind, width, "", " " * 11))
        line = sparkline(group.days, days, is_ascii=options.ascii)
        times = " to ".join(dict.fromkeys((each or "?")[:10] for each in (group.first_seen, group.last_seen)))
        hosts = ", ".join(f"{inert.line(name)} {count}" for name, count in list(trend.hosts.items())[:4])
        yield f"         {times}  {line}\n" + (f"         first on {hosts}\n" if hosts else "")
    if len(trends) > MOST:
        yield f"         and {len(trends) - MOST:,} more: --format jsonl\n"


def _hosts(hosts: tuple[HostTrend, ...], days: Mapping[str, int], options: Options) -> Iterator[str]:
    from logsig.batch.history import last_q, sparkline
    from logsig.batch.model import FALSE_DISCOVERIES
    from logsig.report import inert
    from logsig.report.scans import _fields
    from logsig.report.scans._fields import many

    if not hosts:
        return
    yield "\n" + _bold("Hosts that started failures", options) + "\n"
    for host in hosts[:MOST]:
        line = sparkline(host.days, days, is_ascii=options.ascii)
        q = last_q(host)
        told = f"  q = {_fields.number(q)}" if host.q_by_scan else ""
        told += _bold("  more than chance", options) if q <= FALSE_DISCOVERIES else ""
        yield f"{host.starts:>7,} of {many(host.jobs, 'job')}  {inert.line(host.name)}  {line}{told}\n"
    if len(hosts) > MOST:
        yield f"         and {len(hosts) - MOST:,} more: --format jsonl\n"


def _bold(text: str, options: Options) -> str:
    return f"\x1b[1m{text}\x1b[0m" if options.color else text


# ---------------------------------------------------------------- JSON


def _json(found: History) -> Iterator[str]:
    from logsig.report import inert
    from logsig.report.scans import _fields

    for scan in found.scans:
        told: dict[str, Any] = {"type": "scan", "scan": scan.number, "began": scan.began, "state": scan.state}
        yield _line({**told, "jobs": scan.jobs, "failures": scan.failures})
    for trend in found.trends:
        group = _fields.group(trend.group)
        group.pop("draft")
        group["hosts"] = dict(trend.hosts)
        if trend.by_scan is not None:
            group["scans"] = [{"scan": number, "count": count} for number, count in sorted(trend.by_scan.items())]
        yield inert.no_surrogates(_line(group))
    for host in found.hosts:
        qs = [{"scan": number, "q": float(f"{q:.4g}")} for number, q in sorted(host.q_by_scan.items())]
        told = {"type": "host", "host": host.name, "jobs": host.jobs, "starts": host.starts}
        yield _line({**told, "days": dict(host.days), "scans": qs})
    told = {"type": "summary", "jobs": found.jobs, "failures": found.failures, "recovered": found.recovered}
    yield _line({**told, "days": dict(found.days)})


def _line(value: dict[str, Any]) -> str:
    from logsig.report import inert

    return inert.json_text(json.dumps(value)) + "\n"
