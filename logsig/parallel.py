"""Several processes for large inputs: takes places, gives what each holds; the same as one process gives.

Large plain files are looked at in segments, everything else place by place. Children are forked, so they share the
compiled literals; where there is no fork or where threads run, the caller does it all.
"""

from __future__ import annotations

import io
import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from logsig.blocks import BLOCK, StreamSource, cut_from
from logsig.cores import move_on
from logsig.inputs import Leaf, Place, Skipped, fault, leaves
from logsig.look import look
from logsig.skim import Found, Search, Skimmed, gather, open_leaf, read_place
from logsig.windows import Findings

SEGMENT = 32 * BLOCK
NEAR = 1 << 16
"""Bytes before a segment in which its first line nearly always begins."""
UNIT = struct.Struct("<I")

Task = Callable[[], Any]


def skim_together(places: list[Place], sizes: list[int], search: Search, workers: int) -> Iterator[Found] | None:
    """Gives for each place, in order, what it held; None where several processes can't help."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    plans = [_plan(place, size, search) for place, size in zip(places, sizes, strict=True)]
    tasks = [task for plan in plans for task in plan.tasks]
    return _finished(plans, _run(tasks, min(workers, len(tasks)))) if len(tasks) > 1 else None


def _finished(plans: list[_Plan], results: dict[int, Any]) -> Iterator[Found]:
    position = 0
    for plan in plans:
        parts = [results.pop(number, None) for number in range(position, position + len(plan.tasks))]
        position += len(plan.tasks)
        yield plan.finish(parts)


# ---------------------------------------------------------------- what is to be done


class _Plan(NamedTuple):
    """A place: what children do for it, and how their answers become its findings."""

    tasks: tuple[Task, ...]
    finish: Callable[[list[Any]], Found]


def _plan(place: Place, size: int, search: Search) -> _Plan:
    if place.disk is None or not os.path.isfile(place.disk) or place.path == "<stdin>":
        return _Plan((), lambda _parts: read_place(place, search))
    leaf = _plain(place) if size >= 2 * SEGMENT else None
    if leaf is None:
        return _Plan(
            (lambda: read_place(place, search),),
            lambda parts: parts[0] if parts[0] is not None else read_place(place, search),
        )
    starts = range(0, size, SEGMENT)
    tasks = tuple(
        _segment_task(leaf, start, None if start + SEGMENT >= size else start + SEGMENT, search) for start in starts
    )
    return _Plan(tasks, lambda parts: [_join(leaf, tasks, parts, search)])


def _plain(place: Place) -> Leaf | None:
    """Gives the leaf of a file whose bytes are the log's own."""
    fresh = Place(place.desk, place.origin, place.disk)
    first = next(leaves(fresh), None)
    return first if isinstance(first, Leaf) and first.disk is not None else None


class _Segment(NamedTuple):
    """What a look at a part of a file gave."""

    findings: tuple[Findings, ...]
    fault: str | None


def _segment_task(leaf: Leaf, start: int, stop: int | None, search: Search) -> Callable[[], _Segment]:
    return lambda: _look_at(leaf, start, stop, search)


def _look_at(leaf: Leaf, start: int, stop: int | None, search: Search) -> _Segment:
    """Looks at the blocks of a file from ``start`` to ``stop``, both on the grid; without ``stop`` to the end."""
    engine = search.engine
    with open_leaf(leaf) as file:
        before = _bytes_before(file, start, NEAR + engine.longest)
        if b"\n" not in before[-NEAR:]:
            before = _bytes_before(file, start, BLOCK + engine.longest)
        file.seek(start)
        source = StreamSource(file, None if stop is None else stop - start)
        blocks = cut_from(source, engine.longest, start, before, is_part=stop is not None)
        findings = tuple(look(block, engine, search.limits.labelled) for block in blocks)
    return _Segment(findings, None if source.fault is None else str(source.fault))


def _bytes_before(file: io.FileIO, position: int, size: int) -> bytes:
    file.seek(max(0, position - size))
    parts: list[bytes] = []
    left = min(size, position)
    while left > 0 and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _join(leaf: Leaf, tasks: tuple[Task, ...], parts: list[Any], search: Search) -> Skimmed | Skipped:
    """Chooses and reads the windows of a file whose segments were looked at; does what a child left undone."""
    try:
        segments = [part if part is not None else task() for task, part in zip(tasks, parts, strict=True)]
        source = StreamSource(io.BytesIO())
        faults = [segment.fault for segment in segments if segment.fault]
        source.fault = OSError(faults[0]) if faults else None
        findings = (found for segment in segments for found in segment.findings)
        with open_leaf(leaf) as file:
            return gather(leaf, file, findings, search, source)
    except OSError as error:  # it vanished between two looks
        return Skipped(leaf.origin.path, fault(error))


# ---------------------------------------------------------------- processes


def _run(tasks: list[Task], workers: int) -> dict[int, Any]:
    """Runs the tasks in forked children; what a child couldn't do is missing from the answer."""
    todo_read, todo_write = os.pipe()
    answers: list[int] = []
    children: list[int] = []
    try:
        for number in range(workers):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                move_on(number)
                os.close(todo_write)
                _work(tasks, todo_read, write)
            os.close(write)
            answers.append(read)
            children.append(child)
        os.close(todo_read)
        os.set_blocking(todo_write, False)
        waiting = _hand_out(todo_write, list(range(len(tasks))))
        return _collect(answers, todo_write, waiting)
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        for child in children:
            os.waitpid(child, 0)


def _work(tasks: list[Task], todo: int, answer: int) -> None:
    """Does tasks until there are none; never returns."""
    code = 1
    try:
        while number := os.read(todo, UNIT.size):
            (index,) = UNIT.unpack(number)
            _send(answer, pickle.dumps((index, tasks[index]()), pickle.HIGHEST_PROTOCOL))
        code = 0
    except BaseException:  # noqa: BLE001, S110  (the parent does it again and meets the fault itself)
        pass
    finally:
        os._exit(code)


def _send(pipe: int, data: bytes) -> None:
    view = memoryview(UNIT.pack(len(data)) + data)
    while view:
        view = view[os.write(pipe, view) :]


def _collect(answers: list[int], todo: int, waiting: list[int]) -> dict[int, Any]:
    """Hands out the numbers of further tasks and takes the answers as they come."""
    results: dict[int, Any] = {}
    buffers = {answer: bytearray() for answer in answers}
    while buffers:
        waiting = _hand_out(todo, waiting)
        readable, _, _ = select.select(list(buffers), [], [], 0.2 if waiting else None)
        for answer in readable:
            data = os.read(answer, 1 << 20)
            if not data:
                os.close(answer)
                del buffers[answer]
                continue
            buffers[answer] += data
            results.update(_answers(buffers[answer]))
    if waiting:
        os.close(todo)
    return results


def _hand_out(todo: int, waiting: list[int]) -> list[int]:
    """Writes numbers while the pipe takes them, and closes it behind the last."""
    done = 0
    try:
        for number in waiting:
            os.write(todo, UNIT.pack(number))
            done += 1
    except BlockingIOError:
        return waiting[done:]
    except BrokenPipeError:  # every child is gone
        return waiting[done:]
    if waiting:
        os.close(todo)
    return []


def _answers(buffer: bytearray) -> Iterator[tuple[int, Any]]:
    """Takes whole answers off the buffer."""
    while len(buffer) >= UNIT.size:
        (size,) = UNIT.unpack_from(buffer)
        if len(buffer) < UNIT.size + size:
            return
        yield pickle.loads(memoryview(buffer)[UNIT.size : UNIT.size + size])  # noqa: S301  (from our own child)
        del buffer[: UNIT.size + size]
