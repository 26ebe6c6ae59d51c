"""A JSON object per line: ``type`` is ``job``, then ``group``, ``host``, and ``summary`` at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from logsig.report import Options, inert
from logsig.report.scans import Result, _fields

if TYPE_CHECKING:
    from logsig.batch.model import Row


def head(options: Options) -> str:
    """Nothing stands before the first line."""
    del options
    return ""


def row(row: Row, options: Options) -> str:
    """Gives the line of a job."""
    return _line(_fields.job(row), options)


def rest(result: Result, options: Options) -> Iterator[str]:
    """Gives the lines behind the jobs."""
    verdict = result.verdict
    for group in (*verdict.groups, *verdict.gone):
        yield _line(_fields.group(group), options)
    for host in verdict.hosts.hosts:
        yield _line(_fields.host(host), options)
    yield _line(_fields.summary(verdict), options)


def _line(value: dict[str, Any], options: Options) -> str:
    del options
    return inert.json_text(json.dumps(_plain(value))) + "\n"


def _plain(value: Any) -> Any:
    """Shows what no UTF-8 holds as escapes."""
    if isinstance(value, str):
        return value if value.isascii() else inert.no_surrogates(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
