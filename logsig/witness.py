"""Testimony: who says that which process ended how.

Takes lines and witness matches, gives ``Testimony`` records with whatever identity the witness used (global rank, local
rank, pid, launcher task). Parses torchrun's failure table whole. Believes nothing yet: ``audit`` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from logsig import digits
from logsig.late import late
from logsig.model import MAX_WORLD, LogLine
from logsig.record import dataclass

SIGNALS = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGQUIT": 3,
    "SIGILL": 4,
    "SIGABRT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGUSR1": 10,
    "SIGSEGV": 11,
    "SIGUSR2": 12,
    "SIGPIPE": 13,
    "SIGTERM": 15,
    "SIGXCPU": 24,
}
NAMES = {number: name for name, number in SIGNALS.items()}
_WORDS = {
    "segmentation fault": 11,
    "killed": 9,
    "out of memory": 9,
    "oomkilled": 9,
    "aborted": 6,
    "terminated": 15,
    "bus error": 7,
    "floating point exception": 8,
    "floating-point exception": 8,
    "illegal instruction": 4,
    "hangup": 1,
    "interrupt": 2,
    "interrupted": 2,
    "user defined signal 1": 10,
    "user defined signal 2": 12,
}

_ENTRY = late(r"^\s*\[(?P<index>\d+)\]:\s*$")
_FIELD = late(r"^\s*(?P<name>time|host|rank|exitcode|error_file|traceback|msg)\s*:\s?(?P<value>.*)$")
_RANK = late(r"(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)")
_EXITCODE = late(r"(?P<code>-?\d+)\s*\(pid: (?P<pid>\d+)\)(?:\s+\((?P<signal>SIG\w+)\))?")
_TABLE_HEAD = late(r"^(?:Failures:|Root Cause \(first observed failure\):|Root Cause:|Other Failures:)\s*$")
_TABLE_END = late(r"^={20,}\s*$")


@dataclass(frozen=True, slots=True)
class Testimony:
    """One statement about one process's end, in the witness's own words."""

    witness: str
    line: LogLine
    order: int
    code: int | None = None
    """Exit code; negative or above 128 for a signal as the witness prints it."""
    signal: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    pid: int | None = None
    host: str | None = None
    time: str | None = None
    root: bool = False
    error_file: str | None = None


def number_of(text: Any) -> int | None:
    """Gives a signal's number for its name, number or shell word; none for what is no signal."""
    if text is None:
        return None
    word = str(text).strip().strip("().,")
    if word.isdecimal():
        return digits.number(word)
    if word.upper() in SIGNALS:
        return SIGNALS[word.upper()]
    if "SIG" + word.upper() in SIGNALS:
        return SIGNALS["SIG" + word.upper()]
    lowered = word.lower().replace(" (core dumped)", "")
    return next((number for name, number in _WORDS.items() if lowered.startswith(name)), None)


def settle_code(code: int | None, signal: int | None) -> tuple[int | None, int | None]:
    """Brings exit code and signal to one form: a signal is never a positive exit code (shells print 128 + n)."""
    if signal is None and code is not None and code < 0:
        return None, -code
    if signal is None and code is not None and 128 < code <= 128 + 31 and (code - 128) in NAMES:
        return None, code - 128
    return (None if signal is not None else code), signal


def ids(tasks: str) -> list[int]:
    """Unfolds a Slurm id list: ``0-2,5`` is 0, 1, 2, 5."""
    found: list[int] = []
    for part in re.findall(r"\d+(?:-\d+)?", tasks)[:4096]:
        low, _, high = part.partition("-")
        found.extend(range(digits.number(low), min(digits.number(high or low), digits.number(low) + MAX_WORLD) + 1))
    return found


def from_facts(witness: str, facts: Mapping[str, Any], line: LogLine, order: int) -> list[Testimony]:
    """Turns a witness signature's captures into testimony; one record per task where it names several."""
    code, signal = settle_code(facts.get("exitcode"), number_of(facts.get("signal")))
    if code is None and signal is None and witness != "worker-exit":
        return []
    base = Testimony(
        witness,
        line,
        order,
        code,
        signal,
        facts.get("rank"),
        facts.get("local_rank"),
        None,
        facts.get("pid"),
        facts.get("host") or line.node,
    )
    if "tasks" in facts:
        return [replace(base, task=task) for task in ids(str(facts["tasks"]))]
    return [base]


def read_tables(lines: Sequence[LogLine]) -> list[Testimony]:
    """Reads every entry of every torchrun failure table."""
    found: list[Testimony] = []
    open_tables: dict[Any, _Table] = {}
    for order, line in enumerate(lines):
        text = line.text
        if not open_tables and ":" not in text:
            continue
        key = (line.source.path, line.node, line.task, line.local_rank)
        table = open_tables.get(key)
        if _TABLE_HEAD.match(text.strip()):
            if table is None:
                table = open_tables[key] = _Table(found)
            table.head(text)
        elif table is not None:
            if _TABLE_END.match(text.strip()):
                table.flush()
                del open_tables[key]
            else:
                table.take(order, line, text)
    for table in open_tables.values():
        table.flush()
    return found


class _Table:
    def __init__(self, found: list[Testimony]) -> None:
        self.found = found
        self.root = False
        self.fields: dict[str, str] = {}
        self.at: tuple[int, LogLine] | None = None

    def head(self, text: str) -> None:
        self.flush()
        self.root = text.strip().startswith("Root Cause")

    def take(self, order: int, line: LogLine, text: str) -> None:
        if _ENTRY.match(text):
            self.flush()
            return
        named = _FIELD.match(text)
        if named and named["name"] not in self.fields:
            self.fields[named["name"]] = named["value"].strip()
            if named["name"] in ("rank", "exitcode") or self.at is None:
                self.at = (order, line)

    def flush(self) -> None:
        fields, at = self.fields, self.at
        self.fields, self.at = {}, None
        rank, code = _RANK.search(fields.get("rank", "")), _EXITCODE.search(fields.get("exitcode", ""))
        if at is None or rank is None:
            return
        number, signal = settle_code(digits.number(code["code"]) if code else None, None)
        error_file = fields.get("error_file")
        self.found.append(
            Testimony(
                "elastic-child-failed",
                at[1],
                at[0],
                number,
                signal,
                digits.number(rank["rank"]),
                digits.number(rank["local"]),
                None,
                digits.number(code["pid"]) if code else None,
                fields.get("host") or at[1].node,
                fields.get("time"),
                self.root,
                error_file if error_file and "N/A" not in error_file else None,
            )
        )
