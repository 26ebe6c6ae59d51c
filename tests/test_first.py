"""Who failed first: each rule decides where it should and abstains where it must."""

from __future__ import annotations

import pytest
from logs import GLOO_TIMEOUT, closed, steps, stopping, table, text, timed_out, traceback

from logsig import analyze_text
from logsig.catalog import Catalog
from logsig.model import Diagnosis


def verdict(found: Diagnosis) -> tuple[str | None, int | None, str, str | None]:
    return (
        found.root_cause.signature if found.root_cause else None,
        found.first_failing_rank,
        found.scope,
        found.grade,
    )


def test_own_exception_outranks_peer_errors_printed_before_it(catalog: Catalog) -> None:
    """The initiator may print last: its own exception still is the cause."""
    log = text(
        steps(range(3), 3),
        timed_out(1),
        timed_out(0, "send"),
        traceback(2, "ValueError: bad lengths"),
        table({0: 1, 1: 1, 2: 1}, root=0),
    )
    assert verdict(analyze_text(log, catalog)) == ("python-exception", 2, "one-rank", "A")


def test_answer_says_why_it_disagrees_with_torchrun(catalog: Catalog) -> None:
    """The table's claim is audited, not believed."""
    log = text(steps(range(2), 3), traceback(1, "KeyError: 'doc'"), closed(0), table({0: 1, 1: 1}, root=0))
    because = " ".join(analyze_text(log, catalog).because)
    assert "torchrun's table names rank 0 first, which only lost its peer" in because


def test_same_error_everywhere_is_all_ranks(catalog: Catalog) -> None:
    """Symmetric errors are the program's, whatever the table says."""
    log = text(
        steps(range(3), 1),
        *(traceback(rank, "KeyError: 'lr'") for rank in (1, 0, 2)),
        table({0: 1, 1: -15, 2: 1}, root=0),
    )
    found = analyze_text(log, catalog)
    assert verdict(found) == ("python-exception", None, "all-ranks", None)
    assert found.candidates == (1, 0, 2)


def test_same_error_on_some_is_not_all_ranks_when_another_lost_a_peer_first(catalog: Catalog) -> None:
    """A peer error before the symmetric ones speaks against all-ranks."""
    log = text(
        steps(range(3), 2),
        traceback(1, "KeyError: 'a'"),
        closed(0),
        traceback(2, "KeyError: 'a'"),
        table({0: 1, 1: 1, 2: 1}, root=1),
    )
    found = analyze_text(log, catalog)
    assert found.scope == "several-ranks"
    assert found.first_failing_rank == 1


def test_killed_rank_without_a_line_is_named_by_its_exit_code(catalog: Catalog) -> None:
    """A fatal signal nothing explains outranks peer errors and SIGTERM."""
    log = text(steps(range(3), 3), closed(0, 1), closed(2, 1), stopping(0, 2), table({0: -15, 1: -9, 2: -15}, root=1))
    assert verdict(analyze_text(log, catalog)) == ("sigkill-unknown", 1, "one-rank", "B")


def test_sigkill_after_the_agents_sigterm_is_escalation(catalog: Catalog) -> None:
    """Exit code -9 of a process the agent was ending is the agent's own."""
    log = text(steps(range(2), 3), traceback(0, "KeyError: 'x'"), stopping(1), table({0: 1, 1: -9}, root=0))
    found = analyze_text(log, catalog)
    assert verdict(found) == ("python-exception", 0, "one-rank", "A")
    assert found.ranks[1].state == "stopped"


def test_abort_after_a_peer_error_is_teardown(catalog: Catalog) -> None:
    """-6 on a rank that lost its peer is no cause."""
    log = text(
        steps(range(3), 3),
        closed(1),
        ["terminate called without an active exception"],
        traceback(2, "OSError: [Errno 5] Input/output error"),
        table({1: -6, 2: 1}, root=1),
    )
    assert analyze_text(log, catalog).first_failing_rank == 2


def test_exit_code_without_traceback_names_the_rank(catalog: Catalog) -> None:
    """A positive exit code and no error, while the others lost a peer."""
    log = text(steps(range(3), 3), closed(0), closed(2), stopping(0, 2), table({0: -15, 1: 3, 2: -15}, root=1))
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.root_cause and found.root_cause.signature) == (1, "worker-exit")


@pytest.mark.parametrize(
    ("words", "confidence"),
    [
        ("ERROR:root:rank 1: cannot open the shard list, giving up", "medium"),
        ("2026-05-03 10:00:20,100 ERROR trainer: [rank 1] no ids came from the tokenizer, leaving", "medium"),
        ("ERROR:root:rank 1: tokenizer returned no ids", "medium"),
    ],
)
def test_last_words_that_no_signature_knows_are_quoted(catalog: Catalog, words: str, confidence: str) -> None:
    """A logged error before a bare exit code: the rank didn't leave without a word, labelled or named in it."""
    log = text(steps(range(2), 3), [words], stopping(0), table({0: -15, 1: 1}, root=1))
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.rank_confidence) == (1, confidence)
    assert "its last words were “" in found.because[0]
    assert "after “" in found.ranks[1].what


def test_last_words_about_others_say_less(catalog: Catalog) -> None:
    """What a rank logs of a peer may be what reached it."""
    words = "INFO:root:rank {0}: step {1} loss 2.1"
    log = text(
        [words.format(rank, step) for step in range(9) for rank in (0, 1)],
        ["ERROR:root:rank 1: contact to the others is lost, giving up"],
        table({0: -15, 1: 1}, root=1),
    )
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.rank_confidence) == (1, "low")


def test_only_rank_without_an_error_is_the_suspect(catalog: Catalog) -> None:
    """When every other rank waited, the one without an error is first."""
    log = text(steps(range(3), 3), timed_out(0), timed_out(2, "send"), stopping(1), table({0: 1, 1: -15, 2: 1}, root=0))
    found = analyze_text(log, catalog)
    assert verdict(found) == ("gloo-timeout", 1, "one-rank", "B")
    assert found.rank_confidence == "medium"


def test_gloo_neighbours_enclose_the_lost_rank(catalog: Catalog) -> None:
    """Only R-1 and R+1 complain: R is first, with medium confidence."""
    log = text(steps(range(8), 3), closed(4, 1), closed(6, 1))
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.rank_confidence) == (5, "medium")


def test_peer_errors_of_all_ranks_name_nobody(catalog: Catalog) -> None:
    """Where everybody lost a peer and nobody failed by itself, the log doesn't decide."""
    log = text(steps(range(3), 3), closed(0), closed(1), closed(2))
    found = analyze_text(log, catalog)
    assert found.first_failing_rank is None
    assert found.root_cause is not None
    assert found.root_cause.confidence == "low"


def test_two_own_failures_are_ordered_by_a_peer_error_between_them(catalog: Catalog) -> None:
    """A peer error between two tracebacks was caused by the earlier one."""
    log = text(
        steps(range(4), 3),
        traceback(2, "KeyError: 'a'"),
        closed(1),
        traceback(0, "ZeroDivisionError: division by zero"),
    )
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.scope) == (2, "several-ranks")
    assert [cause.signature for cause in found.other_causes] == ["python-exception"]


def test_two_own_failures_with_nothing_between_are_undecided(catalog: Catalog) -> None:
    """Print order alone decides nothing."""
    log = text(
        steps(range(4), 3),
        traceback(2, "KeyError: 'a'"),
        traceback(0, "ZeroDivisionError: division by zero"),
        closed(1),
    )
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.candidates) == (None, (2, 0))


def test_killed_rank_beside_an_own_failure_is_undecided(catalog: Catalog) -> None:
    """A killed process prints nothing, so the traceback needn't be first."""
    log = text(steps(range(4), 3), traceback(2, "KeyError: 'a'"), closed(1), table({1: 1, 2: 1, 3: -9}, root=3))
    assert analyze_text(log, catalog).first_failing_rank is None


def test_rank_that_left_early_is_named(catalog: Catalog) -> None:
    """“Data exhausted” on one rank while the others are in a collective."""
    log = text(
        steps(range(3), 3), ["[rank 2] dataset exhausted, leaving"], closed(0), closed(1), table({0: 1, 1: 1}, root=0)
    )
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.root_cause and found.root_cause.signature) == (2, "rank-exited-early")


def test_unlabelled_traceback_goes_to_the_only_failed_exit(catalog: Catalog) -> None:
    """A traceback without prefix belongs to the only worker that left by itself."""
    log = text(
        ["Epoch: 0 step 10 loss 2.1"],
        traceback(None, "KeyError: 'a'"),
        stopping(0),
        [
            "E1129 16:35:24.000000 900 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 1001) of binary: /usr/bin/python3"
        ],
    )
    assert analyze_text(log, catalog).first_failing_rank == 1


def test_recovered_exception_is_no_failure(catalog: Catalog) -> None:
    """A logged traceback after which training goes on raises no alarm."""
    log = text(
        steps(range(2), 3),
        ["could not parse sidecar, using defaults"],
        traceback(None, "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        steps(range(2), 6)[6:],
    )
    found = analyze_text(log, catalog)
    assert found.outcome == "unfinished"
    assert found.root_cause is None


def test_model_mismatch_names_the_minority(catalog: Catalog) -> None:
    """In a comparison reported by all, the rare value marks the rank."""
    said = "RuntimeError: DDP expects same model across all ranks, but Rank {0} has {1} params, while rank {2} has inconsistent {3} params."
    log = text(
        traceback(0, said.format(0, 37, 1, 53)),
        traceback(1, said.format(1, 53, 0, 37)),
        traceback(2, said.format(2, 37, 1, 53)),
    )
    assert verdict(analyze_text(log, catalog)) == ("ddp-model-mismatch", 1, "one-rank", "A")


def test_mismatch_of_two_ranks_is_undecided(catalog: Catalog) -> None:
    """One against one has no minority."""
    said = "RuntimeError: DDP expects same model across all ranks, but Rank {0} has {1} params, while rank {2} has inconsistent {3} params."
    log = text(traceback(0, said.format(0, 37, 1, 53)), traceback(1, said.format(1, 53, 0, 37)))
    found = analyze_text(log, catalog)
    assert (found.first_failing_rank, found.candidates) == (None, (0, 1))


def test_restart_that_succeeds_is_recovered(catalog: Catalog) -> None:
    """A failed attempt followed by a good one: recovered, with cause and rank of the first."""
    agent = "E1129 16:35:24.000000 900 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0 (pid: 1000) of binary: /usr/bin/python3"
    log = text(
        steps(range(2), 3),
        traceback(0, "KeyError: 'a'"),
        closed(1),
        stopping(1),
        [agent],
        steps(range(2), 6),
        ["[rank 0] training finished"],
    )
    found = analyze_text(log, catalog)
    assert (found.outcome, found.first_failing_rank, len(found.attempts)) == ("recovered", 0, 2)


def test_lines_that_ray_folded_accuse_nobody(catalog: Catalog) -> None:
    """Where `[repeated 2x across cluster]` hides ranks, a rank without a line isn't the suspect."""
    head = "(RayTrainWorker pid={}) [rank{}]: RuntimeError: [/x/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete"
    log = text(
        ["world_size=4"],
        [head.format(1, 0), head.format(2, 1) + " [repeated 2x across cluster]", head.format(4, 3)],
    )
    assert analyze_text(log, catalog).first_failing_rank is None


def test_gloo_in_words_nobody_knows_is_not_the_ranks_own_failure(catalog: Catalog) -> None:
    """What comes out of gloo's source reached the rank from a peer, however it is worded."""
    log = text(
        steps(range(3), 2),
        *(traceback(rank, GLOO_TIMEOUT.format(way="recv").replace("Timed out", "Gave up")) for rank in (2, 0)),
        table({2: 1, 1: -15, 0: 1}, root=2),
    )
    assert verdict(analyze_text(log, catalog))[:3] == ("gloo-error", 1, "one-rank")


def test_one_launchers_label_around_all_lines_is_nobodys_rank(catalog: Catalog) -> None:
    """Mpirun around srun: the inner launcher's words count; and where nobody speaks within, no rank is named."""
    inner = text(
        [
            "3: RuntimeError: DataLoader worker (pid 31877) is killed by signal: Killed.",
            *(f"{task}: step {step}" for step in range(3) for task in range(4)),
            "srun: error: node-1: task 3: Out Of Memory",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=90210.0. Some of the step tasks have been OOM Killed.",
        ]
    )
    found = analyze_text(text(["[1,0]<stdout>:" + line for line in inner.splitlines()]), catalog)
    assert found.first_failing_rank == 3
    bare = ["[1,0]<stderr>:" + line for line in traceback(None, "KeyError: 'a'")]
    assert analyze_text(text(bare), catalog).first_failing_rank is None


def test_srun_that_cleans_up_behind_lost_peers_is_not_the_cause(catalog: Catalog) -> None:
    """A rank left with code 0; the others lost it; only then the step was cancelled."""
    log = text(
        steps(range(3), 2),
        closed(0),
        closed(1),
        [
            "srun: error: node-0: task 1: Exited with exit code 1",
            "srun: Terminating StepId=48213.0",
            "slurmstepd: error: *** STEP 48213.0 ON node-0 CANCELLED AT 2026-11-29T23:04:00 ***",
            "srun: error: node-0: task 0: Terminated",
        ],
    )
    assert verdict(analyze_text(log, catalog))[:2] == ("gloo-connection-closed", 2)


def test_an_engines_parents_only_pass_on_that_a_worker_failed(catalog: Catalog) -> None:
    """The core and server of vLLM raise exceptions of their own, which are no further causes; and its executor isn't Ray."""
    worker, core = (
        "(Worker_TP1 pid=341) ERROR 04-17 23:05:06 [x.py:559] ",
        "(EngineCore_0 pid=301) ERROR 04-17 23:05:07 [core.py:700] ",
    )
    head = "Traceback (most recent call last):"
    log = text(
        [
            f"{worker}{head}",
            f'{worker}  File "/opt/vllm/v1/worker.py", line 5, in init',
            f"{worker}ValueError: no cache blocks",
        ],
        [f"{core}{head}", f'{core}  File "/opt/vllm/v1/core.py", line 6, in run'],
        [
            f"{core}Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
        ],
        [
            "(APIServer pid=250) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
        ],
    )
    found = analyze_text(log, catalog)
    assert verdict(found)[:2] == ("python-exception", 1)
    assert (found.other_causes, found.job.launcher, found.job.framework) == ((), "vllm", "vllm")


def test_an_exception_logged_and_raised_is_no_fault_of_all_ranks(catalog: Catalog) -> None:
    """A process that logs what it then dies of prints it twice: that isn't once for each rank."""
    died = traceback(None, "ValueError: no cache blocks")
    logged = [f"ERROR 08-14 13:42:42 [core.py:632] {line}" for line in died]
    found = analyze_text(text(["loading"], logged, ["Process EngineCore_0:"], died), catalog)
    assert verdict(found) == ("python-exception", None, "unknown", None)
    assert analyze_text(text(["loading"], died, died), catalog).scope == "all-ranks"


DUMPS = {
    "faulthandler": [
        "Timeout (0:05:00)!",
        "Current thread 0x00007f1b (most recent call first):",
        '  File "/opt/train/train.py", line 12 in raise_error',
    ],
    "py-spy": [
        "Process 1000: python train.py",
        'Thread 4242 (active): "MainThread"',
        "    all_reduce (torch/distributed/distributed_c10d.py:2810)",
        "        Locals:",
        "            e: RuntimeError('CUDA error: an illegal memory access was encountered')",
    ],
    "print_stack": [
        "Thread MainThread:",
        "Traceback (most recent call last):",
        '  File "/opt/train/train.py", line 77, in step',
        "    loss.backward()",
        "Thread Thread-1:",
    ],
}


@pytest.mark.parametrize("name", DUMPS)
def test_a_dump_of_stacks_is_no_failure(catalog: Catalog, name: str) -> None:
    """It says where a rank waits, whether the run goes on behind it or not, and nobody is accused by it."""
    dump = [f"[rank 1] {line}" for line in DUMPS[name]]
    for behind in ([], steps(range(2), 30)[40:]):
        found = analyze_text(text(steps(range(2), 20), dump, behind), catalog)
        assert (found.outcome, found.root_cause) == ("unfinished", None)
    found = analyze_text(
        text(steps(range(2), 20), dump, traceback(0, "KeyError: 'a'"), table({0: 1, 1: -15}, 0)), catalog
    )
    assert verdict(found)[:2] == ("python-exception", 0)


ATTEMPT_OVER = "I1129 16:35:24.000000 900 torch/distributed/elastic/agent/server/api.py:914] [default] Worker group FAILED. {}/3 attempts left; will restart worker group"


def test_attempts_that_fail_differently_are_judged_by_the_first(catalog: Catalog) -> None:
    """What a restart meets may be the first failure's doing; each attempt's own cause is told besides."""
    log = text(
        steps(range(2), 3),
        traceback(0, "KeyError: 'a'"),
        [ATTEMPT_OVER.format(2)],
        steps(range(2), 3),
        traceback(1, "OSError: [Errno 28] No space left on device"),
    )
    found = analyze_text(log, catalog)
    assert verdict(found)[:2] == ("python-exception", 0)
    assert [attempt.first_rank for attempt in found.attempts] == [0, 1]


def test_what_a_failed_attempt_left_behind_is_not_the_cause(catalog: Catalog) -> None:
    """A port that is still held, or the same failure again, follows from the first attempt."""
    first = (*steps(range(2), 3), *traceback(1, "KeyError: 'a'"), ATTEMPT_OVER.format(2))
    port = traceback(
        0,
        "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
    )
    for later in (port, traceback(0, "KeyError: 'b'"), closed(0)):
        assert verdict(analyze_text(text(first, later), catalog))[:2] == ("python-exception", 1)


def test_worker_that_ray_misses_after_its_watchdog_gave_up_is_no_cause(catalog: Catalog) -> None:
    """The watchdog takes its process down; a death that Ray reports before is one."""
    died = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."
    waited = "(RayTrainWorker pid=7) [rank3]:[E212 20:14:03.110312345 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
    assert verdict(analyze_text(text([waited, died]), catalog))[0] == "nccl-collective-timeout"
    assert verdict(analyze_text(text([died, waited]), catalog))[0] == "ray-worker-died"


def test_launcher_that_misses_the_store_after_a_good_end_is_no_failure(catalog: Catalog) -> None:
    """Somebody has to leave first; in mid-run the same loss is one."""
    lost = "W1104 03:22:20.000000 7 torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1341] The node 'w-1_7_0' has failed to {} the rendezvous 'job' due to an error of type RendezvousConnectionError."
    shutdown, alive = lost.format("shutdown"), lost.format("send a keep-alive heartbeat to")
    end = ["[rank 0] Training complete."]
    assert analyze_text(text(steps(range(1), 3), end, [shutdown]), catalog).outcome == "healthy"
    assert analyze_text(text(steps(range(1), 3), [alive]), catalog).outcome == "failure"


def test_retry_of_one_rank_before_steps_without_a_label_is_overcome(catalog: Catalog) -> None:
    """Steps that bear no rank are the whole job's: what one rank warned of before didn't stop it."""
    warned = "h1:50:70 [0] misc/socket.cc:419 NCCL WARN socketStartConnect: Connect to 10.0.0.2<4431> failed : Connection refused"
    known = "h1:50:70 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1000 - Init COMPLETE"
    went_on = [f"step {step} loss 2.1" for step in range(9)]
    assert analyze_text(text([known, warned], went_on, ["Training finished"]), catalog).outcome == "healthy"
    assert analyze_text(text([known], went_on, [warned]), catalog).outcome == "failure"


def test_boxes_of_intel_mpi_are_in_the_order_of_ranks(catalog: Catalog) -> None:
    """It kills the others (SIGKILL) and lists all: the one that ended otherwise, or raised, was first."""
    box = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {0} PID 440{0} RUNNING AT c0\n=   KILLED BY SIGNAL: {1}\n"
    killed, hit = "9 (Killed)", "7 (Bus error)"
    crashed = "".join(box.format(rank, hit if rank == 2 else killed) for rank in range(4))
    raised = text(traceback(1, "KeyError: 'a'"), [box.format(rank, killed) for rank in (0, 2, 3)])
    assert verdict(analyze_text(crashed, catalog))[:2] == ("bus-error", 2)
    assert verdict(analyze_text(raised, catalog))[:2] == ("python-exception", 1)


def test_single_culprit_of_torchfrtrace_is_the_odd_one(catalog: Catalog) -> None:
    """It compares all ranks with the lowest: several culprits, or two ranks in all, tell nothing."""
    kind = "Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: 'all_gather' does not match found collective type: 'all_reduce'"
    for world, culprits, named in ((4, (2,), 2), (4, (1, 2, 3), None), (2, (1,), None)):
        said = "error msg: " + ", ".join(f"Culprit rank {rank}; {kind}" for rank in culprits)
        log = text(steps(range(world), 2), ["$ torchfrtrace /tmp", said])
        assert verdict(analyze_text(log, catalog))[:2] == ("collective-mismatch", named)


def test_label_in_front_of_slurms_daemon_is_not_the_one_it_speaks_of(catalog: Catalog) -> None:
    """Slurmstepd's lines bear the label of their node's first task."""
    own = "8: slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed."
    labelled = [f"{rank}: step {step} loss 2.1" for step in range(3) for rank in (8, 9, 10, 11)]
    named = "srun: error: n1: task 11: Out Of Memory"
    assert verdict(analyze_text(text(labelled, [own, named]), catalog))[:2] == ("slurm-oom", 11)
    assert verdict(analyze_text(text(labelled, [own]), catalog))[:2] == ("slurm-oom", None)


def test_pod_that_kubectl_describes_is_the_rank_of_its_name(catalog: Catalog) -> None:
    """With one rank per pod, the name above the state tells who was killed; of several pods the nearest."""
    heard = [
        f"[pod/a-{pod}/pytorch] world_size=3 rank={rank}"
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1"))
    ]
    describe = ["Name:   a-{}", "    State:    Terminated", "      Reason:   {}", "      Exit Code:  {}"]
    pods = [line.format(*what) for what, line in zip([("worker-0",), (), ("Error",), ("1",)], describe, strict=True)]
    pods += [
        line.format(*what) for what, line in zip([("worker-1",), (), ("OOMKilled",), ("137",)], describe, strict=True)
    ]
    assert verdict(analyze_text(text(heard, pods), catalog))[:2] == ("k8s-oom-killed", 2)


def test_ray_lists_its_workers_with_or_without_the_node(catalog: Catalog) -> None:
    """Newer Ray writes the node's id before the address."""
    listed = "(TorchTrainer pid=700) - ({}ip=10.0.4.{}, pid=81{}) world_rank={}, local_rank=0, node_rank={}"
    failed = "(RayTrainWorker pid=811, ip=10.0.4.1) "
    own = [
        failed + "Traceback (most recent call last):",
        failed + '  File "ds.py", line 3, in get',
        failed + "KeyError: 'x'",
    ]
    for node in ("", "node_id=ab12, "):
        workers = [listed.format(node, rank, rank, rank, rank) for rank in range(2)]
        assert verdict(analyze_text(text(workers, own), catalog))[:2] == ("python-exception", 1)


def test_launchers_summary_is_not_what_was_waited_for(catalog: Catalog) -> None:
    """The launcher's summary of a lost store is not what was waited for where ranks tell of the loss."""
    gone = "[rank4]:[W1104 03:22:20.000000000 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=70, addr=[b]:5012, remote=[a]:29500): Failed to recv, got 0 bytes."
    summary = "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details."
    assert verdict(analyze_text(text([gone, summary]), catalog))[0] == "store-server-gone"
    assert verdict(analyze_text(text([summary]), catalog))[0] == "rendezvous-connection-failed"


def test_log_that_a_viewer_shows_from_its_end_is_read_from_its_end(catalog: Catalog) -> None:
    """Web consoles and logcli show the newest line first; a traceback's lines are then upside down."""
    said = [*steps(range(2), 3), *traceback(1, "KeyError: 'a'"), *closed(0)]
    stamped = [f'2026-05-05T10:00:{at:02}Z {{pod="w-{at % 2}"}} {line}' for at, line in enumerate(said)]
    for shown in (stamped, stamped[::-1]):
        assert verdict(analyze_text(text(shown), catalog))[:3] == ("python-exception", 1, "one-rank")
    two_clocks = [*stamped[6:], *stamped[:6]]  # a pod's lines behind another's: a jump back is no direction
    assert not any("newest" in doubt for doubt in analyze_text(text(two_clocks), catalog).doubts)
    assert any("newest line comes first" in doubt for doubt in analyze_text(text(stamped[::-1]), catalog).doubts)


def test_warning_of_a_lost_store_after_the_end_is_no_early_exit(catalog: Catalog) -> None:
    """The host of the store leaves first; who was still in a collective raises."""
    end, gone = (
        ["[rank 0] Finished training"],
        "recvValue failed on SocketImpl(fd=3, addr=[n1]:5, remote=[n0]:2): failed to recv, got 0 bytes",
    )
    warned = [f"[rank1]:[W1104 03:30:00.000000000 TCPStore.cpp:125] [c10d] {gone}"]
    raised = traceback(1, f"torch.distributed.DistNetworkError: {gone}")
    assert analyze_text(text(steps(range(2), 3), end, warned), catalog).outcome == "healthy"
    assert verdict(analyze_text(text(steps(range(2), 3), end, raised), catalog))[:2] == ("rank-exited-early", 0)


def test_job_that_was_put_back_runs_again_in_a_new_attempt(catalog: Catalog) -> None:
    """A stop from outside, then a launcher's banner: what failed afterwards wasn't the stop's doing."""
    stop = [
        "W1104 03:00:00.000000 9 torch/distributed/elastic/agent/server/api.py:719] Received Signals.SIGTERM death signal, shutting down workers",
        "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-04T03:00:00 DUE TO PREEMPTION ***",
    ]
    banner = [
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded"
    ]
    later = [f"[rank {rank}] step={step} loss=1.0" for step in range(4, 8) for rank in range(2)]
    failed = analyze_text(text(steps(range(2), 4), stop, banner, later, traceback(1, "KeyError: 'a'")), catalog)
    assert (*verdict(failed)[:2], len(failed.attempts)) == ("python-exception", 1, 2)
    stopped = analyze_text(text(banner, steps(range(2), 4), stop, traceback(1, "KeyError: 'a'")), catalog)
    assert (stopped.outcome, len(stopped.attempts)) == ("interrupted", 1)


def test_flux_names_a_task_without_its_code(catalog: Catalog) -> None:
    """That a task ended is all that is told: a failure, of which the log doesn't show more."""
    named = "0.9s: flux-shell[0]: FATAL: doom: python: rank 5 on host t22 exited and exit-timeout=30s has expired"
    found = analyze_text(
        text([f"{rank}: it {step} loss 2" for step in range(3) for rank in range(8)], [named]), catalog
    )
    assert (found.outcome, verdict(found)[0]) == ("failure", "worker-exit")


def test_composer_lists_ends_by_rank_and_announces_whose_output_follows(catalog: Catalog) -> None:
    """A SIGTERM above the failed rank's line is the launcher's; the bare traceback is of the rank named above it."""
    ends = ["Global rank 3 (PID 10) exited with code -15", "Global rank 4 (PID 11) exited with code 1"]
    output = ["----------Begin global rank 4 STDERR----------", *traceback(None, "KeyError: 'a'")]
    assert verdict(analyze_text(text(ends, output), catalog))[:2] == ("python-exception", 4)
    assert verdict(analyze_text(text(output, traceback(3, "KeyError: 'b'")), catalog))[2] != "one-rank"


def test_job_that_made_room_and_came_to_its_end_is_healthy(catalog: Catalog) -> None:
    """Being preempted is no failure where a later attempt ends well."""
    stop = ["slurmstepd: error: *** JOB 9 ON c CANCELLED AT 2026-11-04T03:00:00 DUE TO PREEMPTION ***"]
    banner = [
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded"
    ]
    log = text(banner, steps(range(2), 4), stop, banner, steps(range(2), 9), ["[rank 0] training complete"])
    found = analyze_text(log, catalog)
    assert (found.outcome, found.root_cause, len(found.attempts)) == ("healthy", None, 2)


def test_two_killed_ranks_of_many_are_not_all_ranks(catalog: Catalog) -> None:
    """Two nodes' reports name ranks 1 and 6: what became of the others isn't told."""
    log = text(table({1: -9}, root=1, host="a"), table({6: -9}, root=6, host="b"))
    assert verdict(analyze_text(log, catalog))[:3] == ("sigkill-unknown", None, "several-ranks")
    log = text(table({0: -9, 1: -9}, root=0))
    assert verdict(analyze_text(log, catalog))[2] == "all-ranks"


def test_words_of_a_scheduler_behind_a_ranks_line_are_not_the_ranks(catalog: Catalog) -> None:
    """Ray tells twice of one lost worker; a pod's name tells the rank where pods are ranks."""
    watchdog = "[rank{0}]:[E1118 20:32:23.957028747 ProcessGroupNCCL.cpp:685] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600031 milliseconds before timing out."
    ray = [
        watchdog.format(0),
        "A worker died or was killed while executing a task by an unexpected system error. Worker PID: 15",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
    ]
    assert verdict(analyze_text(text(ray), catalog))[:3] == ("ray-worker-died", None, "unknown")
    pods = [f"a-worker-{rank - 1} pytorch {watchdog.format(rank)}" for rank in (1, 2)]
    described = ["Name:         a-worker-2", "    State:          Terminated", "      Reason:       OOMKilled"]
    assert verdict(analyze_text(text(pods, described), catalog))[:3] == ("k8s-oom-killed", 3, "one-rank")
    assert verdict(analyze_text(text(pods, described[1:]), catalog))[1] is None


def test_error_that_a_labelled_rank_names_and_goes_on_from_is_none(catalog: Catalog) -> None:
    """Where all lines carry torch's mark, it doesn't say that a rank died of what it names."""
    before, after = ([f"[rank{rank}]: step {step} loss 1.0" for rank in (0, 1)] for step in (1, 2))
    log = text(before, ["[rank1]: OSError: [Errno 28] No space left on device: '/tmp/prof.json'"], after)
    assert analyze_text(log, catalog).outcome != "failure"


@pytest.mark.parametrize(
    "words", ["ImportError: no flash_attn, falling back to sdpa", "ConnectionError: no hub, retrying (1/5)"]
)
def test_a_traceback_of_torchs_hook_ended_its_process_whatever_it_says(catalog: Catalog, words: str) -> None:
    """The words were written where the error was raised, by somebody who meant to catch it."""
    log = text(steps(range(3), 4), traceback(2, words), closed(0))
    assert verdict(analyze_text(log, catalog))[:2] == ("python-exception", 2)
    said = f"[rank2]: {words}"
    assert analyze_text(text(steps(range(3), 4), [said], steps(range(3), 9)), catalog).root_cause is None


@pytest.mark.parametrize(("later", "first"), [("16:35:53", 0), ("16:35:24", 1)])
def test_a_kill_a_whole_grace_behind_another_failure_is_the_agents(catalog: Catalog, later: str, first: int) -> None:
    """Torchrun kills after thirty seconds what outlives its SIGTERM; a kill at once is somebody else's."""
    told = "\n".join(table({0: 1, 1: -9}, 0)).replace("2026-11-29_16:35:23", f"2026-11-29_{later}", 1)
    found = analyze_text(text(steps(range(2), 9), [told]), catalog)
    assert found.first_failing_rank == first
