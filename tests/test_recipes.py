"""The recipes of ``docs/ci.md`` and the scripts inside ``action.yml`` and the GitLab template, run as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOC = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"<!-- recipe: ([\w-]+) -->\n```bash\n(.*?)```", DOC, re.DOTALL))
LOG = """\
[rank0]: step 1
[rank1]: Traceback (most recent call last):
[rank1]:   File "/workspace/train.py", line 3, in main
[rank1]:     labels = batch["labels"]
[rank1]: KeyError: 'labels'
E1129 16:35:23.000000 900 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1) local_rank: 1 \
(pid: 1001) of binary: /usr/bin/python3
"""


@pytest.fixture
def place(tmp_path):
    """A checkout with a failing ``torchrun``, ``srun`` and friends, and ``logsig`` on the path."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.log").write_text(LOG)
    (tmp_path / "work" / "train.py").write_text("a\nb\nc\n")
    (tmp_path / "work" / "slurm-4711.out").write_text(LOG)
    shutil.copytree(ROOT / "docs" / "ci", tmp_path / "work" / "docs" / "ci")
    fail = f"#!/bin/sh\ncat <<'END'\n{LOG}END\nexit 1\n"
    scripts = {
        "torchrun": fail,
        "srun": fail,
        "logsig": f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m logsig "$@"\n',
        "buildkite-agent": '#!/bin/sh\necho "agent $*"; cat\n',
        "sbatch": '#!/bin/sh\necho "$*" >> sbatch.calls; echo 4711\n',
    }
    for name, text in scripts.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    venv = tmp_path / "runner" / "logsig-venv" / "bin"
    venv.mkdir(parents=True)
    for name, target in (("logsig", tools / "logsig"), ("python", sys.executable)):
        (venv / name).symlink_to(target)
    return tmp_path


def run(place, script, *options, **env):
    """Runs a script as a CI does."""
    everything = {
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(place / "runner"),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "GITHUB_OUTPUT": str(place / "output"),
        "GITHUB_WORKSPACE": str(place / "work"),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NUM_NODES": "1",
        "TERMINATION_LOG": str(place / "termination"),
        "LANG": "C.UTF-8",
        **env,
    }
    return subprocess.run(
        ["/bin/bash", *options, "-c", script],
        cwd=place / "work",
        env=everything,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


STRICT = ("--noprofile", "--norc", "-eo", "pipefail")


def test_every_recipe_is_tested():
    """No recipe stands in the page untried."""
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in RECIPES if f'"{name}"' not in source] == []


def test_github_step(place):
    done = run(place, RECIPES["github-step"], *STRICT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::error file=train.py,line=3,title=logsig%3A python-exception::Rank 1 failed first")
    assert (place / "summary.md").read_text().startswith("### Rank 1 failed first")
    result = json.loads((place / "work" / "logsig.sarif").read_text())["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.py"


def test_github_matcher(place):
    """The problem matcher of the repository reads what the format prints."""
    done = run(place, RECIPES["github-matcher"], *STRICT)
    matcher = json.loads((ROOT / "docs" / "ci" / "logsig-matcher.json").read_text())["problemMatcher"][0]["pattern"][0]
    lines = [re.match(matcher["regexp"], line) for line in done.stdout.splitlines()[1:-1]]
    assert all(lines)
    assert (lines[0][1], lines[0][2], lines[0][4], lines[0][6]) == ("train.py", "3", "error", "python-exception")


def test_jenkins(place):
    done = run(place, RECIPES["jenkins"])
    assert done.returncode == 1
    assert {"logsig.html", "logsig.xml", "logsig.sarif"} <= {path.name for path in (place / "work").iterdir()}


def test_buildkite(place):
    done = run(place, RECIPES["buildkite"], "-e")
    assert done.returncode == 1
    assert "agent annotate --style error --context logsig\n### Rank 1 failed first" in done.stdout


@pytest.mark.parametrize("name", ["slurm-batch", "slurm-trap"])
def test_slurm(place, name):
    done = run(place, RECIPES[name])
    assert done.returncode == 1
    assert (place / "work" / "logsig-4711.txt").read_text().startswith("Rank 1 failed first")


def test_slurm_afternotok(place):
    """The second job runs the command that explains the first."""
    run(place, RECIPES["slurm-afternotok"], *STRICT)
    first, second = (place / "work" / "sbatch.calls").read_text().splitlines()
    assert first == "--parsable train.sh"
    assert second.startswith("--dependency=afternotok:4711 --kill-on-invalid-dep=yes")
    done = run(place, second.partition("--wrap=")[2], *STRICT)
    assert done.returncode == 0
    assert (place / "work" / "logsig-4711.txt").exists()


def test_kubernetes(place):
    (place / "termination").write_text("")
    done = run(place, RECIPES["kubernetes"])
    assert done.returncode == 1
    assert (place / "termination").read_text().startswith("Rank 1 failed first")
    assert json.loads(done.stdout.splitlines()[-1])["first_failing_rank"] == 1


def test_template(place):
    done = run(place, RECIPES["template"], *STRICT)
    assert done.stdout.startswith("Rank 1 failed first: KeyError")
    assert "\n- " in done.stdout


# ---------------------------------------------------------------- the action

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def act(place, **inputs):
    """Runs the action's steps with inputs, as a runner would."""
    values = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()} | inputs
    for step in ACTION["runs"]["steps"]:
        env = {
            name: re.sub(
                r"\$\{\{ (\S+) \}\}",
                lambda found: (
                    str(ROOT) if found[1] == "github.action_path" else values[found[1].removeprefix("inputs.")]
                ),
                text,
            )
            for name, text in step["env"].items()
        }
        done = run(place, step["run"], *STRICT, **env)
        if done.returncode:
            break
    return done


def outputs(place):
    return dict(line.split("=", 1) for line in (place / "output").read_text().splitlines())


def test_action_annotates_summarises_and_never_fails(place):
    done = act(place, path="train.log", formats="html sarif junit")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::error file=train.py,line=3")
    assert (place / "summary.md").read_text().startswith("### Rank 1 failed first")
    found = outputs(place)
    assert (found["signature"], found["rank"], found["outcome"]) == ("python-exception", "1", "failure")
    written = {path.name for path in Path(found["reports"]).iterdir()}
    assert written == {"diagnosis.json", "report.html", "report.sarif", "report.xml"}


def test_action_fails_where_asked(place):
    assert act(place, path="train.log", **{"fail-on": "fatal"}).returncode == 1


@pytest.mark.parametrize("path", ["no.log", "--help", "-O json=x"])
def test_action_survives_odd_paths(place, path):
    """A missing path is a warning; a path that looks like an option is a path."""
    done = act(place, path=path)
    assert done.returncode == 0
    assert "::warning title=logsig::" in done.stdout
    assert "no such file" in done.stderr


@pytest.mark.parametrize(
    "evil", ["$(touch pwned)", "`touch pwned`", '"; touch pwned; "', "a\n$(touch pwned)", "; touch pwned"]
)
def test_action_runs_no_input(place, evil):
    """No input is ever taken for a command."""
    for name in ACTION["inputs"]:
        if name != "python":
            act(place, **{"path": "train.log", name: evil})
    assert not (place / "work" / "pwned").exists()


def test_action_puts_no_expression_into_scripts():
    """Inputs reach the scripts through the environment only."""
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step["run"]]
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])


# ---------------------------------------------------------------- GitLab

GITLAB = yaml.safe_load((ROOT / "docs" / "ci" / "logsig.gitlab-ci.yml").read_text(encoding="utf-8"))[".logsig"]


def test_gitlab_template(place):
    """After a failed job the three reports are where the template declares them."""
    script = "\n".join(GITLAB["after_script"])
    done = run(
        place,
        script,
        CI_JOB_STATUS="failed",
        LOGSIG_LOG="train.log",
        LOGSIG_ARGUMENTS="",
        CI_PROJECT_DIR=str(place / "work"),
    )
    assert done.returncode == 0, done.stderr
    reports = GITLAB["artifacts"]["reports"]
    assert json.loads((place / "work" / reports["codequality"]).read_text())[0]["check_name"] == "python-exception"
    assert (place / "work" / reports["junit"]).exists()
    assert (place / "work" / "logsig.html").exists()


def test_gitlab_template_is_quiet_after_success(place):
    script = "\n".join(GITLAB["after_script"])
    run(place, script, CI_JOB_STATUS="success", LOGSIG_LOG="train.log", LOGSIG_ARGUMENTS="")
    assert not (place / "work" / "logsig.html").exists()
