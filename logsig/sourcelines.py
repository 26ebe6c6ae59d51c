"""Guesses the torch version from line numbers of its C++ sources, where the log doesn't say it.

Takes clean lines, gives a hint. Numbers by version: string tables of released wheels (reducer.cpp asserts) and public
logs (ProcessGroupNCCL.cpp); vendor builds shift them, so it is a hint and is shown as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from logsig import digits
from logsig.model import LogLine

_NCCL = re.compile(r"ProcessGroupNCCL\.cpp:(\d+)")
_REDUCER = re.compile(r'reducer\.cpp":(\d+)')
NCCL_LINES = {
    "2.2": (523, 537, 543),
    "2.3": (563, 564, 577, 583, 1414),
    "2.4": (607, 621, 627, 1664, 1709),
    "2.6": (629, 667, 681, 695, 2168),
    "2.7": (632, 670, 2271, 2106, 1746),
    "2.10": (757, 801, 2395, 2732, 1922),
}
REDUCER_LINES = {
    "1.6": (871, 875, 879),
    "1.8": (1181, 1185, 1208, 1193),
    "1.10": (1488, 1492, 852),
    "1.13": (1490, 1494, 866),
    "2.0": (1504, 1508, 1515, 863),
    "2.1": (1548, 1554, 1561, 902),
    "2.2": (1562, 1568, 1575, 916),
    "2.3": (1591, 1597, 1604, 919),
    "2.4": (1603, 1609, 1616, 922),
    "2.7": (1633, 1639, 1646, 923),
    "2.8": (1660, 1666),
    "2.9": (1634, 1640),
    "2.10": (1703, 1709, 924),
    "2.13": (1732, 1738, 1748, 952),
}
_BY_LINE = {
    "nccl": {number: version for version, numbers in NCCL_LINES.items() for number in numbers},
    "reducer": {number: version for version, numbers in REDUCER_LINES.items() for number in numbers},
}


def torch_hint(lines: Sequence[LogLine]) -> str | None:
    """Gives the version most numbers point at, marked as a hint; none where no known number is in the log."""
    votes: Counter[str] = Counter()
    for raw in {id(line.raw): line.raw for line in lines}.values():  # a line of many messages is the raw text of each
        if ".cpp" not in raw:
            continue
        for kind, pattern in (("nccl", _NCCL), ("reducer", _REDUCER)):
            found = pattern.search(raw)
            if found and (version := _BY_LINE[kind].get(digits.number(found[1]))):
                votes[version] += 1
    return f"{votes.most_common(1)[0][0]} (by its source lines)" if votes else None
