"""What happens to a log on its way is undone: the same cleaned text by the same writers, at the lines where it begins."""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from pathlib import Path

import pytest
import redress
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.traceback import Traceback

import logsig
from logsig import lines, rejoin
from logsig.inputs import naming
from logsig.model import Excerpt, LogLine, Origin
from logsig.report import Options, formats

CASES = sorted(
    path.parent.name
    for path in Path(__file__).parents[1].glob("fixtures/cases/*/report.txt")
    if (path.parent / "log.txt").exists()
)
"""The cases whose whole report was accepted: enough for every mangling."""
WHOLE = logsig.load_catalog()
FOLDER = Path(__file__).parents[1] / "fixtures" / "cases"


def reading(text: str | bytes, origin: Origin = Origin("x.log"), first_line: int = 1) -> lines.Reading:  # noqa: B008
    data = text.encode() if isinstance(text, str) else text
    return lines.read([Excerpt(origin, first_line, 0, data, "head")])


def read(text: str | bytes) -> tuple[LogLine, ...]:
    return reading(text).lines


def texts(text: str) -> list[str]:
    return [line.text for line in read(text)]


def said(found: tuple[LogLine, ...]) -> Counter[tuple[str, int | None, int | None, int | None]]:
    """Who said what, blanks at the end aside."""
    return Counter((line.text.rstrip(), line.rank, line.local_rank, line.task) for line in found if line.text.strip())


def plain(name: str) -> str:
    text = (FOLDER / name / "log.txt").read_text(encoding="utf-8", errors="replace")
    return redress._COLOUR.sub("", text).replace("\r", "")


# ---------------------------------------------------------------- untouched text


@pytest.mark.parametrize("name", CASES)
def test_every_line_is_kept_where_it_is(name):
    text = plain(name)
    rows = text.removesuffix("\n").split("\n")
    found = reading(text)
    assert found.doubts == ()
    assert {line.source.line for line in found.lines} == set(range(1, len(rows) + 1))
    for line in found.lines:
        assert line.raw == rows[line.source.line - 1]
        assert line.text in line.raw or line.raw.startswith("{")


def test_gap_and_numbers_of_excerpts():
    origin = Origin("x.log")
    parts = [(1, b"a\nb\n"), (3, b"c\n"), (100, b"[rank1]: d\ne\n")]
    found = lines.read([Excerpt(origin, first, 0, data, "hit") for first, data in parts]).lines
    assert [(line.source.line, line.gap) for line in found] == [
        (1, False),
        (2, False),
        (3, False),
        (100, True),
        (101, False),
    ]


def test_what_the_place_says_fills_what_the_line_does_not():
    origin = Origin("t/attempt_1/2/stderr.log", attempt=1, local_rank=2, stream="stderr")
    first, second = reading("Traceback\n[default3]:[rank7]: x\n", origin).lines
    assert (first.attempt, first.local_rank, first.rank, first.stream) == (1, 2, None, "stderr")
    assert (second.attempt, second.local_rank, second.rank) == (1, 3, 7)


# ---------------------------------------------------------------- cut lines


@pytest.mark.parametrize("width", [63, 80, 100, 137])
@pytest.mark.parametrize("name", CASES)
def test_wrapped(name, width):
    text = plain(name)
    if sum(len(row) > width for row in text.splitlines()) < 8:
        pytest.skip("too few lines are cut to know")
    whole, cut = said(read(text)), said(read(redress.wrapped(text, width)))
    lost = {item for item in whole - cut if "*****" not in item[0]}
    assert len(lost) <= 0.02 * whole.total(), lost


def test_wrapped_lines_keep_the_place_where_they_begin():
    text = redress.wrapped(plain("ddp-reduction-not-finished-unused-all-off"), 80)
    rows = text.splitlines()
    found = reading(text)
    assert any("cut at 80 columns" in doubt for doubt in found.doubts)
    for line in found.lines:
        assert line.raw.startswith(rows[line.source.line - 1])


@pytest.mark.parametrize("width", [100, 120, 132, 160])
def test_one_cut_in_an_exceptions_message_is_enough(width):
    said_by = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out "
    cut = (said_by + "x" * width)[:width]
    log = f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n{cut}\nrest to complete\n'
    assert [line.text for line in read(log)][-1] == f"{cut}rest to complete"


def test_wrapped_behind_a_collectors_mark():
    text = redress.wrapped(plain("ddp-reduction-not-finished-unused-all-off"), 80)
    marked = "".join(f"2026-05-01T12:00:00.1234567Z {line}\n" for line in text.splitlines())
    assert said(read(marked)) == said(read(text))


def test_equal_length_is_no_wrap():
    rows = [
        f"step {number:06d} loss 1.2345 lr 1.0e-03 tokens per second 123456 grad norm 0.12345 ok"
        for number in range(60)
    ]
    assert {len(row) for row in rows} == {80}
    assert texts("\n".join(rows)) == rows


def test_parts_of_a_container_file():
    stamp = "2026-04-30T02:12:41.844351500Z"
    text = "".join(
        f"{stamp} {row}\n"
        for row in (
            "stdout P [rank 0] step=1 ",
            "stderr F [rank1]: x",
            "stdout P [rank 1] st",
            "stdout F ep=1",
            "stderr P y",
        )
    )
    found = read(text)
    assert [(line.source.line, line.rank, line.text) for line in found] == [
        (1, 0, "step=1 "),
        (1, 1, "step=1"),
        (2, 1, "x"),
        (5, None, "y"),
    ]


def test_parts_of_dockers_json():
    rows = [
        {"log": "[rank1]: Value", "stream": "stderr"},
        {"log": "[rank2]: y\n", "stream": "stdout"},
        {"log": "Error: x\n", "stream": "stderr"},
    ]
    found = read("".join(json.dumps(row) + "\n" for row in rows))
    assert [(line.source.line, line.rank, line.text) for line in found] == [(1, 1, "ValueError: x"), (2, 2, "y")]


# ---------------------------------------------------------------- escapes


@pytest.mark.parametrize("name", CASES)
def test_colours_and_line_ends(name):
    text = plain(name)
    expected = said(read(text))
    assert said(read(redress.coloured(text))) == expected
    assert said(read(text.replace("\n", "\r\n"))) == expected


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("Expected to have fin\x1b[31mished\x1b[0m reduction", "Expected to have finished reduction"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred\x9b0m", "red"),
        ("a\x00b\x7fc", "abc"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b(Btext\x1b[K", "text"),
        ("cut \x1b[3", "cut [3"),
        ("bold\x08d", "bold"),
    ],
)
def test_escapes(dirty, clean):
    assert texts(dirty) == [clean]


def test_progress_bar_shows_its_last_state_and_what_was_glued_to_it():
    bar = "".join(f"\rEpoch 1: {n:3d}%|{'█' * (n // 10)}| {n}/100 [00:01<00:09, 9.1it/s]" for n in range(10, 100, 10))
    found = read(f"{bar}[rank0]:[E709 17:05:38.162814866 ProcessGroupNCCL.cpp:2271] [PG ID 0] failure\nnext\n")
    assert [(line.source.line, line.rank, line.text.strip()[:12]) for line in found] == [
        (1, None, "Epoch 1:  80"),
        (1, None, "Epoch 1:  90"),
        (1, 0, "[PG ID 0] fa"),
        (2, None, "next"),
    ]


def test_a_line_written_between_states_of_a_bar_is_kept():
    assert texts("10%|█| 1/9\r20%|██| 2/9\rValueError: x\r30%|███| 3/9\n") == [
        "20%|██| 2/9",
        "ValueError: x",
        "30%|███| 3/9",
    ]


def test_carriage_return_before_the_first_bar():
    assert texts("\r  0%|          | 0/10 [00:00<?, ?it/s]\n") == ["  0%|          | 0/10 [00:00<?, ?it/s]"]


# ---------------------------------------------------------------- several lines or writers in one

TRACE = [
    "Traceback (most recent call last):",
    '  File "/opt/train/train.py", line 5, in main',
    "    loss.backward()",
    '  File "/opt/venv/lib/torch/_tensor.py", line 626, in backward',
    "    torch.autograd.backward(",
    "RuntimeError: it's broken: 3",
]


@pytest.mark.parametrize(
    "squeezed",
    [
        "\\n".join(TRACE),
        "\\n".join(TRACE).replace('"', '\\"'),
        repr([f"{line}\n" for line in TRACE]),
        json.dumps({"level": "ERROR", "message": "\n".join(TRACE)}),
        json.dumps({"log": "\\n".join(TRACE) + "\n", "stream": "stderr"}),
        " ".join(line.strip() for line in TRACE),
        "\r\n".join(TRACE),
        "\n".join(line.strip() for line in TRACE),
    ],
    ids=["escaped", "quotes too", "list", "json", "json in json", "one line", "crlf", "no indentation"],
)
def test_flattened(squeezed):
    assert texts(squeezed) == TRACE


def test_flattened_keeps_rank_and_what_stood_before():
    found = read(f"2026-11-29 16:33:31,090 ERROR [rank2] worker died: {[f'{line}' for line in TRACE]!r}")
    assert [line.text for line in found] == ["worker died:", *TRACE]
    assert {(line.rank, line.source.line) for line in found} == {(2, 1)}


def test_chained_exceptions_on_one_line():
    cause = "During handling of the above exception, another exception occurred:"
    found = texts(" ".join(line.strip() for line in [*TRACE, cause, *TRACE]))
    assert [text for text in found if text] == [*TRACE, cause, *TRACE]


@pytest.mark.parametrize(
    "line",
    [
        '    raise ValueError("first\\nsecond\\nError: x")',
        "C:\\new\\node",
        "pattern '\\n' not found",
        "values ['a', 'b']",
        "    print('Traceback (most recent call last):\\n')",
    ],
)
def test_not_flattened(line):
    assert texts(line) == [line]


def fail(message: str) -> None:
    raise RuntimeError(message)


@pytest.mark.parametrize("indent", ["", "[rank1]: "])
@pytest.mark.parametrize("width", [80, 100])
def test_box_of_rich(width, indent):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    message = "Expected to have finished reduction in the prior iteration before starting a new one. " * 3
    try:
        fail(message.strip())
    except RuntimeError as error:
        console.print(Traceback.from_exception(type(error), error, error.__traceback__, width=width, show_locals=True))
    boxed = console.file.getvalue()  # type: ignore[attr-defined]
    found = read("".join(f"{indent}{line}".rstrip() + "\n" for line in boxed.splitlines()))
    spoken = [line.text.strip() for line in found if line.text.strip()]
    assert spoken[0] == "Traceback (most recent call last):"
    assert spoken[3].startswith('File "')
    assert spoken[3].endswith("in fail")
    assert spoken[4] == "raise RuntimeError(message)"
    assert spoken[5] == f"RuntimeError: {message.strip()}"
    assert len(spoken) == 6
    assert {line.rank for line in found if line.text} == {1 if indent else None}


def test_columns_of_richs_log_handler():
    text = (
        "[11/29/26 16:33:31] ERROR    Expected to have finished reduction in the    train.py:12\n"
        "                             prior iteration before starting a new one                \n"
        "[11/29/26 16:33:32] INFO     step 4                                        train.py:13\n"
    )
    found = read(text)
    assert [(line.source.line, line.level, line.text) for line in found] == [
        (1, "E", "Expected to have finished reduction in the prior iteration before starting a new one"),
        (3, "I", "step 4"),
    ]


def test_traceback_glued_to_text_without_line_end():
    found = read("[rank 0] step=3 tokens=64Traceback (most recent call last):\n")
    assert [(line.rank, line.text) for line in found] == [(0, "step=3 tokens=64"), (None, TRACE[0])]


def test_doubled_and_woven_lines():
    assert texts("".join(character * 2 for character in TRACE[0])) == [TRACE[0]] * 2
    assert texts(TRACE[0] * 2) == [TRACE[0]] * 2
    found = reading("TrTraceaback (most reccent call last):ent call last):\n")
    assert any("woven" in doubt for doubt in found.doubts)


def test_exceptions_woven_piece_by_piece_are_two():
    """Python writes type, colon and message one by one; two processes that do so at once give neither of them."""
    same = "ValueErrorValueError: : Expected size (32)Expected size (32)\n"
    assert [line.text for line in read(same)] == ["ValueError: Expected size (32)"] * 2
    other = "a.Errora.Error: : Expected size (32)Expected size (9)\n"
    assert [line.text for line in read(other)] == ["a.Error: Expected size (32)", "a.Error: Expected size (9)"]


def test_lines_of_two_processes_without_line_end_between():
    frame = '  File "/opt/train/train.py", line 5, in main'
    other = '  File "/opt/train/data.py", line 7, in load'
    assert texts(f"{frame}{other}\n    loss.backward()    loss.backward()\n{'=' * 60}\n") == [
        frame,
        other,
        "    loss.backward()",
        "    loss.backward()",
        "=" * 60,
    ]


def test_mpirun_writes_text_and_line_end_apart():
    text = (
        "[1,0]<stdout>:[rank 0] step=1 tokens=64[1,1]<stdout>:\n"
        "[1,1]<stdout>:[rank 1] step=1 tokens=128[1,2]<stdout>:[rank 2] step=1 tokens=1\n[1,0]<stdout>:\n"
    )
    found = [(line.rank, line.task, line.text) for line in read(text) if line.text]
    assert found == [(0, 0, "step=1 tokens=64"), (1, 1, "step=1 tokens=128"), (2, 2, "step=1 tokens=1")]


def test_glued_text_keeps_the_collectors_facts_only():
    found = read("[pod/bert-worker-1/pytorch] 2026-11-29T16:33:31.123456789Z [rank2]: x=1[rank3]: y\n")
    assert [(line.rank, line.node, line.node_rank, line.stamp and line.stamp.text[-4:]) for line in found] == [
        (2, "bert-worker-1", 2, "789Z"),
        (3, "bert-worker-1", 2, "789Z"),
    ]


def test_rays_repeated_lines_are_a_doubt():
    found = reading("\x1b[36m(RayTrainWorker pid=12)\x1b[0m step 3\x1b[32m [repeated 8x across cluster]\x1b[0m\n")
    assert [line.text for line in found.lines] == ["step 3"]
    assert "8 similar lines" in found.doubts[0]


def test_journal_export_with_binary_message():
    message = b"[rank0]: bad\nRuntimeError: \xff"
    data = b"__CURSOR=1\n__REALTIME_TIMESTAMP=1764432000123456\n_HOSTNAME=node-0\nMESSAGE\n"
    data += (
        len(message).to_bytes(8, "little")
        + message
        + b"\n_PID=12\n\n__CURSOR=2\n__REALTIME_TIMESTAMP=1764432000123456\nMESSAGE=ok\n"
    )
    found = read(data)
    assert [(line.source.line, line.rank, line.node, line.pid, line.text) for line in found] == [
        (4, 0, "node-0", 12, "bad"),
        (4, None, "node-0", 12, "RuntimeError: \ufffd"),
        (11, None, None, None, "ok"),
    ]


# ---------------------------------------------------------------- hostile input

SNIPPETS = [
    "\n",
    "\r",
    "[rank1]: ",
    "3: ",
    '{"message": "',
    '"}',
    "\\n",
    "Traceback (most recent call last):",
    'File "',
    "│ ",
    "╰──╯",
    "\x1b[",
    "stdout P ",
    "2026-04-30T02:12:41.844351500Z ",
    "[1,2]<stdout>:",
    "['Traceback (most recent call last)",
]
chunk = st.one_of(st.text(max_size=30), st.sampled_from(SNIPPETS))


@given(st.lists(chunk, max_size=60).map("".join))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read(text):
    rows = text.removesuffix("\n").split("\n")
    for line in read(text):
        assert 1 <= line.source.line <= len(rows)
        assert "\n" not in line.text


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read(data):
    for line in read(data):
        assert line.source.line >= 1


@given(st.lists(st.text(alphabet="abc 12[]:\\", max_size=90), max_size=30))
@settings(max_examples=200, deadline=None)
def test_a_width_is_found_only_where_lines_end_there(rows):
    width = rejoin.wrap_width(rows, lambda _: False)
    assert width is None or any(len(row) == width for row in rows)


# ---------------------------------------------------------------- clocks


@pytest.mark.parametrize(("hour", "stamps"), [(12, ["c10", "iso"]), (20, ["c10", None])])
def test_a_collectors_clock_stands_in_only_where_it_is_the_same(hour, stamps):
    text = (
        f"2026-05-01T12:00:00.1234567Z [rank0]:[E501 {hour}:00:00.100000001 a.cpp:1] x\n"
        "2026-05-01T12:00:01.1234567Z [rank0]: Traceback\n"
    )
    found = read(text)
    assert [line.stamp and line.stamp.format for line in found] == stamps
    assert [line.arrival.text[17:19] for line in found if line.arrival] == ["00", "01"]


def test_loguru_draws_values_below_the_code():
    text = (
        "2026-11-29 16:33:31.090 | ERROR    | __main__:main:12 - lost it\n"
        "Traceback (most recent call last):\n\n"
        '  File "/opt/train/train.py", line 20, in <module>\n    main(7)\n    └ <function main at 0x7f>\n\n'
        '> File "/opt/train/train.py", line 12, in main\n    foo(a, b)\n    │   │  └ 2\n    │   └ 1\n    └ <function foo>\n'
        "ValueError: x\n"
    )
    assert [found for found in texts(text) if found] == [
        "lost it",
        "Traceback (most recent call last):",
        '  File "/opt/train/train.py", line 20, in <module>',
        "    main(7)",
        '  File "/opt/train/train.py", line 12, in main',
        "    foo(a, b)",
        "ValueError: x",
    ]


LONG = 400_000


@pytest.mark.parametrize(
    "unit",
    [
        "[rank3]: ",
        "x[rank3]:",
        "x[rank 3] ",
        "[1,2]<stdout>:",
        "[E1129 16:33:31.090000001 a.cpp:1] ",
        "Traceback (most recent call last): ",
        'Traceback (most recent call last): File "a", line 1, in b ',
        "Error ",
        "Error \\n",
        " ",
        "a.",
        "{",
        '{"message": ',
        "\x1b]",
        "10%|█| 1/9\r",
        "(a pid=1) ",
        "2026-11-29 16:33:31 ",
        "ts=2026-11-29T16:33:31 level=E ",
        "│ ",
        '  File "a", line 1',
    ],
)
def test_a_hostile_line_of_any_length_takes_its_time_but_no_more(unit):
    started = time.process_time()
    read(unit * (LONG // len(unit)) + "\n")
    assert time.process_time() - started < 30, "linear: half a second on a quiet machine"


@pytest.mark.parametrize(
    "line",
    ["[rank0]: ValueError: boom", "  rank      : 0 (local_rank: 0)"],
    ids=["another writer", "a launcher's table"],
)
def test_a_name_that_the_contents_contradict_is_not_believed(line):
    """``debug-rank1-crash.log`` is what somebody called the log of a whole job: the lines know better."""
    reading = lines.read(
        [Excerpt(naming.origin_of("debug-rank1-crash.log"), 1, 0, f"start\n{line}\n".encode(), "head")]
    )
    assert reading.lines[0].rank is None
    assert "name says rank 1" in reading.doubts[0]


@pytest.mark.parametrize("line", ["[rank1]: ValueError: boom", "  rank      : 1 (local_rank: 0)", "ValueError: boom"])
def test_a_name_that_nothing_contradicts_is_believed(line):
    """A rank's own file names it once, by its name."""
    reading = lines.read([Excerpt(naming.origin_of("rank_1.log"), 1, 0, f"start\n{line}\n".encode(), "head")])
    assert reading.lines[0].rank == 1
    assert not reading.doubts


def test_a_lone_file_must_be_called_as_a_ranks_own():
    """Without a mark in the lines, ``hang-rank3-suspect.log`` says what somebody suspects."""
    for name, rank in (("hang-rank3-suspect.log", None), ("train_rank3.log", 3), ("rank_3-20260102.err.gz", 3)):
        reading = lines.read([Excerpt(naming.origin_of(name), 1, 0, b"ValueError: boom\n", "head")])
        assert reading.lines[0].rank == rank, name
        assert bool(reading.doubts) is (rank is None)


def test_files_that_name_different_ranks_are_the_ranks_own():
    """Several such files together are a layout, whatever stands behind the rank."""
    names = ("rank0-gpu.a.log", "rank1-gpu.b.log")
    reading = lines.read([Excerpt(naming.origin_of(name), 1, 0, b"step\n", "head") for name in names])
    assert [line.rank for line in reading.lines] == [0, 1]


def test_a_hostile_name_costs_no_time():
    """What a file is called is as hostile as what stands in it: no name sends the pattern backtracking."""
    began = time.process_time()
    for name in ("rank1" + "-1" * 120 + "x", "rank" * 60 + "x", "-rank_1" * 36 + "!", "rank1_local_rank_1" * 14 + "x"):
        assert not naming.is_of_one_rank(name)
    assert time.process_time() - began < 1


def _behind(prefix: str, text: str) -> list[LogLine]:
    data = "".join(f"{prefix}{line}\n" for line in text.splitlines())
    return list(lines.read([Excerpt(Origin("x"), 1, 0, data.encode(), "head")]).lines)


MARKED = "".join(f"[rank{rank}]: step {step}\n" for step in range(3) for rank in range(3))


@pytest.mark.parametrize("prefix", ["- ", "stdout: ", "  | ", "AAA "])
def test_a_text_before_every_line_hides_no_rank(prefix):
    """A collector that no dialect knows makes neither a silent rank nor another's failure."""
    assert [line.rank for line in _behind(prefix, MARKED)] == [0, 1, 2] * 3
    assert _behind(prefix, MARKED)[0].text == "step 0"


def test_what_a_program_itself_says_in_every_line_stays():
    """Nothing is hidden behind it; and a lone rank's mark before every line is no collector's."""
    assert _behind("", "step 1 loss 2\n" * 9)[0].text == "step 1 loss 2"
    assert {line.rank for line in _behind("", "[rank3]: step 1\n" * 9)} == {3}
    few = _behind("- ", "[rank0]: a\n[rank1]: b\n")
    assert few[0].text.startswith("- ")


def test_a_healthy_log_behind_an_unknown_text_is_healthy(tmp_path):
    """The false alarm that costs most trust: nothing failed, and ranks seem to be silent."""
    log = Path(__file__).parents[1] / "fixtures" / "cases" / "healthy-noisy" / "log.txt"
    for prefix in ("- ", "stdout: "):
        shown = tmp_path / "job.log"
        shown.write_bytes(b"".join(prefix.encode() + line for line in log.read_bytes().splitlines(keepends=True)))
        assert logsig.analyze([str(shown)], logsig.load_catalog()).outcome == "healthy"


def test_a_label_without_a_number_is_no_task():
    """Honcho and foreman: a process type may have no number of its own."""
    found = read(
        "20:02:06 system    | web.1 started (pid=7)\n20:02:06 web.1     | started\n20:02:07 rank3.1   | started\n"
    )
    assert [line.text for line in found] == ["web.1 started (pid=7)", "started", "started"]


GROUP = """\
[rank1]:   + Exception Group Traceback (most recent call last):
[rank1]:   |   File "/opt/t.py", line 9, in <module>
[rank1]:   |     asyncio.run(main())
[rank1]:   | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
[rank1]:   +-+---------------- 1 ----------------
[rank1]:     | Traceback (most recent call last):
[rank1]:     |   File "/opt/t.py", line 5, in f
[rank1]:     |     raise ValueError("bad shard 7")
[rank1]:     | ValueError: bad shard 7
[rank1]:     +------------------------------------
[rank0]: step 3
"""


def test_an_exception_group_is_the_exceptions_that_it_holds(catalog) -> None:
    from logsig import analyze_text

    found = analyze_text(GROUP, catalog)
    assert (found.root_cause.signature, found.first_failing_rank) == ("python-exception", 1)
    assert "ValueError: bad shard 7" in found.root_cause.summary


def test_an_exception_group_that_is_cut_is_not_lost(catalog) -> None:
    from logsig import analyze_text

    for size in range(1, 6):
        assert analyze_text("".join(GROUP.splitlines(keepends=True)[:size]), catalog).outcome != "empty"


# ---------------------------------------------------------------- a report of ours in the log


def answer(log: str) -> tuple[object, ...]:
    found = logsig.analyze_text(log, WHOLE)
    cause = found.root_cause
    return (
        found.outcome,
        cause and (cause.signature, cause.confidence),
        found.first_failing_rank,
        found.scope,
        found.grade,
    )


TOLD_TWICE = (
    "gpu-fallen-off-bus-xid79-mapped-to-rank",
    "gpu-hang-xid119-gsp-timeout",
    "cuda-device-busy-busy",
    *CASES[:3],
)


@pytest.mark.parametrize("form", ["text", "jsonl", "github"])
@pytest.mark.parametrize("name", TOLD_TWICE)
def test_an_earlier_report_in_the_log_is_no_part_of_it(name, form):
    """A batch script that diagnoses into its own output leaves one there, perhaps behind a collector's marks."""
    log = (FOLDER / name / "log.txt").read_text(encoding="utf-8").rstrip("\n") + "\n"
    report = formats(form)[form](logsig.analyze_text(log, WHOLE), Options())
    assert answer(log + report) == answer(log)
    assert answer(log + report + report) == answer(log)
    assert any("earlier report" in doubt for doubt in logsig.analyze_text(log + report, WHOLE).doubts)
    marked = "".join(f"2026-05-01T10:00:00.000000001Z stdout F {line}\n" for line in (log + report).splitlines())
    bare = "".join(f"2026-05-01T10:00:00.000000001Z stdout F {line}\n" for line in log.splitlines())
    assert answer(marked) == answer(bare)


def test_a_report_alone_is_read():
    """Somebody kept nothing else; and a section of a report makes none."""
    log = (FOLDER / CASES[0] / "log.txt").read_text(encoding="utf-8")
    report = formats("text")["text"](logsig.analyze_text(log, WHOLE), Options())
    assert logsig.analyze_text(report, WHOLE).outcome != "empty"
    assert [line.text for line in read("a\nRead\n  logsig  0.1.0\n\nb\n")] == ["a", "Read", "  logsig  0.1.0", "", "b"]


STEP = """\
#7 [4/4] RUN torchrun --nproc_per_node 2 smoke.py
#7 3.101 step 1 loss 0.3
#7 4.412 Traceback (most recent call last):
#7 4.412   File "/src/smoke.py", line 8, in main
#7 4.412     loss = model(x)
#7 4.412 RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x4)
#7 ERROR: process "/bin/sh -c torchrun smoke.py" did not complete successfully: exit code: 1
"""
STEP_AGAIN = """\
------
 > [4/4] RUN torchrun --nproc_per_node 2 smoke.py:
3.101 step 1 loss 0.3
4.412 Traceback (most recent call last):
4.412   File "/src/smoke.py", line 8, in main
4.412     loss = model(x)
4.412 RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x4)
------
Dockerfile:4
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (STEP + STEP_AGAIN, 6),
        (STEP + STEP_AGAIN.replace("\n3.1", "\n#7 3.1").replace("\n4.4", "\n#7 4.4"), 6),
        (STEP_AGAIN, 7),
        ("".join(f"2026-05-03T10:11:12.1234567Z {line}\n" for line in (STEP + STEP_AGAIN).splitlines()), 6),
    ],
    ids=["above", "old form", "on a terminal", "in CI"],
)
def test_a_build_step_that_is_shown_again_failed_once(catalog, log, line) -> None:
    from logsig import analyze_text

    found = analyze_text(log, catalog)
    assert (found.outcome, found.root_cause.signature, found.other_causes) == ("failure", "shape-mismatch", ())
    assert found.root_cause.evidence[0].source.line == line
    assert not any("after which the run went on" in doubt for doubt in found.doubts)


def test_a_rule_alone_hides_nothing() -> None:
    """Only BuildKit's head makes it a step's last words; and no line is lost, for ``split``."""
    found = read("------\n3.101 step 1\n------\n > [1/1] RUN x:\n3.2 step 2\n2.25 step 3\n------\n4.25 y\n")
    assert [line.text for line in found][1] == "3.101 step 1"
    assert [line.text for line in found][4:] == ["3.2 step 2", "step 3", "------", "4.25 y"]


SESSION = """\
============================= test session starts ==============================
tests/test_dist.py::test_bad_rank
[rank1]: Traceback (most recent call last):
[rank1]:   File "/repo/tests/fail.py", line 8, in <module>
[rank1]:     raise RuntimeError("expected failure of rank 1")
[rank1]: RuntimeError: expected failure of rank 1
PASSED [100%]
"""


def test_what_tests_provoke_is_no_failure_where_they_pass():
    """Scripts run the tests before they train; tests that fail are another matter."""
    run = "+ torchrun train.py\n" + "".join(f"step {number} loss 1.0\n" for number in range(20)) + "training done\n"
    passed = logsig.analyze_text(f"{SESSION}========= 40 passed, 1 xfailed in 61.20s (0:01:01) =========\n{run}", WHOLE)
    assert passed.outcome == "healthy"
    assert any("tests that passed" in doubt for doubt in passed.doubts)
    failed = f"{SESSION}========= 39 passed, 1 failed in 61.20s (0:01:01) =========\n"
    assert [answer(text)[0] for text in (failed, SESSION)] == [answer(SESSION)[0]] * 2


def test_groups_for_github_that_never_end_are_no_reports() -> None:
    from logsig.earlier import reports

    group, end = "::group::logsig: evidence", "::endgroup::"
    assert list(reports([group, group, "x"])) == []
    assert list(reports([group, end, "x", group, "y", end, group])) == [(0, 2), (3, 6)]
