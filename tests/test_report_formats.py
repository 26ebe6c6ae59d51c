"""The formats of CI systems, editors and clusters: what each of them reads, and their limits."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from diagnoses import (
    EVERY,
    all_ranks,
    healthy,
    interrupted,
    key_error,
    recovered,
    timeout,
    unrecognised,
    unused_one,
    wide,
)

from logsig.model import Frame
from logsig.report import Options, formats
from logsig.report.fingerprint import fingerprint

SITE = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"


@pytest.fixture
def checkout(tmp_path):
    """A project whose ``src/data.py`` is in the traceback of the container's ``/workspace/src/data.py``."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "data.py").write_text("\n" * 100)
    base = key_error()
    frames = (
        Frame("/workspace/train.py", 12, "main"),
        Frame("/workspace/src/data.py", 88, "collate"),
        Frame(SITE, 7, "f"),
    )
    return replace(base, root_cause=replace(base.root_cause, frames=frames)), Options(root=str(tmp_path))


def of(name, diagnosis, options=None):
    return formats(name)[name](diagnosis, options or Options(root="/nonexistent"))


# ---------------------------------------------------------------- GitHub


def test_github_annotates_the_users_line(checkout):
    """The annotation stands on the innermost frame that the checkout has."""
    first = of("github", *checkout).splitlines()[0]
    assert first.startswith(
        "::error file=src/data.py,line=88,title=logsig%3A python-exception::Rank 1 failed first: KeyError"
    )


def test_github_without_checkout_names_no_file():
    """A file that isn't in the checkout is not annotated."""
    assert of("github", key_error()).startswith("::error title=logsig%3A python-exception::")


def test_github_never_leaves_the_checkout(tmp_path):
    """A path of a log can't point out of the checkout, nor to a file that isn't there."""
    base = key_error()
    frames = (Frame("../../../../etc/passwd", 1, "f"), Frame("/etc/passwd", 1, "g"), Frame("a\x00b.py", 1, "h"))
    text = of("github", replace(base, root_cause=replace(base.root_cause, frames=frames)), Options(root=str(tmp_path)))
    assert "file=" not in text


def test_github_shows_ten_annotations_at_most():
    """The first ten causes, the root cause first."""
    base = key_error()
    others = tuple(replace(base.root_cause, signature=f"other-{number}") for number in range(30))
    lines = of("github", replace(base, other_causes=others)).splitlines()
    assert sum(line.startswith("::error") for line in lines) == 10
    assert "python-exception" in lines[0]


def test_github_folds_the_evidence_between_its_own_marks():
    """The token is the digest of what it encloses."""
    import hashlib

    lines = of("github", key_error()).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("::stop-commands::"))
    token = lines[start].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    assert token == hashlib.sha256("\n".join(lines[start + 1 : end]).encode()).hexdigest()
    assert lines[start - 1] == "::group::logsig: evidence"
    assert lines[end + 1 :] == ["::endgroup::"]


def test_github_is_silent_on_a_healthy_run():
    """Nothing failed, nothing is annotated."""
    assert of("github", healthy()) == ""


# ---------------------------------------------------------------- gcc


GCC = re.compile(r"^(.+?):(\d+):(\d+): (error|warning|note): (.*?)(?: \[([A-Za-z0-9_.-]+)\])?$")


def test_gcc_points_at_the_users_line_then_at_the_log(checkout):
    """The error on the code, the notes on the log's lines."""
    found = [GCC.match(line).groups() for line in of("gcc", *checkout).splitlines()]
    assert found[0][:4] == ("src/data.py", "88", "1", "error")
    assert found[1][:4] == ("train.log", "19", "10", "note")
    assert {each[5] for each in found} == {"python-exception"}


def test_gcc_of_a_healthy_run_is_empty():
    assert of("gcc", healthy()) == ""


def test_gcc_of_a_recovered_run_warns():
    assert GCC.match(of("gcc", recovered()).splitlines()[0])[4] == "warning"


# ---------------------------------------------------------------- GitLab


def test_gitlab_issue(checkout):
    """Every key that Code Quality reads, on the user's line."""
    (issue,) = json.loads(of("gitlab", *checkout))
    assert issue["location"] == {"path": "src/data.py", "lines": {"begin": 88}}
    assert issue["check_name"] == "python-exception"
    assert issue["severity"] == "blocker"
    assert re.fullmatch(r"[0-9a-f]{64}", issue["fingerprint"])


def test_gitlab_paths_are_relative():
    """The log's own name serves where no file of the project is known."""
    base = key_error()
    evidence = replace(
        base.root_cause.evidence[0], source=replace(base.root_cause.evidence[0].source, path="/data/x.log")
    )
    (issue,) = json.loads(of("gitlab", replace(base, root_cause=replace(base.root_cause, evidence=(evidence,)))))
    assert issue["location"]["path"] == "x.log"


@pytest.mark.parametrize("build", [healthy, EVERY["empty"], EVERY["unfinished"]])
def test_gitlab_without_a_cause_is_an_empty_array(build):
    assert json.loads(of("gitlab", build())) == []


def test_fingerprint_ignores_what_varies_by_chance():
    """The same failure on another rank at another time has the same fingerprint; another operation has not."""
    cause = timeout().root_cause
    again = replace(cause, ranks=(7,), facts={**cause.facts, "seq": 9, "timeout_ms": 1}, evidence=())
    other = replace(cause, facts={**cause.facts, "op": "BROADCAST"})
    assert fingerprint(cause) == fingerprint(again)
    assert fingerprint(cause) != fingerprint(other)


# ---------------------------------------------------------------- SARIF


@pytest.mark.parametrize("name", EVERY)
def test_sarif_has_what_code_scanning_needs(name):
    """Required fields are there and not empty; rules and results agree."""
    log = json.loads(of("sarif", EVERY[name]()))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        for key in ("shortDescription", "fullDescription", "help"):
            assert len(rule[key]["text"]) > 0
        assert len(rule["shortDescription"]["text"]) <= 1024
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]["primaryLocationLineHash"]


def test_sarif_lands_on_the_users_code(checkout):
    """The result's place is the project's file, the log's lines are related."""
    result = json.loads(of("sarif", *checkout))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/data.py"
    assert place["region"]["startLine"] == 88
    assert result["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 19, "startColumn": 10}


def test_sarif_encodes_paths(tmp_path):
    """Blanks and other letters in a path are percent-encoded."""
    (tmp_path / "my dir").mkdir()
    (tmp_path / "my dir" / "tr%äin.py").write_text("\n")
    base = key_error()
    frames = (Frame("/w/my dir/tr%äin.py", 1, "f"),)
    text = of("sarif", replace(base, root_cause=replace(base.root_cause, frames=frames)), Options(root=str(tmp_path)))
    uri = json.loads(text)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "my%20dir/tr%25%C3%A4in.py"


@pytest.fixture(scope="module")
def sarif_schema():
    """The standard's own schema."""
    schema = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize("name", EVERY)
def test_sarif_validates(name, sarif_schema):
    """Every outcome gives a log that the schema accepts."""
    assert [error.message for error in sarif_schema.iter_errors(json.loads(of("sarif", EVERY[name]())))] == []


# ---------------------------------------------------------------- JUnit


@pytest.mark.parametrize(
    ("build", "element", "counts"),
    [
        (unused_one, "failure", ("1", "0", "0")),
        (unrecognised, "failure", ("1", "0", "0")),
        (interrupted, "error", ("0", "1", "0")),
        (EVERY["unfinished"], "skipped", ("0", "0", "1")),
        (healthy, None, ("0", "0", "0")),
        (recovered, None, ("0", "0", "0")),
    ],
)
def test_junit_outcomes(build, element, counts):
    """A failure fails, an interruption errs, a log without an end is skipped, a healthy one passes."""
    suite = ET.fromstring(of("junit", build()))[0]
    case = suite.find("testcase")
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == counts
    assert [child.tag for child in case if child.tag != "system-out"] == ([element] if element else [])
    assert (case.get("classname"), case.get("name")) == ("logsig", "training job")


def test_junit_carries_the_report():
    """The failure's text is the terminal report."""
    failure = ET.fromstring(of("junit", unused_one())).find(".//failure")
    assert failure.get("message").startswith("Rank 1 failed first")
    assert "Freeze what is not part of the forward" in failure.text


# ---------------------------------------------------------------- Kubernetes


@pytest.mark.parametrize("name", EVERY)
def test_termination_message(name):
    """At most 4,000 bytes, the verdict in the first line, and the cause within SageMaker's 1,024 characters."""
    text = of("k8s", EVERY[name]())
    assert len(text.encode()) <= 4000
    cause = EVERY[name]().root_cause
    assert cause is None or cause.signature in text[:1024]


def test_termination_message_of_a_large_job_is_cut_at_a_line():
    base = wide(1024)
    text = of("k8s", replace(base, because=("ß" * 500,) * 30))
    assert len(text.encode()) <= 4000
    assert text.endswith("\n")


# ---------------------------------------------------------------- Markdown


@pytest.mark.parametrize("name", EVERY)
def test_markdown_begins_with_the_verdict(name):
    """The heading is the verdict, every fold is closed."""
    text = of("markdown", EVERY[name]())
    assert text.startswith("### ")
    assert text.count("<details") == text.count("</details>")
    assert "\n\n\n" not in text


def test_markdown_stays_below_the_limit_of_an_issue():
    """A huge diagnosis is cut between its folds, and the cut is said."""
    base = wide(1024)
    text = of("markdown", replace(base, because=("x " * 1500,) * 100, doubts=("y " * 1500,) * 100))
    assert len(text) < 65_536
    assert text.count("<details") == text.count("</details>")
    assert "The report was cut here" in text


def test_markdown_shows_code_between_backticks_as_code():
    """A remedy's `code` stays code; all else of it is text."""
    base = all_ranks()
    remedy = replace(base.remedies[0], steps=("Call `f(*x)`, not *y* | z.",))
    assert "1. Call `f(*x)`, not \\*y\\* \\| z." in of("markdown", replace(base, remedies=(remedy,)))


# ---------------------------------------------------------------- all


@pytest.mark.parametrize("name", formats())
@pytest.mark.parametrize("build", EVERY.values(), ids=EVERY)
def test_every_format_renders_every_diagnosis_the_same_way_twice(name, build):
    """Same diagnosis, same bytes."""
    assert of(name, build()) == of(name, build())


# ---------------------------------------------------------------- editors, the real ones where they are installed


def _needs(tool):
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool} here")


def _ask(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@_needs("node")
def test_node_reads_the_problem_matcher(checkout):
    """JavaScript's own engine (GitHub, VS Code) reads every line with the repository's matcher."""
    matcher = Path(__file__).parent.parent / "docs" / "ci" / "logsig-matcher.json"
    script = (
        "const [file, text] = process.argv.slice(1);"
        "const p = JSON.parse(require('fs').readFileSync(file)).problemMatcher[0].pattern[0];"
        "for (const line of text.trim().split('\\n')) {"
        "  const m = line.match(new RegExp(p.regexp));"
        "  console.log([m[p.file], m[p.line], m[p.column], m[p.severity], m[p.code]].join(' '));"
        "}"
    )
    said = _ask("node", "-e", script, str(matcher), of("gcc", *checkout)).splitlines()
    assert said[:2] == ["src/data.py 88 1 error python-exception", "train.log 19 10 note python-exception"]


@_needs("vim")
def test_vim_reads_the_lines(checkout, tmp_path):
    """Vim's own errorformat finds file, line and column."""
    (tmp_path / "errors").write_text(of("gcc", *checkout))
    script = (
        f"cgetfile {tmp_path}/errors | "
        f"call writefile(map(getqflist(), 'bufname(v:val.bufnr) . \" \" . v:val.lnum . \" \" . v:val.col'), '{tmp_path}/out')"
    )
    subprocess.run(
        [shutil.which("vim"), "-u", "NONE", "-Nes", "-c", script, "-c", "qa!"],
        timeout=60,
        check=False,
        capture_output=True,
    )
    assert (tmp_path / "out").read_text().splitlines()[:2] == ["src/data.py 88 1", "train.log 19 10"]


@_needs("emacs")
def test_emacs_reads_the_lines(checkout, tmp_path):
    """Emacs' compilation mode takes the lines for errors and notes."""
    (tmp_path / "errors").write_text(of("gcc", *checkout))
    script = (
        f'(progn (find-file "{tmp_path}/errors") (compilation-mode) (compilation--ensure-parse (point-max))'
        ' (princ (format "%d %d" compilation-num-errors-found compilation-num-infos-found)))'
    )
    assert _ask("emacs", "-Q", "--batch", "--eval", script) == "1 2"


@pytest.mark.parametrize("form", ["gitlab", "github", "sarif", "gcc", "k8s"])
def test_what_is_cut_says_so(form):
    cause = replace(key_error().root_cause, summary="x " * 9000)
    text = of(form, replace(key_error(), root_cause=cause))
    assert "x x…" in text or "x …" in text or "\\u2026" in text
