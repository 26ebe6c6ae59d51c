"""Maps what a line says of its writer to a global rank, as far as the log allows.

Takes lines, notes and testimony; gives ``Identity`` with ``rank_of``. Local rank, launcher task, pid, device and group
rank are never assumed to be the global rank where the log shows otherwise; where nothing tells, the answer is ``None``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from logsig.facts import JobNotes
from logsig.late import late
from logsig.model import LogLine
from logsig.witness import Testimony

_PCI = late(r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})(?:\.(?P<function>\d))?")

MIN_REPEATS = 2
"""Steps that one task must report twice in a row before it is taken for several ranks."""

Place = tuple[str, str | None, int | None, int | None]
"""Where a local rank counts: file, node, node rank, launcher task."""


class Identity:
    """What is known of who is who in one job."""

    def __init__(self, lines: Sequence[LogLine], notes: JobNotes, testimony: Sequence[Testimony]) -> None:
        self.notes = notes
        self.pid_rank: dict[int, int] = dict(notes.pid_rank)
        self.known: dict[tuple[Any, ...], int | None] = {}
        self._locals: dict[Place, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._tasks: dict[int, set[int]] = defaultdict(set)
        self._places: set[Place] = set()
        self._task_seen: set[int] = set()
        self._host_local: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._learn_lines(lines)
        self._learn_tables(testimony)
        self._learn_rendezvous()
        self.nodes_are_ranks = self._judge_nodes(lines)
        self._rank_of_node = self._one_rank_per_node(lines)
        agents = [item.line for item in testimony if item.local_rank is not None]
        nested = any(line.task is not None for line in agents)
        self.tasks_are_ranks = not nested and self._judge_tasks(lines, outside=bool(agents))

    # ------------------------------------------------------------ learning

    def _learn_lines(self, lines: Sequence[LogLine]) -> None:
        seen: set[tuple[Any, ...]] = set()
        for line in lines:
            key = (line.source.path, line.node, line.node_rank, line.task, line.local_rank, line.rank)
            if key in seen:
                continue
            seen.add(key)
            place = _place(line)
            if line.local_rank is not None:
                self._places.add(place)
                if line.rank is not None:
                    self._locals[place][line.local_rank].add(line.rank)
            if line.task is not None:
                self._task_seen.add(line.task)
                if line.rank is not None:
                    self._tasks[line.task].add(line.rank)

    def _learn_tables(self, testimony: Iterable[Testimony]) -> None:
        for item in testimony:
            if item.rank is None:
                continue
            if item.pid is not None:
                self.pid_rank.setdefault(item.pid, item.rank)
            if item.local_rank is not None and item.witness == "elastic-child-failed":
                self._locals[_place(item.line)][item.local_rank].add(item.rank)
                if item.host:
                    self._host_local[(item.host, item.local_rank)].add(item.rank)

    def _learn_rendezvous(self) -> None:
        for key, mapping in self.notes.node_ranks.items():
            for local, rank in mapping.items():
                for place in {*self._places, *self._locals}:
                    if key in (place[0], place[1]):
                        self._locals[place][local].add(rank)

    def _judge_tasks(self, lines: Sequence[LogLine], *, outside: bool) -> bool:
        """A launcher's task is a rank with one task per rank; with one torchrun per node it is a node.

        ``outside``: torchrun's own lines stand outside of the labels, so the labels are its workers'.
        """
        if any(len(ranks) > 1 for ranks in self._tasks.values()):
            return False
        pairs = [(task, next(iter(ranks))) for task, ranks in self._tasks.items()]
        if pairs:
            return all(task == rank for task, rank in pairs)
        if self._task_seen == {0}:
            return False  # a label that all share tells nobody apart: it may be a node's launcher, whoever speaks
        if self._task_seen and any(line.task is not None and line.local_rank is not None for line in lines):
            return False
        if self._repeats_steps():
            return False
        agents = any(line.task is not None and "torchelastic" in line.layers for line in lines)
        if agents or (self.notes.launcher == "torchrun" and not outside):
            return False
        size = self.notes.world_size
        return size is None or not self._task_seen or max(self._task_seen) < size

    def _one_rank_per_node(self, lines: Sequence[LogLine]) -> dict[str, int]:
        """Node -> rank where there are as many nodes as ranks and no node shows two; the last one by elimination."""
        size = self.notes.world_size
        ranks: dict[str, set[int]] = defaultdict(set)
        for node, rank in {(line.node, line.rank) for line in lines if line.node is not None}:
            if rank is not None:
                ranks[node].add(rank)
            else:
                ranks.setdefault(node, set())
        if not size or len(ranks) != size or any(len(found) > 1 for found in ranks.values()):
            return {}
        if self._task_seen or self._places or self.notes.launcher == "torchrun":
            return {}  # labels below the node tell ranks apart, or an agent's own lines stand among the ranks'
        told = {node: next(iter(found)) for node, found in ranks.items() if found}
        if len(set(told.values())) < 2:
            return {}
        missing = set(range(size)) - set(told.values())
        untold = [node for node in ranks if node not in told]
        if len(untold) == 1 and len(missing) == 1:
            told[untold[0]] = missing.pop()
        return told

    def _repeats_steps(self) -> bool:
        """One task that reports each step several times over holds several ranks."""
        before: dict[int, int] = {}
        repeats: Counter[int] = Counter()
        for item in self.notes.progress:
            task = item.line.task
            if task is None or item.line.rank is not None:
                continue
            repeats[task] += before.get(task) == item.step
            before[task] = item.step
        return any(count >= MIN_REPEATS for count in repeats.values())

    def _judge_nodes(self, lines: Sequence[LogLine]) -> bool:
        """A pod is a rank with one process per pod: where ranks show, they equal the pod's index, and none is local."""
        pairs = {(line.node_rank, line.rank) for line in lines if line.node_rank is not None}
        nodes = {node for node, _ in pairs}
        told = {(node, rank) for node, rank in pairs if rank is not None}
        if len(nodes) < 2 or any(node != rank for node, rank in told) or any(line.local_rank for line in lines):
            return False
        return bool(told) or self.notes.world_size == len(nodes)

    # ------------------------------------------------------------ asking

    def rank_of(self, line: LogLine) -> int | None:
        """Gives the global rank of a line's writer; none where the log doesn't tell.

        What Slurm's daemon says bears the label of its node's first task, which is not the one it speaks of.
        """
        if line.task is not None and line.text.startswith("slurmstepd"):
            return None
        key = (
            line.source.path,
            line.rank,
            line.local_rank,
            line.node,
            line.node_rank,
            line.task,
            line.pid,
            line.device,
        )
        if key not in self.known:
            self.known[key] = self._resolve(line)
        return self.known[key]

    def _resolve(self, line: LogLine) -> int | None:
        if line.rank is not None:
            return line.rank
        if line.local_rank is not None and (rank := self.of_local(line, line.local_rank)) is not None:
            return rank
        if line.task is not None and self.tasks_are_ranks and line.local_rank is None:
            return line.task
        if line.node_rank is not None and self.nodes_are_ranks and line.local_rank is None:
            return line.node_rank
        if line.pid is not None:
            for key in ((line.node or "", line.pid), ("", line.pid)):
                if key in self.notes.host_pid_rank:
                    return self.notes.host_pid_rank[key]
            if line.pid in self.pid_rank:
                return self.pid_rank[line.pid]
        if line.device is not None and (line.node or "", line.device) in self.notes.device_rank:
            return self.notes.device_rank[(line.node or "", line.device)]
        return self._rank_of_node.get(line.node or "") if line.local_rank is None else None

    def of_local(self, line: LogLine, local: int) -> int | None:
        """Gives the global rank of a local rank at the line's place."""
        place = _place(line)
        mapping = self._locals.get(place)
        if mapping and len(mapping.get(local, ())) == 1:
            return next(iter(mapping[local]))
        if line.node and len(self._host_local.get((line.node, local), ())) == 1:
            return next(iter(self._host_local[(line.node, local)]))
        if mapping and local in mapping:  # two nodes' lines in one file: the local rank alone doesn't tell
            return None
        if mapping:
            offsets = Counter(next(iter(ranks)) - known for known, ranks in mapping.items() if len(ranks) == 1)
            return (
                local + next(iter(offsets))
                if len(offsets) == 1 and not any(len(ranks) > 1 for ranks in mapping.values())
                else None
            )
        if line.node_rank is not None and self.notes.local_size:
            return line.node_rank * self.notes.local_size + local
        return local if self._single_node() else None

    def _single_node(self) -> bool:
        if (self.notes.nnodes or 1) > 1:
            return False
        places = {
            (place[0] if "/attempt_" not in place[0] else "", place[1], place[2], place[3])
            for place in {*self._places, *self._locals}
        }
        nodes = {place[1] for place in places} | {host for host, _ in self._host_local}
        nodes.discard(None)
        shifted = any(
            next(iter(ranks)) != local for mapping in self._locals.values() for local, ranks in mapping.items() if ranks
        )
        return len(nodes) <= 1 and not shifted and len({place[3] for place in places}) <= 1

    def of_pci(self, address: str, node: str | None) -> int | None:
        """Gives the rank on a GPU, by NCCL's bus ids: a PCI address without its marks (``0000:86:00`` is ``86000``)."""
        found = _PCI.search(address.lower())
        if not found:
            return None
        bus = f"{found['domain'] or ''}{found['bus']}{found['device']}{found['function'] or '0'}".lstrip("0")
        known = self.notes.bus_rank.get(bus, [])
        here = [rank for host, rank in known if node is None or host == node]
        return here[0] if len(here) == 1 else (known[0][1] if len(known) == 1 else None)

    def of_testimony(self, item: Testimony) -> int | None:
        """Gives the global rank a witness speaks of."""
        if item.rank is not None:
            return item.rank
        if item.pid is not None and item.pid in self.pid_rank:
            return self.pid_rank[item.pid]
        if item.local_rank is not None:
            return self.of_local(item.line, item.local_rank)
        if item.pid is not None and item.pid in self.notes.pid_local:
            return self.of_local(item.line, self.notes.pid_local[item.pid])
        if item.task is not None:
            return item.task if self.tasks_are_ranks else None
        if item.host in self._rank_of_node:
            return self._rank_of_node[item.host]
        return self.rank_of(item.line)


def _place(line: LogLine) -> Place:
    return (line.source.path, line.node, line.node_rank, line.task)
