"""Stamps of every format as seconds, with what they don't say filled in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logsig import clocks, dialects
from logsig.model import Stamp


def utc(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("709 17:05:38.162555850", "c10", utc(2026, 7, 9, 17, 5, 38, 162556)),
        ("1118 20:32:23.955028747", "c10", utc(2026, 11, 18, 20, 32, 23, 955029)),
        ("321 00:00:00.000000000", "c10", utc(2026, 3, 21)),
        ("101 00:00:00.000000000", "c10", utc(2026, 1, 1)),
        ("1101 00:00:00.000000000", "c10", utc(2026, 11, 1)),
        ("111 00:00:00.000000000", "c10", utc(2026, 1, 11)),
        ("1111 00:00:00.000000000", "c10", utc(2026, 11, 11)),
        ("0527 15:16:57.216090", "glog", utc(2026, 5, 27, 15, 16, 57, 216090)),
        ("2026-11-29 16:33:31,090", "iso", utc(2026, 11, 29, 16, 33, 31, 90000)),
        ("2026-11-29T16:33:31.5Z", "iso", utc(2026, 11, 29, 16, 33, 31, 500000)),
        ("2026-11-29T16:33:31+0530", "iso", utc(2026, 11, 29, 11, 3, 31)),
        ("2026-11-29T16:33:31-01:00", "iso", utc(2026, 11, 29, 17, 33, 31)),
        ("2026/11/29 16:33:31", "iso", utc(2026, 11, 29, 16, 33, 31)),
        ("Tue May  6 02:14:07 2025", "ctime", utc(2025, 5, 6, 2, 14, 7)),
        ("May  1 12:00:00.25", "syslog", utc(2026, 5, 1, 12, 0, 0, 250000)),
        ("11/29/26 16:33:31", "us", utc(2026, 11, 29, 16, 33, 31)),
        ("11/29/2026 16:33:31", "us", utc(2026, 11, 29, 16, 33, 31)),
        ("11-29 16:33:31", "month-day", utc(2026, 11, 29, 16, 33, 31)),
        ("16:33:31.5", "hms", 16 * 3600 + 33 * 60 + 31.5),
        ("12345.678901", "uptime", 12345.678901),
        ("1764432000", "epoch", 1764432000.0),
        ("1764432000123", "epoch", 1764432000.123),
        ("1764432000123456", "epoch", 1764432000.123456),
        ("@", "epoch", None),
        ("1332 00:00:00.0", "c10", None),
        ("2026-02-30 00:00:00", "iso", None),
        ("Tue Foo  6 02:14:07 2025", "ctime", None),
        ("2026-11-29 16:33:31", "no such format", None),
    ],
)
def test_seconds(text, form, expected):
    found = clocks.seconds(Stamp(text, form), 2026)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-5))


def test_zone_is_used_only_where_none_is_printed():
    east = 5.5 * 3600
    assert clocks.seconds(Stamp("709 17:05:38.0", "c10"), 2026, east) == utc(2026, 7, 9, 11, 35, 38)
    assert clocks.seconds(Stamp("2026-07-09T17:05:38Z", "iso"), 2026, east) == utc(2026, 7, 9, 17, 5, 38)


def test_leap_day_without_year():
    assert clocks.seconds(Stamp("229 00:00:00.0", "c10")) == utc(2000, 2, 29)


def test_tai64n():
    label = f"{2**62 + int(utc(2026, 5, 1)) + 37:016x}{500_000_000:08x}"
    assert clocks.seconds(Stamp(label, "tai64n")) == pytest.approx(utc(2026, 5, 1) + 0.5)


def test_new_year_and_back():
    clock = clocks.RunningClock(2026)
    stamps = ["1231 23:59:59.0", "101 00:00:01.0", "1231 23:59:59.5", "101 00:00:02.0"]
    found = [clock.seconds(Stamp(text, "c10")) for text in stamps]
    assert found == [
        utc(2026, 12, 31, 23, 59, 59),
        utc(2027, 1, 1, 0, 0, 1),
        utc(2026, 12, 31, 23, 59, 59) + 0.5,
        utc(2027, 1, 1, 0, 0, 2),
    ]


def test_midnight():
    clock = clocks.RunningClock()
    found = [clock.seconds(Stamp(text, "hms")) for text in ("23:59:59", "00:00:01", "23:59:59", "00:00:02", "12:00:00")]
    assert found == [86399.0, 86401.0, 86399.0, 86402.0, 86400.0 + 43200]


@pytest.mark.parametrize(
    ("text", "form", "shown"),
    [
        ("709 17:05:38.162555850", "c10", "07-09 17:05:38.162"),
        ("2026-11-29T16:33:31.5Z", "iso", "2026-11-29 16:33:31.500Z"),
        ("2026-11-29T16:33:31+05:30", "iso", "2026-11-29 16:33:31+05:30"),
        ("16:33:31", "hms", "16:33:31"),
        ("1764432000123", "epoch", "2025-11-29 16:00:00.123"),
        ("12345.678901", "uptime", "12345.678901"),
        ("nonsense", "iso", "nonsense"),
    ],
)
def test_text(text, form, shown):
    assert clocks.text(Stamp(text, form)) == shown


def test_year_of_stamps():
    stamps = [Stamp("709 17:05:38.0", "c10"), Stamp("2025-01-01 00:00:00", "iso")]
    assert clocks.year_of(stamps) == 2025
    assert clocks.year_of(stamps[:1]) is None


@given(st.sampled_from(sorted(clocks.FORMATS)), st.text(max_size=40))
def test_any_text_is_read_or_refused(form, text):
    stamp = Stamp(text, form)
    found = clocks.seconds(stamp)
    assert found is None or isinstance(found, float)
    assert isinstance(clocks.text(stamp), str)


def test_every_format_of_the_prefixes_reads_its_examples():
    from logsig.prefix import load_prefixes
    from logsig.prefixcheck import read

    seen = set()
    for prefix in dialects.read():
        for example in prefix.examples:
            for line in read(example.log, load_prefixes()):
                if line.stamp:
                    seen.add(line.stamp.format)
                    assert clocks.seconds(line.stamp, 2026) is not None, line.stamp
    assert seen >= set(clocks.FORMATS) - {"table"}
