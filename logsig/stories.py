"""Tells each rank's story in one attempt: what it failed of by itself, what only reached it, how it ended.

Takes an ``Attempt``, gives ``Stories``. Folds what one rank printed several times, sets aside what it recovered from,
and explains exits by the launcher's own signals (``endings``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from logsig.catalog import Catalog
from logsig.endings import FATAL_SIGNALS, FINDINGS, Endings, choose, is_by_rank, is_own
from logsig.late import late
from logsig.model import Attempt, Event, Exit, RankLog
from logsig.progress import read_step
from logsig.record import dataclass
from logsig.restarts import ends_all
from logsig.witness import NAMES

TEE_LAG = 40
"""Lines by which a rank's stdout may lag behind its stderr in a log that torchrun tails from two files."""
_AGENT = late(
    r"torch/distributed/(?:elastic/(?:agent|rendezvous|multiprocessing)|launcher|run\.py)|"
    r"/bin/(?:torchrun|accelerate|deepspeed)$|accelerate/commands|deepspeed/launcher"
)
_WATCHDOG = ("nccl-collective-timeout", "nccl-heartbeat-timeout")
_DIGITS = late(r"\d+|0x[0-9a-f]+")


@dataclass(slots=True)
class Story:
    """One rank of one attempt."""

    rank: int
    log: RankLog
    own: list[Event] = field(default_factory=list)
    """Its own failures, first one first."""
    peer: list[Event] = field(default_factory=list)
    """What reached it from others."""
    secondary: list[Event] = field(default_factory=list)
    """Own failures that followed from what came before on the same rank."""
    ending: Exit | None = None
    stopped: bool = False
    """Ended by the launcher's own signal."""
    derived: Event | None = None
    """A fatal signal that nothing else on this rank explains."""
    failed_code: Exit | None = None
    """A positive exit code that nothing else on this rank explains."""

    @property
    def is_heard(self) -> bool:
        """Tells a rank of which the log holds more than a report of its end."""
        first = self.log.first_line
        return first is not None and all(item.line is not first for item in self.log.exits)


@dataclass(slots=True)
class Stories:
    """The attempt, rank by rank, and what belongs to no rank."""

    attempt: Attempt
    ranks: dict[int, Story]
    nobody: list[Event] = field(default_factory=list)
    """Initiators that accuse no rank, or whose rank isn't known."""
    loose_peer: list[Event] = field(default_factory=list)
    """Collateral and either events of unknown rank."""
    recovered: list[Event] = field(default_factory=list)
    """Failures after which their rank went on."""
    witnesses: list[Event] = field(default_factory=list)
    notices: list[Event] = field(default_factory=list)
    failed_exits: list[Exit] = field(default_factory=list)
    bare_copies: dict[str, int] = field(default_factory=dict)
    """Signature -> tracebacks without a label that equal one with a label."""

    def events(self) -> list[Event]:
        """All events that count, in reading order."""
        found = [event for story in self.ranks.values() for event in (*story.own, *story.peer)]
        found += [story.derived for story in self.ranks.values() if story.derived]
        return sorted([*found, *self.nobody, *self.loose_peer], key=lambda event: (event.order, event.signature))


def tell(attempt: Attempt, catalog: Catalog) -> Stories:
    """Returns the stories of all ranks the attempt's lines or witnesses name."""
    return _Teller(attempt, catalog).tell()


def kind(event: Event) -> str:
    """Gives what makes two failures the same: signature, exception type, message without numbers."""
    if event.signature != "python-exception":
        return event.signature
    exception = str(event.facts.get("exception", "")).rsplit(".", 1)[-1]
    message = _DIGITS.sub("#", str(event.facts.get("message", "")))[:60]
    begin, *_ = message.partition("'")  # what a message quotes differs from rank to rank
    return f"{event.signature}|{exception}|{begin}"


def is_agents(event: Event) -> bool:
    """True for a traceback of the launcher's own process."""
    return (
        bool(event.frames)
        and any(_AGENT.search(frame.path) for frame in event.frames[-12:])
        and not any("/train" in frame.path for frame in event.frames[-2:])
    )


class _Teller:
    def __init__(self, attempt: Attempt, catalog: Catalog) -> None:
        self.attempt = attempt
        self.catalog = catalog
        self.stories = Stories(attempt, {rank: Story(rank, log) for rank, log in attempt.ranks.items()})
        self.endings = Endings(attempt, catalog)
        stops = [event.order for event in attempt.events if event.signature == "elastic-sigterm"]
        self.launcher_stop = min(stops, default=sys.maxsize)
        self.signature_of_exit = {finding: self._for_finding(finding) for finding in FINDINGS.values()}
        self.own_by_exit = {name for names in catalog.derived.values() for name in names} - {
            "rank-exited-early",
            "job-silent-hang",
            "worker-exit",
        }

    def _for_finding(self, finding: str) -> str | None:
        names = self.catalog.derived.get(finding, ())
        return min(names, key=lambda name: (self.catalog.get(name).match.net, name), default=None)

    def tell(self) -> Stories:
        self._settle_endings()
        spare: list[Event] = []
        for event in self._named(self._unfolded()):
            self._place(event, spare)
        self._attribute_loose()
        self._dismiss_aborts()
        for story in self.stories.ranks.values():
            self._settle(story)
        if spare and not self._has_failure() and self.stories.failed_exits:
            for event in spare:
                self._put(event)
            for story in self.stories.ranks.values():
                self._settle(story)
        else:
            self.stories.recovered.extend(spare)
        self._derive()
        self._derive_loose()
        return self.stories

    # ------------------------------------------------------------ events

    def _unfolded(self) -> list[Event]:
        """The events, each failure once: copies without rank of one with rank are dropped, and equal bare lines."""
        ranked = {_print(event) for event in self.attempt.events if event.rank is not None}
        bare: set[tuple[str, ...]] = set()
        kept: list[Event] = []
        for event in self.attempt.events:
            if event.rank is None and event.role in ("initiator", "either", "collateral"):
                key = _print(event)
                if key in ranked and event.frames:
                    copies = self.stories.bare_copies
                    copies[event.signature] = copies.get(event.signature, 0) + 1
                place = (*key, event.line.node or "", event.line.source.path)
                if key in ranked or (place in bare and not event.frames):
                    continue
                bare.add(place)
            kept.append(event)
        return kept

    def _named(self, events: Iterable[Event]) -> Iterable[Event]:
        for event in events:
            if event.role == "witness":
                self.stories.witnesses.append(event)
                if (
                    event.rank is not None
                    and event.frames
                    and "exitcode" not in event.facts
                    and "signal" not in event.facts
                ):
                    self._story(event.rank).peer.append(event)  # it died telling of another rank
            elif event.role == "notice":
                self.stories.notices.append(event)
            else:
                yield event

    def _place(self, event: Event, spare: list[Event]) -> None:
        if event.aside or self._is_recovered(event):
            spare.append(event)
        else:
            self._put(event)

    def _put(self, event: Event) -> None:
        entry = self.catalog.get(event.signature)
        if event.signature in self.catalog.derived.get("exit-sigterm", ()) and event.order > self.launcher_stop:
            return  # the launcher's own stop, told by those it reached
        speaker = entry.points_at == "speaker" and event.role in ("initiator", "either")
        own = speaker or event.signature in self.own_by_exit
        if entry.points_at == "nobody" or (
            event.role == "initiator" and is_agents(event) and event.signature == "python-exception"
        ):
            self.stories.nobody.append(event)
        elif event.rank is None:
            (self.stories.nobody if event.role == "initiator" or own else self.stories.loose_peer).append(event)
        else:
            story = self._story(event.rank)
            (story.own if own else story.peer).append(event)

    def _story(self, rank: int) -> Story:
        if rank not in self.stories.ranks:
            self.stories.ranks[rank] = Story(rank, RankLog(rank))
        return self.stories.ranks[rank]

    def _is_recovered(self, event: Event) -> bool:
        """The writer went on: later steps or a good end of the rank (of any rank where it is unknown).

        For a rank that never reports steps those speak that do: they can't go on for long without it.
        """
        if event.fatal or event.signature in self.own_by_exit or self.catalog.get(event.signature).severity == "notice":
            return False  # nobody goes on after a fatal signal
        if ends_all(event.line.text):
            return False  # what goes on is the next attempt
        end = event.order + _lines_after(event)
        went_on = self.attempt.last_progress_in.get(event.line.source.path, -1) > end
        if self._is_tidying_up(event):
            return True
        if event.rank is None:
            return went_on
        log = self.attempt.ranks.get(event.rank)
        if log is None:
            return False
        if log.last_step_order < 0 and log.finished is None and "nccl" in event.line.layers and not event.frames:
            return went_on and not self.stories.failed_exits  # the job's steps bear no rank: all ranks took them
        failed = self._left_badly(event.rank)
        if log.last_step_line is None and not self.stories.failed_exits:
            return self._goes_on_until_the_end(event, end)
        if log.last_step_line is not None and log.last_step_line.source.path != event.line.source.path:
            # stdout and stderr in files of their own: their order tells nothing
            return not failed and (log.finished is not None or self._kept_up(log))
        if failed and log.last_step_order <= end + TEE_LAG:
            return False
        return max(log.last_step_order, log.finished_order) > end

    def _goes_on_until_the_end(self, event: Event, end: int) -> bool:
        """True where other ranks got on behind the failure, and nothing is told of any of them behind that."""
        going_on = self.attempt.going_on_in.get(event.line.source.path, -1)
        others = (other for other in self.attempt.events if other.rank != event.rank and other.role != "notice")
        return end < going_on and all(other.order < going_on for other in others)

    def _is_tidying_up(self, event: Event) -> bool:
        """True for who misses the store after a rank had ended well, and only warns: somebody has to leave first."""
        mid_run = event.frames or event.facts.get("variant") == "keep-alive"
        if event.signature not in ("rendezvous-connection-lost", "store-server-gone") or mid_run:
            return False
        return any(log.finished is not None and log.finished_order < event.order for log in self.attempt.ranks.values())

    def _left_badly(self, rank: int) -> bool:
        ending = self.stories.ranks[rank].ending if rank in self.stories.ranks else None
        return ending is not None and is_own(ending)

    def _kept_up(self, log: RankLog) -> bool:
        """True if nothing was reported to have failed, no other rank lost a peer and the rank came as far as they."""
        if self.stories.failed_exits or any(
            event.role == "collateral" and event.frames and event.rank != log.rank for event in self.attempt.events
        ):
            return False
        steps = [other.last_step or 0 for other in self.attempt.ranks.values()]
        return (log.last_step or 0) >= max(steps, default=0)

    # ------------------------------------------------------------ exits

    def _settle_endings(self) -> None:
        stories = self.stories.ranks.values()
        for story in stories:
            story.ending = choose(story.log.exits)
            story.stopped = self.endings.is_stopped(story.ending, story.log.pid)
        chosen = [story.ending for story in stories if story.ending is not None]
        of_ranks = [item for story in stories for item in story.log.exits]
        self.stories.failed_exits.extend(self.endings.failed(chosen, of_ranks))

    def _has_failure(self) -> bool:
        return bool(self.stories.nobody) or any(story.own or story.peer for story in self.stories.ranks.values())

    # ------------------------------------------------------------ unlabelled tracebacks

    def _attribute_loose(self) -> None:
        """An own failure without a prefix belongs to the only worker whose end can fit it."""
        for event in self._unclaimed():
            self._attribute_explained(event)
        loose = [event for event in self._unclaimed() if not is_agents(event)]
        if len(loose) != 1:
            return
        event, untold = loose[0], [story for story in self.stories.ranks.values() if story.ending and not story.own]
        if event.frames:
            fits = [story for story in untold if story.ending and (story.ending.code or 0) > 0 and not story.peer]
            if len(fits) > 1 and not self.stories.loose_peer:
                fits = [story for story in fits if story.ending and story.ending.witness == "worker-exit"]
        elif event.text.lstrip().startswith(("terminate called", "what():")) or "terminate called" in event.text:
            fits = [story for story in untold if story.ending and story.ending.signal == 6]
        elif event.role == "either" and self.catalog.get(event.signature).family == "host":
            fits = [story for story in untold if story.ending and story.ending.signal in FATAL_SIGNALS]
        else:
            return
        if len(fits) == 1:
            self.stories.nobody.remove(event)
            fits[0].own.append(replace(event, rank=fits[0].rank))

    def _attribute_explained(self, event: Event) -> None:
        """A bare line that explains one rank's failure (a device assertion, an OOM kill) is that rank's."""
        effects = {signature for signature, _ in self.catalog.get(event.signature).explains}
        pid = event.facts.get("pid")
        hit = [story for story in self.stories.ranks.values() if any(item.signature in effects for item in story.own)]
        if pid is not None:
            hit = [story for story in hit if any(item.facts.get("worker_pid") == pid for item in story.own)] or hit
        if len(hit) == 1:
            self.stories.nobody.remove(event)
            hit[0].own.append(replace(event, rank=hit[0].rank))

    def _dismiss_aborts(self) -> None:
        """An abort that nobody's label claims, after some rank had lost or waited for a peer, is its teardown.

        So is a worker that Ray misses after its watchdog had given up: that takes its process down.
        """
        aborts = self.catalog.derived.get("exit-sigabrt", ())
        peers = [event for story in self.stories.ranks.values() for event in story.peer] + self.stories.loose_peer
        lost = min((event.order for event in peers), default=sys.maxsize)
        for event in [item for item in self.stories.nobody if item.rank is None]:
            begin = lost if event.signature in aborts else sys.maxsize
            if event.signature == "ray-worker-died":
                begin = _gave_up(event.facts.get("pid"), peers)
            if begin < event.order:
                self.stories.nobody.remove(event)
                self.stories.loose_peer.append(event)

    def _unclaimed(self) -> list[Event]:
        """Own failures of unknown rank."""
        unknown = [event for event in self.stories.nobody if event.rank is None]
        return [event for event in unknown if self.catalog.get(event.signature).points_at == "speaker"]

    # ------------------------------------------------------------ one rank

    def _settle(self, story: Story) -> None:
        """First own failure first; what follows on the same rank from an earlier one is secondary."""
        story.own.sort(key=lambda event: event.order)
        story.peer.sort(key=lambda event: event.order)
        if story.own and story.peer:
            first_peer = next((event for event in story.peer if event.fatal or event.frames), story.peer[0])
            late = [
                event for event in story.own if event.order > first_peer.order and self._follows_peer(event, first_peer)
            ]
            if late and len(late) == len(story.own):
                story.secondary.extend(late)
                story.own = []
        if len(story.own) > 1:
            first = self._first_own(story.own)
            story.secondary.extend(event for event in story.own if event is not first)
            story.own = [first]

    def _follows_peer(self, event: Event, peer: Event) -> bool:
        """After the rank lost its peer, a general exception or an abort is a consequence; a known cause isn't."""
        entry = self.catalog.get(event.signature)
        if entry.match.net or event.role == "either" or event.signature in self.own_by_exit:
            return True
        if entry.family in ("python", "scheduler"):
            return True
        return event.order - peer.order <= len(peer.lines) + 2 and entry.family in ("checkpoint", "data")

    def _first_own(self, own: Sequence[Event]) -> Event:
        """The first raised; a known signature beats a general one where both tell of one moment (within one rank)."""
        explained = {signature for event in own for signature, _ in self.catalog.get(event.signature).explains}
        roots = [event for event in own if event.signature not in explained] or list(own)
        specific = [event for event in roots if not self.catalog.get(event.signature).match.net]
        first = roots[0]
        if (
            specific
            and self.catalog.get(first.signature).match.net
            and not first.fatal
            and specific[0].order - first.order < 200
        ):
            return specific[0]
        return first

    # ------------------------------------------------------------ derived

    def _derive(self) -> None:
        """Gives fatal signals and exit codes that nothing else on their rank explains."""
        raised = any(story.own for story in self.stories.ranks.values())
        failed = [story.ending.order for story in self.stories.ranks.values() if story.own and story.ending]
        for story in self.stories.ranks.values():
            ending = story.ending
            if (
                ending is not None
                and ending.signal == 9
                and ending.witness != "elastic-child-failed"
                and (raised if is_by_rank(ending) else min(failed, default=sys.maxsize) < ending.order)
            ):
                story.stopped = True  # the launcher kills the others once one has failed by itself
            if ending is None or story.stopped or story.own:
                continue
            if ending.signal == 15:
                story.derived = self._exit_event(story, ending, FINDINGS[15])
            elif ending.signal in FATAL_SIGNALS:
                teardown = ending.signal == 6 and (story.peer or story.secondary)
                if not teardown:
                    story.derived = self._exit_event(story, ending, FINDINGS[ending.signal])
            elif ending.code and not story.peer:
                story.failed_code = ending

    def _derive_loose(self) -> None:
        """A fatal signal of a process that nobody names, where no rank failed by itself."""
        stories = self.stories.ranks.values()
        if self.stories.nobody or any(story.own or story.derived or story.failed_code for story in stories):
            return
        for ending in self.stories.failed_exits:
            fatal = ending.signal in FATAL_SIGNALS and ending.signal != 6
            if ending.rank is None and fatal and not self.endings.cancelled_before(ending):
                event = self._exit_event(None, ending, FINDINGS[ending.signal or 0])
                if event is not None:
                    self.stories.nobody.append(event)
                return

    def _exit_event(self, story: Story | None, ending: Exit, finding: str) -> Event | None:
        name = self.signature_of_exit.get(finding)
        if name is None:
            return None
        facts = {"signal": NAMES.get(ending.signal or 0, str(ending.signal)), "exitcode": -(ending.signal or 0)}
        if ending.pid is not None:
            facts["pid"] = ending.pid
        return Event(
            name,
            self.catalog.get(name).role,
            ending.line,
            ending.line.text,
            facts,
            story.rank if story else None,
            ending.node or (story.log.node if story else None),
            self.attempt.number,
            ending.time,
            ending.order,
            derived=True,
        )


def _print(event: Event) -> tuple[str, str]:
    """What makes two prints of one failure equal: the signature and the text without its numbers."""
    return event.signature, _DIGITS.sub("#", event.text[:200])


def _gave_up(pid: int | None, peers: Sequence[Event]) -> int:
    """Gives the order of the first watchdog that gave up in this process, or in any where none is named."""
    orders = (
        event.order
        for event in peers
        if event.signature in _WATCHDOG and (None in (pid, event.line.pid) or event.line.pid == pid)
    )
    return min(orders, default=sys.maxsize)


def _lines_after(event: Event) -> int:
    """Lines of the event's message behind the one that matched, without bars that were only caught up in it."""
    place = next((index for index, line in enumerate(event.lines) if line is event.line), len(event.lines) - 1)
    last = len(event.lines) - 1
    while last > place and read_step(event.lines[last].text) is not None:
        last -= 1
    return max(0, last - place)


def peers_of(stories: Mapping[int, Story]) -> set[int]:
    """Ranks that show only what reached them from others."""
    return {rank for rank, story in stories.items() if story.peer and not story.own and not story.derived}
