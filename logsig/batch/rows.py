"""The rows of one scan, on disk as far as they don't fit: takes rows as they come, gives them in the order of the jobs.

A private SQLite file of this process: SQLite keeps it in its page cache and spills it to a temporary file when it
grows, so that memory doesn't grow with the number of jobs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Self

from logsig.batch.model import Row

CACHE = 16 << 10
"""Kilobytes of pages that are kept in memory."""


class Rows:
    """Rows by the number of their job."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(f"PRAGMA cache_size=-{CACHE}")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("CREATE TABLE rows (job INTEGER PRIMARY KEY, row TEXT NOT NULL)")
        self._database.execute("BEGIN")

    def add(self, job: int, text: str) -> None:
        """Takes the JSON of a row."""
        self._database.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (job, text))

    def get(self, job: int) -> Row | None:
        """Gives one row, if it is there."""
        found = self._database.execute("SELECT row FROM rows WHERE job = ?", (job,)).fetchone()
        return Row.from_json(found[0]) if found else None

    def __iter__(self) -> Iterator[Row]:
        for (text,) in self._database.execute("SELECT row FROM rows ORDER BY job"):
            yield Row.from_json(text)

    def __len__(self) -> int:
        count: int = self._database.execute("SELECT count(*) FROM rows").fetchone()[0]
        return count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; the temporary file goes with it."""
        self._database.close()
