"""The memory of scans: what is new, known, back and gone; unchanged jobs; two writers; files that aren't ours."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from logsig.batch import store as stores
from logsig.batch.history import history, sparkline
from logsig.batch.model import Group, HostTest, Job, Log, Row
from logsig.batch.store import Store, StoreError
from logsig.report.scans import _charts


def row(name="a.log", group="g1", ended="2026-05-01T00:00:00"):
    outcome = "failure" if group else "healthy"
    return Row(
        job=name, files=(name,), file_count=1, size=1, outcome=outcome, signature="cuda-oom", group=group, ended=ended
    )


def job(name="a.log", size=1, changed=1):
    return Job(name, (Log(f"/logs/{name}", size, changed),), "a file by itself")


def group(name, count=1):
    example = row(group=name)
    return Group(
        name,
        "cuda-oom",
        "A GPU ran out of memory",
        "fatal",
        {},
        count,
        1.0,
        example.ended,
        example.ended,
        example,
        None,
    )


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "store.db")


def scan(path, groups, roots=("/logs",), state="complete", rows=()):
    """Does one scan that finds these groups; gives what earlier ones say of them."""
    store = Store(path)
    store.begin(roots, "library", "manner")
    for each, found in rows:
        store.add(each, found, found.to_json())
    store.flush()
    past = store.past(groups)
    store.end(state, 1, [group(name) for name in groups], HostTest(), len(groups))
    store.close()
    return past


def test_groups_are_new_then_known_then_gone_then_back(path):
    assert scan(path, ["x"]).status == {"x": "new"}
    assert scan(path, ["x", "y"]).status == {"x": "known", "y": "new"}
    third = scan(path, ["y"])
    assert (third.status, third.gone) == ({"y": "known"}, ("x",))
    assert scan(path, ["x", "y"]).status == {"x": "back", "y": "known"}


def test_scans_of_other_places_dont_make_groups_come_and_go(path):
    scan(path, ["x"], ("/team-a",))
    scan(path, ["y"], ("/team-b",))
    again = scan(path, ["x"], ("/team-a",))
    assert (again.status, again.gone) == ({"x": "known"}, ())


def test_an_interrupted_scan_says_nothing_of_what_is_new(path):
    scan(path, ["x"], state="interrupted")
    assert scan(path, ["x", "y"]).status == {"x": "new", "y": "new"}


def test_an_unchanged_job_is_remembered_and_a_changed_one_is_not(path):
    scan(path, ["g1"], rows=[(job(), row())])
    store = Store(path)
    store.begin(("/logs",), "library", "manner")
    assert store.known(job()) == row().to_json()
    assert store.known(job(size=2)) is None
    assert store.known(job(changed=2)) is None
    assert store.known(job("b.log")) is None
    store.begin(("/logs",), "another library", "manner")
    assert store.known(job()) is None
    store.close()


def test_totals_count_jobs_and_not_scans(path):
    rows = [(job(f"{n}.log"), row(f"{n}.log")) for n in range(3)]
    scan(path, ["g1"], rows=rows)
    assert scan(path, ["g1"], rows=rows[:1]).totals == {"g1": 3}


def test_a_store_of_a_newer_version_is_left_alone(path):
    scan(path, [])
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=9")
    before = os.stat(path).st_mtime_ns
    with pytest.raises(StoreError, match=r"written by a newer logsig \(store version 9, this one knows 1\)"):
        Store(path)
    assert os.stat(path).st_mtime_ns == before


def test_a_database_of_another_program_is_left_alone(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="database of another program"):
        Store(path)


def test_a_file_that_is_no_database_is_left_alone(path):
    with open(path, "w", encoding="ascii") as file:
        file.write("my thesis\n" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store(path)


def test_the_file_is_in_wal_mode_with_our_mark(path):
    scan(path, [])
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA application_id").fetchone() == (stores.APPLICATION,)
        assert database.execute("PRAGMA user_version").fetchone() == (stores.VERSION,)


def test_two_writers_lose_nothing(path):
    """Two processes make the store at the same time and write into it by turns."""
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from test_batch_store import job, row\n"
        "from logsig.batch.store import Store\n"
        "store = Store(sys.argv[1]); store.begin(('/logs',), 'library', 'manner')\n"
        "for n in range(200):\n"
        "    name = f'{sys.argv[2]}-{n}.log'\n"
        "    store.add(job(name), row(name), row(name).to_json()); store.flush()\n"
    )
    words = [sys.executable, "-c", program, path]
    root = os.path.dirname(os.path.dirname(__file__))
    writers = [subprocess.Popen([*words, name], cwd=root) for name in ("one", "other")]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    store = Store(path)
    assert len(list(store.rows())) == 400
    assert len(store.scans()) == 2
    store.close()


def test_a_writer_waits_for_another(path):
    scan(path, [])
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, lambda: other.execute("COMMIT")).start()
    assert scan(path, ["x"]).status == {"x": "new"}
    other.close()


def test_a_full_disk_is_a_store_error_and_the_file_stays_whole(path):
    scan(path, ["g1"], rows=[(job(), row())])
    store = Store(path)
    store._database.execute("PRAGMA max_page_count=1")  # SQLite says that the disk is full
    with pytest.raises(StoreError, match="full"):
        store.begin(("/x" * 100_000,), "library", "manner")
    store.close()
    again = Store(path)
    assert [each.job for each in again.rows()] == ["a.log"]
    again.close()


def test_history_tells_trends_of_groups_and_hosts(path):
    scan(path, ["g1"], rows=[(job("a.log"), row("a.log")), (job("b.log"), row("b.log", None))])
    scan(path, [], rows=[(job("c.log"), row("c.log", "g2", "2026-05-03T00:00:00"))])
    store = Store(path)
    found = history(store)
    assert (found.jobs, found.failures) == (3, 2)
    assert [(trend.group.id, trend.group.status, dict(trend.by_scan)) for trend in found.trends] == [
        ("g1", "gone", {1: 1}),
        ("g2", None, {}),
    ]
    assert [trend.group.id for trend in history(store, since="2026-05-02").trends] == ["g2"]
    assert [trend.group.id for trend in history(store, group="g1").trends] == ["g1"]
    store.close()


def test_history_answers_alike_by_group_and_by_host(path):
    """A kind of failure chooses failures, a host chooses jobs: neither changes what the other counts."""
    hosts = [("gpu17", "gpu21"), ("gpu17", "gpu33"), ("gpu21", "gpu33"), ("gpu17", "gpu40")]
    causes = [("g1", "gpu17"), ("g2", "gpu17"), ("g1", "gpu33"), (None, None)]
    rows = [
        (job(name), replace(row(name, cause), hosts=ran, first_failing_node=first))
        for name, ran, (cause, first) in zip("abcd", hosts, causes, strict=True)
    ]
    rows[1] = rows[1][0], replace(rows[1][1], outcome="recovered")
    scan(path, ["g1", "g2"], rows=rows)
    store = Store(path)
    by_group, by_host, both = (
        history(store, group="g1"),
        history(store, host="gpu17"),
        history(store, None, "g1", "gpu17"),
    )
    assert [(each.name, each.starts, each.jobs) for each in by_group.hosts] == [("gpu17", 1, 3), ("gpu33", 1, 2)]
    assert [(each.name, each.starts, each.jobs) for each in by_host.hosts] == [("gpu17", 2, 3)]
    assert [(each.name, each.starts, each.jobs) for each in both.hosts] == [("gpu17", 1, 3)]
    assert {each.group.id: each.hosts.get("gpu17") for each in by_host.trends} == {"g1": 1, "g2": 1}
    assert (by_group.jobs, by_group.failures) == (4, 2)
    assert (by_host.jobs, by_host.failures, by_host.recovered) == (3, 1, 1)
    assert [round(each.group.share, 2) for each in by_group.trends] == [0.67]
    assert [each.by_scan for each in by_host.trends] == [None, None]
    store.close()


def test_a_sparkline_leaves_no_day_out():
    """Years that have more months than fit are drawn by quarters, then by years."""
    assert sparkline({"2023-06-14": 1, "2026-11-30": 1}) == "█" + " " * 13 + "█"
    assert sparkline({"1999-06-14": 1, "2026-11-30": 1}) == "█" + " " * 26 + "█"


def test_a_sparkline_draws_days_without_a_gap():
    assert sparkline({"2026-05-01": 1, "2026-05-03": 8}) == "▁ █"
    assert sparkline({"2026-05-01": 1, "2026-05-02": 1}, is_ascii=True) == "@@"
    assert sparkline({"2026-05-02": 3}, ["2026-05-01", "2026-05-04"]) == " █  "
    assert sparkline({}) == ""


def test_a_timeline_names_what_a_bar_is():
    days = {"2023-06-14": 1, "2026-11-30": 4}
    assert (_charts.timeline_by(days), _charts.timeline_by({"2026-11-30": 4})) == ("month", "day")
    assert ">2023-06<" in _charts.timeline(days)
    assert 'width="40.0" height="12" fill="#b3261e"' in _charts.bar(0.25)
