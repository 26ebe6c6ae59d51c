"""What makes two failures the same, how they are counted, and what is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import logsig
from logsig.batch import failure
from logsig.batch.groups import Tally
from logsig.batch.jobs import find
from logsig.batch.model import Plan, Row
from logsig.batch.reading import Manner, Reader
from logsig.batch.template import template_of

ROW = Row(job="a.log", files=("a.log",), file_count=1, size=10, outcome="failure", signature="cuda-oom", group="g1")


@pytest.fixture(scope="module")
def read(catalog_of_module, tmp_path_factory):
    """Writes a log and gives its row."""
    reader = Reader(catalog_of_module, catalog_of_module.scan_engine(), Manner())
    folder = tmp_path_factory.mktemp("logs")

    def row(text, name="job.log"):
        path = folder / name
        path.write_text(text)
        (job,) = find([str(path)]).jobs
        return reader.read(job)

    return row


@pytest.fixture(scope="module")
def catalog_of_module():
    return logsig.load_catalog()


KEY_ERROR = """\
2026-05-01 12:00:0{rank},123 INFO step=7 loss=2.5
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/job/train.py", line {line}, in collate
[rank{rank}]:     labels = batch["labels"]
[rank{rank}]: KeyError: 'labels'
"""


def test_rank_time_and_line_dont_tell_failures_apart(read):
    one, other = (read(KEY_ERROR.format(rank=rank, line=line)) for rank, line in ((1, 88), (3, 91)))
    assert one.first_failing_rank == 1
    assert other.first_failing_rank == 3
    assert one.group == other.group


def test_another_key_is_another_failure(read):
    text = KEY_ERROR.format(rank=1, line=8)
    assert read(text).group != read(text.replace("'labels'", "'image'")).group


def test_numbers_in_a_key_are_chance(read):
    text = KEY_ERROR.format(rank=1, line=8)
    assert read(text.replace("'labels'", "'doc-17'")).group == read(text.replace("'labels'", "'doc-1842'")).group


def test_the_name_of_an_exception_tells_nothing_where_a_signature_knows_it(read):
    text = (
        '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/j/t.py", line 8, in f\n[rank1]:     x = y\n'
        "[rank1]: {}.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of"
        " 79.15 GiB of which 1.00 GiB is free.\n"
    )
    one, other = read(text.format("torch")), read(text.format("torch.cuda"))
    assert one.signature == other.signature == "cuda-oom"
    assert one.group == other.group


def test_how_a_process_ended_tells_something_only_where_nothing_else_is_known(read):
    known = "step=1 loss=2\nFatal Python error: Segmentation fault\n"
    table = "srun: error: gpu1: task 0: Exited with exit code {}\n"
    assert read(known).group == read(known + table.format(139)).group
    assert read("step=1\n" + table.format(3)).group != read("step=1\n" + table.format(4)).group


def test_addresses_dont_tell_failures_apart(read):
    text = (
        "step=1 loss=2\n[rank{0}]: Traceback (most recent call last):\n"
        '[rank{0}]:   File "/job/train.py", line 3, in main\n'
        "[rank{0}]: OSError: lost {1} at 0x7f{2}12ab\n"
    )
    assert read(text.format(0, "10.0.0.1:4711", "aa")).group == read(text.format(2, "10.0.3.9:99", "bc")).group


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("inconsistent lengths in batch 3: [16, 16, 15]", "inconsistent lengths in batch #: [#]"),
        ("[Errno 2] No such file: '/data/shard-00002-000003.json'", "[Errno 2] No such file: '/data/shard-#-#.json'"),
        ("lost 10.0.0.1:4711 at 2026-05-01T12:00:00Z after 3.5s", "lost <address> at <time> after #s"),
        ("Xid at 0000:81:00.0, 0x7f12ab, run 1f2e3d4c5b6a7988", "Xid at <address>, <hex>, run <hex>"),
        ("c10d store on GPU5 of node17", "c10d store on GPU# of node#"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id <id>"),
    ],
)
def test_a_template_keeps_words_and_masks_chance(text, template):
    assert template_of(text) == template


@given(st.text(max_size=200))
def test_property_a_template_is_stable_and_bounded(text):
    once = template_of(text)
    assert len(once) <= 300
    assert template_of(once).count("\n") == 0


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_property_numbers_never_split_a_group(one, other):
    keys = {
        failure.fingerprint_of_template(
            template_of(f"worker {n} of lane-{n} lost cell {n}.5 (0x{n:x}) at 10.0.0.{n % 256}:{n % 65536} after {n}s")
        )
        for n in (one, other)
    }
    assert len(keys) == 1


UNKNOWN = "step=1 loss=2\nfatal: lane controller {0} lost cell {1}\nERROR: job failed with exit status 7\n"


def test_unknown_failures_of_one_form_are_one_group_with_a_draft(read):
    one, other = read(UNKNOWN.format(7, 12)), read(UNKNOWN.format(9, 1222))
    assert one.group == other.group
    assert one.is_failed
    assert one.template == "fatal: lane controller # lost cell #"
    assert (one.evidence_line, one.evidence_text) == (2, "fatal: lane controller 7 lost cell 12")
    assert one.draft is not None
    assert "    - 'fatal: lane controller'\n    - 'lost cell'\n" in one.draft
    assert r"pattern: 'fatal:\s+lane\s+controller\s+\d+\s+lost\s+cell\s+\d+'" in one.draft


def test_a_running_job_that_once_complained_is_no_failure(read):
    row = read("step=1 loss=2\nERROR: could not reach the tracker, will try again\nstep=2 loss=1.9\n")
    assert (row.outcome, row.group, row.is_failed) == ("unfinished", None, False)


@pytest.mark.parametrize(
    "text",
    [
        "test_bad (tests.T) ... Traceback (most recent call last):\n"
        '  File "/t/cfg.py", line 9, in load\n    raise ValueError("expected")\nValueError: expected\nok\n\nRan 1 test\n',
        "Trial 5 failed with value nan.\nTrial 6 finished with value: 0.93\nStudy of 6 trials\n",
    ],
)
def test_a_job_that_went_on_behind_a_grave_word_is_no_failure(read, text):
    row = read(text)
    assert (row.outcome, row.group, row.is_failed) == ("unfinished", None, False)


def test_what_only_a_witness_tells_is_grouped_by_what_was_printed(read):
    text = (
        "step=1 loss=2\nmystery: fatal lane failure {} in cell 9\nsrun: error: gpu1: task 0: Exited with exit code 3\n"
    )
    one, other = read(text.format(4)), read(text.format(5))
    assert one.signature == "worker-exit"
    assert one.template == "mystery: fatal lane failure # in cell #"
    assert one.group == other.group


def test_a_launchers_own_words_tell_no_failure_from_another(read):
    text = (
        "step=1 loss=2\nERROR:root:rank 1: vocabulary of {} does not match the tokenizer, giving up\n"
        "============================================================\n{} FAILED\n"
        "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
        "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-01-02_03:04:05\n  host      : gpu1\n  rank      : 1 (local_rank: 1)\n"
        "  exitcode  : 3 (pid: 77)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://x\n"
        "============================================================\n"
    )
    one, other = read(text.format(5, "a.py")), read(text.format(6, "b.py"))
    assert one.template == "rank #: vocabulary of # does not match the tokenizer, giving up"
    assert one.group == other.group


def test_a_row_is_the_same_after_it_was_remembered(read):
    row = read(UNKNOWN.format(7, 12))
    assert Row.from_json(row.to_json()) == replace(row, facts=dict(row.facts))


def test_the_end_is_the_last_full_date_of_the_log_or_of_the_file(read):
    assert read("2026-05-01 12:00:00 a\n2026-05-02T03:04:05+02:00 step=1\n").ended == "2026-05-02T01:04:05"
    assert read("12:00:00 step=1\n").ended_by == "file"


# ---------------------------------------------------------------- counting


def tally(*rows):
    found = Tally()
    for row in rows:
        found.take(row)
    return found


def test_groups_are_counted_with_share_and_times():
    rows = [
        replace(ROW, job=f"{day}.log", ended=f"2026-05-0{day}T00:00:00", group="g1" if day < 4 else "g2")
        for day in (2, 1, 3, 4)
    ]
    groups = tally(*rows, replace(ROW, outcome="healthy", group=None)).groups(False, None, {})
    assert [(group.id, group.count, group.share, group.first_seen, group.last_seen) for group in groups] == [
        ("g1", 3, 0.75, "2026-05-01T00:00:00", "2026-05-03T00:00:00"),
        ("g2", 1, 0.25, "2026-05-04T00:00:00", "2026-05-04T00:00:00"),
    ]
    assert groups[0].example.job == "2.log"
    assert groups[0].days == {"2026-05-01": 1, "2026-05-02": 1, "2026-05-03": 1}


def test_a_baseline_marks_what_healthy_runs_print():
    healthy = replace(ROW, outcome="healthy", group=None, seen=("g1",))
    (group,) = tally(ROW, healthy, healthy).groups(True, None, {})
    assert group.healthy == 2


def test_a_healthy_run_remembers_what_it_printed_only_for_a_baseline(catalog, tmp_path):
    log = tmp_path / "a.log"
    log.write_text("step=1 loss=2\nfatal: lane controller 3 lost cell 4, retrying\nTraining finished\n")
    (job,) = find([str(log)]).jobs
    plain, based = (
        Reader(catalog, catalog.scan_engine(), Manner(baseline=baseline)).read(job) for baseline in (False, True)
    )
    assert plain.outcome == based.outcome == "healthy"
    assert plain.seen == ()
    assert failure.fingerprint_of_template("fatal: lane controller # lost cell #, retrying") in based.seen


def test_the_summary_names_what_was_not_done():
    rows = [
        replace(ROW, job="z.log", outcome="empty", group=None),
        replace(ROW, job="k.log", outcome=None, group=None, error="it took longer than 9 s, twice", set_aside=True),
        replace(ROW, job="c.gz", problems=("c.gz: the gzip is cut",)),
    ]
    summary = tally(*rows).summary(Plan(()), False, 0, 0, ())
    assert summary.empty == ("z.log",)
    assert summary.set_aside == ("k.log",)
    assert [str(problem) for problem in summary.problems] == [
        "z.log: it is empty",
        "k.log: it took longer than 9 s, twice",
        "c.gz: the gzip is cut",
    ]
