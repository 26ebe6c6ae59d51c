"""The crude look at who wrote a line, and the signs that a block may read otherwise."""

import pytest

from logsig.labels import label_at, writer_at, writers_in
from logsig.views import read_again, signs


@pytest.mark.parametrize(
    ("line", "writer"),
    [
        (b"[rank3]: RuntimeError: boom", b"[rank3]"),
        (b"[default3]:[rank11]: boom", b"[default3]"),
        (b"[rank: 3] Seed set to 1", b"[rank: 3]"),
        (b"2026-05-01 12:00:00,123 [rank3] boom", b"[rank3]"),
        (b"\x1b[36m(RayTrainWorker pid=123, ip=10.0.0.1)\x1b[0m boom", b"(RayTrainWorker pid=123, ip=10.0.0.1)"),
        (b"[1,3]<stdout>:boom", b"[1,3]"),
        (b" 3: boom", b" 3: "),
        (b"[pod/llama-worker-0/trainer] boom", b"[pod/llama-worker-0/trainer]"),
        (b"boom", None),
        (b"2026-05-01 12:00:00,123 INFO waiting for rank 3", None),
    ],
)
def test_a_writer_is_named_at_the_start_of_its_line(line, writer):
    assert writer_at(b"before\n" + line + b"\n", 7, 7 + len(line)) == writer


def test_a_rank_that_a_line_speaks_of_tells_hits_apart():
    line = b"E0501 12:00:00.1 ProcessGroupNCCL.cpp:683] [Rank 3] Watchdog caught"
    assert (writer_at(line, 0, len(line)), label_at(line, 0, len(line))) == (None, b"Rank 3")


def test_the_last_whole_line_of_each_writer_counts():
    assert writers_in(b"[rank1]: a\n[rank2]: b\n[rank1]: c\nno one\n[rank") == {b"[rank1]": 22, b"[rank2]": 11}


def lines(*texts):
    return b"".join(text + b"\n" for text in texts) * 40


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (lines(b"step 1 loss 2.0", b"step 2 loss 2.11"), set()),
        (lines(b"2026-05-01 step 1234 loss 2.0000 lr 3.0e-04 ok"), set()),
        (lines(b"\x1b[31mERROR\x1b[0m boom"), {"colour"}),
        (lines(b"b\0o\0o\0m\0"), {"nul"}),
        (b"\0" * 9000, set()),
        (lines("│ boom │".encode()), {"wrap"}),
        (
            lines(
                b"RuntimeError: Expected to have finished reduct",
                b"ion in the prior iteration before starting a n",
                b"ew one.",
            ),
            {"wrap"},
        ),
    ],
)
def test_signs_tell_what_may_hide_a_literal(data, expected):
    assert signs(data, 0, len(data)) == expected


def test_another_reading_is_whole_and_says_where_it_is():
    data = lines(b"\x1b[31mboom\x1b[0m") * 100
    pieces = list(read_again(data, 0, len(data), frozenset({"colour"})))
    assert b"".join(reading for _, _, reading in pieces) == b"boom\n" * 4000
    assert [start for start, _, _ in pieces] == [0, *(stop for _, stop, _ in pieces[:-1])]
