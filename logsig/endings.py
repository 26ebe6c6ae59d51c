"""How the processes of one attempt ended, and which of these ends were the launcher's own doing.

Takes an ``Attempt`` and its exit reports; gives ``Endings`` to ask. Knows nothing of what the ranks printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logsig.catalog import Catalog
from logsig.model import Attempt, Exit
from logsig.progress import LEFT_WELL

FINDINGS = {
    9: "exit-sigkill",
    11: "exit-sigsegv",
    7: "exit-sigbus",
    6: "exit-sigabrt",
    8: "exit-sigfpe",
    4: "exit-sigill",
    15: "exit-sigterm",
    1: "exit-sighup",
    2: "exit-sigint",
}
"""Signal -> the finding that a signature may stand for."""
FATAL_SIGNALS = (4, 6, 7, 8, 9, 11)
_TABLE = "elastic-child-failed"
_CANCELS = ("slurm-cancelled", "step-terminated", "slurm-step-terminated")


def choose(reports: Iterable[Exit]) -> Exit | None:
    """Gives the report on one rank that counts: a bad end before a good one, torchrun's table before others."""
    ordered = sorted(reports, key=lambda item: (not is_bad(item), item.witness != _TABLE, item.line.source.line))
    return ordered[0] if ordered else None


def is_bad(ending: Exit) -> bool:
    """True for any end by a signal or with an exit code other than 0."""
    return ending.signal is not None or bool(ending.code)


def is_own(ending: Exit) -> bool:
    """True for an end that a process brings about by itself: a positive exit code or a fatal signal."""
    return (ending.code or 0) > 0 or ending.signal in FATAL_SIGNALS


def is_by_rank(ending: Exit) -> bool:
    """True in Intel MPI's boxes and Composer's list, an entry for each rank: their order says nothing of time."""
    return ending.witness == "worker-exit" and ending.line.text.startswith(("=   RANK ", "Global rank "))


GRACE = 29.0
"""Seconds from torchrun's SIGTERM to its SIGKILL, 30 (``PContext.close``), less what the table's whole seconds hide."""


class Endings:
    """The ends of an attempt's processes as all its witnesses together tell them."""

    def __init__(self, attempt: Attempt, catalog: Catalog) -> None:
        self._attempt = attempt
        self._stopped = self._pids("elastic-sigterm")
        self._escalated = self._pids("elastic-escalated-sigkill")
        self._has_table = any(item.witness == _TABLE for item in attempt.exits)
        self._scheduler = self._first(
            event.order for event in attempt.events if _is_scheduler(event.signature, catalog)
        )
        self._cancelled = self._first(event.order for event in attempt.events if event.signature in _CANCELS)

    @staticmethod
    def _first(orders: Iterable[int]) -> float:
        return min(orders, default=float("inf"))

    def _pids(self, signature: str) -> set[int]:
        events = (event for event in self._attempt.events if event.signature == signature)
        return {int(event.facts["pid"]) for event in events if event.facts.get("pid") is not None}

    def failed(self, chosen: Sequence[Exit], of_ranks: Iterable[Exit]) -> list[Exit]:
        """Gives the bad ends: of the ranks, as ``chosen``, then of processes that aren't among those ``of_ranks``.

        Ends by SIGTERM after a good end are left out: process runners stop everybody when the first process leaves.
        """
        known = {id(item) for item in of_ranks}
        found = [*chosen, *(item for item in self._attempt.exits if id(item) not in known)]
        left_well = self._first_good()
        return [item for item in found if is_bad(item) and not (item.signal == 15 and item.order > left_well)]

    def _first_good(self) -> float:
        logs = self._attempt.ranks.values()
        good = [item.order for item in self._attempt.exits if item.code == 0]
        good += [log.finished_order for log in logs if log.finished and LEFT_WELL.search(log.finished.text)]
        return self._first(good)

    def is_stopped(self, ending: Exit | None, pid: int | None) -> bool:
        """True where the launcher's or scheduler's own signal ended the process."""
        if ending is None:
            return pid in self._stopped
        if ending.signal == 15:
            return not self._was_terminated_first(ending)
        pid = ending.pid if ending.pid is not None else pid
        return ending.signal == 9 and (
            pid in self._stopped
            or pid in self._escalated
            or self._after_cancel(ending)
            or self._after_grace(ending)
            or (is_by_rank(ending) and self._others_left_by_themselves())
        )

    def _others_left_by_themselves(self) -> bool:
        return any(is_own(item) and item.signal != 9 for item in self._attempt.exits)

    def _was_terminated_first(self, ending: Exit) -> bool:
        """Where no agent sends SIGTERM, a rank reported as terminated before any other left was ended from outside."""
        if is_by_rank(ending) and self._others_left_by_themselves():
            return False
        others = [item for item in self._attempt.exits if item.rank != ending.rank and is_bad(item)]
        agent = self._stopped or self._has_table or self.cancelled_before(ending)
        return not agent and bool(others) and all(item.order > ending.order and item.signal != 15 for item in others)

    def cancelled_before(self, ending: Exit) -> bool:
        """True where the scheduler had spoken of a failure before."""
        return self._scheduler < ending.order

    def _after_cancel(self, ending: Exit) -> bool:
        """Srun's ``Killed`` after ``Terminating StepId`` is the step's end, not a cause."""
        if ending.witness == _TABLE or self._cancelled >= ending.order:
            return False
        return any(item is not ending and (item.code or item.signal in FATAL_SIGNALS) for item in self._attempt.exits)

    def _after_grace(self, ending: Exit) -> bool:
        """True for a kill that the table dates ``GRACE`` behind another failure on the node: it outlived SIGTERM."""
        if ending.witness != _TABLE or ending.time is None:
            return False
        others = (item for item in self._attempt.exits if item.witness == _TABLE and item.node == ending.node)
        return any(
            item.time is not None and ending.time - item.time >= GRACE and item.signal not in (9, 15) for item in others
        )


def _is_scheduler(signature: str, catalog: Catalog) -> bool:
    return catalog.get(signature).family == "scheduler"
