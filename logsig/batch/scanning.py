"""A scan over many jobs: takes a plan, gives what all rows say together, and hands each row on as it comes.

    plan ─ store (what is known already) ─> pool(Reader.read) ─> rows ─> Tally, Counts ─> Verdict

Rows are handed on in the order of the plan, whichever worker was first. Prints nothing.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from logsig.batch.groups import Tally
from logsig.batch.model import Group, Job, Plan, Problem, Row, Verdict
from logsig.batch.pool import BEGINS, Bounds, Stop, Unit, Work, run
from logsig.batch.reading import Manner, Reader
from logsig.batch.rowing import report_name, unread
from logsig.batch.rows import Rows
from logsig.batch.store import Past, Store, StoreError
from logsig.batch.suspects import Counts
from logsig.cores import cores

if TYPE_CHECKING:
    from logsig.catalog import Catalog

FORMAT = 2
"""Rises when rows are made otherwise: those of a store are then made anew."""
PATIENCE = 120.0
"""Seconds that a job may take at least, where the user says nothing."""
SLOWEST = 2 << 20
"""Bytes that must be read in a second."""
LARGE = 32 << 20
"""Jobs so large are begun first, so that none of them is alone at the end."""
MEMORY = 4 << 30
WARMING = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/job/train.py", line 1, in <module>
[rank0]: ValueError: x
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asks of a scan."""

    roots: tuple[str, ...]
    manner: Manner
    workers: int | None = None
    signatures: tuple[Path, ...] = ()
    store: str | None = None
    seconds: float | None = None
    """For one job; None: by its size."""
    memory: int = MEMORY


class Watch(Protocol):
    """Whoever wants to see the scan while it runs."""

    def row(self, row: Row) -> None:
        """Takes the next row, in the order of the plan."""

    def tick(self, jobs: int, size: int, failures: int) -> None:
        """Hears how many jobs and bytes are done."""


def scan(plan: Plan, asked: Asked, watch: Watch, rows: Rows, stop: Stop | None = None) -> Verdict:
    """Reads all jobs of the plan into ``rows``; what goes wrong with one of them is in the summary."""
    import logsig

    scanning = _Scanning(plan, asked, watch, rows, stop or Stop())
    try:
        scanning.read(logsig.load_catalog(asked.signatures))
        return scanning.verdict()
    finally:
        scanning.close()


class _Scanning:
    """One scan while it runs."""

    def __init__(self, plan: Plan, asked: Asked, watch: Watch, rows: Rows, stop: Stop) -> None:
        self._plan = plan
        self._asked = asked
        self._watch = watch
        self._stop = stop
        self._rows = rows
        self._tally = Tally()
        self._counts = Counts()
        self._store: Store | None = None
        self._problems: list[Problem] = []
        self._missing = set(range(len(plan.jobs)))
        self._remembered = 0
        self._left_out = 0
        """Files that turned out to be no logs."""
        self._next = 0
        """The job whose row is handed on next."""

    def close(self) -> None:
        """Ends it."""
        if self._store is not None:
            self._store.close()

    # ------------------------------------------------------------ reading

    def read(self, catalog: Catalog) -> None:
        """Takes what the store remembers, reads the rest, and hands rows on."""
        self._open_store(catalog)
        self._recall()
        self._hand_on()
        done = sum(job.size for at, job in enumerate(self._plan.jobs) if at not in self._missing)
        self._tick(done)
        for job in self._work(catalog):
            done += self._plan.jobs[job].size
            self._hand_on()
            self._tick(done)

    def _work(self, catalog: Catalog) -> Iterator[int]:
        """Gives the number of each job when it is done."""
        if not self._missing:
            return
        reader = _reader(catalog, self._asked.manner)
        workers = min(self._asked.workers or cores(), len(self._missing))
        bounds = Bounds(self._asked.seconds or PATIENCE, self._asked.memory)
        answers = run(
            self._units(),
            _work_with(reader),
            workers,
            bounds,
            given=lambda unit: [self._plan.jobs[at] for at in unit],
            seconds=self._seconds,
            stop=self._stop,
        )
        for answer in answers:
            job = self._plan.jobs[answer.job]
            text = answer.value if answer.error is None else unread(job, answer.error, set_aside=True).to_json()
            self._take(answer.job, text)
            self._remember(job, answer.error, text)
            self._missing.discard(answer.job)
            yield answer.job

    def _units(self) -> Iterator[Unit]:
        """Gives what one worker does in one go: the jobs of an archive together, large jobs first."""
        archives: dict[str, list[int]] = {}
        large: list[int] = []
        small: list[int] = []
        for at in sorted(self._missing):
            job = self._plan.jobs[at]
            if job.archive is not None:
                archives.setdefault(job.archive, []).append(at)
            else:
                (large if job.size >= LARGE else small).append(at)
        large.sort(key=lambda at: -self._plan.jobs[at].size)
        yield from ([at] for at in large)
        yield from archives.values()
        yield from ([at] for at in small)

    def _seconds(self, job: int) -> float:
        if self._asked.seconds is not None:
            return self._asked.seconds
        return max(PATIENCE, self._plan.jobs[job].size / SLOWEST)

    # ------------------------------------------------------------ rows

    def _take(self, at: int, text: str) -> None:
        """Keeps a row; what is no log after all has none."""
        if text:
            self._rows.add(at, text)
        else:
            self._left_out += len(self._plan.jobs[at].logs)

    def _hand_on(self, *, is_over: bool = False) -> None:
        """Hands on the rows whose turn it is; at the end of an interrupted scan those that lie further on, too."""
        while self._next < len(self._plan.jobs) and (is_over or self._next not in self._missing):
            row = self._rows.get(self._next)
            if row is not None:
                self._tally.take(row)
                self._counts.take(row)
                self._watch.row(row)
            self._next += 1

    def _tick(self, size: int) -> None:
        self._watch.tick(len(self._plan.jobs) - len(self._missing), size, self._tally.failures)

    # ------------------------------------------------------------ the store

    def _open_store(self, catalog: Catalog) -> None:
        if self._asked.store is None:
            return
        try:
            self._store = Store(self._asked.store)
            self._store.begin(self._asked.roots, catalog.digest, self._manner())
        except StoreError as error:
            self._lose_store(error)

    def _manner(self) -> str:
        manner = self._asked.manner
        told = [FORMAT, manner.thorough, manner.max_bytes, manner.baseline]
        return json.dumps(told)

    def _lose_store(self, error: StoreError | sqlite3.Error) -> None:
        """Goes on without the store, and says so."""
        self._problems.append(Problem("--store", f"{error}; nothing more was stored"))
        if self._store is not None:
            self._store.close()
        self._store = None

    def _recall(self) -> None:
        """Takes the rows of unchanged jobs from the store."""
        if self._store is None:
            return
        try:
            for at, job in enumerate(self._plan.jobs):
                text = self._store.known(job)
                if text is not None and self._has_report(job, text):
                    self._take(at, text)
                    self._missing.discard(at)
            self._remembered = len(self._rows)
        except (StoreError, sqlite3.Error) as error:
            self._lose_store(error)

    def _has_report(self, job: Job, text: str) -> bool:
        """Tells a row whose single report, where one is asked for, was written before."""
        folder = self._asked.manner.reports
        if folder is None or not text or os.path.exists(os.path.join(folder, report_name(job.name))):
            return True
        return Row.from_json(text).group is None

    def _remember(self, job: Job, error: str | None, text: str) -> None:
        if self._store is None or error is not None:
            return
        try:
            self._store.add(job, Row.from_json(text) if text else None, text)
        except StoreError as fault:
            self._lose_store(fault)

    # ------------------------------------------------------------ the end

    def verdict(self) -> Verdict:
        """Says what all rows say together, and ends the scan in the store."""
        is_complete = not self._missing
        self._hand_on(is_over=True)
        baseline = self._asked.manner.baseline
        test = self._counts.result()
        past, gone = self._past()
        groups = self._tally.groups(baseline, past.status if past else None, past.totals if past else {})
        if self._store is not None:
            try:
                state = "complete" if is_complete else "interrupted"
                self._store.end(state, self._tally.outcomes.total(), groups, test, self._tally.failures)
            except (StoreError, sqlite3.Error) as error:
                self._lose_store(error)
        summary = self._tally.summary(self._plan, baseline, self._remembered, len(self._missing), self._problems)
        left_out = summary.left_out + self._left_out
        return Verdict(groups, gone, test, replace(summary, left_out=left_out, since=past.since if past else None))

    def _past(self) -> tuple[Past | None, tuple[Group, ...]]:
        if self._store is None:
            return None, ()
        try:
            self._store.flush()
            past = self._store.past(self._tally.kinds)
            return past, tuple(_gone(self._store, past.gone)) if not self._missing else ()
        except (StoreError, sqlite3.Error) as error:
            self._lose_store(error)
            return None, ()


def _gone(store: Store, fingerprints: Sequence[str]) -> Iterator[Group]:
    """Gives the groups of earlier scans that this one didn't meet."""
    for fingerprint in fingerprints:
        known = store.group(fingerprint)
        if known is not None:
            signature, title, facts, remedy, example, first, last = known
            yield Group(
                id=fingerprint,
                signature=signature,
                title=title,
                severity=None,
                facts=json.loads(facts),
                count=0,
                share=0.0,
                first_seen=first,
                last_seen=last,
                example=Row.from_json(example),
                remedy=remedy,
                status="gone",
            )


def _work_with(reader: Reader) -> Work:
    """Gives what a worker does: reads a job, or those of an archive, and writes their rows as JSON."""

    def work(unit: Unit, jobs: list[Job]) -> Iterator[tuple[int, str]]:
        if jobs[0].archive is None:
            for at, job in zip(unit, jobs, strict=True):
                yield at, _text(reader.read(job))
            return
        numbers = {job.name: at for at, job in zip(unit, jobs, strict=True)}
        for job, given in reader.read_members(jobs[0].archive, jobs):
            yield numbers[job.name], BEGINS if isinstance(given, str) else _text(given)

    return work


def _text(row: Row | None) -> str:
    """Writes a row; nothing for what is no log after all."""
    return row.to_json() if row is not None else ""


def _reader(catalog: Catalog, manner: Manner) -> Reader:
    """Prepares all that workers share: engines, prefixes, modules."""
    import logsig
    import logsig.draft  # and pydantic with it

    logsig.analyze_text(WARMING, catalog)
    if manner.reports is not None:
        import logsig.report.html
    engine = catalog.scan_engine()
    return Reader(catalog, engine, manner)
