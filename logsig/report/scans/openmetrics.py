"""Numbers of a scan as OpenMetrics text, for the textfile collector of node-exporter: gauges only, no timestamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from logsig.report import Options, inert
from logsig.report.scans import Result

MOST_GROUPS = 200
MOST_HOSTS = 500
"""Series are dear: the largest groups and the hosts that started something."""
Sample = tuple[dict[str, str], float]


def write(result: Result, options: Options) -> Iterator[str]:
    """Gives the text."""
    del options
    verdict = result.verdict
    summary, groups = verdict.summary, verdict.groups[:MOST_GROUPS]
    hosts = verdict.hosts.hosts[:MOST_HOSTS]
    yield from _family("jobs", "Jobs by outcome.", [({"outcome": each}, n) for each, n in summary.outcomes.items()])
    yield from _family(
        "failures",
        "Failed jobs by kind of failure.",
        [({"group": each.id, "signature": each.signature or ""}, each.count) for each in groups],
    )
    yield from _family("failure_kinds", "Kinds of failure.", [({}, summary.groups)])
    yield from _family(
        "failure_kinds_by_status",
        "Kinds of failure by what earlier scans know of them.",
        [
            ({"status": status}, sum(each.status == status for each in (*verdict.groups, *verdict.gone)))
            for status in ("new", "known", "back", "gone")
        ]
        if any(each.status for each in (*verdict.groups, *verdict.gone))
        else [],
    )
    yield from _family("host_jobs", "Jobs a host ran.", [({"host": each.name}, each.jobs) for each in hosts])
    yield from _family(
        "host_starts", "Failures a host started.", [({"host": each.name}, each.starts) for each in hosts]
    )
    yield from _family(
        "host_starts_expected",
        "Failures that chance lets a host start.",
        [({"host": each.name}, each.expected) for each in hosts],
    )
    yield from _family(
        "host_q_value",
        "How surprising its starts are, after Benjamini and Hochberg.",
        [({"host": each.name}, each.q) for each in hosts],
    )
    yield from _family("problems", "Inputs that were not read, or only in part.", [({}, len(summary.problems))])
    yield from _family("bytes", "Bytes of logs.", [({}, summary.size)], unit="bytes")
    last = _seconds(summary.last)
    yield from _family(
        "last_job_end_seconds",
        "When the latest job ended, seconds since 1970.",
        [] if last is None else [({}, last)],
        unit="seconds",
    )
    yield "# EOF\n"


def _family(name: str, text: str, samples: Iterable[Sample], unit: str = "") -> Iterator[str]:
    samples = list(samples)
    if not samples:
        return
    whole = f"logsig_scan_{name}"
    yield f"# TYPE {whole} gauge\n"
    if unit and whole.endswith(f"_{unit}"):
        yield f"# UNIT {whole} {unit}\n"
    yield f"# HELP {whole} {text}\n"
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(told)}"' for label, told in labels.items())
        yield f"{whole}{{{inside}}} {value:.10g}\n" if inside else f"{whole} {value:.10g}\n"


def _escaped(text: str) -> str:
    return inert.line(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(moment: str | None) -> float | None:
    if moment is None:
        return None
    return datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()
