"""A table of jobs as comma-separated values (RFC 4180), for spreadsheets: no cell is a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from logsig.report import Options, inert
from logsig.report.scans import Result, _fields


def write(result: Result, options: Options) -> Iterator[str]:
    """Gives the header and a line per job."""
    del options
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(_fields.COLUMNS)
    for row in result.rows:
        writer.writerow([_cell(name, getattr(row, name)) for name in _fields.COLUMNS])
        if buffer.tell() > 1 << 16:
            yield _taken(buffer)
    yield _taken(buffer)


def _cell(name: str, value: object) -> object:
    if value is None:
        return ""
    return value if name in _fields.NUMBERS else inert.csv_cell(str(value))


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text
