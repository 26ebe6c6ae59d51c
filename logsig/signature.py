"""The schema of a signature: one YAML file that describes one known failure and proves itself.

Takes nothing but data; knows no files, no logs. ``catalog`` reads files into these models, ``match`` applies them.
Adding a capture name is one line in ``CAPTURES``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Family(StrEnum):
    """Where a failure belongs: the part of the job that a reader would look at."""

    DDP = "ddp"
    AUTOGRAD = "autograd"
    NCCL = "nccl"
    GLOO = "gloo"
    RENDEZVOUS = "rendezvous"
    LAUNCHER = "launcher"
    CUDA = "cuda"
    GPU = "gpu"
    HOST = "host"
    DATA = "data"
    SCHEDULER = "scheduler"
    HEALTH = "health"
    CHECKPOINT = "checkpoint"
    PYTHON = "python"
    FRAMEWORK = "framework"
    NOTICE = "notice"


class Role(StrEnum):
    """What a message is in the chain from cause to consequence."""

    INITIATOR = "initiator"
    """Can start a failure."""
    COLLATERAL = "collateral"
    """Another rank's failure reached this one."""
    EITHER = "either"
    """Collateral unless nothing else explains it."""
    WITNESS = "witness"
    """Testimony about a failure: a launcher's table, an exit line."""
    NOTICE = "notice"
    """Looks frightening, is not."""


class Severity(StrEnum):
    """How bad it is for the process that prints it."""

    FATAL = "fatal"
    ERROR = "error"
    NOTICE = "notice"


class Reach(StrEnum):
    """On which ranks a cause accounts for an event."""

    SAME_RANK = "same-rank"
    OTHER_RANKS = "other-ranks"
    JOB = "job"


class Derived(StrEnum):
    """Findings of the analysis that a signature may stand for, instead of (or beside) text."""

    SILENT_END = "silent-end"
    """The log stops in mid-training with positive evidence of a hang: a lagging rank, a long gap, an outside kill."""
    EARLY_EXIT = "early-exit"
    """A rank left with exit code 0, or said it was done, while others were still in a collective."""
    EXIT_CODE = "exit-code"
    """A process ended with a positive exit code and printed nothing that explains it."""
    EXIT_SIGKILL = "exit-sigkill"
    EXIT_SIGSEGV = "exit-sigsegv"
    EXIT_SIGBUS = "exit-sigbus"
    EXIT_SIGABRT = "exit-sigabrt"
    EXIT_SIGFPE = "exit-sigfpe"
    EXIT_SIGILL = "exit-sigill"
    EXIT_SIGTERM = "exit-sigterm"
    EXIT_SIGHUP = "exit-sighup"
    EXIT_SIGINT = "exit-sigint"


# name -> (type, what it is, with its unit). The one closed list: named groups of patterns, ``facts`` in the output,
# names in remedies. Types: int, float, str, flag (true when the group took part), ints and strs (lists, split at blanks
# and commas), bytes (``3.91 GiB`` becomes a whole number of bytes), secs (``480`` or ``8 min`` becomes seconds).
CAPTURES: dict[str, tuple[str, str]] = {
    "rank": ("int", "global rank the message speaks of"),
    "peer_rank": ("int", "rank of the other side named in the message"),
    "group_rank": ("int", "rank inside its process group"),
    "local_rank": ("int", "rank within its node"),
    "node_rank": ("int", "index of the node (group_rank of torchelastic)"),
    "ranks": ("ints", "ranks the message names as missing, late or failed"),
    "tasks": ("str", "launcher task ids as printed, e.g. `0-1,3`"),
    "host": ("str", "host name"),
    "peer": ("str", "address of the other side, host or IP"),
    "peer_port": ("int", "port of the other side"),
    "address": ("str", "host or IP of an endpoint"),
    "port": ("int", "TCP port"),
    "interface": ("str", "network interface"),
    "key": ("str", "store key, dictionary key or configuration key"),
    "pid": ("int", "process id"),
    "worker_pid": ("int", "process id of a data worker"),
    "worker": ("int", "index of a data worker"),
    "exitcode": ("int", "exit code; negative for a signal"),
    "signal": ("str", "signal name or number as printed"),
    "seq": ("int", "sequence number of a collective in its group"),
    "other_seq": ("int", "sequence number on the other side of a mismatch"),
    "op": ("str", "kind of collective"),
    "other_op": ("str", "kind of collective on the other side of a mismatch"),
    "numel": ("str", "number of elements as printed"),
    "numel_in": ("int", "elements in"),
    "numel_out": ("int", "elements out"),
    "last_enqueued": ("int", "last enqueued sequence number"),
    "last_completed": ("int", "last completed sequence number"),
    "timeout_ms": ("int", "limit in milliseconds"),
    "elapsed_ms": ("int", "how long it waited, in milliseconds"),
    "timeout_s": ("secs", "limit in seconds"),
    "pg": ("str", "process group: PG GUID where printed, else PG ID or name"),
    "pg_name": ("str", "description of the process group"),
    "world_size": ("int", "ranks in the job"),
    "joined": ("int", "how many had joined"),
    "param_indices": ("ints", "parameter indices"),
    "param_names": ("strs", "parameter names"),
    "param_index": ("int", "index of one parameter"),
    "param_name": ("str", "name of one parameter"),
    "count": ("int", "a number of things on this side (parameters, tensors)"),
    "other_count": ("int", "the same number on the other side"),
    "shape": ("str", "shape or size on this side"),
    "other_shape": ("str", "shape or size on the other side"),
    "dtype": ("str", "dtype on this side"),
    "other_dtype": ("str", "dtype on the other side"),
    "device_name": ("str", "device as printed, e.g. cuda:1"),
    "other_device": ("str", "device on the other side"),
    "version": ("str", "version on this side"),
    "other_version": ("str", "version on the other side"),
    "expected": ("str", "what was expected"),
    "found": ("str", "what was found"),
    "assertion": ("str", "condition of an assertion"),
    "kernel": ("str", "source file and line of a device kernel"),
    "function": ("str", "function or operator"),
    "output_index": ("int", "output of an autograd function"),
    "library": ("str", "shared library or its top frame"),
    "symbol": ("str", "symbol of a shared library"),
    "source_line": ("int", "line number inside a PyTorch source file (hints at the version)"),
    "tensor": ("str", "tensor type as printed"),
    "reason": ("str", "reason as printed"),
    "detail": ("str", "further text as printed"),
    "last_error": ("str", "NCCL's `Last error` text"),
    "status": ("str", "status name or number"),
    "vendor_err": ("int", "vendor error of an InfiniBand completion"),
    "hca": ("str", "InfiniBand adapter"),
    "tried_bytes": ("bytes", "allocation that failed"),
    "free_bytes": ("bytes", "free on the device"),
    "total_bytes": ("bytes", "capacity of the device"),
    "allocated_bytes": ("bytes", "allocated by PyTorch"),
    "reserved_bytes": ("bytes", "reserved by PyTorch (old wordings: in total; new: but unallocated)"),
    "unallocated_bytes": ("bytes", "reserved by PyTorch but unallocated"),
    "in_use_bytes": ("bytes", "in use by this process"),
    "other_pid": ("int", "pid of another process on the device"),
    "other_bytes": ("bytes", "memory of another process on the device"),
    "device": ("int", "device ordinal"),
    "pci": ("str", "PCI address"),
    "uuid": ("str", "GPU UUID"),
    "code": ("int", "a numeric code: Xid, cudaError, errno of a device"),
    "arch": ("str", "GPU architecture"),
    "errno": ("int", "errno"),
    "path": ("str", "file or directory"),
    "module": ("str", "Python module or class"),
    "argument": ("str", "command-line argument or option"),
    "keys": ("strs", "keys, e.g. missing in a checkpoint"),
    "exception": ("str", "exception type as printed"),
    "inner_exception": ("str", "exception type wrapped inside"),
    "message": ("str", "exception message, first line"),
    "inner_message": ("str", "message of the wrapped exception"),
    "job_id": ("str", "scheduler's job or step id"),
    "pod": ("str", "Kubernetes pod"),
    "container": ("str", "container"),
    "actor": ("str", "Ray actor"),
    "user": ("str", "account"),
    "url": ("str", "address on the network"),
    "at": ("str", "time as printed in the message"),
    "step": ("int", "training step or iteration"),
    "epoch": ("int", "epoch"),
    "loss": ("str", "loss as printed"),
    "scale": ("str", "loss scale"),
    "link": ("int", "NVLink number"),
    "temperature": ("int", "degrees Celsius"),
    "find_unused_on": ("flag", "find_unused_parameters=True is on already"),
    "static_graph_on": ("flag", "static graph is on"),
    "debug_names": ("flag", "the message lists names (TORCH_DISTRIBUTED_DEBUG is on)"),
    "reentrant": ("flag", "re-entrant checkpointing frames are in the traceback"),
    "checkpointing": ("flag", "checkpointing frames are in the traceback"),
    "lightning": ("flag", "PyTorch Lightning's own wording"),
    "uncorrectable": ("flag", "the hardware error can't be corrected"),
    "variant": ("str", "a word that tells wordings or kinds apart"),
}

# Names that templates may use beside the captures: filled by the analysis for every diagnosis.
CONTEXT: dict[str, str] = {
    "first_rank": "global rank that failed first, or none",
    "first_node": "its node, or none",
    "scope": "one-rank, several-ranks, all-ranks, not-a-rank, unknown",
    "failed_ranks": "list of global ranks on which the root cause stands",
    "waiting_ranks": "list of ranks that only waited",
    "silent_ranks": "list of ranks expected but unheard",
    "gaps": "true where ranks below the highest of waiting_ranks aren't in the log at all",
    "suspects": "list of ranks the ledger points at",
    "all_ranks": "true when every rank raised the same error",
    "world_size_read": "world size of the job, or none",
    "nodes": "list of node names",
    "framework": (
        "transformers, accelerate, lightning, deepspeed, fsdp, megatron, mmengine, ray, torchtitan, nemo, or none"
    ),
    "launcher": "torchrun, srun, mpirun, deepspeed, accelerate, ray, kubernetes, spawn …, or none",
    "torch": "torch version as read, or none",
    "torch_at_least": "function: torch_at_least('2.4') is true or false, none when the version is unknown",
    "nccl": "NCCL version as read, or none",
    "cuda": "CUDA version as read, or none",
    "last_step": "last step the failing rank reported, or none",
    "user_frame": "the user's own innermost frame as file:line, or none",
    "user_function": "function of that frame",
    "user_code": "source line of that frame",
    "ddp_frame": "the user's frame that called DDP/backward/collective, if another",
    "flags": (
        "mapping of settings seen in the log, e.g. flags.static_graph, flags.find_unused_parameters, flags.accumulation"
    ),
    "in_backward": "true when the traceback goes through backward()",
    "in_forward": "true when it goes through forward()",
    "in_dataloader": "true when it goes through the data loader",
    "in_checkpoint_save": "true when it goes through saving a checkpoint",
    "first_step": "true when it failed before any step was finished",
    "hang_started": "time at which the hang began, as text, or none",
    "differing": "true when ranks printed different values (indices, shapes)",
}

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Log = Annotated[str, StringConstraints(min_length=1)]
Literal_ = Annotated[str, StringConstraints(min_length=4, max_length=200)]
Pattern = Annotated[str, StringConstraints(max_length=4000)]
Patterns = Annotated[list[Pattern], Field(max_length=50)]
OneOrMore = Pattern | Patterns
Filled = Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
"""Jinja2 over facts. These limits are far above what the library needs: they keep a stranger's pack affordable."""
Code = Annotated[str, StringConstraints(max_length=4000)]
Expression = Annotated[str, StringConstraints(max_length=1000)]


class Strict(BaseModel):
    """A part of a signature: unknown keys are refused, and nothing changes it once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Match(Strict):
    """How a message is recognised: ``literals`` make a line a candidate, ``pattern`` confirms the peeled message."""

    literals: list[Literal_] = Field(default=[], max_length=100)
    """Any one of these byte strings in the text makes it a candidate. Case matters. Choose cold ones."""
    pattern: OneOrMore | None = None
    """``regex`` patterns, any one confirms; searched in the message of one rank from the literal's line on
    (continuation lines joined by newlines). Named groups are captures. Without it a literal alone confirms. Blanks in a
    pattern are literal; write ``\\s+`` where a message may be wrapped or irregular."""
    follow: Patterns = []
    """Further patterns searched in the same writer's next ``follow_lines`` lines, each only for more captures."""
    follow_lines: int = Field(default=20, ge=1, le=200)
    frames: Patterns = []
    """Patterns searched in the traceback above the message (``path:function`` and source lines), for more captures."""
    before: Patterns = []
    """Patterns searched in the same writer's previous ``before_lines`` lines, for more captures."""
    before_lines: int = Field(default=20, ge=1, le=200)
    unless: Patterns = []
    """Patterns that must not be in the message (or on the line)."""
    where: Literal["error", "anywhere"] = "error"
    """``error``: the match must stand where an error speaks: at the start of a message, after an exception's name or a
    logger's lead-in; never inside quotes, help, configuration, source lines. ``anywhere``: the text has one speaker
    only (kernel, scheduler, watchdog) and may stand anywhere on the line."""
    derived: list[Derived] = []
    """Findings of the analysis this signature stands for."""
    net: bool = False
    """A general signature: gives way to any other that matches the same message."""
    over: list[Id] = []
    """Signatures that this one is more specific than, where both match the same message."""


class PointsAt(StrEnum):
    """Whom a message accuses."""

    SPEAKER = "speaker"
    """The rank (or node) that printed it: its own failure."""
    OTHER = "other"
    """Somebody else: the speaker only waited or lost its peer."""
    NOBODY = "nobody"
    """No rank: a scheduler, a launcher, a person, a setting."""


class Explains(Strict):
    """An event that this one, when it is a cause, accounts for beyond the default."""

    signature: Id
    reach: Reach


class RemedyText(Strict):
    """One remedy. All text is Jinja2 over the captured facts; a step whose fact is unknown is left out."""

    title: Filled
    when: Expression | None = None
    """Jinja2 expression over facts; unknown facts count as false. Without it the remedy always fits."""
    steps: list[Filled] = Field(min_length=1, max_length=30)
    code: Code | None = None
    cost: Filled | None = None
    verify: Filled | None = None
    source: str | None = None
    """Where a number or claim comes from."""


class Picture(StrEnum):
    """A drawing of the reducer's buckets beside the mechanism."""

    BUCKETS_UNFINISHED = "buckets-unfinished"
    """A parameter without gradient keeps its bucket open."""
    BUCKETS_TWICE = "buckets-twice"
    """A parameter is marked ready a second time."""
    BUCKETS_UNARMED = "buckets-unarmed"
    """A backward comes when the reducer isn't armed."""
    BUCKETS_CHANGED = "buckets-changed"
    """The parameters in use are not those that a static graph recorded."""
    BUCKETS_SEARCHED = "buckets-searched"
    """The search for unused parameters marks them before backward."""


class Guide(Strict):
    """The page of the encyclopedia, for three readers. A field that would be filler is left out."""

    mechanism: Text | None = None
    picture: Picture | None = None
    scale: Text | None = None
    """What it looks like at 1, 8 and 1,000 GPUs."""
    hardware_or_software: Text | None = None
    prevention: Text | None = None
    alert: Text | None = None
    """Fingerprint to alert on."""
    resembles: dict[Id, Text] = {}
    """id -> how to tell them apart."""
    time_to_fix: Text | None = None
    training_or_inference: Text | None = None
    management: Text | None = None
    on_call: Text | None = None


class Expect(Strict):
    """What the example must give."""

    rank: int | None = None
    lines: list[int] = []
    """1-based lines of the example that carry the evidence."""
    captures: dict[str, Any] = {}
    scope: str | None = None
    count: int | None = None
    """How many events of this signature, where it matters."""


class Example(Strict):
    """A log that shows the failure, and what the analysis must find in it."""

    name: Id
    source: Text = "synthetic"
    """Where it comes from; ``synthetic`` is honest and allowed."""
    log: Log
    expect: Expect = Expect()
    wording: str | None = None
    """Versions whose wording this is."""


class Counterexample(Strict):
    """A log in which this signature must stay quiet."""

    name: Id
    why: Text
    """What differs from the real thing, in a few words."""
    log: Log
    near_miss: bool = False
    """Contains a literal of the signature and differs in meaning."""


class Signature(Strict):
    """One known failure."""

    schema_: Literal[1] = Field(alias="schema")
    id: Id
    title: Text
    family: Family
    role: Role
    severity: Severity
    points_at: PointsAt | None = None
    """Whom it accuses; by default initiators accuse the speaker, all others somebody else."""
    since: str
    versions: dict[str, str] = {}
    tags: list[str] = []
    summary: Filled
    """One sentence for a tired reader on call; Jinja2 over facts is allowed, and must read well with none."""
    explanation: Text
    match: Match
    captures: dict[str, Text] = {}
    """Every named group of the patterns, in words for this signature."""
    explains: list[Explains] = []
    remedies: list[RemedyText] = Field(default=[], max_length=50)
    confirm: list[Filled] = Field(default=[], max_length=20)
    guide: Guide = Guide()
    references: list[str] = []
    retryable: Literal["yes", "no", "after-fix", "other-node"] | None = None
    proof: str | None = None
    """What the claims rest on, where they don't carry their own source."""
    harmless: Text | None = None
    """Notices only: why it is harmless."""
    examples: list[Example] = Field(min_length=1)
    counterexamples: list[Counterexample] = Field(min_length=1)
