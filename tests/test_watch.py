"""Watching a job: what is told when, and what is no hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from logs import closed, traceback
from test_follow import Clock, append

from logsig import cli, stdin
from logsig.follow import follow
from logsig.watch import watch

LOGSIG = [sys.executable, "-m", "logsig"]
ERROR = "\n".join([*traceback(2, "ValueError: bad batch"), *closed(1)]).encode() + b"\n"
BUSY = b"2026-05-01 12:20:00,000 still alive\n"


def steps(upto, ranks=(0, 1, 2), *, stamped=True):
    """Steps of two seconds."""
    stamp = b"2026-05-01 12:%02d:%02d,000 "
    return b"".join(
        b"[rank%d]: " % rank + stamp % divmod(2 * step, 60) * stamped + b"INFO step %d loss 1.0\n" % step
        for step in range(upto)
        for rank in ranks
    )


@pytest.fixture
def told(tmp_path, catalog):
    """Gives what is told of a log that grows by a script, until ``upto`` seconds."""

    def tell(begin, *script, upto=1000.0):
        path = tmp_path / "train.log"
        path.write_bytes(begin)
        clock = Clock(*[(at, append(path, data)) for at, data in script])
        news = follow(str(path), catalog.scan_engine(), pace=clock.pace(), is_over=lambda: clock.time >= upto)
        return [(clock.time, change) for change in watch(news, catalog)]

    return tell


def test_a_failure_is_a_line_then_a_report(told):
    """Who was first is said only when the others have spoken."""
    seen, settled, end = told(steps(5), (10, ERROR), upto=30)
    assert (seen[0], seen[1].is_report) == (10.5, False)
    assert seen[1].line.startswith("a failure is seen: An uncaught Python exception ended the process")
    assert "first" not in seen[1].line
    assert (settled[0], settled[1].is_report, settled[1].line) == (13.0, True, None)
    assert settled[1].found.first_failing_rank == 2
    assert end[1].is_end


def test_a_running_job_says_nothing(told):
    """Steps, a pause, more steps: only the end is told."""
    script = [(10 * n, steps(5 * n)[len(steps(5 * n - 5)) :]) for n in range(2, 30)]
    ((_, change),) = told(steps(5), *script, upto=300)
    assert (change.is_end, change.found.outcome) == (True, "unfinished")


def test_silence_for_many_steps_is_a_hang(told):
    """The clock of the one who watches goes on where the log's has stopped."""
    stalled, end = told(steps(20), upto=310)
    assert stalled[0] == 300.0
    assert stalled[1].line.startswith("no step for 5 min; the last was 19, and one took 2 s - ")
    assert stalled[1].found.root_cause.signature == "job-silent-hang"
    assert "The last step was reported 5 min ago; until then steps came every 2.0 s." in stalled[1].found.because
    assert stalled[1].is_report
    assert end[1].is_end


def test_a_hang_names_the_lagging_rank(told):
    """The rank that is behind is the suspect, once nothing moves."""
    (at, stalled), _ = told(steps(20) + steps(21, (0, 1))[len(steps(20, (0, 1))) :], upto=310)
    assert (at, stalled.found.first_failing_rank) == (300.0, 2)


def test_a_lag_alone_is_no_hang_while_steps_go_on(told):
    """A rank that flushes its output late is behind in every running log."""
    late = steps(20) + steps(30, (0, 1))[len(steps(20, (0, 1))) :]
    script = [(10 * n, steps(30 + n, (0, 1))[len(steps(29 + n, (0, 1))) :]) for n in range(1, 30)]
    changes = told(late, *script, upto=290)
    assert [change.is_end for _, change in changes] == [True]


def test_lines_without_steps_do_not_hide_a_hang(told):
    """A heartbeat isn't progress; without stamps the pace is what was seen."""
    walk = [(10 * n, steps(20 + n, stamped=False)[len(steps(19 + n, stamped=False)) :]) for n in range(1, 13)]
    beats = [(10 * n, b"still alive\n") for n in range(13, 70)]
    (at, stalled), *_ = told(steps(20, stamped=False), *walk, *beats, upto=600)
    assert 420 <= at <= 480
    assert stalled.is_stall
    assert "the last was 31, and one took 10 s" in stalled.line


def test_a_pause_that_was_survived_is_no_hang_the_next_time(told):
    """A job that saves for six minutes does so again."""
    walk = [(n, steps(20 + n)[len(steps(19 + n)) :]) for n in (1, 400, 401, 1000)]
    lines = [(at, change.line) for at, change in told(steps(20), *walk, upto=1050) if change.line]
    assert [(at, line.partition(";")[0]) for at, line in lines] == [
        (301.0, "no step for 5 min"),
        (400.0, "the job goes on"),
    ]


def test_silence_proves_nothing_where_no_pace_is_known(told):
    """A log that never reported a step may be compiling."""
    changes = told(b"loading the model\n", upto=1000)
    assert [change.is_end for _, change in changes] == [True]


def test_what_the_run_survived_is_taken_back(told):
    """A failure after which training goes on was none."""
    xid = b"node-1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=python\n"
    changes = told(steps(20), (10, xid), (40, steps(40)[len(steps(20)) :]), upto=110)
    lines = [change.line for _, change in changes if change.line]
    assert "[gpu-xid]" in lines[0]
    assert lines[1:] == ["the job goes on; what was told before didn't end it"]


# ---------------------------------------------------------------- the command


def start(*words, **more):
    return subprocess.Popen([*LOGSIG, "--follow", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def test_interrupt_prints_the_diagnosis_so_far(tmp_path):
    """The line, while the job runs; then Ctrl-C, the report, 130."""
    path = tmp_path / "train.log"
    path.write_bytes(steps(5))
    with start(str(path)) as process:
        timer = threading.Timer(0.2, append(path, ERROR))
        timer.start()
        assert process.stdout.readline().startswith(b"logsig: a failure is seen: An uncaught Python exception")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.startswith(b"Rank 2 failed first: ValueError: bad batch")
    assert out.count(b"\nerror[python-exception]") == 1
    assert err == b""


def test_jsonl_is_a_line_for_each_change():
    """First the failure as it shows, then the answer at the end of the pipe."""
    with start("-f", "jsonl", stdin=subprocess.PIPE) as process:
        process.stdin.write(steps(5) + ERROR)
        process.stdin.flush()
        seen = json.loads(process.stdout.readline())
        rest, err = process.communicate(b"[rank0]: RuntimeError: Connection closed by peer\n", timeout=30)
    answers = [seen, *map(json.loads, rest.splitlines())]
    assert {answer["root_cause"]["signature"] for answer in answers} == {"python-exception"}
    assert len(answers) >= 2
    assert (process.returncode, err) == (0, b"")


def test_echo_and_what_is_told_do_not_share_a_line():
    """A progress bar has no end of line."""
    with start("--echo", "--fail-on", "error", stdin=subprocess.PIPE) as process:
        process.stdin.write(steps(5) + ERROR + b"50%|###  ")
        process.stdin.flush()
        shown = b""
        while b"a failure is seen" not in shown:
            shown = process.stdout.readline()
        out, _ = process.communicate(timeout=30)
    assert shown.startswith(b"logsig: ")
    assert b"\nRank 2 failed first" in b"\n" + out
    assert process.returncode == 1


def test_other_formats_are_printed_once_and_files_kept_up_to_date(tmp_path):
    """JSON on stdout is one document; the lines go to stderr."""
    page = tmp_path / "report.md"
    with start("-f", "json", "-O", f"markdown={page}", stdin=subprocess.PIPE) as process:
        process.stdin.write(steps(5) + ERROR)
        process.stdin.flush()
        assert process.stderr.readline().startswith(b"logsig: a failure is seen")
        out, _ = process.communicate(timeout=30)
    assert json.loads(out)["first_failing_rank"] == 2
    assert page.read_text(encoding="utf-8").startswith("### Rank 2 failed first")


def test_the_end_of_an_empty_pipe_is_an_empty_log():
    with start("-f", "json", stdin=subprocess.PIPE) as process:
        out, _ = process.communicate(b"", timeout=30)
    assert json.loads(out)["outcome"] == "empty"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.log", "b.log"], "--follow watches one log; 2 are named"),
        (["a.log", "--max-bytes", "1M"], "--follow and --max-bytes exclude each other"),
        (["a.log", "--echo"], "--echo is for a log on stdin"),
        (["nowhere.log"], "nowhere.log: no such file or directory"),
        (["."], ".: "),
    ],
)
def test_what_cannot_be_followed_is_refused(words, said, capsys):
    assert cli.run(["--follow", *words]) == 2
    assert said in capsys.readouterr().err


def test_silence_on_stdin_is_said_while_watching(monkeypatch):
    """Waiting without a word looks like a crash; one is enough."""
    monkeypatch.setattr(stdin, "SILENCE", 0.03)
    said = []
    read, write = os.pipe()
    stream = stdin.Stdin(said.append, read)
    assert [stream.is_ready(0.01) for _ in range(20)] == [False] * 20
    os.close(read)
    os.close(write)
    assert len(said) == 1
    assert said[0].startswith("waiting for a log on stdin")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_signal_stops_at_once(number, code):
    """The first lets the job say its last words."""
    said = []
    with stdin.Calls(said.append, grace=100.0) as calls:
        signal.raise_signal(number)
        assert (calls.code, calls.are_done()) == (code, False)
        with pytest.raises(SystemExit, match=str(code)):
            signal.raise_signal(number)
    assert said == ["reading the log for 100 more seconds, then the diagnosis; once more stops at once"]


def test_lines_are_made_of_what_is_masked(tmp_path, catalog):
    """``--mask`` holds for what is told on the way."""
    path = tmp_path / "train.log"
    path.write_bytes(steps(5) + b"gpu-node-17 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n")
    news = follow(str(path), catalog.scan_engine(), pace=Clock().pace())
    masked = next(watch(news, catalog, lambda found: replace(found, root_cause=replace(found.root_cause, title="***"))))
    assert masked.line.startswith("a failure is seen: *** [")
