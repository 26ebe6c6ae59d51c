"""Peeling takes off what it names and nothing else, in any stack that occurs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logsig import dialects, pods
from logsig.peeling import MAX_LAYERS, NOTHING_PEELED, Peeled
from logsig.prefix import Prefixes, load_prefixes

PREFIXES = Prefixes(dialects.read())
PEEL = PREFIXES.peeler().peel

STRONG = [p for p in PREFIXES.all if p.pattern and not p.consistent and p.place == "start" and not p.unescape]


def heads() -> list[tuple[str, str, Peeled]]:
    """(name, the prefix alone, what it says) of each strong prefix, from its first example."""
    found = []
    for prefix in STRONG:
        line = prefix.examples[0].log.splitlines()[0]
        first = PEEL(line, limit=1)
        if first.layers == (prefix.name,) and first.start:
            found.append((prefix.name, line[: first.start], first))
    return found


HEADS = heads()
OUTER = [head for head in HEADS if next(p for p in STRONG if p.name == head[0]).collector] + [
    head for head in HEADS if head[0] in ("openmpi", "tee", "rank", "ray", "rank-runner", "process-runner")
]
INNER_MARKS = [
    ("[rank3]: ", {"rank": 3}),
    ("[default1]:[rank5]: ", {"rank": 5, "local_rank": 1}),
    ("[1,7]<stderr>:", {"task": 7}),
    ("[rank=3] || ", {"rank": 3}),
    ("(RayTrainWorker pid=123, ip=10.0.0.1) ", {"pid": 123}),
    ("[rank2]:[E1129 16:33:31.090000001 ProcessGroupNCCL.cpp:607] ", {"rank": 2, "level": "E"}),
    ("2026-11-29 16:33:31,090 ERROR [rank 4] ", {"rank": 4, "level": "E"}),
    ("gpu-box:801:844 [0] ", {"pid": 801, "device": 0}),
]
TEXT = "NCCL WARN Timeout: step 3"


def test_every_strong_prefix_is_among_the_heads():
    assert len(HEADS) > 25


@pytest.mark.parametrize("outer", OUTER, ids=lambda head: head[0])
@pytest.mark.parametrize("inner", INNER_MARKS, ids=lambda mark: mark[0].strip())
def test_stacks(outer, inner):
    name, head, first = outer
    mark, facts = inner
    found = PEEL(head + mark + TEXT)
    if "part" in found.fields:
        found = PEEL(found.text, found)
    assert found.text == TEXT
    assert found.layers[0] == name
    for fact, value in facts.items():
        assert found.fields[fact] == value, fact
    for fact in ("local_rank", "task", "node"):
        if fact not in facts and fact in first.fields:
            assert found.fields[fact] == first.fields[fact], "an inner layer must not overwrite what it doesn't say"


def test_the_inner_clock_counts_and_the_collectors_is_kept():
    found = PEEL("2026-05-01T12:00:00.1234567Z [rank2]:[E501 14:00:00.090000001 a.cpp:607] x").fields
    assert (found["stamp"].text, found["stamp"].format) == ("501 14:00:00.090000001", "c10")
    assert found["arrival"].text == "2026-05-01T12:00:00.1234567Z"


def test_node_of_the_collector_stays():
    assert PEEL("[pod/bert-worker-3/pytorch] gpu-7:801:844 [0] NCCL INFO x").fields["node"] == "bert-worker-3"


line_parts = st.one_of(
    st.sampled_from([head for _, head, _ in HEADS]),
    st.sampled_from([mark for mark, _ in INNER_MARKS]),
    st.text(max_size=20),
    st.sampled_from(["[rank", "]: ", "{", "}", '{"message": "x"}', "3: ", "\x1b[31m", "[1,", "(a pid=", "2026-", "]]"]),
)


@given(st.lists(line_parts, max_size=6).map("".join))
@settings(max_examples=400, deadline=None)
def test_nothing_lost_nothing_invented(line):
    found = PEEL(line)
    if any(PREFIXES_BY_NAME[name].json or PREFIXES_BY_NAME[name].unescape for name in found.layers):
        return
    rest = line[found.start :]
    if any(PREFIXES_BY_NAME[name].place == "end" for name in found.layers):
        assert rest.startswith(found.text)
    else:
        assert rest == found.text
    assert bool(found.layers) or found.text == line


PREFIXES_BY_NAME = {prefix.name: prefix for prefix in PREFIXES.all}


@given(st.lists(line_parts, min_size=1, max_size=8).map("".join))
@settings(max_examples=300, deadline=None)
def test_glue_positions_are_inside_and_rise(line):
    cuts = list(PREFIXES.peeler().glued(line))
    assert cuts == sorted(set(cuts))
    assert all(0 < cut < len(line) for cut in cuts)
    if cuts:
        assert PREFIXES.peeler().may_be_glued(line)


@given(st.lists(st.lists(line_parts, max_size=4).map("".join), max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_sample_can_be_settled(sample):
    dialect = PREFIXES.decide(sample)
    peeler = PREFIXES.peeler(dialect)
    for line in sample:
        assert peeler.peel(line, NOTHING_PEELED).start <= len(line) or "{" in line


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("loss=5.46][rank0]:[E709 17:05:38.162814866 a.cpp:1] x", 10),
        ("step=0 tokens=64[rank 0] step=0 tokens=64", 16),
        ("step=2 loss=3 [rank 1] step=2 loss=4", 14),
        ("tokens=64[1,1]<stdout>:", 9),
        ("tokens=64[default1]:[rank1]: x", 9),
        ("100%|██| 9/9 [00:01<00:00]E1129 16:05:57.880000 14457 torch/distributed/api.py:1002] failed", 26),
        ("step 3(RayTrainWorker pid=12) step 3", 6),
    ],
)
def test_glue_is_found(line, at):
    assert list(PREFIXES.peeler().glued(line)) == [at]


@pytest.mark.parametrize(
    "line",
    [
        "the prefix [rank3]: is written by the excepthook",
        "sending to [rank 1] now",
        'raise ValueError("[rank0]: no")',
        "File `[rank0]:` was not found",
        "params[0] in this process with sizes [5, 4]",
        "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:17594",
        "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 4000 ms",
    ],
)
def test_a_mention_is_no_glue(line):
    assert list(PREFIXES.peeler().glued(line)) == []


@pytest.mark.parametrize(
    ("pod", "rank"),
    [
        ("bert-master-0", 0),
        ("bert-worker-3", 4),
        ("mpi-launcher-x7k2p", None),
        ("mpi-launcher-0-x7k2p", 0),
        ("js-workers-0-2-x7k2p", 2),
        ("bert-node-0-3-x7k2p", 3),
        ("js-workers-2-2-x7k2p", None),
        ("some-pod", None),
    ],
)
def test_node_rank_of_pod(pod, rank):
    assert pods.node_rank(pod) == rank


def decide(*lines: str) -> set[str]:
    return set(load_prefixes().decide(lines).known)


def test_labels_between_the_launchers_own_lines():
    own = [f"launcher says {number}" for number in range(30)]
    labelled = [f"{number % 3}: step {number}" for number in range(12)]
    assert decide(*own, *labelled, *own) == {"srun"}


def test_a_list_is_no_dialect():
    text = [f"step {number} done" for number in range(20)]
    assert decide(*text, "0: cat", "1: dog", "2: bird", *text) == set()


def test_srun_does_not_label_itself():
    own = ["srun: error: node-1: task 2: Killed"] * 10
    assert decide("0: a", "1: b", "0: c", "1: d", *own) == {"srun"}


def test_a_port_is_no_task():
    lines = [f"{number % 3}: step {number}" for number in range(12)]
    peeler = load_prefixes().peeler(load_prefixes().decide(lines))
    assert peeler.peel("52620: Connection reset by peer").layers == ()


def test_an_exception_is_no_host():
    lines = [f"node-{number % 2}: step {number}" for number in range(12)]
    peeler = load_prefixes().peeler(load_prefixes().decide(lines))
    assert peeler.peel("node-1: utf-8: x").text == "utf-8: x"
    assert peeler.peel("RuntimeError: x").layers == ()


@pytest.mark.parametrize("prefix", PREFIXES.all, ids=lambda prefix: prefix.name)
@given(st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_a_line_of_a_known_shape_is_peeled_as_if_it_were_the_first(prefix, random):
    """A peeler remembers how lines of one shape are peeled: never more than their shape decides."""
    peeler = PREFIXES.peeler()
    for example in (*prefix.examples, *prefix.counterexamples):
        for line in example.log.splitlines():
            alike = re.sub("[0-9]", lambda _digit: str(random.randrange(10)), line)
            peeler.peel(line)
            assert peeler.peel(alike) == PREFIXES.peeler()._peel(alike, NOTHING_PEELED, MAX_LAYERS)[0]
