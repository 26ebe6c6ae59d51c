"""The parser by itself: one rank's lines, a file per rank, the numbers of the log kept."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pytest

from logsig import cli

LOG = """\
starting 2 ranks
[rank0]: step 1
[rank1]: step 1
[rank1]: \x1b[31mKeyError\x1b[0m: 'labels'
[rank0]: ::error::not a command
torchrun: done
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return str(path)


def test_lines_of_a_rank(log, capsys):
    """Prefixes off, numbers kept, colours gone."""
    assert cli.run(["show", log, "--rank", "1"]) == 0
    assert capsys.readouterr().out == "      3 step 1\n      4 KeyError: 'labels'\n"


def test_lines_of_several_ranks(log, capsys):
    """Then each line says whose it is."""
    assert cli.run(["show", log, "--rank", "0-1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "      2 rank 0    step 1"


def test_lines_of_nobody(log, capsys):
    """What the log attributes to nobody."""
    assert cli.run(["show", log, "--no-rank"]) == 0
    assert capsys.readouterr().out == "      1           starting 2 ranks\n      6           torchrun: done\n"


def test_last_lines_and_raw(log, capsys):
    """The tail of a rank, prefixes included."""
    assert cli.run(["show", log, "--rank", "1", "--last", "1", "--raw"]) == 0
    assert capsys.readouterr().out == "      4 [rank1]: KeyError: 'labels'\n"


def test_no_line_is_a_command_of_a_runner(log, capsys):
    """Shown lines stand behind their number."""
    cli.run(["show", log])
    assert not [line for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith("::")]


def test_unknown_rank_is_said(log, capsys):
    """No silent nothing."""
    assert cli.run(["show", log, "--rank", "7"]) == 0
    assert capsys.readouterr().err == "logsig: the log shows no line of rank 7; it has lines of ranks 0 and 1\n"


@pytest.mark.parametrize("ranks", ["x", "3-1", "1,,2", "-1"])
def test_odd_ranks_are_refused(ranks, log, capsys):
    assert cli.run(["show", log, f"--rank={ranks}"]) == 2
    assert "expected ranks such as 3 or 0-3,7" in capsys.readouterr().err


def test_split(log, tmp_path, capsys):
    """A file per rank and one for the rest; every line is in exactly one, under its number."""
    assert cli.run(["split", log, "-d", str(tmp_path / "out")]) == 0
    files = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    heading = f"==> {log} <==\n"
    assert files["rank_0.log"] == f"{heading}      2 step 1\n      5 ::error::not a command\n"
    assert files["unattributed.log"] == f"{heading}      1 starting 2 ranks\n      6 torchrun: done\n"
    numbers = sorted(int(line.split()[0]) for text in files.values() for line in text.splitlines()[1:])
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert capsys.readouterr().out.splitlines()[0] == f"        2 lines {tmp_path}/out/rank_0.log"


def test_split_again_replaces(log, tmp_path):
    """A second split doesn't add to the first."""
    for _ in range(2):
        cli.run(["split", log, "-d", str(tmp_path / "out")])
    assert (tmp_path / "out" / "rank_1.log").read_text().count("step 1") == 1


def test_split_of_thousands_of_ranks(tmp_path):
    """More ranks than files may be open."""
    path = tmp_path / "big.log"
    path.write_text("".join(f"[rank{rank}]: line {number}\n" for number in range(3) for rank in range(1500)))
    assert cli.run(["split", str(path), "-d", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").iterdir())) == 1500
    assert len((tmp_path / "out" / "rank_1499.log").read_text().splitlines()) == 4


def test_split_where_nothing_can_be_written(log, capsys):
    assert cli.run(["split", log, "-d", "/proc/nowhere"]) == 2
    assert "/proc/nowhere" in capsys.readouterr().err


def test_numbers_go_on_over_blocks(tmp_path, capsys):
    """A log of several blocks keeps its numbers to the end."""
    path = tmp_path / "long.log"
    path.write_text("".join(f"[rank{number % 2}]: step {number} {'x' * 80}\n" for number in range(60_000)))
    assert cli.run(["show", str(path), "--rank", "1", "--last", "1"]) == 0
    assert capsys.readouterr().out.startswith("  60000 step 59999 ")


def test_pipe_and_compressed(tmp_path):
    """From stdin, and unpacked on the way."""
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(gzip.compress(LOG.encode()))
    for words, data in ((["-"], LOG.encode()), ([str(packed)], b"")):
        done = subprocess.run(
            [sys.executable, "-m", "logsig", "show", *words, "-r", "1", "-n", "1"],
            input=data,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == b"      4 KeyError: 'labels'\n"


def test_cut_gzip_is_three(tmp_path, capsys):
    """What could be read is shown, the rest is said."""
    packed = tmp_path / "cut.log.gz"
    packed.write_bytes(gzip.compress((LOG * 500).encode())[:-40])
    assert cli.run(["show", str(packed), "--rank", "1"]) == 3
    shown = capsys.readouterr()
    assert "step 1" in shown.out
    assert "cut.log.gz" in shown.err


def test_a_level_stays(tmp_path, capsys):
    """A letter of glog's stands before the time that is shown: without it a warning looks like an error."""
    path = tmp_path / "t.log"
    path.write_text(
        "[rank1]:[W1021 12:00:05.000000001 NCCL.cpp:6] slow\n[2026-01-02 10:00:00,123] [ERROR] [l.py:3:f] gone\n"
    )
    assert cli.run(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert ":05.000000001 W slow\n" in shown
    assert ",123 E gone\n" in shown
