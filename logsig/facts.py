"""Reads from ordinary lines what the job is: sizes, versions, launcher, settings, who is who, how far each rank came.

Takes clean lines, gives ``JobNotes``. Each kind of statement is one entry of a table: a needle (cheap test) and a
pattern. Knows nothing of failures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache, lru_cache
from typing import Any

from logsig import digits, progress
from logsig.late import late
from logsig.model import LogLine
from logsig.record import dataclass

MAX_LINE = 2_000
"""Characters of a line in which statements are looked for."""

_WORLD = (
    ("world size", late(r"\bworld size[:=\s]+(\d+)", re.IGNORECASE)),
    ("world_size", late(r"\bworld_size['\"]?\s*[:=]\s*(\d+)", re.IGNORECASE)),
    ("WORLD_SIZE", late(r"\bWORLD_SIZE['\"]?\s*[:=]\s*(\d+)")),
    ("nranks", late(r"\bnranks (\d+)")),
    ("MEMBER:", late(r"MEMBER: \d+/(\d+)")),
    ("Starting with", late(r"All distributed processes registered\. Starting with (\d+) processes")),
    ("global rank:", late(r"initialization options: size: (\d+), global rank")),
    ("num_processes", late(r"\bNum processes: (\d+)|\bnum_processes['\"]?\s*[:=]\s*(\d+)", re.IGNORECASE)),
    ("training worker group of size", late(r"training worker group of size (\d+)")),
)
_LOCAL_SIZE = (
    ("nproc", late(r"--nproc[-_]per[-_]node[= ](\d+)|\bnproc_per_node\s*[:=]\s*(\d+)")),
    ("LOCAL_WORLD_SIZE", late(r"\bLOCAL_WORLD_SIZE['\"]?\s*[:=]\s*(\d+)")),
)
_NNODES = (
    ("nnodes", late(r"--nnodes[= ](\d+)\b(?!:)|\bnnodes\s*[:=]\s*(\d+)")),
    ("max_nodes", late(r"\bmax_nodes\s*:\s*(\d+)")),
)
_VERSIONS = (
    (
        "torch",
        "orch",
        late(
            r"\b(?:PyTorch|torch)(?:[ _]version)?\s*[:= ]\s*v?(\d+\.\d+(?:\.\d+)?(?:[ab]\d+)?(?:\+\w+)?)", re.IGNORECASE
        ),
    ),
    (
        "torch",
        "pytorch",
        late(r"\bpytorch(?:[ _]version)?\s*[:= ]\s*v?(\d+\.\d+(?:\.\d+)?(?:\+\w+)?)", re.IGNORECASE),
    ),
    ("nccl", "NCCL version", late(r"NCCL version:? (\d+\.\d+(?:\.\d+)?)")),
    ("cuda", "+cuda", late(r"NCCL version [\d.]+\+cuda(\d+\.\d+)")),
    ("cuda", "CUDA", late(r"\bCUDA(?: version| runtime)?\s*[:=]?\s+(\d{1,2}\.\d+)\b", re.IGNORECASE)),
    ("driver", "river", late(r"\bdriver version:?\s*(\d{3}\.\d+(?:\.\d+)?)", re.IGNORECASE)),
    ("python", "/python3.", late(r"/python(3\.\d+)/")),
    (
        "transformers",
        "ransformers",
        late(r"\btransformers(?:[ _]version)?\s*[:= ]+\s*\"?v?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE),
    ),
    ("deepspeed", "eepSpeed", late(r"DeepSpeed info: version=(\d+\.\d+\.\d+)")),
)
_FLAGS = (
    ("static_graph", "static_graph", late(r"\bstatic_graph['\"]?\s*[:=]\s*(True|true|1)\b(?!\.)")),
    (
        "find_unused_parameters",
        "find_unused_parameters",
        late(r"\bfind_unused_parameters['\"]?\s*[:=]\s*(True|true|1)\b"),
    ),
    ("accumulation", "accum", late(r"\b(?:gradient_)?accumul\w*['\"]?\s*[:=]\s*(\d+)\b", re.IGNORECASE)),
    (
        "gradient_checkpointing",
        "gradient_checkpointing",
        late(r"\bgradient_checkpointing['\"]?\s*[:=]\s*(True|true|1)\b"),
    ),
    (
        "detail",
        "TORCH_DISTRIBUTED_DEBUG",
        late(r"\bTORCH_DISTRIBUTED_DEBUG['\"]?\s*[:=]\s*['\"]?(DETAIL|INFO|OFF)"),
    ),
    (
        "cuda_launch_blocking",
        "CUDA_LAUNCH_BLOCKING",
        late(r"\bCUDA_LAUNCH_BLOCKING['\"]?\s*[:=]\s*['\"]?(1)\b"),
    ),
    ("zero_stage", "zero", late(r"\bzero_(?:optimization_)?stage['\"]?\s*[:=\.]*\s*(\d)\b", re.IGNORECASE)),
)
_HEARSAY = late(
    r"keyword argument|by setting|must enable|consider|you can|Try|could|please|if you|set\s+`|warn\(", re.IGNORECASE
)
_FRAMEWORKS = (
    ("mmengine", ("/mmengine/", "/mmcv/")),
    (
        "lightning",
        (
            "/lightning/",
            "/pytorch_lightning/",
            "/lightning_fabric/",
            "PyTorch Lightning",
            "Initializing distributed: GLOBAL_RANK",
        ),
    ),
    ("megatron", ("/megatron/", "/Megatron", "megatron-lm", "Megatron-LM")),
    ("nemo", ("[NeMo ",)),
    ("transformers", ("/transformers/trainer", "{'train_runtime'", "/trl/trainer")),
    ("vllm", ("/vllm/",)),
    ("deepspeed", ("/deepspeed/", "[deepspeed]", "DeepSpeed info")),
    ("torchtitan", ("[titan]", "/torchtitan/")),
    ("ray", ("(RayTrainWorker", "/ray/train/")),
    ("accelerate", ("/accelerate/",)),
    ("fsdp", ("/torch/distributed/fsdp/",)),
)
"""Outer frameworks before what they are built on: the first that was seen counts."""
_LAUNCHERS = (
    (
        "torchrun",
        (
            "torch/distributed/run",
            "torch/distributed/elastic",
            "torch.distributed.elastic",
            "bin/torchrun",
            "torch.distributed.run",
            "/distributed/launcher/api.py",
        ),
    ),
    ("deepspeed", ("[launch.py:", "[runner.py:")),
    ("srun", ("srun: ", "slurmstepd")),
    (
        "mpirun",
        ("mpirun noticed", "mpirun detected", "mpirun has exited", "prterun ", "BAD TERMINATION OF ONE OF YOUR"),
    ),
    ("ray", ("(RayTrainWorker", "(raylet", "ray.train.", "ray.exceptions.")),
    ("spawn", ("torch.multiprocessing.spawn", "torch/multiprocessing/spawn.py")),
    ("accelerate", ("accelerate/commands/launch.py", "accelerate launch")),
    ("vllm", ("/vllm/v1/executor/multiproc_executor.py",)),
)
_LAYER_LAUNCHER = {
    "ray": "ray",
    "ray-repeated": "ray",
    "openmpi": "mpirun",
    "openmpi-xml": "mpirun",
    "srun": "srun",
    "tee": "torchrun",
    "vllm-process": "vllm",
}
"""Prefix -> the launcher that writes it."""

_NCCL_INIT = late(
    r"\bcomm 0x\w+ rank (?P<rank>\d+) nranks (?P<n>\d+) cudaDev (?P<dev>\d+)(?: nvmlDev (?P<nvml>\d+))? "
    r"busId (?P<bus>\w+)(?: commId (?P<comm>\w+))? - Init (?:START|COMPLETE)"
)
_SPAWNED = late(r"process (?P<pid>\d+) spawned with command: .*--local_rank=(?P<local>\d+)")
_RAY_RANK = late(
    r"^- \((?:node_id=\w+, )?ip=(?P<ip>[^,]+), pid=(?P<pid>\d+)\) world_rank=(?P<rank>\d+), local_rank=(?P<local>\d+), "
    r"node_rank=(?P<node>\d+)"
)
_RAY_SETUP = late(r"\[rank=(?P<rank>\d+), world_size=(?P<size>\d+)\]")
_RANK_INIT = late(r"\bdistributed init \(rank (?P<rank>\d+)\)")
_GLOBAL_RANKS = late(
    r"^\s*(?P<key>group_rank|local_ranks|global_ranks|restart_count|global_world_sizes|"
    r"master_addr)=(?P<value>\[[^\]]*\]|[\w.:-]+)"
)
_RANK_PID = late(
    r"\b[Rr]ank[ =:]+(?P<rank>\d+)\b[^\n]{0,40}?\bpid[ =:]+(?P<pid>\d+)|"
    r"\bpid[ =:]+(?P<pid2>\d+)\b[^\n]{0,40}?\b[Rr]ank[ =:]+(?P<rank2>\d+)\b"
)

_NEEDLES = {
    "sizes": tuple(needle for needle, _ in (*_WORLD, *_LOCAL_SIZE, *_NNODES)),
    "versions": tuple(needle for _, needle, _ in (*_VERSIONS, *_FLAGS)),
    "who": (" busId ", "spawned with command", "world_rank=", "[rank=", "pid", "distributed init (rank"),
    "rendezvous": ("group_rank=", "_ranks=", "restart_count=", "global_world_sizes=", "master_addr="),
    "step": progress.NEEDLES,
    "signs": tuple(needle for _, needles in (*_FRAMEWORKS, *_LAUNCHERS) for needle in needles),
}
"""Topic -> what a line must hold to say anything on it."""


@lru_cache(maxsize=progress.SHAPES)
def _topics(shape: bytes) -> frozenset[str]:
    """On which topics lines of this shape may say something."""
    found = {topic for topic, needles in _shapes() if any(needle in shape for needle in needles)}
    return frozenset(found | {"end"} if progress.SAYS_END.search(progress.words_of(shape)) else found)


@cache
def _shapes() -> list[tuple[str, list[bytes]]]:
    return [(topic, [progress.shape_of(needle) for needle in needles]) for topic, needles in _NEEDLES.items()]


@dataclass(slots=True)
class JobNotes:
    """What ordinary lines said of the job."""

    world_size: int | None = None
    local_size: int | None = None
    nnodes: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    framework: str | None = None
    launcher: str | None = None
    device_rank: dict[tuple[str, int], int] = field(default_factory=dict)
    """(host, device) -> global rank, from NCCL's init lines of the largest communicator."""
    host_pid_rank: dict[tuple[str, int], int] = field(default_factory=dict)
    bus_rank: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """Bus id (hex, as NCCL prints) -> (host, rank)."""
    pid_rank: dict[int, int] = field(default_factory=dict)
    pid_local: dict[int, int] = field(default_factory=dict)
    node_ranks: dict[str, dict[int, int]] = field(default_factory=dict)
    """Node label or file -> local rank -> global rank, from torchelastic's rendezvous result."""
    progress: list[progress.Progress] = field(default_factory=list)
    finished: list[tuple[int, LogLine]] = field(default_factory=list)
    exhausted: list[tuple[int, LogLine]] = field(default_factory=list)
    restarts: list[tuple[int, int]] = field(default_factory=list)
    """(order, restart count) as torchelastic announced them."""


def read_notes(lines: Iterable[LogLine]) -> JobNotes:
    """Reads all statements; where lines disagree the most frequent world size and the first version win."""
    reader = _Reader()
    for order, line in enumerate(lines):
        reader.take(order, line)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.notes = JobNotes()
        self.world: Counter[int] = Counter()
        self.nccl_world = 0
        self.frameworks: Counter[str] = Counter()
        self.launchers: Counter[str] = Counter()
        self.group: dict[str, dict[str, str]] = {}
        self.pid_ranks: dict[int, set[int]] = {}
        self.announced: set[int] = set()

    def take(self, order: int, line: LogLine) -> None:
        text = line.text[:MAX_LINE]
        if not text:
            return
        topics = _topics(progress.shape_of(text))
        if "sizes" in topics:
            self._sizes(text)
        if "versions" in topics:
            self._versions_and_flags(text)
        if "who" in topics:
            self._who_is_who(line, text)
        if "rendezvous" in topics:
            self._rendezvous(order, line, text)
        if "step" in topics:
            self._step(order, line, text)
        if "end" in topics:
            self._end(order, line, text)
        if "signs" in topics:
            self._signs(text)
        self._labels(line)

    def _labels(self, line: LogLine) -> None:
        """What the line's prefixes tell, whatever it says."""
        if line.rank is not None and line.pid is not None:
            self.pid_ranks.setdefault(line.pid, set()).add(line.rank)
        for layer in line.layers:
            if layer in _LAYER_LAUNCHER:
                self.launchers[_LAYER_LAUNCHER[layer]] += 1

    def _sizes(self, text: str) -> None:
        for needle, pattern in _WORLD:
            if needle in text and (found := pattern.search(text)):
                self.world[digits.number(next(value for value in found.groups() if value))] += 1
        for table, name in ((_LOCAL_SIZE, "local_size"), (_NNODES, "nnodes")):
            for needle, pattern in table:
                if needle in text and (found := pattern.search(text)):
                    setattr(self.notes, name, digits.number(next(value for value in found.groups() if value)))

    def _versions_and_flags(self, text: str) -> None:
        for name, needle, pattern in _VERSIONS:
            if needle in text and name not in self.notes.versions and (found := pattern.search(text)):
                self.notes.versions[name] = found[1]
        for name, needle, pattern in _FLAGS:
            if needle in text and (found := pattern.search(text)) and not _HEARSAY.search(text):
                self.notes.flags.setdefault(
                    name,
                    digits.number(found[1])
                    if found[1].isdecimal() and name in ("accumulation", "zero_stage")
                    else (found[1] if name == "detail" else True),
                )

    def _who_is_who(self, line: LogLine, text: str) -> None:
        if " busId " in text and (found := _NCCL_INIT.search(text)):
            self._nccl(line, found)
        elif "spawned with command" in text and (found := _SPAWNED.search(text)):
            self.notes.pid_local[digits.number(found["pid"])] = digits.number(found["local"])
        elif "world_rank=" in text and (found := _RAY_RANK.search(text)):
            self.notes.pid_rank[digits.number(found["pid"])] = digits.number(found["rank"])
            self.notes.host_pid_rank[(found["ip"], digits.number(found["pid"]))] = digits.number(found["rank"])
        elif line.pid is not None and "[rank=" in text and (found := _RAY_SETUP.search(text)):
            self.notes.pid_rank[line.pid] = digits.number(found["rank"])
            self.world[digits.number(found["size"])] += 1
        elif "distributed init (rank" in text and (found := _RANK_INIT.search(text)):
            self.announced.add(digits.number(found["rank"]))
        elif "pid" in text and (found := _RANK_PID.search(text)):
            pid, rank = found["pid"] or found["pid2"], found["rank"] or found["rank2"]
            self.notes.pid_rank.setdefault(digits.number(pid), digits.number(rank))

    def _nccl(self, line: LogLine, found: re.Match[str]) -> None:
        """The largest communicator is the job's; its ranks are global ranks."""
        size, rank = digits.number(found["n"]), digits.number(found["rank"])
        if size < self.nccl_world:
            return
        if size > self.nccl_world:
            self.nccl_world = size
            self.notes.device_rank.clear()
            self.notes.host_pid_rank.clear()
            self.notes.bus_rank.clear()
        host = line.node or ""
        if line.device is not None:
            self.notes.device_rank[(host, line.device)] = rank
        if line.pid is not None:
            self.notes.host_pid_rank[(host, line.pid)] = rank
        entry = (host, rank)
        if entry not in self.notes.bus_rank.setdefault(found["bus"].lower(), []):
            self.notes.bus_rank[found["bus"].lower()].append(entry)

    def _rendezvous(self, order: int, line: LogLine, text: str) -> None:
        found = _GLOBAL_RANKS.match(text)
        if not found:
            return
        block = self.group.setdefault(f"{line.source.path}|{line.node}|{line.task}|{line.pid}", {})
        block[found["key"]] = found["value"]
        if found["key"] == "restart_count" and found["value"].isdecimal():
            self.notes.restarts.append((order, digits.number(found["value"])))
        if found["key"] == "global_ranks" and "local_ranks" in block:
            local = [digits.number(number) for number in re.findall(r"\d+", block["local_ranks"])]
            ranks = [digits.number(number) for number in re.findall(r"\d+", found["value"])]
            key = line.node or line.source.path
            self.notes.node_ranks.setdefault(key, {}).update(zip(local, ranks, strict=False))
        if found["key"] == "global_world_sizes" and (sizes := re.findall(r"\d+", found["value"])):
            self.world[digits.number(sizes[0])] += 5

    def _step(self, order: int, line: LogLine, text: str) -> None:
        if not text.lstrip().startswith(('File "', "Traceback")):
            step = progress.read_step(text)
            if step is not None:
                self.notes.progress.append(progress.Progress(order, line, *step))

    def _end(self, order: int, line: LogLine, text: str) -> None:
        if progress.says_finished(text):
            self.notes.finished.append((order, line))
        elif progress.says_exhausted(text):
            self.notes.exhausted.append((order, line))

    def _signs(self, text: str) -> None:
        for table, counts in ((_FRAMEWORKS, self.frameworks), (_LAUNCHERS, self.launchers)):
            for name, needles in table:
                if any(needle in text for needle in needles):
                    counts[name] += 1
                    break

    def finish(self) -> JobNotes:
        notes = self.notes
        if self.world:
            notes.world_size = max(self.world, key=lambda size: (self.world[size], size))
        elif self.nccl_world:
            notes.world_size = self.nccl_world
        elif len(self.announced) > 1 and max(self.announced) < len(self.announced):
            notes.world_size = len(self.announced)  # every rank from 0 on said that it joins
        elif len(notes.pid_local) > 1 and len(set(notes.pid_local.values())) == len(notes.pid_local):
            notes.world_size = len(notes.pid_local)  # one launcher's processes, each local rank once: one node
        elif notes.local_size and notes.nnodes:
            notes.world_size = notes.local_size * notes.nnodes
        for pid, ranks in self.pid_ranks.items():  # a pid with several ranks is a launcher's, or a log shipper's
            if len(ranks) == 1:
                notes.pid_rank.setdefault(pid, next(iter(ranks)))
        notes.framework = _most(self.frameworks, _FRAMEWORKS)
        notes.launcher = _most(self.launchers, _LAUNCHERS)
        return notes


def _most(counts: Counter[str], order: tuple[tuple[str, Any], ...]) -> str | None:
    """The first in the table's order that was seen: outer frameworks stand before what they are built on."""
    return next((name for name, _ in order if counts.get(name)), None)


def job_facts(notes: JobNotes) -> Mapping[str, Any]:
    """The notes as facts for remedies and the report."""
    return {
        "world_size": notes.world_size,
        "launcher": notes.launcher,
        "framework": notes.framework,
        "versions": dict(notes.versions),
        "flags": dict(notes.flags),
    }
