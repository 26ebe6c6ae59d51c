"""Which files are one job: every layout, what isn't a log, and the order in which files are read."""

from __future__ import annotations

import os
import re
import socket
import tarfile
import zipfile

import pytest

from logsig.batch import jobs, layout
from logsig.errors import InputError


@pytest.fixture
def lay(tmp_path):
    """Writes files below a folder and gives the jobs found: name -> (files, why), all relative."""

    def write(*names, content="step=1 loss=2\n", pattern=None):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content(name) if callable(content) else content)
        plan = jobs.find([str(tmp_path)], re.compile(pattern) if pattern else None)
        return {
            os.path.relpath(job.name, tmp_path): ([os.path.relpath(log.path, tmp_path) for log in job.logs], job.why)
            for job in plan.jobs
        }

    return write


def test_a_file_is_a_job(lay):
    assert lay("a.log", "b.log") == {"a.log": (["a.log"], layout.ALONE), "b.log": (["b.log"], layout.ALONE)}


def test_a_torchrun_log_dir_is_a_job_with_its_console(lay):
    files = ["t/none_a1b2c3d4/attempt_0/0/stderr.log", "t/none_a1b2c3d4/attempt_1/1/stdout.log"]
    assert lay("t/torchrun.log", *files) == {"t/none_a1b2c3d4": (["t/torchrun.log", *files], layout.ELASTIC)}


def test_two_torchrun_runs_in_one_folder_are_two_jobs_and_the_console_is_neithers(lay):
    found = lay(
        *(f"t/none_{run}/attempt_0/{rank}/stderr.log" for run in ("a1b2c3d4", "e5f6g7h8") for rank in (0, 1)),
        "t/torchrun.log",
    )
    assert sorted(found) == ["t/none_a1b2c3d4", "t/none_e5f6g7h8", "t/torchrun.log"]


def test_the_trees_of_two_nodes_are_one_job(lay):
    found = lay(*(f"t/node-{node}/none_a1b2c3d{node}/attempt_0/0/stderr.log" for node in (0, 1)))
    assert list(found) == ["t"]
    assert len(found["t"][0]) == 2


def test_trees_under_one_chosen_id_at_one_time_are_one_job(lay):
    found = lay("t/4711_a1b2c3d4/attempt_0/0/stderr.log", "t/4711_e5f6g7h8/attempt_0/0/stderr.log")
    assert list(found) == ["t/4711"]


def test_trees_under_one_id_far_apart_are_runs_of_their_own(lay, tmp_path):
    lay("t/4711_a1b2c3d4/attempt_0/0/stderr.log", "t/4711_e5f6g7h8/attempt_0/0/stderr.log")
    os.utime(tmp_path / "t/4711_a1b2c3d4/attempt_0", (1e9, 1e9))
    assert len(lay()) == 2


def test_slurm_files_of_one_id_are_one_job(lay):
    found = lay("slurm-101.out", "slurm-102.out", "train-103.out", "train-103.err", "out/104.out", "err/104.err")
    assert found == {
        "slurm-101.out": (["slurm-101.out"], layout.ALONE),
        "slurm-102.out": (["slurm-102.out"], layout.ALONE),
        "train-103": (["train-103.err", "train-103.out"], layout.SLURM),
        "104": (["err/104.err", "out/104.out"], layout.SLURM),
    }


def test_slurm_tasks_are_one_job_in_the_order_of_their_numbers(lay):
    files = [f"4711_{task}.out" for task in range(11)]
    assert lay(*files) == {"4711": (files, layout.TASKS)}


def test_slurm_tasks_are_known_behind_a_dash(lay):
    assert list(lay("job-4711-0.out", "job-4711-1.out", "exp-100-3.log", "exp-100-4.log")) == [
        "exp-100-3.log",
        "exp-100-4.log",
        "job-4711",
    ]


def test_slurms_own_name_of_an_array_gives_a_job_per_element(lay):
    assert set(lay("slurm-4711_1.out", "slurm-4711_2.out")) == {"slurm-4711_1.out", "slurm-4711_2.out"}


def test_an_element_of_an_array_keeps_its_two_streams_together(lay):
    found = lay("slurm-4711_1.out", "slurm-4711_1.err", "slurm-4711_2.out", "slurm-4711_2.err")
    assert found["slurm-4711_1"] == (["slurm-4711_1.err", "slurm-4711_1.out"], layout.ARRAY)
    assert len(found) == 2


def test_ranks_inside_tell_tasks_from_an_array(lay):
    """Each element of an array has a rank 0; a task speaks as its own rank."""
    tasks = ["slurm-4711_0.out", "slurm-4711_1.out"]
    assert list(lay(*tasks, content=lambda name: f"[rank{name[11]}]: hello\n")) == ["slurm-4711"]
    array = ["900_0.out", "900_1.out"]
    assert {"900_0.out", "900_1.out"} < set(lay(*array, content="[rank0]: a\n[rank1]: b\n"))


def test_a_date_is_no_slurm_id(lay):
    assert len(lay("train_20261129_1533.log", "train_20261129_1633.log", "run_20261129.out", "eval_20261129.out")) == 4


def test_pods_of_one_training_job_are_one_job(lay):
    found = lay(
        "pods/ml_net-master-0_11111111-2222/pytorch/0.log",
        "pods/ml_net-worker-0_11111111-3333/pytorch/0.log",
        "pods/ml_net-worker-0_11111111-3333/pytorch/0.log.20261129-100000.gz",
        "pods/ml_net-worker-0_11111111-3333/pytorch/1.log",
        "pods/ml_other-worker-0_11111111-4444/pytorch/0.log",
    )
    assert {name: len(files) for name, (files, _) in found.items()} == {
        "pods/ml/net": 4,
        "pods/ml_other-worker-0_11111111-4444/pytorch/0.log": 1,
    }


@pytest.mark.parametrize("pods", [["run-node-0-0-abcde", "run-node-0-1-fghij"], ["a-launcher-x7k2p", "a-worker-1"]])
def test_operators_names_of_pods_are_known(lay, pods):
    assert len(lay(*(f"ml_{pod}_11111111-2222/main/0.log" for pod in pods))) == 1


def test_a_ray_session_is_a_job_and_its_second_name_is_nothing(lay, tmp_path):
    session = "ray/session_2026-11-29_12-00-00_123456_77"
    lay(f"{session}/logs/worker-ab-01000000-55.out", f"{session}/logs/raylet.err")
    os.symlink(tmp_path / session, tmp_path / "ray/session_latest")
    found = lay()
    assert {name: len(files) for name, (files, _) in found.items()} == {session: 2}


def test_a_wandb_run_is_a_job(lay):
    run = "wandb/run-20261129_120000-ab12"
    assert list(lay(f"{run}/files/output.log", f"{run}/logs/debug.log")) == [run]


def test_the_streams_of_a_sagemaker_job_are_one_job(lay):
    found = lay(
        "a/algo-1-1700000000", "a/algo-2-1700000000", "x/b-algo-1-1700000000/000000", "x/b-algo-2-1700000001/000000"
    )
    assert {name: len(files) for name, (files, _) in found.items()} == {"a": 2, "x/b": 2}


def test_the_processes_of_an_azure_job_are_one_job(lay):
    found = lay(*(f"{job}/user_logs/std_log_process_{rank}.txt" for job in "ab" for rank in range(3)))
    assert {name: len(files) for name, (files, _) in found.items()} == {"a/user_logs": 3, "b/user_logs": 3}


def test_a_rotated_set_is_one_job_oldest_first(lay):
    files = ["x.log.10", "x.log.2.gz", "x.log.1", "x.log"]
    assert lay(*files)["x.log"] == (files, layout.ROTATED)


def test_rotation_by_date_is_read_in_the_order_of_dates(lay):
    files = ["x.log.2026-05-01", "x.log.2026-05-02", "x.log"]
    assert lay(*files)["x.log"][0] == files


def test_a_file_per_rank_or_node_is_one_job(lay):
    found = lay(
        *(f"a/rank_{rank}.log" for rank in range(3)),
        *(f"b/node-{node}/rank{node}/stdout" for node in range(2)),
        *(f"c/net-worker-{node}.log" for node in range(2)),
    )
    assert {name: len(files) for name, (files, _) in found.items()} == {"a/*": 3, "b": 2, "c/net": 2}


def test_experiments_with_a_rank_in_their_name_are_not_ranks(lay):
    assert len(lay("lora_rank_8.log", "lora_rank_16.log", "lora_rank_32.log", "exp-rank1/log.txt")) == 4


def test_stdout_and_stderr_of_one_name_are_one_job(lay):
    assert lay("train.out", "train.err") == {"train": (["train.err", "train.out"], layout.PAIR)}


def test_a_pattern_groups_before_any_layout(lay):
    found = lay("x/job7-a.log", "y/job7-b.log", "job8.log", "none.log", pattern=r"job(\d+)")
    assert {name: files for name, (files, _) in found.items()} == {
        "7": ["x/job7-a.log", "y/job7-b.log"],
        "job8.log": ["job8.log"],
        "none.log": ["none.log"],
    }


def test_a_pattern_may_begin_above_the_folder_but_not_end_there(lay, tmp_path):
    names = ["job1-a.log", "job1-b.log", "x/2-a.log", "x/2-b.log"]
    found = lay(*names, pattern=rf"{tmp_path.name}/(job\d|x)")
    assert {name: files for name, (files, _) in found.items()} == {"job1": names[:2], "x": names[2:]}
    found = lay(*names, pattern=rf"({tmp_path.name})|(?P<job>\w+)-")
    assert list(found) == ["2", "job1"]


def test_a_pattern_that_fits_nothing_is_an_error(lay):
    with pytest.raises(InputError, match=r"--job-by 'run\(.\)' fits no path; one of them is .*a\.log"):
        lay("a.log", pattern="run(.)")


def test_the_folder_we_stand_in_has_no_name(lay, tmp_path, monkeypatch):
    lay("a/slurm-11.out", "a/slurm-11.err", "b.log")
    monkeypatch.chdir(tmp_path)
    assert [job.name for job in jobs.find(["."]).jobs] == ["a/slurm-11", "b.log"]


def test_what_is_no_log_by_its_name_is_left_out(tmp_path):
    for name in ("model.pt", "train.py", "events.out.tfevents.17", "a.log"):
        (tmp_path / name).write_text("x\n")
    plan = jobs.find([str(tmp_path)])
    assert [job.name for job in plan.jobs] == [str(tmp_path / "a.log")]
    assert plan.left_out == 3


@pytest.mark.parametrize("packed", ["tar", "tar.gz", "zip"])
def test_archives_are_folders_of_jobs(tmp_path, packed):
    names = ["logs/slurm-101.out", "logs/train-103.out", "logs/train-103.err", "logs/model.pt"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("step=1\n")
    archive = tmp_path / f"all.{packed}"
    if packed == "zip":
        with zipfile.ZipFile(archive, "w") as file:
            for name in names:
                file.write(tmp_path / name, name)
    else:
        with tarfile.open(archive, "w:gz" if packed.endswith("gz") else "w") as file:
            for name in names:
                file.add(tmp_path / name, name)
    plan = jobs.find([str(archive)])
    assert [(job.name, len(job.logs)) for job in plan.jobs] == [
        (f"{archive}!/logs/slurm-101.out", 1),
        (f"{archive}!/logs/train-103", 2),
    ]


def test_odd_files_are_named_and_the_rest_is_found(tmp_path):
    (tmp_path / "a.log").write_text("x\n")
    os.mkfifo(tmp_path / "pipe.log")
    os.symlink("nowhere", tmp_path / "dead.log")
    os.symlink("self.log", tmp_path / "self.log")
    os.symlink(tmp_path, tmp_path / "loop")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.log"))
        plan = jobs.find([str(tmp_path)])
    assert [job.name for job in plan.jobs] == [str(tmp_path / "a.log")]
    assert {os.path.basename(problem.path): problem.reason for problem in plan.problems} == {
        "pipe.log": "a named pipe, not a log",
        "dead.log": "a symlink to nothing",
        "self.log": "too many levels of symbolic links",
        "loop": "a loop of symlinks",
        "s.log": "a socket, not a log",
    }


def test_a_name_that_is_not_utf8_is_read_and_named(tmp_path):
    with open(os.fsencode(tmp_path) + b"/n\xff.log", "wb") as file:
        file.write(b"x\n")
    plan = jobs.find([str(tmp_path)])
    assert len(plan.jobs) == 1
    assert [problem.reason for problem in plan.problems] == ["its name isn't UTF-8; it was read, and is shown escaped"]


def test_a_file_met_under_two_names_is_read_once(tmp_path):
    (tmp_path / "a.log").write_text("x\n")
    os.link(tmp_path / "a.log", tmp_path / "b.log")
    assert len(jobs.find([str(tmp_path), str(tmp_path / "a.log")]).jobs) == 1


def test_files_named_one_by_one_are_grouped_alike(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["slurm-101.err", "slurm-101.out", "x.log.1", "x.log", "rank_0.log", "rank_1.log", "alone.log"]
    for name in names:
        (tmp_path / name).write_text("x\n")
    for prefix in ("", f"{tmp_path}/"):
        plan = jobs.find([prefix + name for name in names])
        found = {job.name: [log.path for log in job.logs] for job in plan.jobs}
        assert found == {
            f"{prefix}slurm-101": [f"{prefix}slurm-101.err", f"{prefix}slurm-101.out"],
            f"{prefix}x.log": [f"{prefix}x.log.1", f"{prefix}x.log"],
            f"{prefix}*": [f"{prefix}rank_0.log", f"{prefix}rank_1.log"],
            f"{prefix}alone.log": [f"{prefix}alone.log"],
        }


@pytest.mark.parametrize(
    ("inside", "files"),
    [
        ("session_latest/logs", ["worker-ab-01000000-55.out", "raylet.err"]),
        ("none_a1b2c3d4/attempt_0", ["0/stderr.log", "1/stderr.log"]),
        ("ml_net-worker-0_11111111-3333", ["pytorch/0.log", "pytorch/1.log"]),
    ],
)
def test_a_folder_inside_a_layout_may_be_named(tmp_path, inside, files):
    for name in files:
        (tmp_path / inside / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / inside / name).write_text("x\n")
    assert [len(job.logs) for job in jobs.find([str(tmp_path / inside)]).jobs] == [2]


def test_a_missing_path_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such file or directory"):
        jobs.find([str(tmp_path / "nothing")])
