"""The types that flow along the line. All frozen; nothing downstream changes what came upstream.

Global rank, local rank and group rank are different things and have different fields everywhere.
Unknown is ``None``, never ``-1`` or ``""``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from logsig.record import dataclass

Facts = Mapping[str, Any]
"""Captured facts by their standard name (``signature.CAPTURES``), converted to their type."""

MAX_WORLD = 65_536
"""Ranks a log may imply; a larger announced world size is not believed."""

NO_FACTS: Facts = MappingProxyType({})

Confidence = Literal["high", "medium", "low"]
Grade = Literal["A", "B", "C", "D", "E"]
Scope = Literal["one-rank", "several-ranks", "all-ranks", "not-a-rank", "unknown"]
Outcome = Literal["failure", "healthy", "unfinished", "recovered", "interrupted", "unrecognised", "empty"]
Retryable = Literal["yes", "no", "after-fix", "other-node"]


# ---------------------------------------------------------------- input


@dataclass(frozen=True, slots=True)
class Source:
    """A place the user can open: path as given (or found below it; ``<stdin>``) and 1-based line of that file."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Origin:
    """What a file's place says about its lines: from ``attempt_<k>/<local rank>/stderr.log`` and the like."""

    path: str
    attempt: int | None = None
    local_rank: int | None = None
    rank: int | None = None
    node: str | None = None
    stream: str | None = None
    """``stdout`` or ``stderr``."""
    task: int | None = None
    """A launcher's task number in the file's name (``slurm-4711_3.out``): the global rank only by reasoning."""
    role: str | None = None
    """``agent`` for a launcher's own console, ``worker`` for one rank's file, ``error_file`` for an error.json."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive whole lines of one input, read because something in them may matter."""

    origin: Origin
    first_line: int
    """1-based line number of the first line of ``data``."""
    offset: int
    """Byte offset of ``data`` in the (decompressed) input."""
    data: bytes
    kind: str
    """``head``, ``hit`` or ``tail``."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass over all inputs gave: excerpts in file order, and what is known of the rest."""

    excerpts: tuple[Excerpt, ...]
    origins: tuple[Origin, ...]
    sizes: Mapping[str, int]
    """Bytes read per path (decompressed)."""
    hits: Mapping[str, int]
    """How often each literal was seen in all bytes, kept or not."""
    doubts: tuple[str, ...]
    """What was cut, skipped or unreadable, in sentences."""
    unreadable: bool
    """True where an input was unreadable in whole or part (exit code 3)."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A timestamp as printed; ``clocks.seconds`` turns it into a number on that node's clock."""

    text: str
    format: str
    """Name of a format known to ``clocks`` (``c10``, ``glog``, ``iso``, ``asctime`` …)."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One logical line of one writer: prefixes peeled, ANSI and wraps undone, source kept."""

    source: Source
    text: str
    """The message alone."""
    raw: str
    """The line as the file has it (decoded, without its end), for evidence."""
    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    node_rank: int | None = None
    task: int | None = None
    """srun task, mpirun rank, Procfile index: a launcher's label, the global rank only by reasoning."""
    pid: int | None = None
    device: int | None = None
    attempt: int | None = None
    stamp: Stamp | None = None
    stream: str | None = None
    level: str | None = None
    """One of ``D I W E F`` where a layer says so."""
    layers: tuple[str, ...] = ()
    """Names of the prefixes peeled, outermost first."""
    gap: bool = False
    """True where lines of the file between the previous line and this one were not read."""
    cut: bool = False
    """True where the file ends inside this line."""
    arrival: Stamp | None = None
    """The collector's stamp (CRI, kubectl, CI, journal). ``stamp`` is the process's own where it printed one, else the
    collector's, unless the two clocks of this file differ: they are never mixed."""

    @property
    def writer(self) -> Writer:
        """Who wrote the line, as far as it says: lines of one writer are in order with one another."""
        if self.rank is not None:
            return Writer(self.attempt, "", self.rank, None, None, None)
        return Writer(self.attempt, self.source.path, None, self.local_rank, self.node, self.task)


class Writer(NamedTuple):
    """A stream of lines that belong together: a rank where it is known, else the best label there is.

    A tuple, because each line's is made and looked up several times.
    """

    attempt: int | None
    path: str
    rank: int | None
    local_rank: int | None
    node: str | None
    task: int | None


# ---------------------------------------------------------------- events and job


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a Python traceback."""

    path: str
    line: int
    function: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What one writer said in one go: a traceback with its exception, a C++ message with its continuation, a line."""

    lines: tuple[LogLine, ...]
    text: str
    """The decisive text: exception type and message for a traceback, else the lines joined by newlines."""
    frames: tuple[Frame, ...] = ()
    exception: str | None = None
    """Type as printed, with its module."""
    caused_by: tuple[Message, ...] = ()
    """Earlier links of the exception chain, first raised first."""
    rank: int | None = None
    """Global rank by somebody else's words: torchrun's table, ``-- Process 1 terminated with …``."""
    attempt: int | None = None
    fatal: bool = False
    """Printed by an uncaught-exception hook or by a dying process, not by a logger."""
    head: int = 0
    """Index in ``lines`` of the line where ``text`` begins."""
    aside: bool = False
    """Announced as an exception that doesn't end the process (ignored, of a thread, of the logging itself)."""
    raised: bool = False
    """An exception with frames, or with a place where they stood before the log's beginning."""

    @property
    def first(self) -> LogLine:
        """The line with which the writer began."""
        return self.lines[0]


@dataclass(frozen=True, slots=True)
class Event:
    """One failure, consequence, testimony or notice: a signature that matched a message of one rank."""

    signature: str
    role: str
    line: LogLine
    """The line that carries the match."""
    text: str
    """The matched message, rejoined."""
    facts: Facts = field(default_factory=lambda: NO_FACTS)
    rank: int | None = None
    node: str | None = None
    attempt: int = 0
    time: float | None = None
    """Seconds on the clock of ``node``."""
    order: int = 0
    """Position in the order in which the lines were read."""
    count: int = 1
    """How often the same failure of the same rank was printed."""
    frames: tuple[Frame, ...] = ()
    lines: tuple[LogLine, ...] = ()
    fatal: bool = False
    """Printed by an uncaught-exception hook or by a dying process, not by a logger."""
    aside: bool = False
    """Announced as an exception that doesn't end the process."""
    derived: bool = False
    """Made by the analysis from an exit report; no line says it in words."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended, by somebody's testimony (torchrun's table, srun, mpirun, DeepSpeed, Ray …)."""

    code: int | None
    signal: int | None
    witness: str
    line: LogLine
    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    pid: int | None = None
    attempt: int = 0
    time: float | None = None
    root: bool = False
    """True where the witness calls it the first."""
    error_file: str | None = None
    order: int = 0
    """Reading order of the testimony."""


@dataclass(frozen=True, slots=True)
class RankLog:
    """What is known of one rank of one attempt."""

    rank: int
    local_rank: int | None = None
    node: str | None = None
    pid: int | None = None
    first_line: LogLine | None = None
    last_line: LogLine | None = None
    last_step: int | None = None
    last_step_line: LogLine | None = None
    last_step_time: float | None = None
    step_seconds: float | None = None
    """Median time between its last reported steps."""
    last_step_order: int = -1
    """Reading order of the last line with which it came further; -1 where it never reported a step."""
    finished: LogLine | None = None
    """Where it said that it had finished, in its own words."""
    finished_order: int = -1
    exhausted: LogLine | None = None
    """Where it said that its data had ended or that it leaves early."""
    last_words: LogLine | None = None
    """The error with which its output ends: its last line, or an unlabelled one that begins with its name."""
    exits: tuple[Exit, ...] = ()
    step_stride: int = 1
    """Median number of steps between its last reports: a rank that reports every 50th step isn't behind by 49."""
    last_time: float | None = None
    """Time of its last line."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of all workers."""

    number: int
    ranks: Mapping[int, RankLog]
    events: tuple[Event, ...]
    """In reading order."""
    exits: tuple[Exit, ...]
    last_progress_order: int = -1
    """Reading order of the last line, of any writer, that reports a step or a good end."""
    last_progress_in: Mapping[str, int] = field(default_factory=dict)
    """The same per file: the order of lines in different files tells nothing."""
    going_on_in: Mapping[str, int] = field(default_factory=dict)
    """The same, of the last line behind which one writer came further several times, or of a good end."""
    tops: Mapping[tuple[str, int | None], int] = field(default_factory=dict)
    """Name and number of the steps, as lines say them -> highest step that any writer reported."""
    last_order: int = -1
    """Reading order of the attempt's last line."""
    finished_order: int = -1
    """Reading order of the last line, of any writer, that says that training has ended well."""
    last_progress_time: float | None = None
    last_time: float | None = None
    """Time of the last stamped line."""
    last_line: LogLine | None = None
    step_times: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Clock (node, else file) -> step -> when the first of its ranks reported it; the last steps only."""
    now: float | None = None
    """The present time on the log's clock, where the log is followed and its steps have stopped."""


@dataclass(frozen=True, slots=True)
class JobLog:
    """The log as a job: attempts, ranks, nodes, facts."""

    files: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    facts: Facts
    """Job facts: world_size, launcher, framework, torch, nccl, cuda, flags seen in banners …"""
    nodes: tuple[str, ...]
    lines: tuple[LogLine, ...]
    doubts: tuple[str, ...]


# ---------------------------------------------------------------- the answer


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line shown to the reader as proof."""

    source: Source
    text: str
    """The raw line."""
    rank: int | None = None
    node: str | None = None
    time: str | None = None
    match: tuple[int, int] | None = None
    """Character span of the match inside ``text`` where known."""
    context: tuple[tuple[int, str], ...] = ()
    """(line number, raw line) of neighbours of the same writer, the line itself included."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, already filled with this log's facts."""

    title: str
    steps: tuple[str, ...] = ()
    code: str | None = None
    cost: str | None = None
    verify: str | None = None
    when: str | None = None
    """The condition that chose it, in words of the signature file."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A failure that nothing else present explains."""

    signature: str
    family: str
    title: str
    severity: str
    confidence: Confidence
    summary: str
    evidence: tuple[Evidence, ...]
    facts: Facts
    retryable: Retryable
    ranks: tuple[int, ...] = ()
    """Global ranks on which it stands, first one first."""
    node: str | None = None
    frames: tuple[Frame, ...] = ()
    """The frames of its traceback, outermost first: formats that point into the user's own code pick one."""


@dataclass(frozen=True, slots=True)
class RankState:
    """A row of the rank table."""

    rank: int
    local_rank: int | None
    node: str | None
    last_seen: str | None
    """Time as printed, or ``file:line`` where no clock is known."""
    last_step: int | None
    state: str
    """``first``, ``failed``, ``collateral``, ``waiting``, ``killed``, ``stopped`` (by the launcher), ``exited``,
    ``finished``, ``silent``, ``running``."""
    what: str
    """A few words for a person: what happened."""
    exitcode: int | None = None
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A point or span on a rank's lane of the timeline."""

    rank: int
    kind: str
    """``step``, ``wait``, ``first``, ``failed``, ``collateral``, ``killed``, ``last``."""
    start: float
    """Seconds on the common (skew-corrected) clock, or reading order where ``Timeline.unit`` is ``order``."""
    end: float | None
    label: str
    source: Source | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the picture draws."""

    unit: Literal["seconds", "order"]
    marks: tuple[Mark, ...]
    skew: Mapping[str, float] = field(default_factory=dict)
    """Seconds added per node to bring its clock to the first node's."""


@dataclass(frozen=True, slots=True)
class Collateral:
    """Consequences of one kind, folded."""

    signature: str
    ranks: tuple[int, ...]
    count: int
    first: Source


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One rank of one process group in the collective ledger."""

    rank: int
    """Global rank."""
    group_rank: int | None
    last_enqueued: int | None
    last_completed: int | None
    stuck_seq: int | None
    op: str | None
    numel: str | None
    own_watchdog: bool
    told_by: int | None
    wait_started: float | None
    note: str
    """``waited``, ``never entered``, ``other operation``, ``silent`` …"""


@dataclass(frozen=True, slots=True)
class LedgerGroup:
    """One process group's ledger."""

    pg: str
    rows: tuple[LedgerRow, ...]
    verdict: str
    """One sentence."""
    suspects: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """One attempt in the answer."""

    number: int
    outcome: Outcome
    signature: str | None
    first_rank: int | None
    last_step: int | None


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The job as read."""

    files: tuple[str, ...]
    launcher: str | None
    world_size: int | None
    ranks_seen: tuple[int, ...]
    nodes: tuple[str, ...]
    attempt_count: int
    versions: Mapping[str, str]
    framework: str | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The conclusion for the job, with reasons and doubts. Field by field the JSON contract, version 1."""

    job: JobFacts
    outcome: Outcome
    root_cause: Cause | None
    other_causes: tuple[Cause, ...] = ()
    first_failing_rank: int | None = None
    rank_confidence: Confidence | None = None
    grade: Grade | None = None
    first_failing_node: str | None = None
    scope: Scope = "unknown"
    candidates: tuple[int, ...] = ()
    because: tuple[str, ...] = ()
    ranks: tuple[RankState, ...] = ()
    collateral: tuple[Collateral, ...] = ()
    silent_ranks: tuple[int, ...] = ()
    ledger: tuple[LedgerGroup, ...] | None = None
    attempts: tuple[AttemptResult, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    confirm: tuple[str, ...] = ()
    next_time: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    timeline: Timeline | None = None
    signature_count: int = 0
    library_digest: str = ""
    unreadable: bool = False
    """An input was unreadable in whole or part: exit code 3."""
    unexplained: tuple[Evidence, ...] = ()
    """Lines that stand out where no signature explains the failure (``unrecognised``): shown in place of a cause's
    evidence."""
