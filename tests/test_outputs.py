"""Where reports are written: in one step, in place, appended; never half, never silently lost."""

from __future__ import annotations

import io
import os
import stat
import sys
import threading

import pytest

from logsig import cli, outputs
from logsig.errors import OutputError


def test_regular_file_is_replaced_in_one_step(tmp_path):
    """A reader who holds the old file still reads the old report."""
    path = tmp_path / "report"
    path.write_text("old")
    with path.open() as held:
        outputs.write_file(str(path), "new", {})
        assert held.read() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["report"]


def test_mode_of_the_file_stays(tmp_path):
    """The new file has the mode of the old one; a new one has what the umask gives."""
    path = tmp_path / "report"
    path.write_text("old")
    path.chmod(0o640)
    outputs.write_file(str(path), "new", {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        outputs.write_file(str(tmp_path / "fresh"), "new", {})
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


def test_symlink_stays_a_symlink(tmp_path):
    """The file it points at is replaced."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "target").write_text("old")
    (tmp_path / "link").symlink_to("there/target")
    outputs.write_file(str(tmp_path / "link"), "new", {})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "target").read_text() == "new"


def test_file_of_several_names_is_written_in_place(tmp_path):
    """A hard link keeps both names."""
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    outputs.write_file(str(tmp_path / "a"), "new", {})
    assert (tmp_path / "b").read_text() == "new"


def test_mount_is_written_in_place(tmp_path, monkeypatch):
    """Where the kernel refuses to rename (a mounted termination log), the file is written as it is."""

    def busy(_source, _target):
        raise OSError(16, "Device or resource busy")

    path = tmp_path / "termination-log"
    path.write_text("a longer old message")
    monkeypatch.setattr(os, "replace", busy)
    outputs.write_file(str(path), "new", {})
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["termination-log"]


def test_pipe_is_written_in_place(tmp_path):
    """A named pipe gets the report."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    outputs.write_file(str(path), "new", {})
    reader.join(10)
    assert got == ["new"]


def test_device_is_written_in_place():
    """``-O k8s=/dev/null`` doesn't replace the device."""
    outputs.write_file("/dev/null", "new", {})
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_step_summary_is_appended(tmp_path):
    """What other steps wrote stays."""
    path = tmp_path / "summary"
    path.write_text("before\n")
    outputs.write_file(str(path), "ours\n", {"GITHUB_STEP_SUMMARY": str(path)})
    assert path.read_text() == "before\nours\n"


def test_step_summary_over_the_limit_is_left_as_it_is(tmp_path):
    """Beyond 1 MiB GitHub would drop all of it."""
    path = tmp_path / "summary"
    path.write_text("x" * (1024 * 1024 - 2))
    with pytest.raises(OutputError, match="limit of 1 MiB"):
        outputs.write_file(str(path), "ours\n", {"GITHUB_STEP_SUMMARY": str(path)})
    assert path.stat().st_size == 1024 * 1024 - 2


@pytest.mark.parametrize("path", ["/nonexistent/report", "/proc/version", "/"])
def test_place_that_takes_no_report_is_named(path):
    """The fault names the file."""
    with pytest.raises(OutputError, match=path):
        outputs.write_file(path, "new", {})


def test_full_disk_is_said():
    """A report that doesn't fit is a fault."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with pytest.raises(OutputError, match="No space left"):
        outputs.write_file("/dev/full", "new", {})


@pytest.mark.parametrize(
    "words",
    [
        ["{log}", "-o", "{log}"],
        ["{log}", "-O", "html={log}"],
        ["{log}", "-o", "{link}"],
        ["mask", "{log}", "-o", "{log}"],
        ["scan", "{log}", "-o", "{log}"],
    ],
)
def test_a_log_is_never_replaced_by_its_report(words, tmp_path, capsys):
    """The log of a failed job may be the only copy there is."""
    log, link = tmp_path / "job.log", tmp_path / "link"
    log.write_text("RuntimeError: boom\n")
    link.symlink_to(log)
    assert cli.run([word.format(log=log, link=link) for word in words]) == 2
    assert "is a log to be read" in capsys.readouterr().err
    assert log.read_text() == "RuntimeError: boom\n"


def test_a_target_that_is_no_input_is_free(tmp_path):
    """Neither a missing target, nor stdout, nor another file is refused."""
    log, other = tmp_path / "job.log", tmp_path / "other"
    log.write_text("x")
    other.write_text("x")
    outputs.spare_inputs([str(log), "-"], [str(other), str(tmp_path / "new"), "-", None])


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("screen", "shown"), [(_Screen(), "a: :b\n: :error: :x\n"), (io.StringIO(), None)])
def test_a_log_is_harmless_on_a_terminal_only(screen, shown, monkeypatch):
    """Escapes reach a pipe or a file as they are; a terminal never acts on them."""
    text = "\x1b]52;c;eA==\x07a\x1b[2J: :b\n::error: :x\n"
    monkeypatch.setattr(sys, "stdout", screen)
    outputs.write_raw(text)
    assert screen.getvalue() == (shown or text)


def test_what_is_said_stays_on_its_lines(capsys):
    """One line a message, whatever a name in it holds."""
    outputs.say("a\nb\x1b[31m", "::error::c")
    assert capsys.readouterr().err == "logsig: a\\nb\n: :error::c\n"


def test_two_reports_in_one_file_are_refused(tmp_path, capsys, monkeypatch):
    """The second would replace the first; a device, a step summary and stdout take both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.log").write_text("step 1\n")
    (tmp_path / "link").symlink_to("a")
    for words in (["-O", "html=a", "-O", "json=./a"], ["-O", "html=a", "-o", "a"], ["-O", "html=link", "-o", "a"]):
        assert cli.run(["x.log", *words]) == 2
        assert "two reports would be written there; name another file for one of them" in capsys.readouterr().err
        assert not (tmp_path / "a").exists()
    assert cli.run(["scan", "x.log", "-O", "csv=a", "-O", "jsonl=a"]) == 2
    outputs.refuse_twice(
        ["-", "-", "/dev/null", "/dev/null", "sum", "sum", "b", None, None], {"GITHUB_STEP_SUMMARY": "sum"}
    )


@pytest.mark.skipif(not hasattr(os, "set_blocking") or sys.platform == "win32", reason="no such pipes here")
def test_a_pipe_that_does_not_wait_gets_everything():
    """Some CI hands over a pipe that another process has made non-blocking."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    text = "0123456789" * 30_000
    got = []
    reader = threading.Thread(target=lambda: got.extend(iter(lambda: os.read(read, 4096), b"")))
    with os.fdopen(write, "wb") as stream:
        os.write(write, b"x" * 60_000)  # hardly any room is left
        reader.start()
        outputs._write_all(stream, text.encode())
    reader.join()
    os.close(read)
    assert b"".join(got)[60_000:].decode() == text
