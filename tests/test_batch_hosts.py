"""Hosts that start failures more often than chance: the test is exact, names no innocent, and finds the bad one."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logsig.batch import chance, hosts, suspects
from logsig.batch.chance import Stratum
from logsig.batch.model import Row


def row(number, names, first=None, by="start"):
    return Row(
        job=f"job-{number}",
        files=(),
        file_count=1,
        size=1,
        outcome="failure" if first else "healthy",
        hosts=tuple(names),
        hosts_by=by,
        first_failing_node=first,
        group="g",
        ended="2026-11-01T00:00:00",
    )


def cluster(seed, *, nodes, jobs, sizes, rate, bad=None, share=0.2):
    """Gives rows of jobs on random hosts; each failure is started by one of its hosts by lot, or by the bad one."""
    rng = random.Random(seed)
    names = [f"gpu{number:03d}" for number in rng.sample(range(1000), nodes)]
    rows = []
    for number in range(jobs):
        mine = rng.sample(names, min(rng.choice(sizes), nodes))
        first = None
        if bad is not None and names[bad] in mine and rng.random() < share:
            first = names[bad]
        elif rng.random() < rate:
            first = rng.choice(mine)
        rows.append(row(number, mine, first))
    return names, rows


def test_a_thousand_random_job_sets_name_a_host_in_at_most_five_percent():
    """No bad host: any name is wrong. Sizes of jobs, rates of failure and numbers of hosts vary."""
    named = 0
    for seed in range(1000):
        rng = random.Random(seed)
        _, rows = cluster(
            seed,
            nodes=rng.choice([3, 10, 40, 150]),
            jobs=rng.choice([10, 40, 120]),
            sizes=rng.choice([[1], [2], [1, 2, 4, 8], list(range(1, 9))]),
            rate=rng.choice([0.02, 0.1, 0.4, 0.9]),
        )
        named += any(host.is_named for host in suspects.test(rows).hosts)
    assert named <= 50


def test_a_host_that_starts_a_fifth_of_its_jobs_failures_is_found_among_500():
    found = wrong = 0
    for seed in range(10):
        names, rows = cluster(seed, nodes=500, jobs=4000, sizes=[1, 2, 4, 8, 16], rate=0.08, bad=77)
        named = [host.name for host in suspects.test(rows).hosts if host.is_named]
        found += names[77] in named
        wrong += len(set(named) - {names[77]})
    assert found >= 9
    assert wrong <= 2


def test_a_host_that_is_first_in_a_fifth_of_the_failures_it_shares_is_found_among_500():
    """Its jobs fail no more often than others; but of their failures it starts a fifth, not a sixteenth."""
    found = wrong = 0
    for seed in range(2):
        rng = random.Random(seed)
        names = [f"gpu{number:03d}" for number in rng.sample(range(1000), 500)]
        rows = []
        for number in range(20_000):
            mine = rng.sample(names, 16)
            is_bads = names[7] in mine and rng.random() < 0.2
            first = (names[7] if is_bads else rng.choice(mine)) if rng.random() < 0.2 else None
            rows.append(row(number, mine, first))
        named = [host.name for host in suspects.test(rows).hosts if host.is_named]
        found += names[7] in named
        wrong += len(set(named) - {names[7]})
    assert found == 2
    assert not wrong


def test_failure_rates_that_differ_by_size_accuse_nobody():
    """Large jobs fail often, small ones never; a host that runs the large ones isn't bad for that."""
    named = 0
    for seed in range(100):
        rng = random.Random(seed)
        names = [f"n{number}" for number in rng.sample(range(1000), 60)]
        rows = []
        for number in range(300):
            is_large = rng.random() < 0.3
            mine = rng.sample(names[:20], 8) if is_large else rng.sample(names[20:], 1)
            first = rng.choice(mine) if rng.random() < (0.9 if is_large else 0.02) else None
            rows.append(row(number, mine, first))
        named += any(host.is_named for host in suspects.test(rows).hosts)
    assert named <= 5


def test_hosts_that_only_their_failures_name_are_compared_among_themselves():
    """Healthy jobs of other teams name their hosts at the start; that makes a host named by a failure no suspect."""
    quiet = [row(number, [f"gpu{number % 50}"]) for number in range(500)]
    failed = [
        row(500 + number, [f"node{number % 7 + 20}"], f"node{number % 7 + 20}", "failure") for number in range(40)
    ]
    assert not [host for host in suspects.test([*quiet, *failed]).hosts if host.is_named]


def test_jobs_whose_hosts_are_known_in_part_are_left_out_and_counted():
    found = suspects.test([row(1, ["gpu7"], "gpu7", "part"), row(2, ["gpu9", "gpu12"], "gpu9")])
    assert (found.left_out, found.jobs, found.failures) == (1, 1, 1)


def brute(starts, stratum, jobs):
    """Counts all ways: which jobs failed, and which of a failed job's hosts was first (mine is one of them)."""
    total = hit = 0.0
    for failed in itertools.combinations(range(stratum.jobs), stratum.failures):
        mine = sum(job < jobs for job in failed)
        for firsts in itertools.product(range(stratum.hosts), repeat=mine):
            weight = stratum.hosts**-mine
            total += weight
            hit += weight * (firsts.count(0) >= starts)
    return hit / total


@settings(max_examples=40)
@given(hosts=st.integers(1, 3), total=st.integers(1, 7), data=st.data(), starts=st.integers(0, 4))
def test_property_the_p_value_is_the_exact_chance(hosts, total, data, starts):
    failures = data.draw(st.integers(0, min(total, 5)))
    jobs = data.draw(st.integers(0, total))
    stratum = Stratum(hosts, total, failures)
    assert chance.p_value(starts, {stratum: jobs}) == pytest.approx(brute(starts, stratum, jobs))


def test_strata_add_up_by_convolution():
    one, other = Stratum(2, 4, 2), Stratum(3, 3, 1)
    chances = [
        [chance.p_value(k, {each: jobs}) - chance.p_value(k + 1, {each: jobs}) for k in range(4)]
        for each, jobs in ((one, 2), (other, 2))
    ]
    expected = sum(a * b for (i, a), (j, b) in itertools.product(*map(list, map(enumerate, chances))) if i + j >= 2)
    assert chance.p_value(2, {one: 2, other: 2}) == pytest.approx(expected)


def test_the_least_p_is_that_of_starting_every_failure():
    stratum = Stratum(4, 20, 8)
    assert chance.least_p({stratum: 10}) == pytest.approx(chance.p_value(8, {stratum: 10}))


def test_q_values_are_those_of_benjamini_and_hochberg():
    assert chance.q_values([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])


def test_a_tiny_tail_keeps_its_digits():
    assert chance.p_value(40, {Stratum(8, 2000, 400): 200}) == pytest.approx(1.6e-26, rel=10)


def test_names_that_count_nodes_within_each_job_are_no_hosts():
    rows = [["node-0", "node-1"], ["node-0"], ["gpu17", "gpu42"], ["trainer-worker-0", "trainer-worker-1"]]
    assert hosts.counting_names(rows) == {"node-0", "node-1", "trainer-worker-0", "trainer-worker-1"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SLURM_JOB_NODELIST=gpu[01-03,7],login1\n", {"gpu01", "gpu02", "gpu03", "gpu7", "login1"}),
        ("+ echo Running on node17\nRunning on node17\n", {"node17"}),
        ("hostname: gpu-17.cluster.example\n", {"gpu-17.cluster.example"}),
        ("gpu42:123:456 [0] NCCL INFO Bootstrap : Using eth0\n", {"gpu42"}),
        ("nodes: 4\nhost: localhost\nnodes=2\n", set()),
        ("  host      : gpu99 (in a table of failures)\n", set()),
    ],
)
def test_hosts_are_read_from_what_a_log_says_at_its_start(text, names):
    assert hosts.named_in(text) == names


def test_a_host_named_before_the_failure_is_exposure():
    assert hosts.exposure([], "gpu7", "SLURM_NODELIST=gpu[7-8]\n", ["a.log"], 2) == (("gpu7", "gpu8"), "start")
    assert hosts.exposure(["gpu7"], "gpu7", "step=1\n", ["a.log"], 1) == (("gpu7",), "failure")
    assert hosts.exposure(["gpu7"], "gpu7", "step=1\n", ["logs/gpu7.log"], None) == (("gpu7",), "start")
    assert hosts.exposure(["gpu7"], "gpu7", "", ["a.log"], 4) == (("gpu7",), "part")
    assert hosts.exposure([], None, "step=1\n", ["a.log"], 4) == ((), None)
