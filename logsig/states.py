"""Words of the answer on each rank: a row with its state; and what to record next time."""

from __future__ import annotations

from datetime import UTC, datetime

from logsig.catalog import Catalog
from logsig.model import Event, JobLog, LogLine, Outcome, RankState
from logsig.stories import Stories, Story
from logsig.verdict import Verdict
from logsig.witness import NAMES

MAX_SILENT_ROWS = 256


def rows(stories: Stories, verdict: Verdict, catalog: Catalog, world_size: int | None) -> tuple[RankState, ...]:
    """Returns a row per rank, the ranks never heard included where the world size implies them."""
    found = [_row(story, verdict, catalog) for _, story in sorted(stories.ranks.items())]
    if world_size and len(stories.ranks) > 1 and world_size - len(stories.ranks) <= MAX_SILENT_ROWS:
        found += [
            RankState(
                rank,
                None,
                None,
                None,
                None,
                "first" if rank == verdict.rank else "silent",
                "no line of this rank was seen",
            )
            for rank in range(world_size)
            if rank not in stories.ranks
        ]
    return tuple(sorted(found, key=lambda row: row.rank))


def _row(story: Story, verdict: Verdict, catalog: Catalog) -> RankState:
    log = story.log
    code = story.ending.code if story.ending else None
    signal = story.ending.signal if story.ending else None
    return RankState(
        story.rank,
        log.local_rank,
        log.node,
        _seen(_last_word(story)),
        log.last_step,
        _state(story, verdict),
        _what(story, verdict, catalog),
        code if code is not None or signal is None else -signal,
        NAMES.get(signal) if signal is not None else None,
    )


def _last_word(story: Story) -> LogLine | None:
    """The last line of the rank's own: what a launcher says of its end is no sign of its life."""
    last = story.log.last_line
    if last is not None and all(item.line is not last for item in story.log.exits):
        return last
    told = [(event.order, event.line) for event in (*story.own, *story.secondary, *story.peer)]
    if story.log.last_step_line is not None:
        told.append((story.log.last_step_order, story.log.last_step_line))
    return max(told, key=lambda each: each[0])[1] if told else None


def _seen(line: LogLine | None) -> str | None:
    if line is None:
        return None
    return line.stamp.text if line.stamp else f"{line.source.path.rsplit('/', 1)[-1]}:{line.source.line}"


def _state(story: Story, verdict: Verdict) -> str:
    """The word of ``RankState.state``."""
    if story.rank == verdict.rank:
        return "first"
    if story.own:
        return "failed"
    if story.derived:
        return "killed"
    if story.peer:
        return "waiting" if any("timeout" in event.signature for event in story.peer) else "collateral"
    if story.stopped:
        return "stopped"
    if story.failed_code:
        return "exited"
    if story.log.finished:
        return "finished"
    return "silent" if verdict.root is not None else "running"


def _what(story: Story, verdict: Verdict, catalog: Catalog) -> str:
    """A few words on what happened: what the rank failed of, else what was found of it, else how it ended."""
    log = story.log
    if story.own:
        return _name(story.own[0], catalog)
    if story.derived:
        return f"ended by {_signal(story)}"
    found = _found(verdict) if story.rank == verdict.rank else None
    if found is not None:
        return found
    if story.failed_code is not None:
        words = f"after “{log.last_words.text.strip()[:40]}”" if log.last_words else "no error printed"
        return f"exit code {story.failed_code.code}, {words}"
    if story.peer:
        return catalog.get(story.peer[0].signature).title
    if story.stopped:
        signal = _signal(story)
        return f"ended by the launcher ({signal})" if signal else "ended by the launcher"
    if story.log.finished:
        return "finished"
    return "no error" if verdict.root is not None else "running when the log ends"


def _name(event: Event, catalog: Catalog) -> str:
    """The signature's title; of a general one the exception, which tells more."""
    entry = catalog.get(event.signature)
    if entry.match.net and "exception" in event.facts:
        return str(event.facts["exception"]).rsplit(".", 1)[-1]
    return entry.title


def _signal(story: Story) -> str | None:
    ending = story.ending
    return NAMES.get(ending.signal, "a signal") if ending and ending.signal is not None else None


def _found(verdict: Verdict) -> str | None:
    """What the analysis found of the rank it names, where no line of that rank says it."""
    if verdict.finding == "early-exit":
        return "left while others waited"
    return _in_ledger(verdict) if verdict.ledger_decided else None


def _in_ledger(verdict: Verdict) -> str:
    """What the ledger says of the suspect."""
    notes = {row.note for group in verdict.groups for row in group.rows if row.rank == verdict.rank}
    words = {
        "never entered": "never entered the collective",
        "other operation": "ran another collective than the others",
    }
    return next((text for note, text in words.items() if note in notes), "silent while the others waited")


def next_time(stories: Stories, verdict: Verdict, job: JobLog, outcome: Outcome) -> tuple[str, ...]:
    """Returns the settings that would have told more, only those that this log lacked."""
    found: list[str] = []
    signatures = {event.signature for event in stories.events()}
    nccl = any(name.startswith(("nccl-", "ib-")) or name == "collective-mismatch" for name in signatures)
    hang = any("timeout" in name for name in signatures)
    exits = stories.attempt.exits
    undecided = verdict.rank is None and verdict.scope in ("unknown", "several-ranks")
    if hang and nccl and undecided:
        found.append(
            "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1: "
            "the flight recorder names the rank that never entered the collective"
        )
    if hang and undecided and job.facts.get("flags", {}).get("detail") != "DETAIL":
        found.append(
            "TORCH_DISTRIBUTED_DEBUG=DETAIL for one short run: mismatched collectives are named with both ranks"
        )
    if undecided and not exits:
        found.append(
            "keep the launcher's own output (torchrun's table, srun's lines) in the log: "
            "exit codes tell who died by itself"
        )
    unlabelled = sum(1 for line in job.lines if line.rank is None and line.local_rank is None and line.task is None)
    if undecided and unlabelled * 2 > len(job.lines) and len(job.lines) > 4:
        found.append("torchrun --tee 3 --log-dir logs (or srun --label): every line then carries its rank")
    if outcome == "unrecognised" or (
        any(
            item.error_file is None and item.witness == "elastic-child-failed" and (item.code or 0) > 0
            for item in exits
        )
        and undecided
    ):
        found.append(
            "decorate main() with torch.distributed.elastic.multiprocessing.errors.record: "
            "the exact time and traceback of each rank then stand in its error file"
        )
    return tuple(found[:4])


def clock_text(seconds: float) -> str:
    """A time of day for a sentence."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")
