"""Workers that may die: takes units of work and a function, gives answers; what kills or hangs a worker twice is named.

Workers are forked, so they share what the parent prepared. Each has one unit at a time and says which job of it it is
at, so that a death has a culprit; the culprit is tried once more, then set aside, and the rest of its unit goes on.
Where there is no fork the caller's process does it all, without that safety.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from logsig import signals

TRIES = 2
HEADER = struct.Struct("<BI")
AT, ANSWER, DONE, FAULT = range(4)
BEGINS = "\0begins"
TICK = 0.25
"""Seconds between looks at the clock."""
AHEAD = 2
"""Units a worker has: one it works on, one that waits for it."""
KNOWN = 64
"""Units that are looked at ahead."""
LARGE = 100
"""A unit of so many jobs is given only to a worker that listens: the pipe doesn't hold it."""
GRACE = 3.0
"""Seconds that workers get to finish when the scan is interrupted."""


Unit = Sequence[int]
"""Numbers of the jobs that one worker does in one go: one, or those of one archive."""


class Answer(NamedTuple):
    """What a job gave, or why it gave nothing."""

    job: int
    value: Any
    error: str | None = None
    """It was set aside."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one job may take."""

    seconds: float
    memory: int
    """Bytes beyond what the worker has when it starts."""


Given = Callable[[Unit], Any]
"""Gives what a worker needs for a unit. It is sent: a worker that touched the parent's own objects would copy them."""
Work = Callable[[Unit, Any], Iterator[tuple[int, Any]]]
"""Takes a unit and what was given for it, gives (job, answer) one after the other.

``(job, BEGINS)`` says what is being looked at.
"""
Allowed = Callable[[int], float]
"""Seconds for a job."""


class Stop:
    """Asks the pool to end: it hands out no more, and what is done stays."""

    def __init__(self) -> None:
        self.asked: float | None = None

    def ask(self) -> None:
        """Asks, once."""
        if self.asked is None:
            self.asked = time.monotonic()

    @property
    def is_late(self) -> bool:
        """Workers had a moment to finish what they have, and get no more."""
        return self.asked is not None and time.monotonic() - self.asked > GRACE


@dataclass(slots=True)
class _Worker:
    pid: int
    todo: int
    answers: int
    units: deque[dict[int, None]] = field(default_factory=deque)
    """Jobs still to do, unit by unit, the one in work first."""
    at: int | None = None
    since: float = 0.0
    buffer: bytearray = field(default_factory=bytearray)
    fault: str | None = None


def run(  # noqa: PLR0913 (the last two have names)
    units: Iterable[Unit],
    work: Work,
    workers: int,
    bounds: Bounds,
    *,
    given: Given = lambda unit: None,  # noqa: ARG005 (nothing is needed)
    seconds: Allowed | None = None,
    stop: Stop | None = None,
) -> Iterator[Answer]:
    """Gives the answers as they come; of a job that gives none twice, why."""
    if not hasattr(os, "fork") or sys.platform == "win32":
        yield from _alone(units, work, given, stop or Stop())
        return
    pool = _Pool(_Waiting(units), work, bounds, given, seconds or (lambda _job: bounds.seconds), stop or Stop())
    try:
        yield from pool.run(workers)
    finally:
        pool.end()


class _Waiting:
    """Units that nobody does yet: few of them are in memory at a time."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self._fresh = iter(units)
        self._units: deque[dict[int, None]] = deque()
        self._fill()

    def __len__(self) -> int:
        return len(self._units)

    def first(self) -> dict[int, None]:
        """Gives the next one and leaves it."""
        return self._units[0]

    def take(self) -> dict[int, None]:
        """Gives the next one."""
        unit = self._units.popleft()
        self._fill()
        return unit

    def put_back(self, units: Iterable[dict[int, None]]) -> None:
        """Takes units back that a dead worker hadn't begun; they come first."""
        self._units.extendleft(reversed(list(units)))

    def put_last(self, unit: dict[int, None]) -> None:
        """Takes a unit that killed its worker; it comes last of those known."""
        self._units.append(unit)

    def _fill(self) -> None:
        for unit in islice(self._fresh, max(0, KNOWN - len(self._units))):
            self._units.append(dict.fromkeys(unit))


def _alone(units: Iterable[Unit], work: Work, given: Given, stop: Stop) -> Iterator[Answer]:
    for unit in units:
        left = dict.fromkeys(unit)
        try:
            for job, value in work(unit, given(unit)):
                if value != BEGINS:
                    left.pop(job, None)
                    yield Answer(job, value)
        except Exception as error:  # noqa: BLE001 - one bad log must not end the scan
            yield from (Answer(job, None, _fault(error)) for job in left)
        if stop.asked is not None:
            return


def _fault(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it needs more memory than one log may"
    return f"internal fault: {type(error).__name__}: {error}"[:400]


class _Pool:
    def __init__(  # noqa: PLR0913, PLR0917 (made in one place)
        self, waiting: _Waiting, work: Work, bounds: Bounds, given: Given, seconds: Allowed, stop: Stop
    ) -> None:
        self._waiting = waiting
        self._given = given
        self._work = work
        self._bounds = bounds
        self._seconds = seconds
        self._stop = stop
        self._workers: list[_Worker] = []
        self._deaths: Counter[int] = Counter()
        self._ready: deque[Answer] = deque()

    def run(self, workers: int) -> Iterator[Answer]:
        """Keeps as many workers as asked for until nothing waits."""
        gc.collect()
        gc.freeze()  # a collection in a child would copy the pages it shares with us
        try:
            while (self._waiting and self._stop.asked is None) or any(worker.units for worker in self._workers):
                if self._stop.is_late:
                    return
                if self._stop.asked is None:
                    self._hand_out(workers)
                self._listen()
                while self._ready:
                    yield self._ready.popleft()
        finally:
            gc.unfreeze()

    def end(self) -> None:
        """Ends all workers; those still at work are killed."""
        for worker in self._workers:
            os.close(worker.todo)
            os.close(worker.answers)
            if worker.units:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)
        self._workers.clear()

    # ------------------------------------------------------------ work out

    def _hand_out(self, workers: int) -> None:
        while self._waiting and len(self._workers) < workers and len(self._workers) < self._wanted():
            self._start()
        for worker in self._workers:
            while self._waiting and self._takes_more(worker):
                self._give(worker, self._waiting.take())

    def _wanted(self) -> int:
        return len(self._waiting) + sum(bool(worker.units) for worker in self._workers)

    def _takes_more(self, worker: _Worker) -> bool:
        """Tells a worker that listens; and one that works, unless another could do what would wait for it."""
        if not worker.units:
            return True
        is_plenty = len(self._waiting) > len(self._workers)
        return is_plenty and len(worker.units) < AHEAD and len(self._waiting.first()) < LARGE

    def _give(self, worker: _Worker, unit: dict[int, None]) -> None:
        if not worker.units:
            worker.since = time.monotonic()
        worker.units.append(unit)
        with contextlib.suppress(BrokenPipeError):  # it died: seen when we listen
            _send(worker.todo, pickle.dumps((tuple(unit), self._given(tuple(unit)))))

    def _start(self) -> None:
        todo_read, todo_write = os.pipe()
        answer_read, answer_write = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            for each in self._workers:
                os.close(each.todo)
                os.close(each.answers)
            os.close(todo_write)
            os.close(answer_read)
            _serve(self._work, todo_read, answer_write, self._bounds.memory)
        os.close(todo_read)
        os.close(answer_write)
        self._workers.append(_Worker(child, todo_write, answer_read))

    # ------------------------------------------------------------ answers in

    def _listen(self) -> None:
        pipes = {worker.answers: worker for worker in self._workers}
        readable, _, _ = select.select(list(pipes), [], [], TICK)
        for pipe in readable:
            worker = pipes[pipe]
            data = os.read(pipe, 1 << 20)
            if not data:
                self._bury(worker, _death(worker.pid))
                continue
            worker.buffer += data
            for kind, body in _frames(worker.buffer):
                self._take(worker, kind, body)
        now = time.monotonic()
        for worker in list(self._workers):
            if worker.units and now - worker.since > self._allowed(worker):
                worker.fault = f"it took longer than {self._allowed(worker):.0f} s"
                os.kill(worker.pid, signal.SIGKILL)
                self._bury(worker, _death(worker.pid))

    def _allowed(self, worker: _Worker) -> float:
        return self._seconds(worker.at if worker.at is not None else next(iter(worker.units[0]), 0))

    def _take(self, worker: _Worker, kind: int, body: bytes) -> None:
        left = worker.units[0]
        worker.since = time.monotonic()
        if kind == AT:
            worker.at = pickle.loads(body)  # noqa: S301 - from our own child
        elif kind == ANSWER:
            job, value = pickle.loads(body)  # noqa: S301 - from our own child
            left.pop(job, None)
            worker.at = None
            self._ready.append(Answer(job, value))
        elif kind == FAULT:
            worker.fault = pickle.loads(body)  # noqa: S301 - from our own child
        else:
            worker.units.popleft()
            worker.at = None
            self._ready.extend(Answer(job, None, "its worker gave no answer") for job in left)

    def _bury(self, worker: _Worker, death: str) -> None:
        """Takes a dead worker's work back: its culprit once more or never again, the rest as it was."""
        os.close(worker.todo)
        os.close(worker.answers)
        self._workers.remove(worker)
        if not worker.units:
            return
        left = worker.units.popleft()
        culprit = worker.at if worker.at in left else next(iter(left), None)
        if culprit is not None:
            self._deaths[culprit] += 1
            if self._deaths[culprit] >= TRIES:
                del left[culprit]
                self._ready.append(Answer(culprit, None, f"{worker.fault or death}, twice"))
        self._waiting.put_back(worker.units)
        if left:
            self._waiting.put_last(left)


def _death(pid: int) -> str:
    """Reaps a worker and says how it ended."""
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = str(number)
        return f"its worker was ended by signal {number} ({name})"
    return f"its worker ended with exit code {os.waitstatus_to_exitcode(status)}"


# ---------------------------------------------------------------- in the child


def _serve(work: Work, todo: int, answers: int, memory: int) -> None:
    """Does units until there are none; never returns."""
    code = 1
    try:
        for number in signals.heard():
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
        _limit(memory)
        while (unit := _receive(todo)) is not None:
            for job, value in work(*unit):
                if value == BEGINS:
                    _send(answers, pickle.dumps(job), AT)
                else:
                    _send(answers, pickle.dumps((job, value)), ANSWER)
            _send(answers, b"", DONE)
        code = 0
    except BrokenPipeError:  # the parent is gone
        pass
    except BaseException as error:  # noqa: BLE001 - said to the parent, which tries it once more
        with contextlib.suppress(OSError, MemoryError):
            _send(answers, pickle.dumps(_fault(error)), FAULT)
    finally:
        os._exit(code)


def _limit(memory: int) -> None:
    """Bounds the address space to what there is now and ``memory`` more."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = now + memory if hard == resource.RLIM_INFINITY else min(now + memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):
        return  # no such limit here


def _receive(pipe: int) -> tuple[Unit, Any] | None:
    header = _exactly(pipe, HEADER.size)
    if header is None:
        return None
    _kind, size = HEADER.unpack(header)
    body = _exactly(pipe, size)
    return None if body is None else pickle.loads(body)  # noqa: S301 - from the parent


def _exactly(pipe: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = os.read(pipe, size - len(data))
        if not part:
            return None
        data += part
    return data


def _send(pipe: int, body: bytes, kind: int = 0) -> None:
    view = memoryview(HEADER.pack(kind, len(body)) + body)
    while view:
        view = view[os.write(pipe, view) :]


def _frames(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Takes whole frames off the buffer."""
    while len(buffer) >= HEADER.size:
        kind, size = HEADER.unpack_from(buffer)
        end = HEADER.size + size
        if len(buffer) < end:
            return
        body = bytes(buffer[HEADER.size : end])
        del buffer[:end]
        yield kind, body
