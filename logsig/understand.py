"""The middle of the line: from excerpts to the job, with what each step saw on the way.

Takes a scan's excerpts and the catalog; gives messages, matches and the ``JobLog``. Concludes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from logsig import buildkit, facts, job, lines, match, messages
from logsig.catalog import Catalog
from logsig.match import Matches
from logsig.model import Excerpt, JobLog, Message
from logsig.record import dataclass


@dataclass(frozen=True, slots=True)
class Understood:
    """A log as messages, as what they mean, and as a job."""

    messages: tuple[Message, ...]
    matches: Matches
    job: JobLog


def understand(
    excerpts: Sequence[Excerpt], catalog: Catalog, files: Sequence[str], doubts: Sequence[str] = ()
) -> Understood:
    """Reads lines, groups them into messages, recognises these, and assembles the job."""
    reading = lines.read(excerpts)
    said = tuple(line for line in reading.lines if buildkit.REPEATED not in line.layers)
    grouped = messages.group(said)
    matches = match.match(grouped, catalog, catalog.engine())
    notes = facts.read_notes(said)
    told = (*doubts, *reading.doubts)
    return Understood(grouped, matches, job.assemble(said, matches, notes, files, told))
