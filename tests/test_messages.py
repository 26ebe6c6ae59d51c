"""Lines become messages: tracebacks whole, chains linked, neighbours kept out."""

from __future__ import annotations

from logsig import lines, messages
from logsig.model import Excerpt, Message, Origin


def grouped(log: str) -> tuple[Message, ...]:
    return messages.group(lines.read((Excerpt(Origin("x"), 1, 0, log.encode(), "head"),)).lines)


def test_traceback_is_one_message_with_frames() -> None:
    """Type, message and frames of a prefixed traceback."""
    (found,) = grouped(
        "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/a/t.py\", line 3, in f\n[rank1]:     g(x)\n[rank1]:     ^^^^\n[rank1]: KeyError: 'a'\n"
    )
    assert (found.text, found.exception, found.fatal) == ("KeyError: 'a'", "KeyError", True)
    assert [(frame.path, frame.line, frame.function, frame.code) for frame in found.frames] == [
        ("/a/t.py", 3, "f", "g(x)")
    ]


def test_interleaved_ranks_are_told_apart() -> None:
    """Two ranks' tracebacks line by line."""
    log = "".join(
        f"[rank{rank}]: {line}\n"
        for line in ("Traceback (most recent call last):", '  File "/a/t.py", line 3, in f', "    g()", "E: x")
        for rank in (0, 1)
    ).replace("[rank1]: E: x", "[rank1]: OSError: y")
    assert sorted(message.text for message in grouped(log)) == ["E: x", "OSError: y"]


def test_unlabelled_interleaved_tracebacks_are_both_found() -> None:
    """Without prefixes two tracebacks line by line still give two exceptions."""
    log = "".join(
        line + "\n" + line + "\n"
        for line in ("Traceback (most recent call last):", '  File "/a/t.py", line 3, in f', "    g()", "KeyError: 'a'")
    )
    assert [message.text for message in grouped(log) if message.exception] == ["KeyError: 'a'", "KeyError: 'a'"]


def test_chain_keeps_first_raised_first() -> None:
    """“During handling” links the messages."""
    log = (
        'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\n    g()\nKeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n'
        'Traceback (most recent call last):\n  File "/a/t.py", line 5, in f\n    h()\nValueError: no such key\n'
    )
    (found,) = [message for message in grouped(log) if message.exception]
    assert (found.text, [link.text for link in found.caused_by]) == ("ValueError: no such key", ["KeyError: 1"])


def test_cpp_message_takes_its_continuation_lines() -> None:
    """C++ loggers prefix the first line only."""
    log = "[rank3]:[E822 23:40:11.300118204 ProcessGroupNCCL.cpp:552] [Rank 3] Collective raised the following async exception: NCCL error\nncclRemoteError: A call failed\nLast error:\nsocketProgress: closed\n"
    (found,) = grouped(log)
    assert found.text.endswith("Last error:\nsocketProgress: closed")


def test_table_traceback_belongs_to_the_listed_rank() -> None:
    """Torchrun's table repeats an error file's traceback: it is that rank's."""
    log = (
        "Failures:\n[1]:\n  time      : 2026-11-29_16:35:23\n  host      : n\n  rank      : 5 (local_rank: 1)\n  exitcode  : 1 (pid: 9)\n  error_file: /x\n"
        '  traceback : Traceback (most recent call last):\n    File "/a/t.py", line 3, in f\n      g()\n  KeyError: 1\n  \n'
    )
    (found,) = [message for message in grouped(log) if message.exception]
    assert (found.rank, found.text) == (5, "KeyError: 1")


def test_spawn_announces_the_rank() -> None:
    """mp.spawn names the process before its traceback."""
    log = '-- Process 2 terminated with the following error:\nTraceback (most recent call last):\n  File "/a/t.py", line 3, in f\n    g()\nKeyError: 1\n'
    (found,) = [message for message in grouped(log) if message.exception]
    assert found.rank == 2


def test_cpp_continuation_is_found_behind_a_collectors_prefix() -> None:
    """A collector marks every line, the logger of C++ only the first: the desync report stays one message."""
    log = (
        "[rank0]:[E424 03:10:22.111222333 ProcessGroupNCCL.cpp:616] [Rank 0] \n"
        "\t - To our best knowledge, the lagging ranks are: \n"
        "\t - [5] finished collective #1200, but didn't join collective #1201\n"
    )
    for before in ("worker-0  | ", "2026-01-02T03:04:05.000001Z stdout F ", "[1,0]<stdout>:"):
        (found,) = grouped("".join(f"{before}{line}\n" for line in log.splitlines()) * 1)
        assert "- [5] finished collective #1200" in found.text, before


def test_bare_line_of_another_task_continues_nothing() -> None:
    """Behind an outer label only the same task's lines may go on."""
    log = "[1,0]<stderr>:[rank0]:[E424 03:10:22.111222333 X.cpp:6] failed\n[1,3]<stderr>:Last error\n"
    assert [message.text for message in grouped(log)] == ["failed", "Last error"]


def test_traceback_without_its_first_line_is_one_where_the_log_begins() -> None:
    """The head of the log is cut inside a traceback, or right before the exception's line."""
    for text in ('[rank1]:     g()\n[rank1]:   File "/a/t.py", line 3, in f\n[rank1]:     h()\n', ""):
        *_, found = grouped(text + "[rank1]: ValueError: boom\n")
        assert (found.text, found.exception, found.raised) == ("ValueError: boom", "ValueError", True)
        assert len(found.frames) == (1 if text else 0)


def test_exception_named_in_mid_log_was_not_raised() -> None:
    """A line that only looks like one, behind other words of its writer; or a frame that no exception follows."""
    for text in ("[rank1]: step 1\n[rank1]: ValueError: boom\n", '  File "/a/t.py", line 3, in f\nstep 2\n'):
        assert not any(message.raised and message.exception for message in grouped(text))


def test_cpp_line_inside_a_traceback_is_a_message_of_its_own() -> None:
    """The watchdog's thread speaks while the main thread's traceback is being printed."""
    log = (
        "[rank2]: Traceback (most recent call last):\n"
        '[rank2]:   File "/a/t.py", line 3, in f\n'
        "[rank2]:[I1129 18:58:10.376844527 reducer.cpp:1228] Reducer: using regular allocator\n"
        "[rank2]:     g(x)\n"
        "[rank2]: KeyError: 'a'\n"
    )
    found = {message.text: message.exception for message in grouped(log)}
    assert found == {"Reducer: using regular allocator": None, "KeyError: 'a'": "KeyError"}


def test_warning_of_a_cpp_logger_has_no_bare_continuation() -> None:
    """What stands behind a rank's harmless warning is somebody else's, but for indented lines."""
    warning = "[rank1]:[W811 08:08:09.100200300 ProcessGroupNCCL.cpp:4715] using GPU 1 to perform barrier\n"
    log = warning + "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"
    assert [message.first.rank for message in grouped(log)] == [1, None]
    (found,) = grouped(warning + "  grad.sizes() = [64]\n")
    assert found.text.endswith("grad.sizes() = [64]")


def test_error_of_a_cpp_logger_ends_where_another_begins_to_speak() -> None:
    """The kernel, a shell, Ray's raylet and a Python exception are no continuation of a watchdog's line."""
    error = "[rank2]:[E1118 20:32:23.957028747 ProcessGroupNCCL.cpp:685] [Rank 2] Watchdog caught\n"
    others = (
        "$ kubectl describe pod a-worker-2",
        "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "node-3 kernel: NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "[Mon Aug  4 10:00:00 2025] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "[  +0.000003] Out of memory: Killed process 48213 (python)",
        "(raylet) A worker died or was killed",
        "Memory cgroup out of memory: Killed process 48213 (python)",
        "Bus error (core dumped)",
        "/bin/sh: line 3: 4103 Segmentation fault      python train.py",
        "free(): invalid pointer",
        "double free or corruption (out)",
        "OSError: [Errno 28] No space left on device",
    )
    for other in others:
        texts = [message.text for message in grouped(error + other + "\n")]
        assert len(texts) == 2
        assert other.endswith(texts[-1])
    for own in ("ncclRemoteError: A call failed", "Exception raised from checkTimeout at x.cpp:1"):
        (found,) = grouped(error + own + "\n")
        assert found.text.endswith(own)


def test_record_of_a_logger_is_a_message_of_its_own() -> None:
    """Two records that name an exception, and one of another level behind them."""
    log = "".join(
        f"2025-05-01 10:00:0{second},101 {text}\n"
        for second, text in enumerate(("WARNING ReadError: of 1", "WARNING ReadError: of 2", "INFO read it"))
    )
    assert [message.text for message in grouped(log)] == ["ReadError: of 1", "ReadError: of 2", "read it"]


def test_exception_of_an_npu_holds_marked_lines() -> None:
    """torch_npu writes ``[ERROR] …`` and error codes into the message."""
    log = (
        '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/m/t.py", line 4, in f\n[rank0]:     sync()\n'
        "[rank0]: RuntimeError: NPU function error: AclrtSynchronizeDevice, error code is 507048\n"
        "[rank0]: [ERROR] 2025-06-25-10:45:23 (PID:13070, Device:0, RankID:0) ERR00100 PTA call acl api failed\n"
        "[rank0]: EI0002: [PID: 13070] The wait execution of the Notify register times out.\n"
    )
    (found,) = grouped(log)
    assert found.text.splitlines()[-1].startswith("EI0002: ")


def test_syntax_error_has_no_traceback() -> None:
    """Python could not read the program: the place, the line, the error; each process says so."""
    log = (
        "  File \"/w/train.py\", line 41\n    def step(self, batch\n            ^\nSyntaxError: '(' was never closed\n"
    )
    found = grouped("[rank0] starting\n" + log + log)[1:]
    assert [(message.text, message.raised) for message in found] == [("SyntaxError: '(' was never closed", True)] * 2


def test_words_that_announce_an_ignored_exception_announce_one_only() -> None:
    """A bare exception right behind them is aside too; what comes after it isn't."""
    log = (
        "Exception ignored in atexit callback: <function _exit_function at 0x7f3b2>\n"
        "KeyboardInterrupt: \n"
        "Traceback (most recent call last):\n"
        '  File "t.py", line 3, in main\n'
        "    f()\n"
        "ValueError: x\n"
    )
    assert [(item.exception, item.aside) for item in grouped(log)[1:]] == [
        ("KeyboardInterrupt", True),
        ("ValueError", False),
    ]
    trial = (
        "[W 2025-03-11 09:03:01,111] Trial 0 failed with parameters: {'lr': 0.1} because of the following error: E.\n"
    )
    raised = 'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    g()\nRuntimeError: loss is nan\n'
    behind = grouped(trial + raised + "[W 2025-03-11 09:03:01,112] Trial 0 failed with value None.\n" + raised)
    assert [item.aside for item in behind if item.exception] == [True, False]


def test_what_finalizers_and_loggers_print_ends_nothing() -> None:
    """Also where another such message stands open, and where nothing announces it."""
    error = "--- Logging error ---\nTraceback (most recent call last):\n"
    error += '  File "l.py", line 3, in emit\n    self.flush()\nOSError: [Errno 116] Stale file handle\n'
    error += "Call stack:\n  File \"t.py\", line 9, in main\nMessage: 'x'\nArguments: ()\n"
    at_exit = 'Traceback (most recent call last):\n  File "util.py", line 300, in _run_finalizers\n    finalizer()\n'
    at_exit += "OSError: [Errno 16] Device or resource busy: '.nfs0001'\n"
    found = grouped(error + "[rank0]: step 2\n" + error + "[rank0]: step 3\n" + at_exit)
    assert [item.aside for item in found if item.exception] == [True] * 3
