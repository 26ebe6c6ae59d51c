"""A table of jobs as Parquet, where pyarrow is installed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from logsig.errors import OutputError
from logsig.report import Options, inert
from logsig.report.scans import Result, _fields

BATCH = 10_000
"""Rows of a row group."""
LISTS = ("files", "hosts", "problems")


def write(result: Result, options: Options) -> Iterator[bytes]:
    """Gives the file."""
    del options
    arrow, parquet = _pyarrow()
    schema = arrow.schema(
        [(name, arrow.int64() if name in _fields.NUMBERS else arrow.string()) for name in _fields.COLUMNS]
        + [(name, arrow.list_(arrow.string())) for name in LISTS]
    )
    out = io.BytesIO()
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        for row in result.rows:
            batch.append(
                {name: _value(getattr(row, name)) for name in _fields.COLUMNS}
                | {name: [_value(item) for item in getattr(row, name)] for name in LISTS}
            )
            if len(batch) == BATCH:
                writer.write_table(arrow.Table.from_pylist(batch, schema))
                batch.clear()
        writer.write_table(arrow.Table.from_pylist(batch, schema))
    yield out.getvalue()


def require() -> None:
    """Says what is missing, before anything is read."""
    _pyarrow()


def _value(value: Any) -> Any:
    return inert.no_surrogates(value) if isinstance(value, str) else value


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise OutputError("parquet needs pyarrow, which isn't installed: pip install pyarrow") from error
