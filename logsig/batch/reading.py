"""Reads one job for a scan: takes its logs, gives a ``Row``. The work of one worker, with no state between jobs.

Small windows are read first: the start, the end, and what surrounds literals. They tell most failures as surely as all
of the log does, at a tenth of the cost; where they leave a doubt the job is read as ``diagnose`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from logsig.batch import documents, layout
from logsig.batch.archives import member_of
from logsig.batch.model import Job, Row
from logsig.batch.pool import BEGINS
from logsig.batch.rowing import Read, row_of, unread
from logsig.diagnosis import diagnose
from logsig.inputs import Desk, Leaf, Place, Skipped, leaves, place_of
from logsig.inputs.naming import order, origin_of
from logsig.scan import together
from logsig.skim import Search, Skimmed, read_place, skim
from logsig.understand import understand
from logsig.windows import Limits

if TYPE_CHECKING:
    from logsig.catalog import Catalog
    from logsig.engine import Engine
    from logsig.model import Diagnosis, Origin

Found = list[Skimmed | Skipped]

K = 1 << 10
SMALL = 3 * K
"""Bytes kept of each file at least."""
ONE = 8 * K
ALL = 96 * K
"""Bytes kept of all files together, before the windows around literals."""


WINDOWS = "A scan read this log in small windows; 'logsig diagnose' and 'scan --thorough' read more of it."


@dataclass(frozen=True, slots=True)
class Manner:
    """How jobs are read."""

    thorough: bool = False
    """Every job as ``diagnose`` reads it."""
    max_bytes: int | None = None
    baseline: bool = False
    reports: str | None = None
    """The folder that takes the single reports of failed jobs."""


def quick(files: int) -> Limits:
    """Gives the small windows for a job of so many files."""
    size = max(SMALL, min(ONE, ALL // max(files, 1)))
    return Limits(
        whole=size,
        head=size // 3,
        tail=size - size // 3,
        tail_each=K // 2,
        tail_most=2 * size,
        widths=((2, 3 * K, 6 * K), (8, K, 3 * K), (1 << 62, K // 2, 2 * K)),
        named=2,
        unnamed=8,
        incidents=8,
        again=64 * K,
        again_in_all=128 * K,
        in_all=512 * K,
    )


def is_settled(found: Diagnosis) -> bool:
    """Tells an answer that more of the log would hardly change."""
    cause = found.root_cause
    if found.outcome in ("healthy", "empty", "unfinished"):
        return True
    if cause is None or cause.confidence == "low":
        return False
    return found.first_failing_rank is not None or found.scope in ("all-ranks", "not-a-rank")


def _is_enough(answer: Read | None) -> bool:
    """Tells an answer that needs no second look."""
    return answer is None or answer.found is None or answer.is_whole or is_settled(answer.found)


class Reader:
    """Reads jobs with one library; made once, before the workers are."""

    def __init__(self, catalog: Catalog, engine: Engine, manner: Manner) -> None:
        self._catalog = catalog
        self._engine = engine
        self._manner = manner

    def read(self, job: Job) -> Row | None:
        """Reads a job; None where nothing in it is a log after all."""
        answer = None
        for limits in self._looks(len(job.logs)):
            found = [item for place in _places(job) for item in read_place(place, self._search(limits))]
            answer = self._conclude(job, found)
            if _is_enough(answer):
                break
        return self._row(job, answer)

    def read_members(self, archive: str, jobs: Sequence[Job]) -> Iterator[tuple[Job, Row | str | None]]:
        """Reads the jobs inside an archive in one pass, those that stay doubtful in a second one.

        Says ``BEGINS`` of the job whose member is read next.
        """
        looks = self._looks(max(len(job.logs) for job in jobs))
        for limits in looks:
            doubtful = []
            for job, found in self._pass(archive, jobs, limits):
                if found is None:
                    yield job, BEGINS
                    continue
                answer = self._conclude(job, found)
                if limits is looks[-1] or _is_enough(answer):
                    yield job, self._row(job, answer)
                else:
                    doubtful.append(job)
            jobs = doubtful
            if not jobs:
                return

    # ------------------------------------------------------------ bytes

    def _looks(self, files: int) -> list[Limits]:
        return [Limits.shared(files)] if self._manner.thorough else [quick(files), Limits.shared(files)]

    def _search(self, limits: Limits) -> Search:
        return Search(self._engine, limits, self._manner.max_bytes)

    def _pass(self, archive: str, jobs: Sequence[Job], limits: Limits) -> Iterator[tuple[Job, Found | None]]:
        """Gives each job with what its members held, as soon as the last was read, and None before each of them."""
        owners = {log.path: job for job in jobs for log in job.logs}
        missing = {job.name: len(job.logs) for job in jobs}
        found: dict[str, Found] = {job.name: [] for job in jobs}
        place = place_of(archive, Desk())
        place.is_named = False
        for member, items in groupby(leaves(place), key=lambda item: member_of(_path(item))):
            job = owners.get(member)
            if job is None:
                continue
            yield job, None
            found[job.name] += [_read(item, self._search(limits)) for item in items]
            missing[job.name] -= 1
            if missing[job.name] == 0:
                yield job, found.pop(job.name)
        for job in jobs:
            if job.name in found:
                yield job, found.pop(job.name)

    # ------------------------------------------------------------ answers

    def _conclude(self, job: Job, found: Found) -> Read | None:
        """Gives the diagnosis, with the job as it was read."""
        if not any(isinstance(item, Skimmed) for item in found):
            lost = tuple(_problems(found))
            return Read(None, lost) if lost or not found else None
        found = sorted(_with_agent(found), key=_order)
        if job.why == layout.ARRAY:
            found = [_without_task(item) for item in found]
        seen = together(found, self._engine)
        is_whole = sum(len(excerpt.data) for excerpt in seen.excerpts) >= sum(seen.sizes.values())
        files = tuple(dict.fromkeys(origin.path for origin in seen.origins))
        log = understand(seen.excerpts, self._catalog, files, seen.doubts).job
        answer = replace(diagnose(log, self._catalog), unreadable=seen.unreadable)
        if not is_whole and not self._manner.thorough:
            answer = replace(answer, doubts=(*answer.doubts, WINDOWS))
        return Read(answer, tuple(_problems(found)), seen, log, is_whole)

    def _row(self, job: Job, answer: Read | None) -> Row | None:
        if answer is None:
            return None
        if answer.found is None or (answer.found.outcome == "empty" and answer.problems):
            reason = answer.problems[0].removeprefix(f"{job.name}: ") if answer.problems else "it holds nothing to read"
            return unread(job, reason, answer.problems)
        if documents.is_one(job, answer):
            return None
        return row_of(job, answer, self._catalog, self._manner)


def _read(item: Leaf | Skipped, search: Search) -> Skimmed | Skipped:
    return item if isinstance(item, Skipped) else skim(item, search)


def _path(item: Leaf | Skipped) -> str:
    return item.path if isinstance(item, Skipped) else item.origin.path


def _places(job: Job) -> list[Place]:
    desk = Desk()
    return [Place(desk, origin_of(log.path, job.below), log.path, is_named=job.named) for log in job.logs]


def _order(item: Skimmed | Skipped) -> tuple[object, ...]:
    return order(item.origin.path) if isinstance(item, Skimmed) else ()


def _with_agent(found: Found) -> list[Skimmed | Skipped]:
    """Calls what lies beside workers' files the agent's console."""
    if not any(isinstance(item, Skimmed) and item.origin.role == "worker" for item in found):
        return found
    return [
        _with_origin(item, replace(item.origin, role="agent"))
        if isinstance(item, Skimmed) and item.origin.role is None
        else item
        for item in found
    ]


def _without_task(item: Skimmed | Skipped) -> Skimmed | Skipped:
    """Forgets the number in the name: it counts elements of an array, not tasks of a job."""
    return _with_origin(item, replace(item.origin, task=None)) if isinstance(item, Skimmed) else item


def _with_origin(item: Skimmed, origin: Origin) -> Skimmed:
    return item._replace(origin=origin, excerpts=tuple(replace(each, origin=origin) for each in item.excerpts))


def _problems(found: Sequence[Skimmed | Skipped]) -> Iterator[str]:
    """Says what was unreadable, of everything that was read."""
    for item in found:
        if isinstance(item, Skipped):
            if item.unreadable:
                yield f"{item.path}: {item.reason}"
        elif item.unreadable:
            yield from item.doubts
