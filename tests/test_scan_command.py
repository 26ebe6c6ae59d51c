"""``logsig scan``: rows, groups, formats, bad input, interruption, every exit code."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ET  # our own documents
from pathlib import Path
from types import SimpleNamespace

import pytest

from logsig import cli
from logsig.report import scans
from logsig.report.scans import _fields

ROOT = Path(__file__).parents[1]
LOGSIG = [sys.executable, "-m", "logsig"]
KEY_ERROR = """\
2026-05-0{day} 12:00:00 INFO step=7 loss=2.5
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/job/train.py", line 88, in collate
[rank{rank}]:     labels = batch["labels"]
[rank{rank}]: KeyError: 'labels'
"""
HEALTHY = "2026-05-01 10:00:00 INFO step=1 loss=2.5\n2026-05-01 11:00:00 INFO Training finished\n"
UNKNOWN = "step=1 loss=2\nfatal: lane controller {} lost cell 9\nERROR: job failed with exit status 7\n"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """A folder of five jobs: two fail alike, one in an unknown way, two are well."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, text in {
        "slurm-101.out": KEY_ERROR.format(rank=1, day=3),
        "slurm-102.out": KEY_ERROR.format(rank=3, day=1),
        "slurm-103.out": HEALTHY,
        "slurm-104.out": HEALTHY,
        "slurm-105.out": UNKNOWN.format(7),
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def scan(logs, capfdbinary):
    """Runs ``logsig scan`` here; gives its exit code, stdout and stderr."""

    def run(*words, at="logs"):
        code = cli.run(["scan", *words, *([at] if at else [])])
        captured = capfdbinary.readouterr()
        return code, captured.out.decode("utf-8", "replace"), captured.err.decode("utf-8", "replace")

    return run


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_jsonl_gives_jobs_groups_and_a_summary(scan):
    code, out, err = scan("-f", "jsonl")
    found = lines_of(out)
    assert (code, err) == (0, "")
    assert [line["type"] for line in found] == ["job"] * 5 + ["group"] * 2 + ["summary"]
    assert [(line["job"], line["outcome"], line["first_failing_rank"]) for line in found[:5]] == [
        ("logs/slurm-101.out", "failure", 1),
        ("logs/slurm-102.out", "failure", 3),
        ("logs/slurm-103.out", "healthy", None),
        ("logs/slurm-104.out", "healthy", None),
        ("logs/slurm-105.out", "unfinished", None),
    ]
    group = found[5]
    assert (group["signature"], group["count"], group["share"]) == ("python-exception", 2, 0.6667)
    assert (group["first_seen"], group["last_seen"]) == ("2026-05-01T12:00:00", "2026-05-03T12:00:00")
    assert group["example"]["file"] == "logs/slurm-101.out"
    assert group["remedy"]
    assert found[6]["signature"] is None
    assert found[6]["draft"].startswith("# A draft")
    assert found[7]["outcomes"] == {"failure": 2, "healthy": 2, "unfinished": 1}


def test_the_text_shows_a_row_per_job_then_groups_hosts_and_the_summary(scan):
    code, out, _ = scan()
    assert code == 0
    assert "failure       python-exception                rank 1                  logs/slurm-101.out\n" in out
    assert "Failures: 3 of 5 jobs failed (1 of them unfinished), 1 kind recognised\n" in out
    assert "e.g. logs/slurm-101.out:5\n" in out
    assert "Not known to any signature: 1 failure of 1 kind\n" in out
    assert "fatal: lane controller # lost cell #" in out
    assert "Hosts that start failures more often than chance\n" in out
    assert "  5 jobs in 5 files, " in out


def test_a_narrow_terminal_is_not_overrun(scan, logs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (logs / f"{'long' * 30}.log").write_text(KEY_ERROR.replace("'labels'", "'" + "x" * 90 + "'").format(rank=2, day=1))
    _, out, _ = scan("--color", "always", "--store", "s.db")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert [line for line in plain.splitlines() if len(line) > 80 and "/long" not in line] == []  # paths stay whole
    assert "[new] python-exception" in plain


def test_the_same_input_gives_the_same_bytes_whatever_the_workers(scan):
    assert scan("-f", "jsonl", "--jobs", "1")[1] == scan("-f", "jsonl", "--jobs", "4")[1]


def test_a_scan_agrees_with_diagnose(scan, capfdbinary):
    rows = {line["job"]: line for line in lines_of(scan("-f", "jsonl")[1]) if line["type"] == "job"}
    for name, row in rows.items():
        cli.run(["diagnose", "-f", "jsonl", name])
        single = json.loads(capfdbinary.readouterr().out)
        cause = single["root_cause"]
        assert (row["outcome"], row["signature"], row["first_failing_rank"]) == (
            single["outcome"],
            cause and cause["signature"],
            single["first_failing_rank"],
        )


@pytest.fixture(scope="module")
def cases():
    """The scan of all cases of the repository."""
    done = subprocess.run([*LOGSIG, "scan", "-f", "jsonl", "fixtures/cases"], cwd=ROOT, capture_output=True, check=True)
    return lines_of(done.stdout.decode())


def test_each_case_of_the_repository_is_one_job(cases):
    """Its label, and the golden report beside it, are none."""
    assert cases[-1]["jobs"] == sum(1 for _ in (ROOT / "fixtures" / "cases").glob("*/case.yaml"))


def test_what_makes_two_groups_can_be_seen(cases):
    groups = [line for line in cases if line["type"] == "group"]
    told = [_fields.kind(SimpleNamespace(**group)) for group in groups]
    assert sorted(told) == sorted(set(told))


def test_no_healthy_run_of_the_repository_is_a_failure(cases):
    failed = {group["example"]["job"] for group in cases if group["type"] == "group"}
    assert not [job for job in failed if "/healthy-" in job]


def test_small_windows_and_the_whole_log_give_the_same_answer(scan, logs):
    """A long log is read in windows around what matters; ``--thorough`` reads more of it."""
    filler = "".join(f"2026-05-01 11:00:00 INFO step={step} loss=2.5 lr=1e-3\n" for step in range(5000))
    for log in logs.iterdir():
        text = log.read_text()
        log.write_text(text.splitlines(keepends=True)[0] + filler + text)
    keys = ("job", "outcome", "signature", "first_failing_rank", "scope", "group", "confidence")
    quick, thorough = (
        [[line[key] for key in keys] for line in lines_of(scan("-f", "jsonl", *more)[1]) if line["type"] == "job"]
        for more in ([], ["--thorough"])
    )
    assert quick == thorough


# ---------------------------------------------------------------- plan and jobs


def test_the_plan_says_what_belongs_together_and_why_and_reads_nothing(scan, logs):
    (logs / "slurm-101.err").write_text("x\n")
    (logs / "slurm-105.out").unlink()
    os.mkfifo(logs / "pipe.log")
    code, out, err = scan("--plan")
    assert code == 3
    assert out.startswith(
        "logs/slurm-101  (Slurm's files of one job id)\n    logs/slurm-101.err\n    logs/slurm-101.out\n"
        "logs/slurm-102.out  (a file by itself)\n"
    )
    assert out.endswith("4 jobs in 5 files\n")
    assert err == "logsig: logs/pipe.log: a named pipe, not a log\n"


def test_the_plan_says_what_may_be_no_log(scan, logs):
    """Only the scan can tell; it then counts what is none as left out."""
    (logs / "hosts.txt").write_text("node1\nnode2\n")
    _, out, _ = scan("--plan")
    assert "logs/hosts.txt  (a file by itself, perhaps no log)\n" in out
    assert out.endswith("6 jobs in 6 files, 1 of them perhaps no log\n")
    _, out, _ = scan("--plan", "-f", "jsonl")
    assert [line["job"] for line in lines_of(out) if not line["sure"]] == ["logs/hosts.txt"]
    _, out, _ = scan()
    assert "5 jobs in 5 files" in out
    assert "1 file left out" in out


def test_a_pattern_of_the_user_makes_jobs(scan):
    _, out, _ = scan("--plan", "-f", "jsonl", "--job-by", r"slurm-10[12]")
    assert {line["job"]: len(line["files"]) for line in lines_of(out)} == {
        "logs/slurm-101.out": 1,
        "logs/slurm-102.out": 1,
        "logs/slurm-103.out": 1,
        "logs/slurm-104.out": 1,
        "logs/slurm-105.out": 1,
    }
    _, out, _ = scan("--plan", "-f", "jsonl", "--job-by", r"(slurm)-10[12]")
    assert {line["job"]: len(line["files"]) for line in lines_of(out)}["logs/slurm"] == 2


def test_archives_are_read_in_place(scan, logs, tmp_path):
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        for log in sorted(logs.iterdir()):
            archive.add(log, log.name)
    plain = [line for line in lines_of(scan("-f", "jsonl")[1]) if line["type"] == "job"]
    packed = [line for line in lines_of(scan("-f", "jsonl", at="all.tar.gz")[1]) if line["type"] == "job"]
    assert [line["job"] for line in packed] == [f"all.tar.gz!/slurm-{n}.out" for n in range(101, 106)]
    assert [(line["outcome"], line["group"]) for line in packed] == [(line["outcome"], line["group"]) for line in plain]


def test_a_rotated_set_is_read_oldest_first(scan, tmp_path):
    (tmp_path / "r").mkdir()
    text = KEY_ERROR.format(rank=1, day=2).splitlines(keepends=True)
    with gzip.open(tmp_path / "r/x.log.2.gz", "wt") as file:
        file.writelines(text[:2])
    (tmp_path / "r/x.log.1").write_text(text[2])
    (tmp_path / "r/x.log").write_text("".join(text[3:]))
    (row,) = [line for line in lines_of(scan("-f", "jsonl", at="r")[1]) if line["type"] == "job"]
    assert row["files"] == ["r/x.log.2.gz", "r/x.log.1", "r/x.log"]
    assert (row["outcome"], row["signature"]) == ("failure", "python-exception")


# ---------------------------------------------------------------- formats


def test_csv_has_a_line_per_job_and_no_formula(scan, logs):
    (logs / "=cmd|'x'!A1.log").write_text("step=1\n")
    _, out, _ = scan("-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 6
    assert [row["signature"] for row in rows if row["outcome"] == "failure"] == ["python-exception"] * 2
    os.chdir("logs")
    _, out, _ = scan("-f", "csv", at="=cmd|'x'!A1.log")
    assert next(csv.DictReader(io.StringIO(out)))["job"] == "'=cmd|'x'!A1.log"


def test_junit_is_xml_with_a_case_per_job(scan, logs):
    (logs / "a<&\x01.log").write_text(UNKNOWN.format(3))
    _, out, _ = scan("-f", "junit")
    suite = ET.fromstring(out).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "2", "2")
    assert len({case.get("name") for case in suite.iter("testcase")}) == 6
    assert [failure.get("type") for failure in suite.iter("failure")] == ["python-exception"] * 2


def test_sarif_has_a_rule_per_signature_and_a_result_per_failure(scan):
    import jsonschema

    _, out, _ = scan("-f", "sarif")
    found = json.loads(out)
    run = found["runs"][0]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"python-exception", "unrecognised-failure"}
    assert [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]] == [5, 5, 2]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 0, 1]
    schema = Path(__file__).parent / "schemas" / "sarif-2.1.0.json"
    if schema.exists():
        jsonschema.validate(found, json.loads(schema.read_text(encoding="utf-8")))


@pytest.mark.parametrize("form", [form for form in scans.names() if form != "parquet"])
def test_every_format_shows_every_kind_of_row(scan, logs, form):
    """Also what only a witness tells of, what has no row but a reason, and an empty log."""
    (logs / "slurm-201.out").write_text(
        "step=1 loss=2\nmystery: fatal lane failure 4 in cell 9\nsrun: error: gpu1: task 0: Exited with exit code 3\n"
    )
    (logs / "slurm-202.out.gz").write_bytes(gzip.compress(b"step=1\n")[:12])
    (logs / "slurm-203.out").touch()
    code, out, err = scan("-f", form, "--store", "s.db", "--baseline")
    assert (code, err) == (3, "")
    for name in range(101, 106):
        assert form == "openmetrics" or f"slurm-{name}.out" in out or (form == "sarif" and name in {103, 104})


def test_openmetrics_is_text_that_the_textfile_collector_takes(scan):
    _, out, _ = scan("-f", "openmetrics")
    lines = out.splitlines()
    assert lines[-1] == "# EOF"
    assert 'logsig_scan_jobs{outcome="healthy"} 2' in lines
    assert "logsig_scan_failure_kinds 2" in lines
    for line in lines:
        assert line.startswith("# ") or line.rpartition(" ")[2].replace(".", "").replace("e+", "").isdigit()
    assert "logsig_scan_last_job_end_seconds " in out


def test_parquet_is_there_where_pyarrow_is(scan, tmp_path):
    code, _, err = scan("-f", "parquet", "-o", "out.parquet")
    try:
        from pyarrow import parquet
    except ImportError:
        assert (code, err) == (2, "logsig: parquet needs pyarrow, which isn't installed: pip install pyarrow\n")
        return
    table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["outcome"] for row in table] == ["failure", "failure", "healthy", "healthy", "unfinished"]


def test_the_html_index_is_local_and_links_to_single_reports(scan, logs, tmp_path):
    (logs / "slurm-106.out").write_text(UNKNOWN.format(7).replace("lane", "<img src=x onerror=alert(1)>"))
    (tmp_path / "out").mkdir()
    code, out, _ = scan("-O", "html=out/index.html")
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    assert code == 0
    assert "logs/slurm-101.out" in out
    links = [part.partition('"')[0] for part in page.split('href="')[1:]]
    reports = {link for link in links if not link.startswith("#")}
    assert len(reports) == 4
    assert all((tmp_path / "out" / link).is_file() for link in reports)
    assert "<img src=x" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count('<tr style="--job:') == 6
    assert "default-src 'none'" in page


def test_several_reports_in_one_pass(scan, tmp_path):
    code, out, _ = scan("-f", "jsonl", "-O", "csv=a.csv", "-O", "junit=a.xml")
    assert code == 0
    assert lines_of(out)[-1]["type"] == "summary"
    assert (tmp_path / "a.csv").stat().st_size > 100
    ET.parse(tmp_path / "a.xml")


def test_drafts_are_written_once(scan, tmp_path):
    assert scan("--drafts", "drafts")[0] == 0
    (draft,) = (tmp_path / "drafts").iterdir()
    assert draft.name == "fatal-lane-controller-lost.yaml"
    draft.write_text("mine\n")
    scan("--drafts", "drafts")
    assert draft.read_text() == "mine\n"


def test_log_text_is_harmless_everywhere(scan, logs, tmp_path):
    evil = "step=1\nfatal: \x1b]0;title\x07 ::error::x ##[error]y \u202e=HYPERLINK(1) </script> lane 7\n"
    (logs / "\x1b[31mred\n::error::.log").write_text(evil)
    _, out, _ = scan("-O", "html=i.html", "-O", "csv=i.csv", "-O", "junit=i.xml", "-O", "openmetrics=i.prom")
    texts = [out, *((tmp_path / f"i.{kind}").read_text(encoding="utf-8") for kind in ("html", "csv", "xml", "prom"))]
    for text in texts:
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "##[error]" not in text
        assert not any(line.startswith("::") for line in text.splitlines())


# ---------------------------------------------------------------- history


def test_a_second_scan_reads_nothing_again_and_says_what_is_known(scan, logs):
    first = lines_of(scan("-f", "jsonl", "--store", "s.db")[1])
    assert [line["status"] for line in first if line["type"] == "group"] == ["new", "new"]
    for log in logs.iterdir():
        os.chmod(log, 0)
    second = lines_of(scan("-f", "jsonl", "--store", "s.db")[1])
    assert second[-1]["remembered"] == 5
    assert [line["status"] for line in second if line["type"] == "group"] == ["known", "known"]
    assert [line for line in first if line["type"] == "job"] == [line for line in second if line["type"] == "job"]


def test_what_is_no_job_by_its_content_is_left_out_and_not_read_again(scan, logs):
    (logs / "hostfile").write_text("gpu-0001 slots=8\ngpu-0002 slots=8\n")
    (logs / "packages.txt").write_text("torch==2.6.0\nnumpy==2.1.0\n")
    assert cli.run(["diagnose", "logs/slurm-101.out", "-o", "logs/report.txt"]) == 0
    assert cli.run(["diagnose", "logs/slurm-103.out", "-o", "logs/slurm-103.report"]) == 0
    scan(
        "-o",
        "logs/kinds.txt",
        "-O",
        "jsonl=logs/kinds.jsonl",
        "-O",
        "sarif=logs/a.sarif",
        "-O",
        "openmetrics=logs/a.prom",
    )
    for remembered in (0, 5):
        found = lines_of(scan("-f", "jsonl", "--store", "s.db")[1])
        assert [line["job"] for line in found if line["type"] == "job"] == [
            f"logs/slurm-{n}.out" for n in range(101, 106)
        ]
        assert (found[-1]["left_out"], found[-1]["remembered"]) == (8, remembered)
    assert "8 files left out" in scan("--store", "s.db")[1]


def test_a_file_that_is_named_or_called_as_output_is_a_job_whatever_it_holds(scan, logs):
    (logs / "train-7.txt").write_text("loading the data\n")
    assert "logs/train-7.txt" in {line.get("job") for line in lines_of(scan("-f", "jsonl")[1])}
    (logs / "hostfile").write_text("gpu-0001 slots=8\n")
    assert lines_of(scan("-f", "jsonl", at="logs/hostfile")[1])[0]["outcome"] == "unfinished"


def test_what_is_gone_and_what_is_back_is_said(scan, logs):
    scan("--store", "s.db")
    (logs / "slurm-105.out").rename("away")
    gone = [line for line in lines_of(scan("-f", "jsonl", "--store", "s.db")[1]) if line["type"] == "group"]
    assert [(line["status"], line["count"]) for line in gone] == [("known", 2), ("gone", 0)]
    os.rename("away", logs / "slurm-105.out")
    back = [line for line in lines_of(scan("-f", "jsonl", "--store", "s.db")[1]) if line["type"] == "group"]
    assert [line["status"] for line in back] == ["known", "back"]


def test_a_changed_log_is_read_again(scan, logs):
    scan("--store", "s.db")
    (logs / "slurm-103.out").write_text(KEY_ERROR.format(rank=0, day=9))
    found = lines_of(scan("-f", "jsonl", "--store", "s.db")[1])
    assert found[-1]["remembered"] == 4
    assert found[-1]["outcomes"]["failure"] == 3


def test_history_tells_what_the_store_remembers(scan, capfdbinary):
    scan("--store", "s.db")
    assert cli.run(["history", "--store", "s.db", "-f", "jsonl"]) == 0
    found = lines_of(capfdbinary.readouterr().out.decode())
    assert [line["type"] for line in found] == ["scan", "group", "group", "summary"]
    assert found[1]["days"] == {"2026-05-01": 1, "2026-05-03": 1}
    assert found[1]["scans"] == [{"scan": 1, "count": 2}]
    assert cli.run(["history", "s.db"]) == 0
    assert "Kinds of failure" in capfdbinary.readouterr().out.decode()
    assert cli.run(["history", "nothing.db"]) == 2
    assert cli.run(["history", "s.db", "--host", "nosuch"]) == cli.run(["history", "s.db", "--group", "nosuch"]) == 2
    assert cli.run(["history", "s.db", "--since", "2026-13-45"]) == 2
    assert "no such store" in capfdbinary.readouterr().err.decode()


def test_a_baseline_marks_what_healthy_runs_print_too(scan, logs):
    (logs / "slurm-106.out").write_text(UNKNOWN.format(5) + "Training finished\n")
    (logs / "slurm-107.out").write_text("step=1\nTraining finished\n")
    found = lines_of(scan("-f", "jsonl", "--baseline")[1])
    groups = {line["title"]: line["healthy"] for line in found if line["type"] == "group"}
    assert groups["fatal: lane controller # lost cell #"] == 1
    assert found[-1]["baseline"] == 4


# ---------------------------------------------------------------- what goes wrong


def test_bad_input_is_named_exits_3_and_costs_nothing_else(scan, logs):
    (logs / "empty.log").touch()
    (logs / "cut.log.gz").write_bytes(gzip.compress(b"step=1\n" * 1000)[:-9])
    os.symlink("nowhere", logs / "dead.log")
    (logs / "notes.zip").write_text("step=1 loss=2\n")
    (logs / "empty.tar").touch()
    (logs / "nothing.log.gz").write_bytes(gzip.compress(b"step=1\n" * 1000)[:12])
    code, out, _ = scan("-f", "jsonl")
    found = lines_of(out)
    assert code == 3
    assert found[-1]["empty"] == ["logs/empty.log", "logs/empty.tar"]
    reasons = {problem["path"]: problem["reason"] for problem in found[-1]["problems"]}
    assert reasons.keys() == {
        *("logs/empty.log", "logs/cut.log.gz", "logs/dead.log", "logs/notes.zip", "logs/empty.tar"),
        "logs/nothing.log.gz",
    }
    assert reasons["logs/cut.log.gz"].startswith("the gzip is cut")
    assert reasons["logs/notes.zip"] == "no archive, in spite of its name; it was read as a log"
    outcomes = {line["job"]: line["outcome"] for line in found if line["type"] == "job"}
    assert (outcomes["logs/cut.log.gz"], outcomes["logs/nothing.log.gz"]) == ("unfinished", None)
    assert found[-1]["outcomes"]["failure"] == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(scan, logs):
    os.chmod(logs / "slurm-103.out", 0)
    code, out, _ = scan("-f", "jsonl")
    assert code == 3
    assert lines_of(out)[-1]["problems"] == [
        {"path": "logs/slurm-103.out", "reason": "logs/slurm-103.out: permission denied"}
    ]


def test_a_file_deleted_meanwhile_is_named(logs, catalog):
    from logsig.batch import jobs
    from logsig.batch.reading import Manner, Reader

    plan = jobs.find(["logs"])
    (logs / "slurm-101.out").unlink()
    row = Reader(catalog, catalog.scan_engine(), Manner()).read(plan.jobs[0])
    assert (row.outcome, row.error) == (None, "no such file or directory")


def test_a_newer_store_is_named_and_the_scan_is_done(scan):
    import sqlite3

    scan("--store", "s.db")
    with sqlite3.connect("s.db") as database:
        database.execute("PRAGMA user_version=9")
    code, out, _ = scan("-f", "jsonl", "--store", "s.db")
    assert code == 3
    assert "written by a newer logsig" in lines_of(out)[-1]["problems"][0]["reason"]
    assert lines_of(out)[-1]["jobs"] == 5


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named_and_the_rest_is_written(scan, tmp_path):
    code, out, _ = scan("-f", "jsonl", "-O", "csv=/dev/full", "-O", "junit=a.xml")
    assert code == 3
    assert lines_of(out)[-1]["problems"] == [
        {"path": "/dev/full", "reason": "the report wasn't written: No space left on device"}
    ]
    ET.parse(tmp_path / "a.xml")


@pytest.mark.usefixtures("logs")
def test_a_single_report_that_cant_be_written_costs_nothing_of_the_row(catalog):
    from logsig.batch import jobs
    from logsig.batch.reading import Manner, Reader

    plan = jobs.find(["logs"])
    row = Reader(catalog, catalog.scan_engine(), Manner(reports="missing")).read(plan.jobs[0])
    assert (row.signature, row.first_failing_rank) == ("python-exception", 1)
    assert [problem.partition(": ")[2] for problem in row.problems] == [
        "the report wasn't written: No such file or directory"
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.usefixtures("logs")
def test_a_full_disk_behind_stdout_is_said():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*LOGSIG, "scan", "logs", "-O", "csv=a.csv"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr == "logsig: stdout: the report wasn't written: No space left on device\n"
    assert os.path.getsize("a.csv") > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "nothing: no such file or directory"),
        (["-"], "'-' can't be scanned"),
        (["logs", "-f", "xlsx"], "there is no format 'xlsx' of scans"),
        (["logs", "--job-by", "("], "is no regular expression"),
        (["logs", "-O", "csv"], "expected FORMAT=FILE"),
    ],
)
def test_usage_is_exit_2(scan, words, message):
    code, _, err = scan(*words, at=None)
    assert code == 2
    assert message in err


def test_without_a_path_it_helps(capfdbinary):
    assert cli.run(["scan"]) == 2
    assert b"Find the jobs under each PATH" in capfdbinary.readouterr().out


def test_fail_on_is_exit_1(scan, logs):
    assert scan("--fail-on", "error")[0] == 1
    for name in ("slurm-101.out", "slurm-102.out", "slurm-105.out"):
        (logs / name).unlink()
    assert scan("--fail-on", "error")[0] == 0


def test_a_log_that_hangs_is_set_aside_by_name(scan, monkeypatch):
    from logsig.batch.reading import Reader

    read = Reader.read

    def slow(self, job):
        if job.name.endswith("slurm-102.out"):
            time.sleep(60)
        return read(self, job)

    monkeypatch.setattr(Reader, "read", slow)
    code, out, _ = scan("-f", "jsonl", "--timeout", "1")
    assert code == 3
    assert lines_of(out)[-1]["set_aside"] == ["logs/slurm-102.out"]
    assert lines_of(out)[-1]["jobs"] == 5


@pytest.mark.parametrize(("signals", "code"), [([signal.SIGINT], 130), ([signal.SIGTERM] * 2, 143)])
def test_an_interruption_shows_and_stores_what_is_done(logs, signals, code):
    for number in range(200, 1200):
        (logs / f"slurm-{number}.out").write_text(KEY_ERROR.format(rank=1, day=2))
    words = [*LOGSIG, "scan", "logs", "-f", "jsonl", "--store", "s.db", "--jobs", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    for each in signals:  # ``timeout`` sends two, one to the process and one to its group
        process.send_signal(each)
    rest, _ = process.communicate(timeout=60)
    found = lines_of(first + rest)
    assert process.returncode == code
    assert found[-1]["type"] == "summary"
    assert 0 < found[-1]["jobs"] < 1005
    assert found[-1]["jobs"] + found[-1]["unread"] == 1005
    again = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    assert lines_of(again.stdout)[-1]["remembered"] == found[-1]["jobs"]


def test_no_progress_where_nobody_watches(scan):
    assert scan()[2] == ""


def test_progress_says_how_far_it_is():
    from logsig.batch.progress import Progress

    progress = Progress(io.StringIO(), jobs=1000, size=100_000_000)
    assert progress.line(250, 25_000_000, 7, 10.0) == (
        "[######..................]  250/1,000 jobs  25.0 MB of 100 MB  25 jobs/s  30 s left  7 failures"
    )


@pytest.mark.usefixtures("logs")
def test_progress_is_shown_on_a_terminal():
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    process = subprocess.Popen([*LOGSIG, "scan", "logs", "-f", "csv"], stdout=subprocess.PIPE, stderr=follower)
    out, _ = process.communicate(timeout=120)
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "5/5 jobs" in shown
    assert b"jobs" not in out
