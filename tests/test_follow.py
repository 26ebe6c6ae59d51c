"""Following a log that grows: when there is news, what it holds, and what becomes of a file that is cut or replaced."""

import gzip
import os
import threading

import pytest

from logsig.errors import InputError
from logsig.follow import OLDER, Kind, Pace, follow
from logsig.stdin import Stdin

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


def texts(news):
    return b"".join(excerpt.data for excerpt in news.scan.excerpts)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(b"step 1\n")
    return path


def test_a_failure_is_news_at_once_and_when_the_log_pauses(log):
    clock = Clock(
        (5, append(log, b"CUDA err")), (5.5, append(log, b"or: out of memory\n")), (6.5, append(log, b"bye\n"))
    )
    scans = follow(str(log), LITERALS, pace=clock.pace())
    seen, settled = next(scans), next(scans)
    assert (seen.kind, seen.time) == (Kind.SEEN, 6.0)
    assert (settled.kind, settled.time, settled.quiet) == (Kind.SETTLED, 8.5, 2.0)
    assert texts(settled) == b"step 1\nCUDA error: out of memory\nbye\n"
    assert settled.scan.hits == {"CUDA error": 1}


def test_other_lines_do_not_keep_a_failure_from_settling(log):
    steps = [(number, append(log, b"alive\n")) for number in range(2, 60)]
    clock = Clock((1, append(log, b"CUDA error\n")), *steps)
    news = follow(str(log), LITERALS, pace=clock.pace())
    assert [(each.kind, each.time) for each in (next(news), next(news))] == [(Kind.SEEN, 1.5), (Kind.SETTLED, 4.0)]


def test_a_log_that_never_pauses_is_told_about(log):
    steps = [(number, append(log, b"CUDA error %d\n" % number)) for number in range(1, 60)]
    news = follow(str(log), LITERALS, pace=Clock(*steps).pace())
    settled = (each for each in news if each.kind is Kind.SETTLED)
    assert [(len(texts(each).splitlines()), each.time) for each in (next(settled), next(settled))] == [
        (16, 16.0),
        (31, 31.0),
    ]


def test_telling_takes_a_small_share_of_the_time(log):
    """Whoever needs long to tell a piece of news is given the next one only after a rest."""
    steps = [(number, append(log, b"CUDA error %d\n" % number)) for number in range(1, 60)]
    clock = Clock(*steps)
    news = follow(str(log), LITERALS, pace=clock.pace())
    first = next(news)
    clock.time += 1.0
    assert next(news).time - first.time >= 11.0


def test_silence_is_news_ever_less_often(log):
    silences = (each for each in follow(str(log), LITERALS, pace=Clock().pace()) if each.kind is Kind.SILENT)
    assert [(texts(each), each.time) for each in (next(silences), next(silences), next(silences))] == [
        (b"step 1\n", 300.0),
        (b"step 1\n", 450.0),
        (b"step 1\n", 675.0),
    ]


def test_a_log_without_findings_is_looked_at_now_and_then(log):
    clock = Clock(*[(10 * number, append(log, b"alive\n")) for number in range(1, 30)])
    news = follow(str(log), LITERALS, pace=clock.pace())
    assert [(each.kind, each.time) for each in (next(news), next(news))] == [(Kind.CHECK, 60.0), (Kind.CHECK, 120.0)]


def test_nothing_is_read_twice(log, monkeypatch):
    """However often there is news, each byte is searched once."""
    searched = []
    from logsig import follow as module

    look = module.look
    monkeypatch.setattr(module, "look", lambda block, *rest: searched.append(block.text()) or look(block, *rest))
    clock = Clock(*[(10 * number, append(log, b"CUDA error %d\n" % number)) for number in range(1, 20)])
    scans = follow(str(log), LITERALS, pace=clock.pace())
    for number in range(1, 20):
        assert next(scans).scan.hits == next(scans).scan.hits == {"CUDA error": number}
    assert b"".join(searched) == log.read_bytes()


def test_a_literal_that_arrives_in_pieces_is_found_once(log):
    clock = Clock((1, append(log, b"x" * 100 + b"Watchdog ")), (400, append(log, b"caught collective\n")))
    scans = follow(str(log), LITERALS, pace=clock.pace())
    assert texts(next(scans)).endswith(b"Watchdog ")  # told for its silence, in mid-line
    assert next(each.scan.hits for each in scans if each.scan.hits) == {"Watchdog caught": 1}


def test_a_cut_file_begins_anew(log):
    clock = Clock((5, lambda: log.write_bytes(b"")), (7, append(log, b"CUDA error\n")))
    scans = follow(str(log), LITERALS, pace=clock.pace())
    first, second = next(scans), next(scans)
    assert texts(first) == b"step 1\n"
    assert texts(second) == b"step 1\nCUDA error\n"
    assert [excerpt.first_line for excerpt in second.scan.excerpts] == [1, 1]
    assert second.scan.doubts == (f"{log}: the file was cut and begins anew",)


def test_a_replaced_file_is_followed(log):
    def rotate():
        os.rename(log, log.with_suffix(".log.1"))
        log.write_bytes(b"new\nCUDA error\n")

    clock = Clock((5, rotate))
    scans = follow(str(log), LITERALS, pace=clock.pace())
    assert texts(next(scans)) == b"step 1\n"
    second = next(scans)
    assert texts(second) == b"step 1\nnew\nCUDA error\n"
    assert second.scan.doubts == (f"{log}: the file was replaced by a new one",)


def test_files_of_one_name_are_forgotten_in_the_end(log):
    """A log that is rotated for months doesn't fill the memory."""
    steps = [(10 * number, lambda: log.write_bytes(b"")) for number in range(1, 2 * OLDER + 4, 2)]
    steps += [(10 * number, append(log, b"CUDA error\n")) for number in range(2, 2 * OLDER + 4, 2)]
    clock = Clock(*sorted(steps, key=lambda step: step[0]))
    last = None
    for news in follow(str(log), LITERALS, pace=clock.pace(), is_over=lambda: not clock.steps):
        last = news
    assert len(last.scan.origins) == OLDER + 1
    assert last.scan.doubts[-1] == f"{log}: began anew so often that what the first 1 held is forgotten"


def test_last_words_in_a_replaced_file_are_read(log, monkeypatch):
    """What came between the last read and the rotation isn't lost."""
    from logsig import follow as module

    has_more = module._File._has_more

    def write_first(self):
        if not log.with_suffix(".done").exists():
            log.with_suffix(".done").touch()
            append(log.with_suffix(".log.1"), b"last words\n")()
        return has_more(self)

    monkeypatch.setattr(module._File, "_has_more", write_first)
    clock = Clock((5, lambda: (os.rename(log, log.with_suffix(".log.1")), log.write_bytes(b"new\n"))))
    assert texts(next(follow(str(log), LITERALS, pace=clock.pace()))) == b"step 1\nlast words\n"


def test_the_caller_ends_it(log):
    news = list(follow(str(log), LITERALS, pace=Clock().pace(), is_over=lambda: True))
    assert [each.kind for each in news] == [Kind.END]


def test_a_compressed_log_is_refused(tmp_path):
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(b"CUDA error\n"))
    with pytest.raises(InputError, match="is compressed and can't be followed"):
        next(follow(str(tmp_path / "train.log.gz"), LITERALS))


def test_a_fifo_is_a_pipe(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(b"CUDA error\n")).start()
    *_, last = follow(str(path), LITERALS, pace=Pace(look=0.01))
    assert texts(last) == b"CUDA error\n"


def test_a_pipe_ends():
    read, write = os.pipe()
    threading.Thread(
        target=lambda: [os.write(write, b"CUDA err"), os.write(write, b"or\nlast"), os.close(write)]
    ).start()
    *_, last = follow("-", LITERALS, stdin=Stdin(pytest.fail, read), pace=Pace(look=0.01))
    os.close(read)
    assert texts(last) == b"CUDA error\nlast"
    assert last.scan.hits == {"CUDA error": 1}


def test_a_large_log_keeps_what_scan_keeps(tmp_path):
    from logsig.scan import scan

    path = tmp_path / "large.log"
    path.write_bytes(b"".join(b"[rank%d]: step %d\n" % (n % 8, n) for n in range(100_000)) + b"[rank3]: CUDA error\n")
    found, whole = next(follow(str(path), LITERALS, pace=Clock().pace())).scan, scan([str(path)], LITERALS)
    assert [(e.offset, e.first_line, e.data, e.kind) for e in found.excerpts] == [
        (e.offset, e.first_line, e.data, e.kind) for e in whole.excerpts
    ]


def test_a_file_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such file or directory"):
        next(follow(str(tmp_path / "nowhere.log"), LITERALS))
