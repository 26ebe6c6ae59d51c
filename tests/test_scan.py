"""The scan: which bytes of which inputs are kept, where they say they come from, and what is said of the rest."""

import io
import os
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logsig import ahead, blocks, look, parallel, scan, skim, tails, windows
from logsig.engine import make_engine
from logsig.errors import InputError

LITERALS = (
    "Traceback (most recent call last)",
    "CUDA error",
    "Connection reset by peer",
    "Expected to have finished reduction",
)
BLOCK = 4096


@pytest.fixture
def small(monkeypatch):
    """All sizes a thousandth, so that a test log of some hundred kilobytes is a large one."""
    monkeypatch.setattr(blocks, "BLOCK", BLOCK)
    monkeypatch.setattr(parallel, "BLOCK", BLOCK)
    monkeypatch.setattr(parallel, "SEGMENT", 4 * BLOCK)
    monkeypatch.setattr(skim, "RING", 256 << 10)
    monkeypatch.setattr(tails, "STEP", 4 << 10)
    monkeypatch.setattr(tails, "NEAR", 64 << 10)
    monkeypatch.setattr(tails, "FAR", 256 << 10)
    limits = windows.Limits(
        whole=4 << 10,
        head=2 << 10,
        tail=4 << 10,
        tail_each=16,
        tail_most=8 << 10,
        widths=((8, 1 << 10, 2 << 10), (1 << 62, 256, 512)),
        unnamed=16,
        apart=2 << 10,
        again=16 << 10,
        again_in_all=64 << 10,
    )
    monkeypatch.setattr(windows.Limits, "shared", staticmethod(lambda _inputs: limits))
    return limits


def quiet(lines, ranks=4, seed=1):
    """Lines of a healthy training job."""
    rnd = random.Random(seed)
    return [
        b"[rank%d]: step %d loss %.4f tokens/s %d\n" % (n % ranks, n // ranks, rnd.random(), rnd.randrange(9000, 12000))
        for n in range(lines)
    ]


def write(tmp_path, lines, name="train.log"):
    path = tmp_path / name
    path.write_bytes(b"".join(lines))
    return str(path)


def check_places(found, data):
    """Every excerpt is the file's own bytes, at the offset and line that it says, whole lines, none twice."""
    end = -1
    for excerpt in found.excerpts:
        assert excerpt.data == data[excerpt.offset : excerpt.offset + len(excerpt.data)]
        assert excerpt.first_line == data.count(b"\n", 0, excerpt.offset) + 1
        assert excerpt.offset in (0, 3) or data[excerpt.offset - 1 : excerpt.offset] == b"\n"
        assert excerpt.data.endswith(b"\n") or excerpt.offset + len(excerpt.data) == len(data)
        assert excerpt.offset > end
        end = excerpt.offset + len(excerpt.data)


def kept(found):
    return b"".join(excerpt.data for excerpt in found.excerpts)


# ---------------------------------------------------------------- what is kept


def test_a_small_file_is_kept_whole(tmp_path):
    data = b"".join(quiet(100))
    found = scan.scan([write(tmp_path, [data])], LITERALS)
    assert [(e.first_line, e.offset, e.data, e.kind) for e in found.excerpts] == [(1, 0, data, "head")]
    assert (found.hits, found.doubts, found.unreadable) == ({}, (), False)


@pytest.mark.usefixtures("small")
def test_a_large_file_keeps_head_hits_and_tail(tmp_path):
    lines = quiet(4000)
    lines[2000] = b"[rank2]: RuntimeError: CUDA error: an illegal memory access\n"
    path = write(tmp_path, lines)
    found = scan.scan([path], LITERALS)
    check_places(found, b"".join(lines))
    assert [excerpt.kind for excerpt in found.excerpts] == ["head", "hit", "tail"]
    assert lines[2000] in found.excerpts[1].data
    assert found.hits == {"CUDA error": 1}
    assert found.sizes == {path: len(b"".join(lines))}
    assert len(kept(found)) < 16 << 10


@pytest.mark.usefixtures("small")
def test_every_rank_that_fails_is_kept(tmp_path):
    """A failing job prints a traceback for each rank; none may be lost to the repetition."""
    lines = quiet(3000)
    for rank in range(500):
        lines += [b"[rank%d]: Traceback (most recent call last):\n" % rank, b"[rank%d]:   frame\n" % rank]
        lines += quiet(20, seed=rank)
    lines += quiet(3000)
    found = scan.scan([write(tmp_path, lines)], LITERALS)
    check_places(found, b"".join(lines))
    said = [b"[rank%d]: Traceback (most recent call last):\n[rank%d]:   frame\n" % (rank, rank) for rank in range(500)]
    assert [line for line in said if line not in kept(found)] == []


@pytest.mark.usefixtures("small")
def test_a_storm_is_counted_and_its_start_and_end_are_kept(tmp_path):
    lines = quiet(500)
    for number in range(6000):
        lines += [b"[rank1]: attempt %d: Connection reset by peer\n" % number, *quiet(4, seed=number)]
    lines += quiet(2000)
    found = scan.scan([write(tmp_path, lines)], LITERALS)
    check_places(found, b"".join(lines))
    assert found.hits == {"Connection reset by peer": 6000}
    assert b"attempt 0:" in kept(found)
    assert b"attempt 5999:" in kept(found)
    assert len(kept(found)) < 120 << 10
    left = 6000 - kept(found).count(b"Connection reset by peer")
    said = f"{left:,} repeats of messages ('Connection reset by peer' most) were counted, not read"
    assert found.doubts == (f"{found.origins[0].path}: {said}",)


@pytest.mark.usefixtures("small")
def test_each_attempt_of_many_is_kept(tmp_path):
    """The same failure of the same rank far later is another incident."""
    lines = []
    for attempt in range(12):
        lines += [*quiet(300), b"[rank1]: attempt %d Expected to have finished reduction\n" % attempt]
    found = scan.scan([write(tmp_path, lines)], LITERALS)
    assert all(b"attempt %d Expected" % attempt in kept(found) for attempt in range(12))


@pytest.mark.usefixtures("small")
def test_the_last_words_of_a_rank_that_fell_silent_are_kept(tmp_path):
    lines = quiet(2000, ranks=4)
    last = max(number for number, line in enumerate(lines[:1500]) if line.startswith(b"[rank3]"))
    lines = [line for number, line in enumerate(lines) if number <= last or not line.startswith(b"[rank3]")]
    found = scan.scan([write(tmp_path, lines)], LITERALS)
    check_places(found, b"".join(lines))
    assert lines[last] in kept(found)
    assert [excerpt.kind for excerpt in found.excerpts] == ["head", "tail", "tail"]


@pytest.mark.usefixtures("small")
def test_a_writer_not_found_again_is_said(tmp_path):
    lines = [b"[rank9]: hello\n", *quiet(40000)]
    found = scan.scan([write(tmp_path, lines)], LITERALS)
    said = "1 of 5 writers fell silent so early that their end wasn't looked for"
    assert found.doubts == (f"{found.origins[0].path}: {said}",)


@pytest.mark.usefixtures("small")
def test_lines_of_one_literal_broken_by_colours_wraps_or_nul_open_a_window(tmp_path):
    wide = b"x" * 58 + b"Expected to have fini\n" + b"shed reduction in the prior iteration" + b"y" * 43 + b"\n"
    for broken in (
        b"[rank2]: Expected to \x1b[1mhave\x1b[0m finished reduction\n",
        b"[rank2]: E\0x\0p\0e\0c\0t\0e\0d\0 \0to have finished reduction\n",
        "│ Expected to have fini │\n│ shed reduction in the │\n".encode(),
        wide,
    ):
        filler = (
            [b"z" * 60 + b" word wra\n" + b"p" * 30 + b"%d\n" % n for n in range(2000)]
            if broken is wide
            else quiet(2000)
        )
        lines = [*filler[:1000], *[broken] * 200, *filler[1000:]]
        found = scan.scan([write(tmp_path, lines)], LITERALS)
        assert found.hits.get("Expected to have finished reduction", 0) > 50, broken
        assert broken in kept(found)


# ---------------------------------------------------------------- the same however it is read


def jobs_and_pipe(path, data):
    yield scan.scan([path], LITERALS, jobs=1)
    yield scan.scan([path], LITERALS, jobs=3)
    yield scan.scan(["-"], LITERALS, stdin=Trickle(data))


class Trickle:
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data, size=1777):
        self._data = data
        self._size = size
        self._at = 0

    def read(self, size=-1):
        piece = self._data[self._at : self._at + min(size, self._size)]
        self._at += len(piece)
        return piece


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("small")
def test_file_pipe_and_several_processes_see_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(skim, "WORTH", 0)
    monkeypatch.setattr(parallel.threading, "active_count", lambda: 1)
    rnd = random.Random(5)
    lines = quiet(6000)
    for _ in range(300):
        lines.insert(
            rnd.randrange(len(lines)), b"[rank%d]: CUDA error %s\n" % (rnd.randrange(9), b"long " * rnd.randrange(3000))
        )
    lines.append(b"no newline at the end")
    data = b"".join(lines)
    path = write(tmp_path, [data])
    one, several, pipe = jobs_and_pipe(path, data)
    check_places(one, data)
    assert [(e.offset, e.first_line, e.data, e.kind) for e in one.excerpts] == [
        (e.offset, e.first_line, e.data, e.kind) for e in several.excerpts
    ]
    assert one.hits == several.hits == pipe.hits == {"CUDA error": 300}
    assert [(e.offset, e.first_line, e.data) for e in pipe.excerpts] == [
        (e.offset, e.first_line, e.data) for e in one.excerpts
    ]


@settings(max_examples=60, deadline=None)
@given(
    tail=st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [b"\n", b"\r", b"CUDA error", b"[rank1]: ", b"\0" * 50, b"x" * 300, b"\xff\xfe", "é".encode() * 20]
            ),
        ),
        max_size=60,
    ).map(b"".join),
    block=st.sampled_from([16, 64, 256]),
)
def test_blocks_lose_nothing_and_any_bytes_are_read(tail, block):
    """Random bytes never raise, and blocks are the input, cut at the same places wherever the reading begins."""
    data = b"log: " + tail
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        found = [b.text() for b in blocks.cut(blocks.StreamSource(io.BytesIO(data)), 32)]
        assert b"".join(found) == data
        assert all(piece.endswith((b"\n", b"\r")) or len(piece) >= block - 4 for piece in found[:-1])
        for start in range(0, len(data), block):
            source = blocks.StreamSource(io.BytesIO(data[start:]))
            rest = [b.text() for b in blocks.cut_from(source, 32, start, data[:start], is_part=False)]
            assert rest == found[len(found) - len(rest) :]
        seen = scan.scan(["-"], LITERALS, stdin=io.BytesIO(data))
        assert kept(seen) == data


@pytest.mark.parametrize("gap", [0, 1, 5, 9, 10])
@pytest.mark.usefixtures("small")
def test_a_literal_across_a_cut_line_is_found_once(gap, tmp_path):
    data = b"a" * (BLOCK - gap) + b"CUDA error" + b"b" * 3 * BLOCK
    assert scan.scan([write(tmp_path, [data])], LITERALS).hits == {"CUDA error": 1}


@pytest.mark.usefixtures("small")
def test_a_line_longer_than_all_limits_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "LINE", 1024)
    data = b"start\n" + b"a" * 60_000 + b" CUDA error " + b"b" * 60_000 + b"\nend\n"
    found = scan.scan([write(tmp_path, [data])], LITERALS)
    assert found.hits == {"CUDA error": 1}
    assert b" CUDA error " in kept(found)
    assert [excerpt.first_line for excerpt in found.excerpts] == [1, 2, 2]
    assert len(kept(found)) < 20_000


# ---------------------------------------------------------------- what is said


def test_a_limit_is_said(tmp_path):
    path = write(tmp_path, quiet(1000))
    found = scan.scan([path], LITERALS, max_bytes=5000)
    assert kept(found) == b"".join(quiet(1000))[:5000]
    assert found.doubts == (f"{path}: read only up to the limit of 5,000 bytes",)
    assert not found.unreadable


def test_a_limit_that_is_the_size_is_not_said(tmp_path):
    data = b"".join(quiet(10))
    assert scan.scan([write(tmp_path, [data])], LITERALS, max_bytes=len(data)).doubts == ()


GATHER = skim.gather


@pytest.mark.usefixtures("small")
def test_a_file_cut_between_the_two_looks_is_said(tmp_path, monkeypatch):
    path = write(tmp_path, quiet(4000))

    def cut_first(leaf, file, findings, *rest):
        found = list(findings)
        os.truncate(path, 1000)
        return GATHER(leaf, file, iter(found), *rest)

    monkeypatch.setattr(skim, "gather", cut_first)
    found = scan.scan([path], LITERALS)
    assert found.unreadable
    assert found.doubts == (f"{path}: the file changed while it was read; parts of it were lost",)
    assert kept(found) == b"".join(quiet(4000))[:1000]


class Failing:
    """A disk that fails in mid-read."""

    def __init__(self, data):
        self._parts = [data]

    def read(self, _size=-1):
        if self._parts:
            return self._parts.pop()
        raise OSError(5, "Input/output error")


@pytest.mark.usefixtures("small")
def test_a_disk_that_fails_in_mid_read_loses_nothing_before():
    lines = quiet(3000)
    found = scan.scan(["-"], LITERALS, stdin=Failing(b"".join(lines)))
    assert found.unreadable
    assert lines[-1] in kept(found)
    size = len(b"".join(lines))
    assert found.doubts[0] == f"<stdin>: input/output error; the {size:,} bytes before were read"


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.log: no such file or directory"):
        scan.scan([str(tmp_path / "nowhere.log")], LITERALS)


def test_an_empty_file_is_no_fault(tmp_path):
    found = scan.scan([write(tmp_path, [])], LITERALS)
    assert (found.excerpts, found.doubts, found.unreadable) == ((), (), False)
    assert [origin.path for origin in found.origins] == [str(tmp_path / "train.log")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_fifo_is_read_to_its_end(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(b"from a pipe\n")).start()
    assert kept(scan.scan([str(path)], LITERALS)) == b"from a pipe\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_a_file_without_size_is_read():
    found = scan.scan(["/proc/self/status"], LITERALS)
    assert kept(found).startswith(b"Name:")


def test_memory_does_not_grow_with_the_log(tmp_path):
    """A sparse file of two gigabytes without a newline takes no more than one of some megabytes."""
    import resource
    import subprocess
    import sys

    code = (
        "import sys, resource; from logsig.scan import scan; scan(sys.argv[1:], ['CUDA error'], jobs=1);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    assert resource.RLIM_INFINITY
    peaks = []
    for size in (8 << 20, 512 << 20):
        path = tmp_path / f"{size}.log"
        with path.open("wb") as file:
            file.truncate(size)
        peaks.append(
            int(subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True).stdout)
        )
    assert peaks[1] < peaks[0] + 4096


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("small")
def test_children_that_die_are_replaced(tmp_path, monkeypatch):
    """What a killed child left undone is done here, with the same answer."""
    path = write(tmp_path, quiet(6000))
    before = scan.scan([path], LITERALS, jobs=1)
    monkeypatch.setattr(skim, "WORTH", 0)
    monkeypatch.setattr(parallel.threading, "active_count", lambda: 1)
    monkeypatch.setattr(parallel, "_work", lambda _tasks, _todo, _answer: os._exit(9))
    assert scan.scan([path], LITERALS, jobs=2) == before


def test_a_hit_inside_an_open_window_pays_nothing_back():
    """What is kept of messages met before is bounded, in whatever order wide and narrow windows come."""
    keeper = windows.Keeper(windows.Limits(again=1 << 30, again_in_all=300_000, incidents=1000))
    place = iter(range(1 << 20, 1 << 40, 1 << 20))

    def meet(*hits):
        keeper.choose(windows.Findings(0, 0, 0, {}, (), hits))

    for number in range(8):
        meet((1, next(place), b"writer %d" % number))  # its windows get narrow
    meet(*((1, next(place), b"x") for _ in range(4)))
    for number in range(60):
        at = next(place)
        meet((10 + number, at, b"x"), (1, at + 100, b"x"))  # a wide window, and a narrow one in it
    before = len(list(keeper.windows()))
    meet(*((1, next(place), b"x") for _ in range(60)))
    assert len(list(keeper.windows())) - before <= 300_000 // 24_000 + 1


def test_what_a_line_joins_that_fills_blocks_has_one_writer():
    """Ranks spoken of where such a line happens to be looked at are no writers, each with windows of its own."""
    data = bytearray(b"".join(b"CUDA error of rank %d, then " % (n % 50) + b"x" * 300 for n in range(5000)))
    engine = make_engine(["CUDA error"])
    found = look.look(blocks.Block(data, 0, len(data), 1 << 21, is_clean=False, newlines=0), engine, 0)
    assert found.counts == {0: 5000}
    assert {label for _, _, label in found.hits} == {look.ENDLESS}
    data[1000] = 10
    found = look.look(blocks.Block(data, 0, len(data), 1 << 21, is_clean=False, newlines=1), engine, 0)
    assert b"rank 4" in {label for _, _, label in found.hits}


def test_a_small_input_starts_no_thread(monkeypatch):
    """An archive may have a hundred thousand members, most of them a block or none."""
    monkeypatch.setattr(threading, "Thread", None)
    assert list(ahead.ahead(iter(()))) == []
    assert list(ahead.ahead(iter(("block",)))) == ["block"]


@pytest.mark.usefixtures("small")
def test_a_buffer_that_is_used_again_shows_nothing_of_the_input_before(tmp_path, monkeypatch):
    """One process without threads reads many files; each is longer or shorter than the last."""
    monkeypatch.setattr(skim, "cores", lambda: 1)
    monkeypatch.setattr(blocks, "_spare", [])
    for name, size in {"a": 1.6, "b": 1.1, "c": 2.4, "d": 0.4}.items():
        words = b"NEEDLE" if name in "ac" else b"nothing"
        lines = int(size * 8 * BLOCK) // 50
        (tmp_path / name).write_bytes(b"".join(b"%s %s %040d\n" % (name.encode(), words, at) for at in range(lines)))
    for names in ("abcd", "dcba"):
        alone = [scan.scan([str(tmp_path / name)], ["NEEDLE"], jobs=1) for name in names]
        together = scan.scan([str(tmp_path / name) for name in names], ["NEEDLE"], jobs=1)
        assert len(blocks._spare) == 1
        assert together.hits == {"NEEDLE": sum(one.hits.get("NEEDLE", 0) for one in alone)}
        assert together.excerpts == tuple(excerpt for one in alone for excerpt in one.excerpts)
        for excerpt in together.excerpts:
            whole = (tmp_path / excerpt.origin.path).read_bytes()
            assert excerpt.data == whole[excerpt.offset : excerpt.offset + len(excerpt.data)]
