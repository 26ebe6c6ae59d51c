"""How surprising it is that a host starts so many failures: an exact test with each host's exposure.

Jobs are compared with jobs of as many hosts only. Among the jobs of one size the failures fall on jobs by lot, and the
first failing host of a failed job is drawn among its hosts by lot: a host in ``e`` of ``J`` jobs, ``F`` of them failed,
starts X failures, a binomial of chance 1/hosts over a hypergeometric number of its jobs. Sizes add by convolution.
Whether large jobs fail more often than small ones doesn't matter: the numbers of each size are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple


class Stratum(NamedTuple):
    """Jobs of one number of hosts."""

    hosts: int
    jobs: int
    failures: int
    """Those whose first failing host is known."""
    kind: int = 0
    """How their hosts are known: jobs of one kind are compared with one another only."""


def p_value(starts: int, exposure: Mapping[Stratum, int]) -> float:
    """Gives the chance that a host like all others starts so many failures or more, with its jobs by stratum."""
    if starts <= 0:
        return 1.0
    sums = [1.0] + [0.0] * starts  # chances of 0, 1, … and of ``starts`` or more
    for stratum, jobs in exposure.items():
        if stratum.failures:
            sums = _added(sums, _starts(stratum, jobs, starts))
    return min(1.0, sums[starts])


def expected(exposure: Mapping[Stratum, int]) -> float:
    """Gives how many failures chance lets it start on average."""
    return sum(jobs * stratum.failures / (stratum.jobs * stratum.hosts) for stratum, jobs in exposure.items())


def least_p(exposure: Mapping[Stratum, int]) -> float:
    """Gives the smallest p-value its exposure allows: if it started every failure that it could."""
    logarithm = 0.0
    for stratum, jobs in exposure.items():
        most = min(jobs, stratum.failures)
        if most:
            logarithm += _log_hypergeometric(most, stratum.jobs, jobs, stratum.failures) - most * math.log(
                stratum.hosts
            )
    return math.exp(logarithm)


def q_values(p_values: Sequence[float]) -> list[float]:
    """Corrects for the number of tests as Benjamini and Hochberg do: a bound of 5 % lets 5 % of the named be wrong."""
    count = len(p_values)
    order = sorted(range(count), key=lambda at: p_values[at], reverse=True)
    corrected = [1.0] * count
    least = 1.0
    for back, at in enumerate(order):
        least = min(least, p_values[at] * count / (count - back))
        corrected[at] = least
    return corrected


def _added(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Adds two numbers of starts; the last place of each means so many or more."""
    last = len(one) - 1
    sums = [0.0] * (last + 1)
    for i, chance in enumerate(one):
        if chance:
            for j, more in enumerate(other):
                sums[min(i + j, last)] += chance * more
    return sums


@lru_cache(maxsize=4096)
def _starts(stratum: Stratum, jobs: int, upto: int) -> tuple[float, ...]:
    """Gives the chances of 0, 1, … and of ``upto`` or more starts in ``jobs`` of the stratum's jobs."""
    chances = [0.0] * (upto + 1)
    low = max(0, jobs + stratum.failures - stratum.jobs)
    for failed in range(low, min(jobs, stratum.failures) + 1):
        weight = math.exp(_log_hypergeometric(failed, stratum.jobs, jobs, stratum.failures))
        if weight < 1e-300:
            continue
        for started, chance in enumerate(_binomial(failed, stratum.hosts, upto)):
            chances[started] += weight * chance
    return tuple(chances)


@lru_cache(maxsize=65536)
def _binomial(trials: int, hosts: int, upto: int) -> tuple[float, ...]:
    """Gives the chances of 0, 1, … and of ``upto`` or more successes at 1/hosts each."""
    if hosts == 1:
        return tuple(1.0 if each == min(trials, upto) else 0.0 for each in range(min(trials, upto) + 1))
    hit, miss = -math.log(hosts), math.log1p(-1 / hosts)
    exact = [math.exp(_log_choose(trials, k) + k * hit + (trials - k) * miss) for k in range(min(trials + 1, upto))]
    if trials < upto:
        return tuple(exact)
    tail = math.fsum(math.exp(_log_choose(trials, k) + k * hit + (trials - k) * miss) for k in range(upto, trials + 1))
    return (*exact, tail)


def _log_hypergeometric(drawn: int, jobs: int, mine: int, failures: int) -> float:
    """Logarithm of the chance that ``drawn`` of my jobs are among the failed."""
    return _log_choose(mine, drawn) + _log_choose(jobs - mine, failures - drawn) - _log_choose(jobs, failures)


def _log_choose(n: int, k: int) -> float:
    if k < 0 or k > n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
