"""An exception that the program logged itself, right before the log ends: it may have caught it and gone on.

Takes the job and a verdict; says whether the verdict stands on such an exception alone. ``logger.exception`` and
``print_exc`` print what an uncaught exception prints; what tells them apart is what stands around it, and what follows.
"""

from __future__ import annotations

import re

from logsig.late import late
from logsig.model import Event, JobLog
from logsig.stories import Stories
from logsig.verdict import Verdict

DOUBT = (
    "the program logged this exception itself and the log ends right behind it: "
    "it may have been caught, and the run gone on"
)
FEW = 10
"""Lines behind the exception, at most: had the run gone on for long, or ended, more would follow."""
_GOES_ON = late(
    r"\b(?:retry(?:ing)?|retries|will (?:try|continue|skip)|trying again|skipp(?:ed|ing)|ignor(?:ed|ing)|continuing|"
    r"fall(?:ing)? back|using defaults?)\b",
    re.IGNORECASE,
)
_GIVES_UP = late(
    r"\b(?:abort|exit|giving up|gave up|fatal|critical|terminat|shutting down|stopp|crash)|train\w* failed",
    re.IGNORECASE,
)


def may_be(job: JobLog, stories: Stories, verdict: Verdict) -> bool:
    """True where nothing tells that the exception ended its process, and its log says that it was handled."""
    root, attempt = verdict.root, stories.attempt
    if root is None or not root.frames or root.fatal or stories.failed_exits:
        return False
    head, end = _place(root)
    if attempt.last_order != len(job.lines) - 1 or attempt.last_order - end > FEW or head < 0:
        return False
    if any(event.order > root.order and event.role != "notice" for event in attempt.events):
        return False
    above = [line for line in job.lines[max(0, head - 1) : head] if line.writer == job.lines[head].writer]
    said = [line.text for line in (*above, *job.lines[root.order + 1 :])]
    if any(_GIVES_UP.search(text) for text in said):
        return False
    return any(line.level in ("W", "E") for line in above) or any(_GOES_ON.search(text) for text in said)


def _place(root: Event) -> tuple[int, int]:
    """The places of the message's first and last line, where nobody spoke between them."""
    at = next((index for index, line in enumerate(root.lines) if line is root.line), 0)
    return root.order - at, root.order - at + len(root.lines) - 1
