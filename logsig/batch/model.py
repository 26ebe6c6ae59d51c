"""The types of a scan: what is read (``Log``, ``Job``), what a job gave (``Row``), what the rows say together.

All frozen. A ``Row`` is what is kept of a diagnosis: small, and the same whether it was read now or remembered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

FAILED = ("failure", "unrecognised", "interrupted")
"""Outcomes that count as failures; a recovered run is none."""


@dataclass(frozen=True, slots=True)
class Log:
    """One file of a job, or one member of an archive."""

    path: str
    """As the user can open it; ``ARCHIVE!/MEMBER`` inside an archive."""
    size: int
    changed: int
    """When it was last written, in nanoseconds since 1970; of a member: when the archive was."""


@dataclass(frozen=True, slots=True)
class Job:
    """Logs that belong together, in the order in which they are to be read."""

    name: str
    logs: tuple[Log, ...]
    why: str
    """What made them one job, in a few words."""
    below: str = ""
    """The folder the user named, whose own name says nothing of ranks."""
    archive: str | None = None
    """The archive that holds them all."""
    named: bool = False
    """The user named the file itself."""

    @property
    def size(self) -> int:
        """Bytes on disk; a member counts as its share of the archive."""
        return sum(log.size for log in self.logs)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that wasn't done, by name."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan will read."""

    jobs: tuple[Job, ...]
    problems: tuple[Problem, ...] = ()
    left_out: int = 0
    """Files that aren't logs by their names, and second names of files."""


@dataclass(frozen=True, slots=True)
class Row:
    """One job in the answer."""

    job: str
    files: tuple[str, ...]
    """The first of them; ``file_count`` says how many there are."""
    file_count: int
    size: int
    outcome: str | None
    """None where the job couldn't be read at all; ``error`` says why."""
    error: str | None = None
    set_aside: bool = False
    """It killed or hung its worker twice."""
    signature: str | None = None
    family: str | None = None
    title: str | None = None
    severity: str | None = None
    confidence: str | None = None
    retryable: str | None = None
    first_failing_rank: int | None = None
    rank_confidence: str | None = None
    grade: str | None = None
    first_failing_node: str | None = None
    scope: str | None = None
    hosts: tuple[str, ...] = ()
    """Hosts the job ran on, as far as the log names them."""
    hosts_by: str | None = None
    """``start``: named before anything failed; ``failure``: some only by the failure; ``part``: not all of them."""
    launcher: str | None = None
    framework: str | None = None
    world_size: int | None = None
    ended: str | None = None
    """When the log ends: ISO 8601 to the second, as the log's clock has it."""
    ended_by: str | None = None
    """``log`` or, where it has no full date, ``file``."""
    group: str | None = None
    """Fingerprint of the cause, or of the masked lines of a failure that no signature knows."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What tells this failure from others of its kind; numbers that vary by chance masked."""
    template: str | None = None
    """The telling line, masked, of a failure that no signature knows, or of which only a witness tells."""
    summary: str | None = None
    remedy: str | None = None
    evidence_file: str | None = None
    evidence_line: int | None = None
    evidence_text: str | None = None
    problems: tuple[str, ...] = ()
    """Inputs that were unreadable in whole or part."""
    seen: tuple[str, ...] = ()
    """With a baseline: fingerprints of what a healthy run printed."""
    draft: str | None = None
    """A drafted signature for an unrecognised failure."""

    @property
    def is_failed(self) -> bool:
        """Tells a failed job: also one whose log stops behind a grave word that no signature knows."""
        return self.outcome in FAILED or (self.outcome == "unfinished" and self.template is not None)

    @property
    def known(self) -> str | None:
        """The signature that names its kind of failure; none where only what it printed does."""
        return self.signature if self.template is None else None

    def to_json(self) -> str:
        """Writes the row for the store."""
        return json.dumps(
            {name: value for name in _NAMES if (value := getattr(self, name)) is not None and value is not False}
        )

    @staticmethod
    def from_json(text: str) -> Row:
        """Reads what ``to_json`` wrote."""
        raw = json.loads(text)
        raw.setdefault("outcome", None)
        for name in _TUPLES:
            raw[name] = tuple(raw.get(name, ()))
        return Row(**raw)


_NAMES = tuple(each.name for each in fields(Row))
_TUPLES = ("files", "hosts", "problems", "seen")


@dataclass(frozen=True, slots=True)
class Group:
    """Failures of one kind."""

    id: str
    signature: str | None
    """None for a failure that no signature knows."""
    title: str
    severity: str | None
    facts: Mapping[str, Any]
    count: int
    share: float
    """Of all failures."""
    first_seen: str | None
    last_seen: str | None
    example: Row
    remedy: str | None
    status: str | None = None
    """With a store: ``new``, ``known``, ``back`` or ``gone``."""
    total: int | None = None
    """With a store: jobs that failed so, ever."""
    healthy: int | None = None
    """With a baseline: healthy runs that print the same."""
    days: Mapping[str, int] = field(default_factory=dict)
    draft: str | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """How often a host started a failure, beside what chance gives."""

    name: str
    jobs: int
    """Jobs it ran whose hosts are known."""
    starts: int
    expected: float
    p: float
    q: float
    """After Benjamini and Hochberg over all hosts."""
    groups: Mapping[str, int]
    """What it started, by the group's id."""
    days: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_named(self) -> bool:
        """True where it starts more failures than chance allows."""
        return self.q <= FALSE_DISCOVERIES


FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True, slots=True)
class HostTest:
    """The hosts of a scan, and what the test rests on."""

    hosts: tuple[Host, ...] = ()
    """Those that started a failure, the most surprising first."""
    tested: int = 0
    jobs: int = 0
    failures: int = 0
    """Failures whose first host is known, in those jobs."""
    indices: tuple[str, ...] = ()
    """Names that count nodes within each job (``node-0``) and so say nothing of a machine."""
    left_out: int = 0
    """Jobs whose hosts are known only in part."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The scan in a few numbers, and all that wasn't done."""

    jobs: int
    outcomes: Mapping[str, int]
    failures: int
    groups: int
    files: int
    size: int
    first: str | None
    last: str | None
    days: Mapping[str, int]
    """Failures by day."""
    baseline: int | None
    """Healthy runs of the baseline."""
    remembered: int
    """Jobs taken from the store, unchanged."""
    left_out: int
    problems: tuple[Problem, ...]
    empty: tuple[str, ...]
    set_aside: tuple[str, ...]
    unread: int = 0
    """Jobs that an interruption left unread."""
    since: str | None = None
    """With a store: when the scan before this one began."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all rows say together."""

    groups: tuple[Group, ...]
    gone: tuple[Group, ...]
    hosts: HostTest
    summary: Summary
