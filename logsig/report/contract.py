"""The types of the JSON contract, version 1, and the JSON Schema that is published of them.

Fields are only added within version 1. Nothing imports this at run time but ``schema``, the only one that needs
pydantic.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict


class Tool(TypedDict):
    """Who answered, with which library."""

    name: Literal["logsig"]
    version: str
    signatures: int
    """How many signatures were consulted."""
    digest: str
    """Digest of the signature library: the same digest and the same log give the same answer."""


class Job(TypedDict):
    """The job as read."""

    files: list[str]
    launcher: str | None
    world_size: int | None
    ranks_seen: list[int]
    nodes: list[str]
    attempt_count: int
    versions: dict[str, str]
    """Of torch, nccl, cuda and others, as read in the log."""
    framework: str | None


class Evidence(TypedDict):
    """A line of the log."""

    file: str
    line: int
    """1-based."""
    rank: int | None
    node: str | None
    time: str | None
    """As printed."""
    text: str


class Cause(TypedDict):
    """A failure that nothing else present explains."""

    signature: str
    """Stable id; ``logsig explain ID`` is its page."""
    family: str
    title: str
    severity: str
    confidence: Literal["high", "medium", "low"]
    summary: str
    evidence: list[Evidence]
    facts: dict[str, Any]
    """Captured from this log, by standard name."""
    retryable: Literal["yes", "no", "after-fix", "other-node"]


class Rank(TypedDict):
    """What is known of one rank."""

    rank: int
    local_rank: int | None
    node: str | None
    last_seen: str | None
    """Time as printed, or ``file:line`` where the log has no clock."""
    last_step: int | None
    state: str
    """first, failed, collateral, waiting, killed, stopped, exited, finished, silent or running."""
    exitcode: int | None
    signal: str | None
    what: str
    """What happened to it, in a few words."""


class Place(TypedDict):
    """A line of a file, 1-based."""

    file: str
    line: int


class Collateral(TypedDict):
    """Consequences of one kind, folded."""

    signature: str
    ranks: list[int]
    count: int
    first: Place


class LedgerRow(TypedDict):
    """One rank of a process group."""

    rank: int
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


class LedgerGroup(TypedDict):
    """One process group's collectives."""

    pg: str
    """The process group."""
    rows: list[LedgerRow]
    verdict: str
    suspects: list[int]


Outcome = Literal["failure", "healthy", "unfinished", "recovered", "interrupted", "unrecognised", "empty"]


class Attempt(TypedDict):
    """One start of all workers."""

    number: int
    outcome: Outcome
    signature: str | None
    first_failing_rank: int | None
    last_step: int | None


class Remedy(TypedDict):
    """What to do, filled with this log's facts."""

    title: str
    steps: list[str]
    code: str | None
    cost: str | None
    verify: str | None
    when: str | None
    """The condition that chose it."""


class Diagnosis(TypedDict):
    """The conclusion for one job, with reasons and doubts."""

    schema: Literal["logsig.diagnosis/1"]
    tool: Tool
    job: Job
    outcome: Outcome
    root_cause: Cause | None
    other_causes: list[Cause]
    """Independent causes after the first."""
    first_failing_rank: int | None
    """Global rank; null when undecided and when every rank failed alike."""
    rank_confidence: Literal["high", "medium", "low"] | None
    grade: Literal["A", "B", "C", "D", "E"] | None
    """What the rank rests on: A named by a message, B the collective ledger or exit codes, C one clock, D several
    clocks, E the order in the file."""
    first_failing_node: str | None
    scope: Literal["one-rank", "several-ranks", "all-ranks", "not-a-rank", "unknown"]
    candidates: list[int]
    because: list[str]
    ranks: list[Rank]
    collateral: list[Collateral]
    silent_ranks: list[int]
    """Expected, and unheard where the others speak."""
    ledger: list[LedgerGroup] | None
    attempts: list[Attempt]
    remedies: list[Remedy]
    """Best first."""
    confirm: list[str]
    """How to make sure of the cause, cheapest first."""
    next_time: list[str]
    """Settings that would have told more."""
    doubts: list[str]
    """What was not seen, cut or ambiguous."""
    unexplained: list[Evidence]
    """Lines that stand out where no signature explains the failure."""
    verdict: str
    """The answer in one sentence, for people."""


def schema() -> dict[str, Any]:
    """Derives the JSON Schema that is published as ``docs/diagnosis.schema.json``."""
    from pydantic import ConfigDict, TypeAdapter, with_config
    from pydantic.json_schema import GenerateJsonSchema

    class Plain(GenerateJsonSchema):
        """Leaves out titles that only repeat a field's name."""

        def field_title_should_be_set(self, _schema: Any) -> bool:
            return False

    for each in (
        Tool,
        Job,
        Evidence,
        Cause,
        Rank,
        Place,
        Collateral,
        LedgerRow,
        LedgerGroup,
        Attempt,
        Remedy,
        Diagnosis,
    ):
        with_config(ConfigDict(use_attribute_docstrings=True))(each)
    described = TypeAdapter(Diagnosis).json_schema(schema_generator=Plain)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "logsig diagnosis, version 1",
        **{key: value for key, value in described.items() if key != "title"},
    }
