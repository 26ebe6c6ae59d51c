"""The calendar of a job: years and days that its stamps leave out."""

from __future__ import annotations

from logs import text, traceback

from logsig import analyze_text
from logsig.catalog import Catalog
from logsig.dates import Calendar
from logsig.model import LogLine, Source, Stamp


def line(stamp: str, form: str, path: str = "train.log", number: int = 1, node: str | None = None) -> LogLine:
    return LogLine(Source(path, number), "", stamp, node=node, stamp=Stamp(stamp, form))


def differences(*lines: LogLine) -> list[float]:
    """Seconds from the first line to each of the others."""
    calendar = Calendar.of(lines)
    first, *rest = [calendar.seconds(item) for item in lines]
    assert first is not None
    return [item - first for item in rest if item is not None]


def test_midnight_without_date():
    """A clock without dates counts on over midnight, and a line that was printed late goes back."""
    stamps = ("23:59:58", "00:00:03", "23:59:59", "00:00:04")
    assert differences(*(line(stamp, "hms") for stamp in stamps)) == [5.0, 1.0, 6.0]


def test_new_year_without_year():
    """The year rises where December is followed by January."""
    stamps = ("1231 23:59:58.0", "101 00:00:03.0")
    assert differences(*(line(stamp, "c10") for stamp in stamps)) == [5.0]


def test_files_begin_together():
    """Each file is a clock of its own: the next one starts near the job's beginning, not near the last file's end."""
    first = [line(stamp, "hms", "rank0.log") for stamp in ("21:00:00", "04:00:00", "11:00:00")]
    second = [line(stamp, "hms", "rank1.log") for stamp in ("21:00:01", "04:00:01")]
    assert differences(*first, *second) == [7 * 3600.0, 14 * 3600.0, 1.0, 7 * 3600.0 + 1]


def test_nodes_in_one_file_are_clocks_of_their_own():
    first = [line(stamp, "hms", node="a") for stamp in ("21:00:00", "04:00:00", "11:00:00")]
    assert differences(*first, line("21:00:01", "hms", node="b"))[-1] == 1.0


def test_dates_reach_stamps_without_them():
    """A time of day stands beside dated lines, on the day that is nearest."""
    found = differences(line("2026-12-31 23:59:58", "iso"), line("00:00:03", "hms"), line("101 00:00:04.0", "c10"))
    assert found == [5.0, 6.0]


def test_dated_lines_tell_the_year_of_those_before():
    """The first dated line comes after New Year, the first line before."""
    assert differences(line("1231 23:59:58.0", "c10"), line("2027-01-01 00:00:03", "iso")) == [5.0]


def test_uptime_moves_no_other_clock():
    lines = [line("12345.5", "uptime"), line("10:00:00", "hms"), line("12347.5", "uptime"), line("10:00:02", "hms")]
    calendar = Calendar.of(lines)
    assert [calendar.seconds(item) for item in lines] == [12345.5, 36000.0, 12347.5, 36002.0]


def test_failures_around_midnight_are_in_order(catalog: Catalog):
    """Which rank was first is told by a clock that shows no date."""
    steps = [f"23:59:{30 + step}  [rank {rank}] step={step} loss=2.5" for step in range(4) for rank in range(3)]
    early, late = traceback(2, "KeyError: 'x'"), traceback(0, "FileNotFoundError: [Errno 2] No such file: 'y'")
    log = text(steps, [f"00:00:04  {part}" for part in late], [f"23:59:58  {part}" for part in early])
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.grade) == (2, "C")


def test_no_time():
    lines = [LogLine(Source("train.log", 1), "", ""), line("25 o'clock", "hms")]
    calendar = Calendar.of(lines)
    assert [calendar.seconds(item) for item in lines] == [None, None]


def test_times_in_messages():
    printed = [Calendar.printed_seconds(f"2026-11-29{sep}16:33:33") for sep in ("_", "T", " ")]
    assert printed == [1795970013.0] * 3
    assert Calendar.printed_seconds("yesterday") is None
