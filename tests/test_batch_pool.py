"""Workers that die: the culprit is tried once more and named, and nothing else is lost."""

from __future__ import annotations

import os
import signal
import time

import pytest

from logsig.batch import pool
from logsig.batch.pool import BEGINS, Bounds, Stop

BOUNDS = Bounds(seconds=20, memory=1 << 30)


def run(units, work, bounds=BOUNDS, workers=2, **more):
    return sorted(pool.run(units, work, workers, bounds, **more))


def square(unit, _given):
    for job in unit:
        yield job, job * job


def one_by_one(count):
    return [[job] for job in range(count)]


def test_every_job_is_answered_once():
    assert run(one_by_one(100), square) == [(job, job * job, None) for job in range(100)]


def test_a_worker_gets_what_is_given_for_its_unit():
    def work(unit, given):
        yield unit[0], given

    assert run(one_by_one(3), work, given=lambda unit: [f"job {unit[0]}"]) == [
        (job, [f"job {job}"], None) for job in range(3)
    ]


def test_one_worker_does_it_all():
    assert len(run(one_by_one(10), square, workers=1)) == 10


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "its worker was ended by signal 9 (SIGKILL), twice"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "its worker was ended by signal 15 (SIGTERM), twice"),
        (lambda: os._exit(3), "its worker ended with exit code 3, twice"),
        (lambda: bytearray(4 << 30), "it needs more memory than one log may, twice"),
        (lambda: 1 // 0, "internal fault: ZeroDivisionError: integer division or modulo by zero, twice"),
    ],
    ids=["killed", "ended", "left", "memory", "fault"],
)
def test_what_kills_its_worker_twice_is_set_aside_by_name(harm, reason):
    def work(unit, _given):
        for job in unit:
            if job == 7:
                harm()
            yield job, job

    found = run(one_by_one(20), work)
    assert [answer for answer in found if answer.error] == [(7, None, reason)]
    assert [answer.job for answer in found] == list(range(20))


def test_what_hangs_its_worker_is_set_aside():
    def work(unit, _given):
        if unit[0] == 3:
            time.sleep(60)
        yield unit[0], 0

    found = run(one_by_one(6), work, Bounds(seconds=0.4, memory=1 << 30))
    assert [answer for answer in found if answer.error] == [(3, None, "it took longer than 0 s, twice")]
    assert len(found) == 6


def test_a_death_by_accident_costs_nothing(tmp_path):
    """A job that killed its worker once (the kernel was short of memory) is tried again."""

    def work(unit, _given):
        if unit[0] == 2 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield unit[0], "fine"

    assert run(one_by_one(5), work) == [(job, "fine", None) for job in range(5)]


def test_the_other_jobs_of_the_culprits_unit_go_on():
    """In an archive the worker says which job it is at."""

    def work(unit, _given):
        for job in unit:
            yield job, BEGINS
            if job == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            yield job, job

    found = run([list(range(10))], work)
    assert [answer.job for answer in found] == list(range(10))
    assert [answer.job for answer in found if answer.error] == [4]


def test_a_unit_larger_than_a_pipe_goes_through():
    unit = list(range(50_000))
    assert len(run([[50_000], unit, [50_001], [50_002]], square)) == 50_003


def test_a_stop_keeps_what_is_done_and_ends_the_workers():
    """Asked for after the first answer, however slow the machine is."""
    stop = Stop()

    def work(unit, _given):
        time.sleep(0.02)
        yield unit[0], os.getpid()

    found = []
    for answer in pool.run(one_by_one(1000), work, 2, BOUNDS, stop=stop):
        found.append(answer)
        stop.ask()
    assert 0 < len(found) < 1000
    for worker in {answer.value for answer in found}:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_a_reader_that_goes_away_ends_the_workers():
    answers = pool.run(one_by_one(1000), lambda unit, _given: iter([(unit[0], os.getpid())]), 2, BOUNDS)
    worker = next(answers).value
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_without_fork_it_works_in_one_process(monkeypatch):
    monkeypatch.delattr(os, "fork")

    def work(unit, _given):
        if unit[0] == 1:
            raise ValueError("odd")
        yield unit[0], os.getpid()

    assert run(one_by_one(3), work) == [
        (0, os.getpid(), None),
        (1, None, "internal fault: ValueError: odd"),
        (2, os.getpid(), None),
    ]
