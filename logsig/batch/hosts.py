"""On which hosts a job ran: takes the start of a log and its paths, gives names; and tells names that count from names.

Only what a log says before anything fails is exposure: a host named by its own failure alone would look as if it always
failed. Names such as ``node-0`` that count the nodes within each job name no machine.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from logsig import digits

MOST = 4096
"""Hosts of one list expression."""
_NAME = r"[A-Za-z][A-Za-z0-9]*(?:[.-][A-Za-z0-9]+)*"
_LIST = rf"{_NAME}(?:\[[\d,-]+\][A-Za-z0-9.-]*)?(?:,(?:{_NAME})?(?:\[[\d,-]+\])?[A-Za-z0-9.-]*)*"
_SAYS = re.compile(
    r"(?:SLURM_(?:JOB_|STEP_)?NODELIST|SLURMD_NODENAME|LSB_HOSTS|PBS_NODENAME|HOSTNAME|NODE_NAME|NODELIST|HOSTS?|NODES"
    r"|[Nn]ode[ _-]?list|[Hh]ost[ _-]?names?|[Hh]osts?|[Nn]odes|[Nn]ode[ _-]?name)[\"']?\s*[=:]\s*[\"'\[]*"
    rf"(?P<list>{_LIST})"
    r"|\b(?:[Rr]unning|[Ss]tart(?:ed|ing)|[Ll]aunched|[Aa]llocated|[Ee]xecuting)\s+on\s+(?:(?:node|host)s?\s+)?"
    rf"(?P<on>{_LIST})"
    rf"|(?:^|\s|\])(?P<nccl>{_NAME}):\d+:\d+ \[\d+\] NCCL INFO"
)
_NO_NAMES = """localhost none null true false n a na unknown default master worker cpu cuda gpu rank node nodes host
hosts the all info warning error nproc total number count each every this single"""
_NOT_HOSTS = frozenset(_NO_NAMES.split())
_WORDS = ("ost", "OST", "ode", "ODE", " on ", "NCCL INFO")
"""Of a line that may name hosts; most have none of them."""
_TABLE = re.compile(r"\s*host\s{2,}: ")
"""Torchrun's table of failures."""


def named_in(text: str) -> set[str]:
    """Gives the hosts that statements at the start of a log name: environment, lists, NCCL's own lines."""
    found: set[str] = set()
    for line in text.split("\n"):
        if any(word in line for word in _WORDS) and not _TABLE.match(line):
            for match in _SAYS.finditer(line):
                found.update(expanded(match["list"] or match["on"] or match["nccl"]))
    return {name for name in found if name.lower() not in _NOT_HOSTS and any(map(str.isdecimal, name))}


def expanded(expression: str) -> list[str]:
    """Expands a list of hosts as schedulers write it: ``gpu[01-03,7],login1``."""
    names: list[str] = []
    for item in re.findall(r"[^,\[\]]*(?:\[[^\]]*\])?[^,\[\]]*", expression):
        inside = re.fullmatch(r"([^\[]*)\[([\d,-]+)\](.*)", item)
        if inside is None:
            names += [item] if item else []
            continue
        for part in inside[2].split(","):
            first, sign, last = part.partition("-")
            if not first.isdecimal() or (sign and not last.isdecimal()):
                continue
            numbers = range(digits.number(first), digits.number(last or first) + 1)
            names += [f"{inside[1]}{number:0{len(first)}d}{inside[3]}" for number in numbers[: MOST - len(names)]]
    return names[:MOST]


def mentions(text: str, name: str) -> bool:
    """Tells whether the text holds the name as a word of its own."""
    return name in text and re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) is not None


_COUNTED = re.compile(r"(?P<stem>.*?)(?P<number>\d+)(?P<rest>[^\d]*)")


def counting_names(jobs: Iterable[Sequence[str]]) -> frozenset[str]:
    """Gives the names that count nodes within each job: in every job of theirs they run from 0 or 1 without a gap.

    Real hosts of one name and a number (``gpu17``) break that as soon as a job runs elsewhere.
    """
    is_counting: dict[tuple[str, str], bool] = {}
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for hosts in jobs:
        numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
        for host in hosts:
            found = _COUNTED.fullmatch(host)
            if found:
                stem = found["stem"], found["rest"]
                numbers[stem].add(digits.number(found["number"]))
                names[stem].add(host)
        for stem, found_numbers in numbers.items():
            low, high = min(found_numbers), max(found_numbers)
            is_run = low in (0, 1) and high - low + 1 == len(found_numbers)
            is_counting[stem] = is_counting.get(stem, True) and is_run
    return frozenset(host for stem, counts in is_counting.items() if counts for host in names[stem])


def exposure(
    hosts: Iterable[str], failed_on: str | None, head: str, paths: Sequence[str], expected: int | None
) -> tuple[tuple[str, ...], str | None]:
    """Gives the job's hosts and how they are known: ``start``, ``failure`` or ``part``; None where none is named."""
    told = named_in(head)
    found = {*hosts, *told, *([failed_on] if failed_on else [])}
    if not found:
        return (), None
    near = "\n".join("/".join(path.split("/")[-3:]) for path in paths)
    is_apart = all(name in told or mentions(head, name) or mentions(near, name) for name in found)
    known = tuple(sorted(found))
    if expected is not None and len(known) < expected:
        return known, "part"
    return known, "start" if is_apart else "failure"
