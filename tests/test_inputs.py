"""Inputs: every kind of file by its bytes, every layout by its names, and what is said of what can't be read."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import tarfile
import zipfile
import zlib
from importlib import import_module

import pytest

from logsig import inputs, scan
from logsig.inputs import unpacking
from logsig.inputs.naming import order, origin_of, why_not_a_log

LOG = (
    b"".join(b"[rank%d]: step %d loss 2.5\n" % (n % 4, n) for n in range(4000))
    + b"[rank1]: CUDA error: out of memory\n"
)


def zstd():
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return pytest.skip("no zstd")


def put(folder, name, data=LOG):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def read(*paths, **options):
    return scan.scan([str(path) for path in paths], ["CUDA error"], **options)


def text(found):
    return b"".join(excerpt.data for excerpt in found.excerpts)


def tarred(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


PACKED = {
    "gzip": gzip.compress,
    "gzip of two members": lambda data: gzip.compress(data[:5000]) + gzip.compress(data[5000:]),
    "gzip padded with zeros": lambda data: gzip.compress(data) + b"\0" * 5000,
    "bzip2": lambda data: bz2.compress(data, 1),
    "bzip2 of two members": lambda data: bz2.compress(data[:5000]) + bz2.compress(data[5000:]),
    "xz": lzma.compress,
    "xz of two streams": lambda data: lzma.compress(data[:5000]) + lzma.compress(data[5000:]),
    "zstd": lambda data: zstd().compress(data),
    "zstd of two frames": lambda data: (
        b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd().compress(data[:5000]) + zstd().compress(data[5000:])
    ),
    "utf-16 with mark": lambda data: data.decode().encode("utf-16"),
    "utf-16 big-endian with mark": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "utf-16 without mark": lambda data: data.decode().encode("utf-16-le"),
    "utf-32": lambda data: data.decode().encode("utf-32"),
    "utf-8 with mark": lambda data: b"\xef\xbb\xbf" + data,
    "gzip of utf-16": lambda data: gzip.compress(data.decode().encode("utf-16")),
    "gzip of zstd": lambda data: gzip.compress(zstd().compress(data)),
}


@pytest.mark.parametrize("kind", PACKED)
def test_content_is_told_by_its_bytes(kind, tmp_path):
    """The name says nothing: any kind may be called train.log, and may come through a pipe."""
    packed = PACKED[kind](LOG)
    path = put(tmp_path, "train.log", packed)
    for found in (read(path), read("-", stdin=io.BytesIO(packed))):
        assert text(found) == LOG
        assert (found.hits, found.doubts, found.unreadable) == ({"CUDA error": 1}, (), False)


def test_lz4_is_read_or_said(tmp_path):
    lz4 = pytest.importorskip("lz4.frame")
    assert text(read(put(tmp_path, "a", lz4.compress(LOG)))) == LOG


def test_missing_lz4_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lz4", None)
    monkeypatch.setitem(__import__("sys").modules, "lz4.frame", None)
    path = put(tmp_path, "a.lz4", b"\x04\x22\x4d\x18rest")
    found = read(path)
    assert found.doubts == (f"{path}: lz4 can't be read here: install 'lz4', or pipe it through lz4 -dc",)
    assert found.unreadable


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd"])
def test_a_cut_tail_keeps_what_was_before(kind, tmp_path):
    log = os.urandom(200_000).hex().encode()
    packed = PACKED[kind](b"first line\n" + log)
    path = put(tmp_path, "cut", packed[: -len(packed) // 3])
    found = read(path)
    assert (b"first line\n" + log).startswith(text(found))
    assert len(text(found)) > 20_000
    assert found.unreadable
    assert found.doubts == (
        f"{path}: the {kind} is cut: its end is missing; the {len(text(found)):,} bytes before were read",
    )


def test_a_damaged_middle_keeps_what_was_before(tmp_path):
    packed = bytearray(gzip.compress(os.urandom(300_000).hex().encode()))
    packed[150_000:150_100] = b"\xff" * 100
    found = read(put(tmp_path, "damaged", bytes(packed)))
    assert found.unreadable
    assert len(text(found)) > 100_000
    assert "damaged gzip: " in found.doubts[0]


def test_bytes_behind_a_gzip_are_said(tmp_path):
    found = read(put(tmp_path, "a", gzip.compress(LOG) + b"not a gzip member"))
    assert text(found) == LOG
    assert "bytes behind the end of the gzip that are none" in found.doubts[0]


def test_with_and_without_isal_the_same(tmp_path, monkeypatch):
    path = put(tmp_path, "a.gz", gzip.compress(LOG * 200))
    expected = read(path)
    monkeypatch.setitem(__import__("sys").modules, "isal", None)
    monkeypatch.setitem(__import__("sys").modules, "isal.isal_zlib", None)
    assert read(path) == expected
    assert sum(expected.sizes.values()) == len(LOG) * 200


def test_what_unpacks_without_end_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "FREE", 1 << 20)
    monkeypatch.setattr(unpacking, "RATIO", 100)
    found = read(put(tmp_path, "bomb.gz", gzip.compress(bytes(50 << 20))))
    assert sum(found.sizes.values()) < 8 << 20
    assert "the gzip unpacks to more than 100 times its size; read no further" in found.doubts[-1]
    assert found.unreadable


def test_containers_without_end_are_left(tmp_path):
    data = LOG
    for _ in range(9):
        data = gzip.compress(data)
    found = read(put(tmp_path, "deep.gz", data))
    assert "more than 6 containers within one another" in found.doubts[0]
    assert found.unreadable


MEMBERS = [
    ("run/attempt_0/10/stderr.log", b"[rank10]: ten\n"),
    ("run/attempt_0/2/stderr.log", b"[rank2]: CUDA error\n"),
    ("run/torchrun.log", b"agent\n"),
    ("run/model.pt", b"\x80\x02weights"),
    ("../../etc/evil.log", b"evil\n"),
    ("run/packed.log", gzip.compress(b"[rank3]: packed\n")),
]


@pytest.mark.parametrize(
    "packed",
    [tarred(MEMBERS), gzip.compress(tarred(MEMBERS)), zipped(MEMBERS), lzma.compress(zipped(MEMBERS))],
    ids=["tar", "tar.gz", "zip", "zip.xz"],
)
def test_members_are_read_in_order_and_nothing_is_written(packed, tmp_path):
    path = put(tmp_path, "logs", packed)
    for found, name in ((read(path), path), (read("-", stdin=io.BytesIO(packed)), "<stdin>")):
        assert [(origin.path, origin.local_rank, origin.role) for origin in found.origins] == [
            (f"{name}!/../../etc/evil.log", None, "agent"),
            (f"{name}!/run/packed.log", None, "agent"),
            (f"{name}!/run/torchrun.log", None, "agent"),
            (f"{name}!/run/attempt_0/2/stderr.log", 2, "worker"),
            (f"{name}!/run/attempt_0/10/stderr.log", 10, "worker"),
        ]
        assert text(found) == b"evil\n[rank3]: packed\nagent\n[rank2]: CUDA error\n[rank10]: ten\n"
        assert found.doubts == (f"{name}: left out run/model.pt (not logs by their names)",)
    assert os.listdir(tmp_path) == ["logs"]


def test_a_hostile_member_name_is_made_harmless(tmp_path):
    path = put(tmp_path, "x.tar", tarred([("a\x1b[2Jb\n.log", LOG)]))
    assert [origin.path for origin in read(path).origins] == [f"{path}!/a\ufffd[2Jb\ufffd.log"]


def test_an_archive_without_logs_is_said(tmp_path):
    path = put(tmp_path, "x.zip", zipped([("model.pt", b"x")]))
    assert read(path).doubts == (f"{path}: an archive without logs; left out: model.pt",)


def test_cut_archives_keep_what_was_before(tmp_path):
    whole = tarred([("a.log", LOG), ("b.log", LOG)])
    found = read(put(tmp_path, "cut.tar", whole[: len(LOG) + 40_000]))
    assert text(found).startswith(LOG)
    assert found.unreadable
    found = read(put(tmp_path, "cut.zip", zipped([("a.log", LOG)])[:-30]))
    assert "damaged zip" in found.doubts[0]
    assert found.unreadable


def test_a_tar_cut_in_a_members_header_is_said(tmp_path):
    whole = tarred([("a.log", b"x\n" * 200), ("b.log", LOG)])
    path = put(tmp_path, "cut.tar", whole[: 2 * 512 + 100])
    found = read(path)
    assert text(found) == b"x\n" * 200
    assert found.unreadable
    assert found.doubts == (f"{path}: the tar is cut: its end is missing",)


def test_an_encrypted_member_is_said(tmp_path):
    data = bytearray(zipped([("a.log", LOG), ("b.log", LOG)]))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    path = put(tmp_path, "x.zip", bytes(data))
    found = read(path)
    assert text(found) == LOG
    assert found.doubts == (f"{path}!/a.log: encrypted",)


# ---------------------------------------------------------------- error files


def error_file(message, stack=None):
    extra = {"py_callstack": stack, "timestamp": "1777629600"} if stack else {"timestamp": "1777629600"}
    return json.dumps({"message": {"message": message, "extraInfo": extra}}).encode()


def test_an_error_file_is_its_traceback(tmp_path):
    stack = "Traceback (most recent call last):\n  File \"train.py\", line 3, in main\nKeyError: 'labels'\n"
    path = put(tmp_path, "run/attempt_1/3/error.json", error_file("KeyError: 'labels'", stack))
    found = read(tmp_path)
    assert text(found) == stack.encode()
    (origin,) = found.origins
    assert (origin.path, origin.attempt, origin.local_rank, origin.role) == (
        f"{path}!/py_callstack",
        1,
        3,
        "error_file",
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (error_file("SignalException: killed"), b"SignalException: killed\n"),
        (b'{"message": "plain text", "timestamp": 1}', b"plain text\n"),
        (b'{"message": {"message": "Run', b'{"message": {"message": "Run'),
        (b'{"message": {"message": [1]}}', b'{"message": {"message": [1]}}'),
        (b"", b""),
    ],
)
def test_an_error_file_of_any_kind_is_read(content, expected, tmp_path):
    assert text(read(put(tmp_path, "error.json", content))) == expected


def test_json_lines_are_no_error_file(tmp_path):
    log = b'{"message": "step 1", "level": "info"}\n{"message": "step 2"}\n'
    assert text(read(put(tmp_path, "train.log", log))) == log


# ---------------------------------------------------------------- directories


def test_a_torchrun_tree_is_one_job(tmp_path):
    for rank in range(12):
        put(tmp_path, f"none_ab12cd34/attempt_0/{rank}/stderr.log", b"err %d\n" % rank)
        put(tmp_path, f"none_ab12cd34/attempt_0/{rank}/stdout.log", b"out %d\n" % rank)
    put(tmp_path, "none_ab12cd34/attempt_1/0/stderr.log", b"again\n")
    put(tmp_path, "none_ab12cd34/attempt_0/filtered_stdout.log", b"out 0\n")
    put(tmp_path, "console.txt", b"agent\n")
    found = read(tmp_path)
    assert [(o.attempt, o.local_rank, o.stream, o.role) for o in found.origins] == [
        (None, None, None, "agent"),
        *[(0, rank, stream, "worker") for rank in range(12) for stream in ("stderr", "stdout")],
        (1, 0, "stderr", "worker"),
    ]
    assert "left out none_ab12cd34/attempt_0/filtered_stdout.log (repeats lines" in found.doubts[0]
    assert not found.unreadable


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("rank_3.log", {"rank": 3}),
        ("rank3.out", {"rank": 3}),
        ("train-rank-12.log.gz", {"rank": 12}),
        ("log.rank.7", {"rank": 7}),
        ("1/rank.3/stdout", {"rank": 3, "stream": "stdout"}),
        ("local_rank_2.err", {"local_rank": 2, "stream": "stderr"}),
        ("node1/rank9.log", {"rank": 9, "node": "node1"}),
        ("node-0.log", {"node": "node-0"}),
        ("node0_rank3.stderr", {"rank": 3, "node": "node0", "stream": "stderr"}),
        ("node_rank_1.log", {"node": "node_rank_1"}),
        ("ip-10-0-3-17.log", {"node": "ip-10-0-3-17"}),
        ("llama-worker-3.log", {"node": "llama-worker-3"}),
        ("slurm-4711_3.out", {"task": 3}),
        ("slurm-4711.out", {}),
        ("pretrain-99871_12.log", {"task": 12}),
        ("user_logs/std_log_process_2.txt", {"task": 2}),
        ("run_x/attempt_2/5/stderr.log", {"attempt": 2, "local_rank": 5, "stream": "stderr", "role": "worker"}),
        (
            "node-7/run_x/attempt_2/5/error.json",
            {"attempt": 2, "local_rank": 5, "node": "node-7", "role": "error_file"},
        ),
        (
            "ml_llama-node-0-1-x7k2p_0a1b2c3d-1111-2222-3333-444455556666/trainer/2.log",
            {"node": "llama-node-0-1-x7k2p", "attempt": 2},
        ),
        (f"llama-worker-0_ml_trainer-{'0123456789abcdef' * 4}.log", {"node": "llama-worker-0"}),
        ("frank3.log", {}),
        ("ranks.log", {}),
        ("train.log", {}),
        ("2026-05-01.log", {}),
    ],
)
def test_names_say_where_lines_come_from(path, expected):
    origin = origin_of(path)
    said = {name: getattr(origin, name) for name in ("attempt", "local_rank", "rank", "node", "stream", "task", "role")}
    assert {name: value for name, value in said.items() if value is not None} == expected


def test_folders_above_the_one_named_say_nothing():
    assert origin_of("/data/rank7/node3/logs/train.log", "/data/rank7/node3/logs").rank is None


def test_files_are_in_the_order_of_people():
    names = [
        "r/rank_10.log",
        "r/rank_2.log",
        "r/a.log",
        "r/a.log.1",
        "r/a.log.2.gz",
        "r/b.log",
        "r/b.log-20260501",
        "r/b.log-20260502",
    ]
    assert sorted(sorted(names, reverse=True), key=order) == [
        "r/a.log.2.gz",
        "r/a.log.1",
        "r/a.log",
        "r/b.log-20260501",
        "r/b.log-20260502",
        "r/b.log",
        "r/rank_2.log",
        "r/rank_10.log",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "ds_config.json",
        "train.py",
        "README.md",
        "requirements.txt",
        "events.out.tfevents.1.host",
        "a.csv.gz",
    ],
)
def test_other_files_are_no_logs(name):
    assert why_not_a_log(name)


@pytest.mark.parametrize(
    "name",
    [
        "train.log",
        "nohup.out",
        "a.txt",
        "x.err",
        "stdout",
        "rank.3",
        "syslog",
        "0.log.20260501-120000.gz",
        "a.jsonl",
        "error.json",
    ],
)
def test_logs_are_logs(name):
    assert why_not_a_log(name) is None


def test_a_directory_without_logs_is_said(tmp_path):
    put(tmp_path, "config.yaml")
    found = read(tmp_path)
    assert found.doubts == (f"{tmp_path}: a directory without logs; left out: config.yaml (not a log by its name)",)
    assert found.unreadable


def test_an_empty_directory_is_said(tmp_path):
    found = read(tmp_path)
    assert (found.doubts, found.unreadable) == ((f"{tmp_path}: a directory without logs; it is empty",), True)


def test_links_that_loop_end_and_each_file_is_read_once(tmp_path):
    put(tmp_path, "a/train.log", b"once\n")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "again.log").symlink_to(tmp_path / "a" / "train.log")
    (tmp_path / "gone.log").symlink_to(tmp_path / "nothing")
    assert text(read(tmp_path)) == b"once\n"
    assert text(read(tmp_path, tmp_path / "a" / "train.log", tmp_path / "a")) == b"once\n"


def test_a_report_of_our_own_among_logs_is_left_out(tmp_path, capfd):
    from logsig import cli

    put(tmp_path, "train.log", b"[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: x\n")
    for name, form in {"report.txt": "text", "answer.jsonl": "jsonl", "answer": "json"}.items():
        assert cli.run(["diagnose", str(tmp_path / "train.log"), "-f", form, "-o", str(tmp_path / name)]) == 0
    found = read(tmp_path)
    assert text(found) == b"[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: x\n"
    assert [doubt.rpartition(": ")[2] for doubt in found.doubts] == ["a report of logsig, not a log"] * 3
    assert text(read(tmp_path / "report.txt")).startswith(b"No failure and no end")  # named, it is read


@pytest.mark.parametrize(
    "binary", [bytes(range(20)) * 100, random.Random(1).randbytes(3000)], ids=["controls", "noise"]
)
def test_a_binary_file_among_logs_is_left_out(tmp_path, binary):
    put(tmp_path, "train.log", b"text\n")
    path = put(tmp_path, "core.4711", binary)
    found = read(tmp_path)
    assert text(found) == b"text\n"
    assert found.doubts == (f"{path}: left out: binary",)


@pytest.mark.parametrize("encoding", ["gbk", "shift-jis", "cp1251"])
def test_text_in_an_old_encoding_is_no_binary(tmp_path, encoding):
    words = {
        "gbk": "\u8bad\u7ec3\u5f00\u59cb",
        "shift-jis": "\u5b66\u7fd2\u958b\u59cb",
        "cp1251": "\u043d\u0430\u0447\u0430\u043b\u043e",
    }[encoding]
    put(tmp_path, "train.log", (words * 60 + "\nCUDA error\n").encode(encoding))
    assert read(tmp_path).hits == {"CUDA error": 1}


def test_a_log_that_begins_with_a_report_is_a_log(tmp_path):
    """A script that diagnoses the last run and then starts the next writes both into one file."""
    report = "Rank 2 failed first: x.\n\nerror[cuda-oom]: out of memory\n\nRank 2 failed first: x. [cuda-oom]\n"
    put(tmp_path, "report.out", report.encode())
    path = put(tmp_path, "slurm-77.out", (report + "starting again\nCUDA error\n").encode())
    found = read(tmp_path)
    assert [origin.path for origin in found.origins] == [str(path)]


def test_a_binary_file_that_was_named_is_read(tmp_path):
    path = put(tmp_path, "core", b"\x01\x02\x03\x04" * 300 + b"CUDA error")
    found = read(path)
    assert found.hits == {"CUDA error": 1}
    assert found.doubts == (f"{path}: looks binary; read as if it were text",)
    assert not found.unreadable


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path):
    put(tmp_path, "open.log", b"open\n")
    os.chmod(put(tmp_path, "closed.log"), 0)
    found = read(tmp_path)
    assert text(found) == b"open\n"
    assert found.doubts == (f"{tmp_path / 'closed.log'}: permission denied",)
    assert found.unreadable


def test_a_file_that_cannot_be_opened_is_said(tmp_path, monkeypatch):
    """As above, for whoever runs the tests as root."""
    put(tmp_path, "open.log", b"open\n")
    closed = put(tmp_path, "closed.log")
    opener = io.FileIO

    def refuse(path, mode="rb", **options):
        if path == closed:
            raise PermissionError(13, "Permission denied", path)
        return opener(path, mode, **options)

    monkeypatch.setattr(inputs.io, "FileIO", refuse)
    found = read(tmp_path)
    assert text(found) == b"open\n"
    assert found.doubts == (f"{closed}: permission denied",)
    assert found.unreadable


def test_every_input_has_the_same_shape():
    names = [module.__name__.rsplit(".", 1)[-1] for module in inputs.modules()]
    assert names[0] == "directory"
    assert names[-1] == "text"
    for module in inputs.modules():
        assert isinstance(module.PRIORITY, int)
        assert module.accepts.__annotations__ == {"place": "Place", "return": "bool"}
        assert module.read.__annotations__ == {"place": "Place", "return": "Iterator[Item]"}


# ---------------------------------------------------------------- what a cut or an emptied log still tells

PADDING = 5000
"""Zeros in front of a log that was emptied while its writer went on; more than is looked at to tell the kind."""


@pytest.mark.parametrize("padding", [700, PADDING, 1 << 20])
def test_a_log_behind_zeros_is_read_wherever_it_lies(padding, tmp_path):
    padded = b"\0" * padding + LOG
    put(tmp_path, "d/a.log", padded)
    put(tmp_path, "x.zip", zipped([("a.log", padded)]))
    put(tmp_path, "x.tar", tarred([("a.log", padded)]))
    put(tmp_path, "d2/a.log.gz", gzip.compress(padded))
    for name in ("d", "x.zip", "x.tar", "d2"):
        found = read(tmp_path / name)
        assert found.hits == {"CUDA error": 1}, name
        assert (found.doubts, found.unreadable) == ((), False), name


def test_zeros_alone_and_what_is_binary_behind_them_are_left_out(tmp_path):
    put(tmp_path, "train.log", b"text\n")
    put(tmp_path, "zeros", b"\0" * PADDING)
    put(tmp_path, "core", b"\0" * PADDING + bytes(range(20)) * 100)
    found = read(tmp_path)
    assert text(found) == b"text\n"
    assert found.doubts == tuple(f"{tmp_path / name}: left out: binary" for name in ("core", "zeros"))
    assert not found.unreadable


def test_a_folder_or_archive_of_which_nothing_is_a_log_is_a_loss(tmp_path):
    binary = bytes(range(20)) * 100
    put(tmp_path, "good.log")
    put(tmp_path, "d/core", binary)
    put(tmp_path, "x.zip", zipped([("core", binary)]))
    for name in ("d", "x.zip"):
        assert read(tmp_path / name).unreadable, name
        found = read(tmp_path / "good.log", tmp_path / name)
        assert (text(found)[:20], found.unreadable) == (LOG[:20], True), name


@pytest.mark.parametrize("missing", [100, 5_000, 60_000])
@pytest.mark.parametrize("kind", ["tar", "tar.gz", "second member"])
def test_a_cut_archive_gives_its_member_to_the_last_byte(kind, missing, tmp_path):
    log = b"".join(b"step %d\n" % number for number in range(200_000))
    tar = tarred([("a.log", log)] if kind != "second member" else [("0.log", b"first\n"), ("a.log", log)])
    start = tar.index(b"step 0\n")
    cut = tar[: start + len(log) - missing]
    if kind == "tar.gz":
        packed = zlib.compressobj(6, zlib.DEFLATED, 31)
        cut = packed.compress(cut) + packed.flush(zlib.Z_SYNC_FLUSH)  # all of it can be unpacked, the end is missing
    path = put(tmp_path, "x.tar.gz" if kind == "tar.gz" else "x.tar", cut)
    found = read(path)
    assert text(found).endswith(log[: len(log) - missing][-2000:])
    assert found.unreadable
    (doubt,) = found.doubts
    assert doubt.startswith(f"{path}!/a.log: ")
    assert "its end is missing" in doubt
