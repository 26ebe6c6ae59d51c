"""Failures that no signature knows: takes a diagnosis and its job, gives the line that tells them apart.

Unknown is what was recognised as a failure without a cause; what only a witness reports (an exit code, a launcher's
table); and a log that stops behind a grave word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from logsig import unusual
from logsig.catalog import Catalog
from logsig.model import Diagnosis, JobLog, LogLine
from logsig.progress import read_step

END = 12
"""Lines at the end of a log in which a grave word says that it stopped there."""
RAISED = re.compile(r"^\s*(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Timeout|Failure)\b")
GRAVE = re.compile(
    r"\b(?:fatal|panic|abort(?:ed|ing)?|assert\w*|error|exception|fail(?:ed|ure|ing)?|killed|crash\w*)\b", re.IGNORECASE
)

SEVERE, CALM = ("E", "F"), ("I", "D")
"""Levels that say themselves whether a line is grave."""
WENT_WELL = re.compile(
    r"\b(?:ok|pass(?:es|ed)|finish\w*|done|succe\w+|complet\w+|recover\w+|resum\w+|continu\w+)\b", re.IGNORECASE
)
"""Words of a job that went on: no grave word before them was its end."""


def telling_line(found: Diagnosis, job: JobLog, catalog: Catalog) -> LogLine | None:
    """Gives the line that tells an unknown failure; None where the cause is known, or nothing stands out."""
    if found.outcome == "unrecognised":
        return _choose(list(_lines_of(found, job))) or _choose(unusual.odd(job, job.lines))
    if found.root_cause is not None:
        entry = catalog.signatures.get(found.root_cause.signature)
        is_told_of = entry is not None and entry.role == "witness"
        return _choose([line for line in unusual.odd(job, job.lines) if _is_grave(line)]) if is_told_of else None
    if found.outcome == "unfinished":
        last = [line for line in _last_words(job) if _is_grave(line)]
        return _choose(unusual.odd(job, last)) if last else None
    return None


def _last_words(job: JobLog) -> list[LogLine]:
    """Gives the lines at the end that neither a step nor a good word follows: what went on was no end."""
    words: list[LogLine] = []
    for line in reversed(job.lines[-END:]):
        if read_step(line.text) is not None or (WENT_WELL.search(line.text) and not _is_grave(line)):
            break
        words.insert(0, line)
    return words


def _lines_of(found: Diagnosis, job: JobLog) -> Iterator[LogLine]:
    """Gives the lines that the diagnosis shows in place of a cause."""
    wanted = {(each.source.path, each.source.line) for each in found.unexplained}
    return (line for line in job.lines if (line.source.path, line.source.line) in wanted)


def _choose(lines: Sequence[LogLine]) -> LogLine | None:
    """Prefers an exception, then a grave word, then the first."""
    for pattern in (RAISED, GRAVE):
        for line in lines:
            if pattern.search(line.text):
                return line
    return lines[0] if lines else None


def _is_grave(line: LogLine) -> bool:
    if line.level is not None:
        return line.level in SEVERE or (line.level not in CALM and _has_grave_word(line))
    return _has_grave_word(line)


def _has_grave_word(line: LogLine) -> bool:
    return RAISED.search(line.text) is not None or GRAVE.search(line.text) is not None
