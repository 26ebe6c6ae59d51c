"""The same log as other launchers, loggers and collectors would have written it, and as tickets and terminals mangle it.

``Log.of`` takes a log in one of the plain dialects apart into lines of ranks; ``DIALECTS`` and ``MANGLINGS`` write it again.
A dialect in ``HIDES_RANK`` doesn't say which rank wrote a line: there the answer may abstain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from logsig import clocks, lines
from logsig.model import Excerpt, LogLine, Origin

_OWN_MARK = re.compile(r"\[rank[ =]?\d+\]:? ?")
_TEE = re.compile(r"\[default\d+\]:")
_LABEL = re.compile(r" *\d+: ")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_LEVELS = {"D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
_PRIORITIES = {"D": "7", "I": "6", "W": "4", "E": "3", "F": "2"}
START = datetime(2026, 11, 29, 16, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one writer."""

    rank: int | None
    """None for the launcher and whoever doesn't say."""
    own: str
    """The line with the rank mark that its process printed."""
    bare: str
    """The line without it."""
    text: str
    """The message alone."""
    time: datetime
    level: str
    stream: str


@dataclass(frozen=True, slots=True)
class Log:
    """A log as lines in order."""

    lines: tuple[Line, ...]
    world: int

    @classmethod
    def of(cls, text: str) -> Log:
        """Take apart a log that has no rank mark, torch's own, a script's, torchrun's tee on one node, or srun's label."""
        excerpt = Excerpt(Origin("x.log"), 1, 0, text.encode(), "head")
        found = lines.read([excerpt]).lines
        alone = {line.source.line for line in found} - _repeated([line.source.line for line in found])
        time = START
        made: list[Line] = []
        for line in found:
            time = max(_time(line), time) + timedelta(microseconds=50)
            made.append(_line(line, time, alone=line.source.line in alone))
        ranks = {line.rank for line in made if line.rank is not None}
        return cls(tuple(made), max(ranks, default=0) + 1)

    def text(self, dress: Callable[[Line], str]) -> str:
        """The log in another dress."""
        return "".join(f"{dress(line)}\n" for line in self.lines)


def _repeated(numbers: list[int]) -> set[int]:
    return {number for number, following in pairwise(numbers) if number == following}


def _time(line: LogLine) -> datetime:
    value = clocks.seconds(line.stamp, 2026) if line.stamp else None
    return datetime.fromtimestamp(value, UTC) if value else START


def _line(line: LogLine, time: datetime, *, alone: bool) -> Line:
    rank = line.rank if line.rank is not None else (line.local_rank if line.local_rank is not None else line.task)
    raw = _COLOUR.sub("", line.raw)
    own = _LABEL.sub("", raw, count=1) if "srun" in line.layers else _TEE.sub("", raw, count=1)
    if not alone or own.startswith("{") or (line.rank is None and rank is not None):
        own = line.text if rank is None else f"[rank {rank}] {line.text}"
    mark = _OWN_MARK.search(own, 0, 60)
    bare = own[: mark.start()] + own[mark.end() :] if mark and rank is not None else own
    level = line.level or ("E" if "Error" in line.text else "I")
    return Line(rank, own, bare, line.text, time, level, "stderr" if level in "WEF" else "stdout")


# ---------------------------------------------------------------- dialects

Dress = Callable[[Line], str]


def _rfc3339(time: datetime, digits: int = 9, zone: str = "Z") -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond:06d}{'0' * 9}"[: 20 + digits] + zone


def _marked(mark: Callable[[int], str]) -> Dress:
    """A mark before each rank's line, in place of the rank's own; nothing before the launcher's."""
    return lambda line: line.bare if line.rank is None else mark(line.rank) + line.bare


def _labelled(label: Callable[[int], str]) -> Dress:
    """A launcher's label before each rank's line as it is; nothing before the launcher's."""
    return lambda line: line.own if line.rank is None else label(line.rank) + line.own


def _collected(mark: Callable[[Line], str]) -> Dress:
    """A collector's mark before every line."""
    return lambda line: mark(line) + line.own


def _docker(line: Line) -> str:
    return json.dumps({"log": f"{line.own}\n", "stream": line.stream, "time": _rfc3339(line.time)})


def _json_line(line: Line) -> str:
    rank = {} if line.rank is None else {"rank": line.rank}
    stamp = {"ts": _rfc3339(line.time, 3, "+00:00"), "level": _LEVELS[line.level]}
    return json.dumps({**stamp, **rank, "logger": "train", "msg": line.text})


def _journal_json(line: Line) -> str:
    entry = {
        "__REALTIME_TIMESTAMP": str(int(line.time.timestamp() * 1e6)),
        "_HOSTNAME": "node-0",
        "_PID": "4711",
        "PRIORITY": "6",
        "MESSAGE": line.own,
    }
    return json.dumps(entry)


def _cloudwatch(line: Line) -> str:
    stamp = int(line.time.timestamp() * 1000)
    return json.dumps({"timestamp": stamp, "message": line.own, "ingestionTime": stamp + 900})


def _openmpi_xml(line: Line) -> str:
    escaped = line.own.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    rank = "" if line.rank is None else f' rank="{line.rank}"'
    return f"<{line.stream}{rank}>{escaped}&#010;</{line.stream}>"


def _pod(rank: int | None) -> str:
    """One process a pod; the launcher in its own."""
    if rank is None:
        return "mpi-launcher-x7k2p"
    return f"bert-worker-{rank - 1}" if rank else "bert-master-0"


def _logger(form: str) -> Dress:
    """A Python logger's format; the launcher and whoever has no rank print as they are."""

    def dress(line: Line) -> str:
        if line.rank is None:
            return line.bare
        return form.format(
            time=line.time,
            ms=line.time.microsecond // 1000,
            us=line.time.microsecond,
            level=_LEVELS[line.level],
            letter=line.level,
            rank=line.rank,
            text=line.text,
        )

    return dress


_DATE = "{time:%Y-%m-%d %H:%M:%S}"

DIALECTS: dict[str, Dress] = {
    "own": lambda line: line.own,
    "none": lambda line: line.bare,
    # launchers, by a label before what the rank printed
    "tee": _labelled(lambda rank: f"[default{rank}]:"),
    "tee-role": _labelled(lambda rank: f"[trainer{rank}]:"),
    "tee-template-named": _labelled(lambda rank: f"[default {rank}]:"),
    "srun": _labelled(lambda rank: f"{rank}: "),
    "srun-wide": _labelled(lambda rank: f"{rank:>2}: "),
    "srun-hetjob": _labelled(lambda rank: f"P0 {rank}: "),
    "openmpi": _labelled(lambda rank: f"[1,{rank}]<stdout>:"),
    "openmpi-timestamp": lambda line: (
        f"{line.time:%a %b %d %H:%M:%S %Y}"
        + ("<stderr>:" if line.rank is None else f"[1,{line.rank}]<stderr>:")
        + line.own
    ),
    "openmpi-5": _labelled(lambda rank: f"[1,{rank}]<stderr>: "),
    "openmpi-5-detailed": _labelled(lambda rank: f"[1,{rank}][node-0:{4000 + rank}]<stderr>: "),
    "openmpi-5-fullname": _labelled(lambda rank: f"[prterun-node-0-4711@1,{rank}]<stderr>: "),
    "openmpi-xml": _openmpi_xml,
    "hydra": _labelled(lambda rank: f"[{rank}] "),
    "torchx": lambda line: f"train/0 {line.own}" if line.rank is None else f"train/0 [{line.rank}]:{line.own}",
    "parallel": _labelled(lambda rank: f"rank {rank}:\t"),
    "parallel-tag": _labelled(lambda rank: f"{rank}\t"),
    "honcho": lambda line: (
        f"{line.time:%H:%M:%S} " + (f"rank{line.rank}.1  | " if line.rank is not None else "system   | ") + line.own
    ),
    "ray": _labelled(lambda rank: f"\x1b[36m(RayTrainWorker pid={5000 + rank}, ip=10.0.0.{rank + 1})\x1b[0m "),
    # launchers whose label is all there is
    "tee-template": _marked(lambda rank: f"[rank{rank}]:"),
    "srun-only": _marked(lambda rank: f"{rank}: "),
    "openmpi-only": _marked(lambda rank: f"[1,{rank}]<stderr>:"),
    "hydra-only": _marked(lambda rank: f"[{rank}] "),
    "parallel-only": _marked(lambda rank: f"rank {rank}:\t"),
    # what scripts and frameworks write
    "rank-equals": _marked(lambda rank: f"[rank={rank}] || "),
    "rank-colon": _marked(lambda rank: f"[rank: {rank}] "),
    "rank-capitals": _marked(lambda rank: f"[RANK {rank}] "),
    "rank-bar": _marked(lambda rank: f"rank {rank} | "),
    "rank-round": _marked(lambda rank: f"(rank {rank}) "),
    "rank-short": _marked(lambda rank: f"R{rank} | "),
    "logging": _logger(_DATE + ",{ms:03d} {level} [rank{rank}] train: {text}"),
    "logging-dashes": _logger(_DATE + ",{ms:03d} - train - {level} - [rank {rank}] {text}"),
    "logging-rank-first": _logger("[rank {rank}] " + _DATE + ",{ms:03d} {level} {text}"),
    "logging-brackets": _logger("[" + _DATE + ",{ms:03d}][rank{rank}][{level}] {text}"),
    "deepspeed": _logger("[" + _DATE + ",{ms:03d}] [{level}] [logging.py:96:log_dist] [Rank {rank}] {text}"),
    "loguru": _logger(_DATE + ".{ms:03d} | {level:<8} | train:main:12 - [rank {rank}] {text}"),
    "nemo": _logger("[NeMo {letter} " + _DATE + " rank{rank}:train:12] {text}"),
    "absl": _logger("{letter}{time:%m%d %H:%M:%S}.{us:06d} 4711 train.py:12] [rank {rank}] {text}"),
    "json-lines": _json_line,
    # collectors
    "github": _collected(lambda line: _rfc3339(line.time, 7) + " "),
    "github-step": _collected(lambda line: f"train\tRun torchrun\t{_rfc3339(line.time, 7)} "),
    "gitlab": _collected(lambda line: f"{_rfc3339(line.time, 6)} 0{'1E' if line.stream == 'stderr' else '0O'} "),
    "jenkins": _collected(lambda line: f"[{_rfc3339(line.time, 3)}] "),
    "jenkins-clock": _collected(lambda line: f"{line.time:%H:%M:%S}  "),
    "buildkite": _collected(lambda line: f"\x1b_bk;t={int(line.time.timestamp() * 1000)}\x07"),
    "kubectl": _collected(lambda _: "[pod/bert-master-0/pytorch] "),
    "kubectl-timestamps": _collected(lambda line: f"[pod/bert-master-0/pytorch] {_rfc3339(line.time)} "),
    "kubectl-pods": _collected(lambda line: f"[pod/{_pod(line.rank)}/pytorch] {_rfc3339(line.time)} "),
    "logfmt": _logger('ts={time:%Y-%m-%dT%H:%M:%S}.{ms:03d}Z level={level} rank={rank} logger=train msg="{text}"'),
    "composer": _logger(_DATE + ",{ms:03d}: rank{rank}[4711][MainThread]: {level}: train: {text}"),
    "rank-word": _marked(lambda rank: f"Rank {rank}: "),
    "rank-key": _marked(lambda rank: f"rank={rank} "),
    "level-first": _logger("{level} " + _DATE + ",{ms:03d} [rank {rank}] {text}"),
    "stern": _collected(lambda _: "bert-master-0 pytorch "),
    "cri": _collected(lambda line: f"{_rfc3339(line.time)} {line.stream} F "),
    "docker-json": _docker,
    "compose": _collected(lambda _: "trainer-1  | "),
    "journal-json": _journal_json,
    "journal-export": lambda line: (
        f"__CURSOR=s=1\n__REALTIME_TIMESTAMP={int(line.time.timestamp() * 1e6)}\n_HOSTNAME=node-0\nMESSAGE={line.own}\n"
    ),
    "syslog": _collected(lambda line: f"{line.time:%b %d %H:%M:%S} node-0 train[4711]: "),
    "journal-iso": _collected(lambda line: f"{line.time:%Y-%m-%dT%H:%M:%S}+0000 node-0 train[4711]: "),
    "pdsh": _collected(lambda _: "node-0: "),
    "cloudwatch": _cloudwatch,
    "aws-tail": _collected(lambda line: f"{_rfc3339(line.time, 6, '+00:00')} bert/algo-1-1764432000 "),
    "tai64n": _collected(
        lambda line: f"@{2**62 + int(line.time.timestamp()) + 37:016x}{line.time.microsecond * 1000:08x} "
    ),
    "ts": _collected(lambda line: f"{line.time:%b %d %H:%M:%S} "),
}
"""Every dialect by name."""

HIDES_RANK = frozenset({"none", "srun-only", "openmpi-only", "hydra-only", "parallel-only"})
"""Nobody says who wrote a line, or only a launcher's label does: a task is a rank only by reasoning."""

STACKS: tuple[tuple[str, str], ...] = (
    ("github", "kubectl"),
    ("kubectl-timestamps", "srun"),
    ("cri", "tee"),
    ("docker-json", "logging"),
    ("github", "openmpi"),
    ("gitlab", "rank-equals"),
    ("pdsh", "tee"),
    ("journal-json", "srun"),
    ("jenkins", "deepspeed"),
    ("buildkite", "json-lines"),
    ("cloudwatch", "openmpi-only"),
    ("compose", "loguru"),
    ("syslog", "hydra"),
    ("aws-tail", "openmpi-5"),
    ("stern", "logging-brackets"),
)
"""Pairs that occur, outer one first."""


def dressed(log: Log, *names: str) -> str:
    """The log in a dialect, or in several, outermost first."""
    *outer, inner = (DIALECTS[name] for name in names)
    made = [replace(line, own=inner(line)) for line in log.lines]
    for dress in reversed(outer):
        made = [replace(line, own=dress(line)) for line in made]
    return "".join(f"{line.own}\n" for line in made)


# ---------------------------------------------------------------- manglings


def wrapped(text: str, width: int) -> str:
    """Cut at a width, as by a terminal or a ticket system."""
    pieces = (line[start : start + width] for line in text.splitlines() for start in range(0, max(1, len(line)), width))
    return "".join(f"{piece}\n" for piece in pieces)


def coloured(text: str) -> str:
    """Colours around the first word and inside the text of every line."""

    def paint(line: str) -> str:
        middle = len(line) // 2
        return f"\x1b[36m{line[:4]}\x1b[0m{line[4:middle]}\x1b[1m{line[middle:]}\x1b[0m" if len(line) > 12 else line

    return "".join(f"{paint(line)}\n" for line in text.splitlines())


def numbered(text: str) -> str:
    """With an editor's line numbers."""
    return "".join(f"{number:>5}  {line}\n" for number, line in enumerate(text.splitlines(), 1))


def undated(text: str) -> str:
    """Without the clocks of C++ and Python loggers."""
    bare = re.sub(r"(?m)^((?:\[rank\d+\]:)?\[[IWEF])\d{3,4} \d\d:\d\d:\d\d\.\d{9} ", r"\1 ", text)
    return re.sub(r"(?m)^(\[default\d\]:)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", r"\1", bare)


def unindented(text: str) -> str:
    """Without the indentation that tracebacks have."""
    return re.sub(r"(?m)^((?:\[\w+?\d+\]:)* ?) +(?=\S)", r"\1", text)


MANGLINGS: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "coloured": coloured,
    "wrapped-80": lambda text: wrapped(_COLOUR.sub("", text), 80),
    "wrapped-100": lambda text: wrapped(_COLOUR.sub("", text), 100),
    "wrapped-137": lambda text: wrapped(_COLOUR.sub("", text), 137),
    "numbered": numbered,
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
    "undated": undated,
    "unindented": unindented,
}
"""What happens to a log on its way, by name; the answer must survive it."""
