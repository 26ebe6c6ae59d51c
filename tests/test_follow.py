"""Following a log that grows: when there is news, what it holds, and what becomes of a file that is cut or replaced."""

import io
import os
import threading

import pytest

from logsig.errors import InputError
from logsig.follow import Pace, follow

LITERALS = ["CUDA error", "Watchdog caught"]


class Clock:
    """A clock that only sleeping moves; each sleep lets the log grow by the next step of a script."""

    def __init__(self, *steps):
        self.time = 0.0
        self.steps = list(steps)

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds
        if self.steps and self.steps[0][0] <= self.time:
            self.steps.pop(0)[1]()

    def pace(self, **options):
        return Pace(now=self.now, sleep=self.sleep, **options)


def append(path, data):
    return lambda: path.open("ab").write(data) and None


def texts(scan):
    return b"".join(excerpt.data for excerpt in scan.excerpts)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(b"step 1\n")
    return path


def test_a_failure_is_news_once_the_log_pauses(log):
    clock = Clock(
        (5, append(log, b"CUDA err")), (5.5, append(log, b"or: out of memory\n")), (6.5, append(log, b"bye\n"))
    )
    scan = next(follow(str(log), LITERALS, pace=clock.pace()))
    assert texts(scan) == b"step 1\nCUDA error: out of memory\nbye\n"
    assert scan.hits == {"CUDA error": 1}
    assert clock.time == 8.5


def test_a_log_that_never_pauses_is_told_about(log):
    steps = [(number, append(log, b"CUDA error %d\n" % number)) for number in range(1, 60)]
    clock = Clock(*steps)
    scans = follow(str(log), LITERALS, pace=clock.pace())
    assert [(len(texts(next(scans)).splitlines()), clock.time) for _ in range(2)] == [(16, 16.0), (31, 31.0)]


def test_silence_is_news_ever_less_often(log):
    clock = Clock()
    scans = follow(str(log), LITERALS, pace=clock.pace())
    assert [(texts(next(scans)), clock.time) for _ in range(3)] == [
        (b"step 1\n", 300.0),
        (b"step 1\n", 600.0),
        (b"step 1\n", 1200.0),
    ]


def test_nothing_is_read_twice(log, monkeypatch):
    """However often there is news, each byte is searched once."""
    searched = []
    from logsig import follow as module

    look = module.look
    monkeypatch.setattr(module, "look", lambda block, engine: searched.append(block.text()) or look(block, engine))
    clock = Clock(*[(10 * number, append(log, b"CUDA error %d\n" % number)) for number in range(1, 20)])
    scans = follow(str(log), LITERALS, pace=clock.pace())
    for number in range(1, 20):
        assert next(scans).hits == {"CUDA error": number}
    assert b"".join(searched) == log.read_bytes()


def test_a_literal_that_arrives_in_pieces_is_found_once(log):
    clock = Clock((1, append(log, b"x" * 100 + b"Watchdog ")), (400, append(log, b"caught collective\n")))
    scans = follow(str(log), LITERALS, pace=clock.pace())
    assert texts(next(scans)).endswith(b"Watchdog ")  # told for its silence, in mid-line
    assert next(scans).hits == {"Watchdog caught": 1}


def test_a_cut_file_begins_anew(log):
    clock = Clock((5, lambda: log.write_bytes(b"")), (7, append(log, b"CUDA error\n")))
    scans = follow(str(log), LITERALS, pace=clock.pace())
    first, second = next(scans), next(scans)
    assert texts(first) == b"step 1\n"
    assert texts(second) == b"step 1\nCUDA error\n"
    assert [excerpt.first_line for excerpt in second.excerpts] == [1, 1]
    assert second.doubts == (f"{log}: the file was cut and begins anew",)


def test_a_replaced_file_is_followed(log):
    def rotate():
        os.rename(log, log.with_suffix(".log.1"))
        log.write_bytes(b"new\nCUDA error\n")

    clock = Clock((5, rotate))
    scans = follow(str(log), LITERALS, pace=clock.pace())
    assert texts(next(scans)) == b"step 1\n"
    second = next(scans)
    assert texts(second) == b"step 1\nnew\nCUDA error\n"
    assert second.doubts == (f"{log}: the file was replaced by a new one",)


def test_a_pipe_ends():
    read, write = os.pipe()
    threading.Thread(
        target=lambda: [os.write(write, b"CUDA err"), os.write(write, b"or\nlast"), os.close(write)]
    ).start()
    with io.FileIO(read) as pipe:
        *_, last = follow("-", LITERALS, stdin=pipe, pace=Pace(look=0.01))
    assert texts(last) == b"CUDA error\nlast"
    assert last.hits == {"CUDA error": 1}


def test_a_large_log_keeps_what_scan_keeps(tmp_path):
    from logsig.scan import scan

    path = tmp_path / "large.log"
    path.write_bytes(b"".join(b"[rank%d]: step %d\n" % (n % 8, n) for n in range(100_000)) + b"[rank3]: CUDA error\n")
    found, whole = next(follow(str(path), LITERALS, pace=Clock().pace())), scan([str(path)], LITERALS)
    assert [(e.offset, e.first_line, e.data, e.kind) for e in found.excerpts] == [
        (e.offset, e.first_line, e.data, e.kind) for e in whole.excerpts
    ]


def test_a_file_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such file or directory"):
        next(follow(str(tmp_path / "nowhere.log"), LITERALS))
