"""A scan in, text out: one module per format, found by its file name.

A module here that has ``write(result, options)`` is a format of ``logsig scan``. One that can show rows while the scan
runs gives its text in three parts as well: ``head(options)``, ``row(row, options)``, ``rest(result, options)``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logsig.batch.model import Row, Verdict
    from logsig.report import Options


@dataclass(frozen=True, slots=True)
class Result:
    """All that a format may show. Rows are gone through once, or again: they aren't all in memory."""

    rows: Iterable[Row]
    verdict: Verdict
    reports: str | None = None
    """Where the single reports lie, relative to the file that is written."""


def names() -> list[str]:
    """Lists the formats; imports none."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))


def module(name: str) -> Any:
    """Gives the module of a format."""
    return import_module(f"{__name__}.{name}")


def parts(form: Any, result: Result, options: Options) -> Iterator[str | bytes]:
    """Gives a whole document piece by piece."""
    if hasattr(form, "write"):
        yield from form.write(result, options)
        return
    yield form.head(options)
    for row in result.rows:
        yield form.row(row, options)
    yield from form.rest(result, options)
