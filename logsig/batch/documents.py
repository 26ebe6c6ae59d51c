"""Tells a document that lies among logs (a list of packages, notes, a host file) from the log of a job.

Only a file by itself that nobody named, whose name doesn't speak of output, and in which no line is a job's: nothing
that a signature knows or that alarms, no step, no end, no time or rank before a line.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from logsig.batch import layout
from logsig.batch.model import Job

if TYPE_CHECKING:
    from logsig.batch.rowing import Read

SPEAKS_OF_OUTPUT = re.compile(r"log|out|err|console|slurm|stream|train|job|run|task|worker|rank", re.IGNORECASE)
"""A file so called is a job's even if it tells nothing: one that hangs at once, perhaps."""


def may_be_one(job: Job) -> bool:
    """Tells what may turn out to be a document, before it is read."""
    is_alone = job.why == layout.ALONE and not job.named
    return is_alone and not SPEAKS_OF_OUTPUT.search(os.path.basename(job.logs[0].path))


def is_one(job: Job, read: Read) -> bool:
    """Tells a document by what was read of it."""
    found, log = read.found, read.job
    if not may_be_one(job) or found is None or log is None or found.outcome != "unfinished" or read.problems:
        return False
    has_moved = any(each.events or each.exits or each.last_progress_order >= 0 for each in log.attempts)
    return not has_moved and not any(line.layers for line in log.lines)
