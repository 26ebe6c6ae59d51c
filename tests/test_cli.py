"""The command line: what is a command, what a log, what goes where, and every exit code."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from diagnoses import interrupted, key_error, recovered, unrecognised, unused_one

import logsig
from logsig import cli

LOGSIG = [sys.executable, "-m", "logsig"]
LOG = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/job/train.py", line 88, in collate
[rank1]:     labels = batch["labels"]
[rank1]: KeyError: 'labels'
"""


class _Packs(tuple):
    """Stands for a catalog: the packs it was asked for, without faults."""

    doubts = ()
    __slots__ = ()


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A log in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return path


@pytest.fixture
def answers(monkeypatch):
    """Puts a diagnosis in the place of the analysis, and lists how it was called."""
    calls = []

    def answer(found):
        def analyze(paths, _catalog, **limits):
            calls.append((tuple(paths), limits))
            if "stdin" in limits:
                limits["stdin"].read()
            return found

        monkeypatch.setattr(logsig, "analyze", analyze)
        monkeypatch.setattr(logsig, "load_catalog", lambda extra, _lenient=False: _Packs(extra))
        return calls

    return answer


def run(*words, stdin=b"", env=None, **more):
    """Runs the program as a user does."""
    environment = {**os.environ, "COLUMNS": "", **(env or {})}
    return subprocess.run(
        [*LOGSIG, *words], input=stdin, capture_output=True, timeout=60, env=environment, check=False, **more
    )


# ---------------------------------------------------------------- commands


def test_version_imports_nothing_but_click():
    """``--version`` answers before anything heavy is imported."""
    script = (
        "import sys; from logsig import cli; code = cli.run(['--version']); "
        "heavy = {'jinja2', 'pydantic', 'rich', 'regex', 'hyperscan', 'yaml', 'importlib.metadata', 'logsig.model'};"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"logsig {logsig.__version__}", "0 []"]


def test_first_word_that_is_no_command_is_a_log(log, answers, capsys):
    """``logsig train.log`` diagnoses."""
    calls = answers(key_error())
    assert cli.run([log.name]) == 0
    assert calls[0][0] == ("train.log",)
    assert capsys.readouterr().out.startswith("Rank 1 failed first: KeyError")


def test_option_first_means_diagnose(log, answers, capsys):
    """``logsig --format json train.log`` diagnoses, too."""
    answers(key_error())
    assert cli.run(["--format", "json", log.name]) == 0
    assert json.loads(capsys.readouterr().out)["first_failing_rank"] == 1


def test_several_paths_are_one_job(log, answers):
    """All paths go into one analysis."""
    calls = answers(key_error())
    cli.run(["diagnose", log.name, "other.log", "--jobs", "2", "--max-bytes", "2M"])
    assert calls == [(("train.log", "other.log"), {"jobs": 2, "max_bytes": 2 << 20})]


def test_slip_of_a_command_is_not_a_missing_log(capsys):
    """``logsig diagnos`` names the command that was meant."""
    assert cli.run(["diagnos"]) == 2
    assert "did you mean 'diagnose'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", cli.cli.list_commands(None))
def test_every_command_has_help(name, capsys):
    """Each command explains itself."""
    assert cli.run([name, "--help"]) == 0
    assert f"Usage: logsig {name}" in capsys.readouterr().out


def test_help_names_every_command(capsys):
    """The group's help lists all commands."""
    assert cli.run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name}" in text for name in cli.cli.list_commands(None))


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("found", "words", "code"),
    [
        (key_error(), [], 0),
        (key_error(), ["--fail-on", "fatal"], 1),
        (key_error(), ["--fail-on", "error"], 1),
        (recovered(), ["--fail-on", "error"], 0),
        (interrupted(), ["--fail-on", "error"], 1),
        (interrupted(), ["--fail-on", "fatal"], 0),
        (unrecognised(), ["--fail-on", "fatal"], 1),
        (replace(key_error(), unreadable=True), [], 3),
        (replace(key_error(), unreadable=True), ["--fail-on", "fatal"], 1),
    ],
)
def test_exit_codes_of_a_diagnosis(found, words, code, log, answers):
    """0 analysed, 1 only when asked, 3 where something couldn't be read."""
    answers(found)
    assert cli.run([*words, log.name]) == code


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "nonsense", "train.log"],
        ["-O", "json", "train.log"],
        ["-O", "nonsense=x", "train.log"],
        ["--max-bytes", "0", "train.log"],
        ["--max-bytes", "many", "train.log"],
        ["--jobs", "0", "train.log"],
        ["--no-such-option", "train.log"],
        ["--template", "a.j2", "--format", "json", "train.log"],
        ["--keep", "x", "train.log"],
        ["--echo", "train.log"],
        ["--template", "missing.j2", "train.log"],
    ],
)
@pytest.mark.usefixtures("log")
def test_usage_is_two(words, answers, capsys):
    """What can't be meant is refused with one line, and nothing is analysed."""
    calls = answers(key_error())
    assert cli.run(words) == 2
    assert calls == []
    assert capsys.readouterr().err.startswith("logsig: ")


def test_a_group_without_its_command_is_two(capsys):
    assert cli.run(["signatures"]) == 2
    assert capsys.readouterr().err == (
        "logsig: Missing command.\nhint: 'logsig signatures --help' shows what is possible\n"
    )


def test_missing_path_is_two(tmp_path):
    """A path that doesn't exist is named."""
    done = run(str(tmp_path / "no.log"))
    assert done.returncode == 2
    assert b"no.log" in done.stderr
    assert b"Traceback" not in done.stderr


def test_fault_of_the_program_is_one_line(log, answers, monkeypatch, capsys):
    """A bug shows no traceback unless asked."""
    answers(key_error())
    monkeypatch.setattr(logsig, "analyze", lambda *_, **__: 1 / 0)
    assert cli.run([log.name]) == 2
    assert capsys.readouterr().err.splitlines()[0] == "logsig: internal fault: ZeroDivisionError: division by zero"


def test_error_shows_a_hostile_name_harmlessly(capsys):
    """A file name can't colour the terminal."""
    assert cli.run(["diagnose", "--format", "\x1b[31mx\u202e"]) == 2
    assert "\x1b" not in capsys.readouterr().err


# ---------------------------------------------------------------- stdin


@pytest.mark.parametrize("command", ["diagnose", "mask", "show"])
def test_no_path_and_no_pipe_is_said(command):
    """Never a silent wait: in a cron job or a CI runner, whose stdin is /dev/null, one line, exit 2."""
    words = [*LOGSIG, command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"logsig: no log: none is named, and stdin is empty\nhint: 'logsig {command} --help' shows what is possible\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pty")
def test_no_path_at_a_terminal_is_help():
    """A person who types the bare word gets help, exit 2."""
    import pty

    leader, follower = pty.openpty()
    done = subprocess.run(LOGSIG, stdin=follower, capture_output=True, text=True, timeout=60, check=False)
    os.close(follower)
    os.close(leader)
    assert done.returncode == 2
    assert done.stdout.startswith("Usage: logsig diagnose")


ODD = "a\n::error::b\x1b[31m"
"""A name that would begin a line of stderr with a runner's command."""


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize(
    "words",
    [
        [ODD],
        ["LOG", "-o", f"gone/{ODD}"],
        ["LOG", "-O", f"json=gone/{ODD}"],
        ["LOG", "--template", ODD],
        ["LOG", "--signatures", ODD],
        ["::error::b"],
        ["LOG", "--signatures", "::error::b"],
        ["mask", ODD],
        ["split", "-d", f"LOG/{ODD}", "LOG"],
        ["encyclopedia", "-d", f"LOG/{ODD}"],
        ["signatures", "new", "--from", ODD],
        ["signatures", "new", "--from", "LOG:2", "-o", f"LOG/{ODD}"],
        ["signatures", "check", ODD],
        ["explain", ODD],
        ["why", ODD, "LOG"],
        ["show", "--rank", ODD, "LOG"],
    ],
    ids=" ".join,
)
def test_names_make_no_lines_of_their_own(words, log, capfd):
    """Whatever an argument holds, what is said of it stays on its line and names nothing to a terminal or a runner."""
    log.write_text("[rank0]: step 1\n[rank0]: RuntimeError: nothing that is known\n")
    code = cli.run([word.replace("LOG", log.name) for word in words])
    shown = capfd.readouterr()
    assert code == 2
    assert "\x1b" not in shown.err + shown.out
    assert not [line for line in (shown.err + shown.out).splitlines() if line.lstrip().startswith("::")]
    assert shown.err.startswith("logsig: ")


def test_closed_stdin_is_said():
    """So it is where stdin is closed."""
    done = subprocess.run(
        [*LOGSIG], stdin=None, capture_output=True, text=True, timeout=60, check=False, preexec_fn=_close
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def _close() -> None:
    os.close(0)


def test_pipe_without_path_is_read():
    """``… | logsig`` reads the pipe."""
    done = run("--format", "json", stdin=LOG.encode())
    assert done.returncode == 0
    assert json.loads(done.stdout)["job"]["files"] == ["<stdin>"]


def test_empty_log_is_analysed():
    """Nothing in, outcome ``empty``, exit 0."""
    done = run("-f", "json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["outcome"] == "empty"


def test_silence_on_stdin_is_said_once():
    """Two seconds without a byte are said on stderr, once."""
    with subprocess.Popen(LOGSIG, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(4.5)
        _, err = process.communicate(LOG.encode(), timeout=60)
    assert err.count(b"waiting for a log on stdin") == 1


def test_keep_and_echo(tmp_path):
    """The log is stored and passed on as it came."""
    done = run("--keep", str(tmp_path / "kept"), "--echo", stdin=LOG.encode())
    assert (tmp_path / "kept").read_bytes() == LOG.encode()
    assert done.stdout.startswith(LOG.encode())
    assert b"Rank 1" in done.stdout


def test_echo_leaves_stdout_to_other_formats():
    """Where stdout carries JSON the log goes to stderr."""
    done = run("--echo", "-f", "json", stdin=LOG.encode())
    assert json.loads(done.stdout)["outcome"]
    assert done.stderr == LOG.encode()


def test_keep_that_fails_is_two():
    """A place that can't be written is refused before the log is read."""
    done = run("--keep", "/nonexistent/kept", stdin=LOG.encode())
    assert done.returncode == 2
    assert b"--keep /nonexistent/kept" in done.stderr


def _interrupted(*signals: int) -> tuple[int, bytes, bytes]:
    """Sends signals while a log is still coming, then ends the log."""
    with subprocess.Popen(LOGSIG, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(LOG.encode())
        process.stdin.flush()
        time.sleep(1.5)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.5)
        try:
            out, err = process.communicate(b"[rank1]: last words\n", timeout=60)
        except BrokenPipeError:
            out, err = process.stdout.read(), process.stderr.read()
        return process.wait(), out, err


def test_first_interrupt_reads_to_the_end():
    """Ctrl-C once: the log is read to its end, the diagnosis printed, then 130."""
    code, out, err = _interrupted(signal.SIGINT)
    assert code == 130
    assert b"KeyError" in out
    assert b"interrupted: reading the log to its end" in err


def test_second_interrupt_stops():
    """Ctrl-C twice: no diagnosis, 130."""
    code, out, err = _interrupted(signal.SIGINT, signal.SIGINT)
    assert (code, out) == (130, b"")
    assert b"Traceback" not in err


def test_termination_still_diagnoses():
    """SIGTERM reaches the job as well: its last words are read, then 143."""
    code, out, _ = _interrupted(signal.SIGTERM)
    assert code == 143
    assert b"KeyError" in out


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no hangup there")
def test_a_hangup_still_diagnoses():
    """So it is where the connection to the machine breaks."""
    code, out, err = _interrupted(signal.SIGHUP)
    assert code == 129
    assert b"KeyError" in out
    assert b"Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("late", range(4))
def test_an_end_while_starting_is_quiet(number, code, late):
    """From the first own line on, also while modules are imported: no traceback, the exit code of a shell."""
    slow = (
        "import sys, time, logsig.__main__ as begin\n"
        "class Slow:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {('click', 'logsig.cli', 'logsig.commands', 'logsig.commands.diagnose')[late]!r}:\n"
        "            print('here', flush=True)\n"
        "            time.sleep(30)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "sys.argv = ['logsig', '-']\n"
        "begin.main()\n"
    )
    words = [sys.executable, "-c", slow]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        process.send_signal(getattr(signal, number))
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err.strip()) == (code, b"")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no hangup there")
def test_a_hangup_that_is_ignored_stays_ignored():
    """As under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code, _, err = _interrupted(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (code, err) == (0, b"")


def test_closed_pipe_is_a_quiet_end(log):
    """``logsig … | head -1`` says nothing on stderr."""
    script = f"{sys.executable} -m logsig {log} | head -n 1; exit ${{PIPESTATUS[0]}}"
    root = os.path.dirname(os.path.dirname(__file__))
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, timeout=60, check=False, cwd=root)
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["show", "train.log"], ["train.log"], ["-f", "json", "train.log"]]
)
def test_full_disk_is_one_line(words, log):
    """A stdout that takes no more is said in one line, exit 2."""
    root = os.path.dirname(os.path.dirname(__file__))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*LOGSIG, *(str(log) if word == "train.log" else word for word in words)],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
            cwd=root,
        )
    assert done.returncode == 2
    assert done.stderr == b"logsig: the output: No space left on device\n"


def test_closed_stdout_is_one_line(log):
    """Without a stdout the report has to go elsewhere."""
    script = f"{sys.executable} -m logsig {log} >&-"
    root = os.path.dirname(os.path.dirname(__file__))
    done = subprocess.run(
        ["/bin/bash", "-c", script], capture_output=True, text=True, timeout=60, check=False, cwd=root
    )
    assert (done.returncode, done.stderr) == (2, "logsig: stdout is closed; -o FILE writes the report elsewhere\n")


# ---------------------------------------------------------------- outputs


def test_several_formats_in_one_pass(log, answers, capsys):
    """``-O`` writes further formats; stdout still gets ``--format``."""
    calls = answers(unused_one())
    assert cli.run([log.name, "-f", "jsonl", "-O", "markdown=a.md", "-O", "junit=b.xml"]) == 0
    assert len(calls) == 1
    assert capsys.readouterr().out.count("\n") == 1
    assert (log.parent / "a.md").read_text().startswith("### Rank 1 failed first")
    assert (log.parent / "b.xml").read_text().startswith("<?xml")


def test_failed_report_does_not_lose_the_others(log, answers, capsys):
    """A report that can't be written is said, exit 2; the others are there."""
    answers(unused_one())
    assert cli.run([log.name, "-O", "html=/nonexistent/a.html", "-O", "jsonl=b.json"]) == 2
    shown = capsys.readouterr()
    assert "/nonexistent/a.html: the report wasn't written" in shown.err
    assert shown.out.startswith("Rank 1 failed first")
    assert json.loads((log.parent / "b.json").read_text())["outcome"] == "failure"


def test_output_to_a_file_is_uncoloured(log, answers, monkeypatch, capsys):
    """``-o`` takes the place of stdout, without colour unless asked."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    answers(unused_one())
    assert cli.run([log.name, "-o", "out.txt"]) == 0
    assert capsys.readouterr().out == ""
    assert "\x1b" not in (log.parent / "out.txt").read_text()


def test_template_over_the_fields_of_json(log, answers, capsys):
    """``--template`` sees the JSON's fields."""
    answers(unused_one())
    (log.parent / "t.j2").write_text("{{ first_failing_rank }}/{{ root_cause.signature }}/{{ ranks|length }}\n")
    assert cli.run([log.name, "--template", "t.j2"]) == 0
    assert capsys.readouterr().out == "1/ddp-reduction-not-finished/4\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n{{ nosuch }}", "t.j2:2: 'nosuch' is undefined"),
        ("{{ x", "t.j2:1: unexpected end of template"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{% include 'x' %}", "t.j2:1: no loader"),
        ("{{ doubts.append(1) }}", "access to attribute 'append' of 'list' object is unsafe"),
        ("\n{{ 10**5000 }}", "t.j2:2: Exceeds the limit (4300 digits) for integer string conversion\n"),
        ("\n{{ 'a'.center(10**9) }}", "t.j2:2: more work or text than a template may make"),
        ("\n{% for i in range(9**5) %}{% for j in range(9**5) %}{% endfor %}{% endfor %}", "t.j2:2: more work or text"),
        ("\n{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "t.j2:2: nested too deeply"),
        (f"\n{{{{ {'(' * 3000}1{')' * 3000} }}}}", "t.j2:2: nested too deeply"),
        ("\n{{ 1 / 0 }}", "t.j2:2: division by zero"),
        ("\n{{ doubts + 1 }}", "t.j2:2: can only concatenate list"),
        ("\n{{ doubts|nosuch }}", "t.j2:2: No filter named 'nosuch'"),
        ("a" * (1 << 20) + "b", "t.j2: the template can't be read: more than 1048576 bytes"),
    ],
)
def test_template_faults_name_the_line(text, said, log, answers, capsys):
    """A template that can't be used is an error with its place; the sandbox holds."""
    answers(unused_one())
    (log.parent / "t.j2").write_text(text)
    assert cli.run([log.name, "--template", "t.j2"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_template_without_end_is_not_read_to_its_end(log, answers, capsys):
    """A device is a template like any other, up to the limit."""
    answers(unused_one())
    assert cli.run([log.name, "--template", "/dev/zero"]) == 2
    assert capsys.readouterr().err == "logsig: /dev/zero: the template can't be read: more than 1048576 bytes\n"


def test_html_template_escapes(log, answers, capsys):
    """A template named ``.html`` is escaped."""
    base = unused_one()
    answers(replace(base, doubts=("<script>",)))
    (log.parent / "t.html.j2").write_text("{{ doubts[0] }}")
    cli.run([log.name, "--template", "t.html.j2"])
    assert capsys.readouterr().out == "&lt;script&gt;"


def test_a_pack_with_a_bad_file_is_used_only_when_asked(tmp_path):
    """Every fault at once and exit 2; with --lenient the faults are said and the log is diagnosed."""
    pack = tmp_path / "pack" / "python"
    pack.mkdir(parents=True)
    (pack / "half.yaml").write_text("schema: 1\nid: half\n", encoding="utf-8")
    log = tmp_path / "x.log"
    log.write_text("step 1\n", encoding="utf-8")
    command = [sys.executable, "-m", "logsig", str(log), "--signatures", str(tmp_path / "pack")]
    strict = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (strict.returncode, strict.stdout) == (2, "")
    assert "half.yaml" in strict.stderr
    lenient = subprocess.run([*command, "--lenient"], capture_output=True, text=True, check=False)
    assert lenient.returncode == 0
    assert "left out: " in lenient.stderr


@pytest.mark.parametrize("command", [[], ["show", "--rank", "0"], ["mask"], ["scan"], ["why", "python-exception"]])
def test_a_log_that_may_not_be_read_is_not_a_usage_error(command, tmp_path, monkeypatch, capsys):
    """Click asks ``os.access``, root or not; a named log that may not be read leaves the rest to be diagnosed."""
    log = tmp_path / "job.log"
    log.write_text("ValueError: boom\n")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert cli.run([*command, str(log)]) != 2, capsys.readouterr().err


def test_what_could_not_be_read_is_not_called_empty(log, capsys):
    """A folder of which nothing is a log, and a gzip that is cut at once: exit 3, and the headline says so."""
    log.unlink()
    (log.parent / "core").write_bytes(bytes(range(20)) * 100)
    (log.parent / "d").mkdir()
    (log.parent / "d" / "cut.log.gz").write_bytes(gzip.compress(b"step 1\n" * 9999)[:12])
    for words in (["d"], ["d/cut.log.gz"], ["."]):
        assert cli.run([*words, "--color", "never"]) == 3
        assert capsys.readouterr().out.startswith("Nothing could be read, so there is nothing to diagnose.\n")
    (log.parent / "nothing.log").touch()
    assert cli.run(["nothing.log"]) == 0
    assert capsys.readouterr().out.startswith("The log is empty: there is nothing to diagnose.\n")
