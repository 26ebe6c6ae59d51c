"""Where no signature names the cause: the lines that stand out.

Takes the job's lines, gives the earliest alarming lines that few ranks printed. A line is compared by its template:
numbers, paths and quoted text masked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from logsig.late import late
from logsig.model import JobLog, LogLine

SHOWN = 5
LOOKED_AT = 20_000
"""Lines, from the end of what was read."""
_ALARM = late(
    r"\b(?:error|fail(?:ed|ure|ing)?|exception|abort\w*|kill\w*|fatal|panic|crash\w*|cannot|can't|unable|denied|"
    r"refused|invalid|corrupt\w*|timed? ?out|not found|no such|terminat\w+|"
    r"unexpected\w*|illegal|segfault|lost|unreachable|overflow|nan|inf)\b",
    re.IGNORECASE,
)
_MASK = late(r"0x[0-9a-f]+|\b\d[\d.,:e+-]*|'[^']*'|\"[^\"]*\"|(?:/[\w.@+-]+)+")
_HARMLESS = late(
    r"errors?\s*[=:]\s*0\b|failed\w*\s*[=:]\s*0\b|\b0 (?:errors?|failed|failures)\b|error_file|error[_ ]handling|"
    r"warnings?\.warn|Setting OMP_NUM_THREADS|^\s*File \"|loss|ERROR_HANDLING",
    re.IGNORECASE,
)


LAUNCHERS = late(
    r"^\S+ FAILED$|torch[./]distributed[./](?:elastic|launcher|run)|\bChildFailedError\b|\buv_\w+ failed"
    r"|^(?:srun|slurmstepd|mpirun|mpiexec|prterun|PRTE|pdsh@\S+|clush): "
    r"|^Root Cause \(first observed failure\):$"
)
"""What launchers and their stores say when a process is gone: the same whatever it died of."""


def odd(job: JobLog, lines: Sequence[LogLine]) -> tuple[LogLine, ...]:
    """Returns those of the job's lines that stand out and of which neither a signature nor a launcher speaks."""
    told = {
        (line.source.path, line.source.line)
        for attempt in job.attempts
        for event in attempt.events
        for line in (event.line, *event.lines)
    }
    return find(
        [line for line in lines if (line.source.path, line.source.line) not in told and not LAUNCHERS.search(line.text)]
    )


def find(lines: Sequence[LogLine]) -> tuple[LogLine, ...]:
    """Returns up to five lines, in reading order: the rarest kinds among the alarming ones."""
    kinds: dict[str, list[LogLine]] = defaultdict(list)
    writers: dict[str, set[object]] = defaultdict(set)
    for line in lines[-LOOKED_AT:]:
        text = line.text[:400]
        if (line.level in ("E", "F") or _ALARM.search(text)) and not _HARMLESS.search(text):
            key = _MASK.sub("#", text)[:120]
            kinds[key].append(line)
            writers[key].add(line.writer)
    rare = sorted(
        kinds,
        key=lambda key: (
            len(writers[key]) > 1,
            len(kinds[key]) > 3,
            lines.index(kinds[key][0]) if len(kinds) < 64 else 0,
        ),
    )
    chosen = [kinds[key][0] for key in rare[:SHOWN]]
    position = {id(line): index for index, line in enumerate(lines)}
    return tuple(sorted(chosen, key=lambda line: position[id(line)]))
