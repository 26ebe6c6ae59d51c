"""What earlier scans found, in one SQLite file: rows of jobs, groups and hosts per scan; safe under several writers.

Rows are kept under a job's files and a stamp of their sizes and times: an unchanged job isn't read again, and a scan
that was interrupted goes on where it stopped. A file of a newer version is left alone.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from logsig.batch.model import Group, HostTest, Job, Row
from logsig.errors import LogsigError

VERSION = 1
APPLICATION = 0x6C6F6773
"""``logs``, in the file's header."""
WAIT = 60.0
"""Seconds that a writer waits for another."""
EVERY = 1.0
"""Seconds between commits: what a crash can lose."""

SCHEMA = """
CREATE TABLE scans (
  id INTEGER PRIMARY KEY, began TEXT NOT NULL, ended TEXT, state TEXT NOT NULL, roots TEXT NOT NULL,
  library TEXT NOT NULL, jobs INTEGER, failures INTEGER
);
CREATE TABLE jobs (
  key BLOB PRIMARY KEY, stamp BLOB NOT NULL, row TEXT NOT NULL, outcome TEXT, fingerprint TEXT, ended TEXT,
  scan INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX jobs_by_fingerprint ON jobs (fingerprint, ended);
CREATE TABLE groups (
  fingerprint TEXT PRIMARY KEY, signature TEXT, title TEXT NOT NULL, facts TEXT NOT NULL, remedy TEXT,
  example TEXT NOT NULL, first_seen TEXT, last_seen TEXT, first_scan INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE scan_groups (
  scan INTEGER NOT NULL, fingerprint TEXT NOT NULL, count INTEGER NOT NULL, share REAL NOT NULL,
  PRIMARY KEY (scan, fingerprint)
) WITHOUT ROWID;
CREATE TABLE scan_hosts (
  scan INTEGER NOT NULL, host TEXT NOT NULL, jobs INTEGER NOT NULL, starts INTEGER NOT NULL, expected REAL NOT NULL,
  p REAL NOT NULL, q REAL NOT NULL, PRIMARY KEY (scan, host)
) WITHOUT ROWID;
"""


class StoreError(LogsigError):
    """The store can't be used: not ours, of a newer version, locked, full."""


class Past(NamedTuple):
    """What earlier scans say of the groups of this one."""

    status: dict[str, str]
    totals: dict[str, int]
    gone: tuple[str, ...]
    since: str | None
    """When the scan before this one began."""


class Store:
    """One file of history, opened for one scan or for reading."""

    def __init__(self, path: str, *, must_exist: bool = False) -> None:
        self.path = path
        if must_exist and not os.path.exists(path):
            raise StoreError(f"{path}: no such store; 'logsig scan --store {path} PATH' makes it")
        try:
            self._database = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
            self._open()
        except sqlite3.Error as error:
            raise StoreError(f"{path}: the store can't be used: {error}") from error
        self._scan: int | None = None
        self._stamp_base = b""
        self._pending: list[tuple[bytes, bytes, str, str | None, str | None, str | None]] = []
        self._written = time.monotonic()

    def _open(self) -> None:
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        owner = self._database.execute("PRAGMA application_id").fetchone()[0]
        if owner not in (0, APPLICATION) or (version and owner != APPLICATION):
            raise StoreError(f"{self.path}: is a database of another program, expected a store of logsig")
        if version > VERSION:
            raise StoreError(
                f"{self.path}: was written by a newer logsig (store version {version}, this one knows {VERSION})"
            )
        self._switch_to_wal()
        self._database.execute("PRAGMA synchronous=NORMAL")
        if version == 0:
            self._create()

    def _switch_to_wal(self) -> None:
        """Two that open a new file at once can be in each other's way; SQLite doesn't wait here by itself."""
        until = time.monotonic() + WAIT
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def _create(self) -> None:
        """Lays the tables out, unless another writer did meanwhile."""
        with self._writing():
            if self._database.execute("PRAGMA user_version").fetchone()[0] != 0:
                return
            self._refuse_others()
            for statement in SCHEMA.split(";"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id={APPLICATION}")
            self._database.execute(f"PRAGMA user_version={VERSION}")

    def _refuse_others(self) -> None:
        if self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{self.path}: is a database of another program, expected a store of logsig")

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    # ------------------------------------------------------------ one scan

    def begin(self, roots: Sequence[str], library: str, manner: str) -> None:
        """Begins a scan; ``manner`` and ``library`` are part of every stamp: rows read otherwise don't count."""
        self._stamp_base = f"{library}\0{manner}\0".encode()
        places = json.dumps(sorted(os.path.abspath(root) for root in roots))
        with self._writing():
            self._scan = self._database.execute(
                "INSERT INTO scans (began, state, roots, library) VALUES (?, 'running', ?, ?)",
                (_now(), places, library),
            ).lastrowid

    def known(self, job: Job) -> str | None:
        """Gives the remembered row of a job, where nothing changed since; empty for what was no log."""
        key, stamp = _key(job), self._stamp(job)
        found = self._database.execute("SELECT stamp, row FROM jobs WHERE key = ?", (key,)).fetchone()
        return found[1] if found is not None and found[0] == stamp else None

    def add(self, job: Job, row: Row | None, text: str) -> None:
        """Remembers a row, or that there is none; it is on disk within a second or so."""
        told = (row.outcome, row.group, row.ended) if row is not None else (None, None, None)
        self._pending.append((_key(job), self._stamp(job), text, *told))
        if time.monotonic() - self._written > EVERY:
            self.flush()

    def flush(self) -> None:
        """Writes what is remembered."""
        pending, self._pending = self._pending, []
        self._written = time.monotonic()
        if not pending:
            return
        with self._writing():
            self._database.executemany(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET stamp=excluded.stamp,"
                " row=excluded.row, outcome=excluded.outcome, fingerprint=excluded.fingerprint, ended=excluded.ended,"
                " scan=excluded.scan",
                ((*each, self._scan) for each in pending),
            )

    def past(self, groups: Iterable[str]) -> Past:
        """Compares with earlier scans that ended: those of the same places if there are any, else all."""
        here = set(groups)
        scans = self._database.execute(
            "SELECT id, began, roots = (SELECT roots FROM scans WHERE id = :me) FROM scans"
            " WHERE id < :me AND state = 'complete' ORDER BY id",
            {"me": self._scan},
        ).fetchall()
        alike = [scan for scan in scans if scan[2]] or scans
        ever = self._groups_of([scan[0] for scan in scans])
        before = self._groups_of([scan[0] for scan in alike[-1:]])
        status = {key: "known" if key in before else "back" if key in ever else "new" for key in here}
        totals = dict(
            self._database.execute(
                "SELECT fingerprint, count(*) FROM jobs WHERE fingerprint IS NOT NULL GROUP BY fingerprint"
            )
        )
        gone = self._groups_of([scan[0] for scan in alike]) - here
        return Past(status, totals, tuple(sorted(gone)), alike[-1][1] if alike else None)

    def _groups_of(self, scans: Sequence[int]) -> set[str]:
        found: set[str] = set()
        for scan in scans:
            found.update(
                row[0] for row in self._database.execute("SELECT fingerprint FROM scan_groups WHERE scan = ?", (scan,))
            )
        return found

    def group(self, fingerprint: str) -> tuple[str, ...] | None:
        """Gives what is remembered of a group: signature, title, facts, remedy, example, first and last seen."""
        found: tuple[str, ...] | None = self._database.execute(
            "SELECT signature, title, facts, remedy, example, first_seen, last_seen FROM groups WHERE fingerprint = ?",
            (fingerprint,),
        ).fetchone()
        return found

    def end(self, state: str, jobs: int, groups: Sequence[Group], test: HostTest, failures: int) -> None:
        """Ends the scan: ``complete`` or ``interrupted``."""
        self.flush()
        with self._writing():
            self._database.executemany(
                "INSERT INTO groups VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET"
                " title=excluded.title, remedy=excluded.remedy, example=excluded.example,"
                " first_seen=min(coalesce(first_seen, excluded.first_seen), coalesce(excluded.first_seen, first_seen)),"
                " last_seen=max(coalesce(last_seen, excluded.last_seen), coalesce(excluded.last_seen, last_seen))",
                (
                    (
                        group.id,
                        group.signature,
                        group.title,
                        json.dumps(dict(group.facts)),
                        group.remedy,
                        group.example.to_json(),
                        group.first_seen,
                        group.last_seen,
                        self._scan,
                    )
                    for group in groups
                ),
            )
            self._database.executemany(
                "INSERT OR REPLACE INTO scan_groups VALUES (?, ?, ?, ?)",
                ((self._scan, group.id, group.count, group.share) for group in groups),
            )
            self._database.executemany(
                "INSERT OR REPLACE INTO scan_hosts VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((self._scan, each.name, each.jobs, each.starts, each.expected, each.p, each.q) for each in test.hosts),
            )
            self._database.execute(
                "UPDATE scans SET ended = ?, state = ?, jobs = ?, failures = ? WHERE id = ?",
                (_now(), state, jobs, failures, self._scan),
            )

    def _writing(self) -> _Writing:
        return _Writing(self._database, self.path)

    def _stamp(self, job: Job) -> bytes:
        told = "".join(f"{log.size},{log.changed};" for log in job.logs)
        return sha256(self._stamp_base + told.encode()).digest()[:16]

    # ------------------------------------------------------------ reading

    def rows(self) -> Iterator[Row]:
        """Gives every remembered row, in order of time."""
        for (text,) in self._database.execute("SELECT row FROM jobs WHERE row != '' ORDER BY ended, key"):
            yield Row.from_json(text)

    def scans(self) -> list[tuple[int, str, str | None, str, int | None, int | None]]:
        """Gives (number, began, ended, state, jobs, failures) of every scan, in order."""
        return self._database.execute(
            "SELECT id, began, ended, state, jobs, failures FROM scans ORDER BY id"
        ).fetchall()

    def groups(self) -> list[tuple[str, str | None, str, str | None, str | None, str | None]]:
        """Gives (fingerprint, signature, title, remedy, first seen, last seen) of every group."""
        return self._database.execute(
            "SELECT fingerprint, signature, title, remedy, first_seen, last_seen FROM groups ORDER BY fingerprint"
        ).fetchall()

    def scan_groups(self) -> list[tuple[int, str, int]]:
        """Gives (scan, fingerprint, jobs) of every scan."""
        return self._database.execute("SELECT scan, fingerprint, count FROM scan_groups ORDER BY scan").fetchall()

    def scan_hosts(self) -> list[tuple[int, str, int, int, float, float, float]]:
        """Gives (scan, host, jobs, starts, expected, p, q) of every scan."""
        return self._database.execute(
            "SELECT scan, host, jobs, starts, expected, p, q FROM scan_hosts ORDER BY scan, q, p, host"
        ).fetchall()


class _Writing:
    """A transaction that waits for other writers; what goes wrong is a ``StoreError``."""

    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self._database = database
        self._path = path

    def __enter__(self) -> None:
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}") from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        try:
            self._database.execute("COMMIT" if kind is None else "ROLLBACK")
        except sqlite3.Error as fault:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise StoreError(f"{self._path}: {fault}") from fault
        if isinstance(error, sqlite3.Error):
            raise StoreError(f"{self._path}: {error}") from error


def _key(job: Job) -> bytes:
    """Names a job by its files, wherever the scan was started."""
    state = sha256()
    for log in job.logs:
        state.update(os.fsencode(os.path.abspath(log.path)))
        state.update(b"\0")
    return state.digest()[:16]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
