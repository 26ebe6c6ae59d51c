"""What the place of a file says about its lines: takes paths, gives ``Origin``; knows the layouts of launchers.

Only the name itself and the few folders that a layout prescribes count: ``/home/rank1/train.log`` says nothing.
Patterns are compiled when a name has their word: most have none, and each costs a millisecond of every start.
"""

from __future__ import annotations

import re
from dataclasses import replace

from logsig import digits
from logsig.model import Origin

RANK = r"(?<![a-z])(?:global[_.-]?)?rank[_.=-]?(\d{1,6})(?!\d)"
ONE_RANK = (
    r"(?:[\w.+=-]*[_.-])?(?:global[_.-]?|local[_.-]?)?rank[_.=-]?\d{1,6}(?:[_.-](?:\d[\dtz:]*"
    r"|(?:node|host|gpu|pid|job|attempt|local[_.-]?rank|world|of)[_.-]?\d+"
    r"|log|out|err|txt|std(?:out|err)|output|train|worker|rank|gz|bz2|xz|zst|lz4))*"
)
"""How launchers and scripts call the file of one rank: the rank last, behind it at most numbers, times and streams."""
RANK_FOLDER = r"(?:global|local)?[_.-]?rank[_.=-]?\d{1,6}"
"""A folder of one rank is called so and no more: ``lora-rank16`` is an experiment."""
LOCAL_RANK = r"local[_.-]?rank[_.=-]?(\d{1,4})(?!\d)"
OTHER_RANK = r"(?:local|node|group|role)[_.-]?rank[_.=-]?\d+"
NODE = r"(?<![a-z])((?:node|host)[_-]?(?:rank[_-]?)?\d+|ip(?:-\d{1,3}){4})(?![a-z0-9])"
POD = r"^([a-z0-9][a-z0-9.-]*-(?:master|worker|node|leader)-\d+(?:-\d+)?(?:-[a-z0-9]{5})?)(?:\.|$)"
TASK = r"^(?:(?:slurm|[\w.-]+?)[-_]\d{3,}[_-](\d{1,6})\.(?:out|log|err)|std_log_process_(\d{1,6})\.txt)$"
"""Files of one task each, a rank or a node's launcher: Slurm's, by job and task; Azure Machine Learning's."""
POD_FOLDER = r"^[a-z0-9.-]+_([a-z0-9.-]+)_[0-9a-f-]{8,}$"
POD_FILE = r"^([a-z0-9][a-z0-9.-]*)_[a-z0-9.-]+_[a-z0-9.-]+-[0-9a-f]{64}\.log"
ROTATED = r"^(?P<base>.+?\.(?:log|out|err|txt))[.-](?P<number>\d[\d-]*)$"
ATTEMPT = "attempt_"
ERROR_FILE = "error.json"
INSIDE = "py_callstack"
"""What of an error file is read."""

PACKED = (".gz", ".bz2", ".xz", ".zst", ".lz4")
KINDS = (
    "pt pth ptl ckpt safetensors bin npy npz pkl pickle h5 hdf5 parquet arrow feather onnx model distcp metadata",
    "lock pid sock so o a whl py pyc pyi ipynb sh sbatch slurm c cpp cu cuh h hpp proto patch diff yaml yml json toml",
    "cfg ini conf csv tsv md rst htm html css js xml png jpg jpeg gif svg webp pdf mp4 wav db sqlite sqlite3 nsys-rep",
    "qdrep prof",
)
OTHER_KINDS = frozenset(" ".join(KINDS).split())
OTHER_NAMES = ("requirements", "constraints", "readme", "license", "notice", "cmakelists", ".")
BESIDE = ("-wal", "-shm", "-journal")
"""Ends of what SQLite keeps beside a database."""
DUPLICATES = ("filtered_stdout.log", "filtered_stderr.log")


def origin_of(path: str, below: str = "") -> Origin:
    """Reads the path; ``below`` is the directory the user named, whose own name and parents don't count."""
    parts = path[len(below) :].replace("\\", "/").strip("/").split("/")
    name, folders = parts[-1], parts[:-1]
    stem = _unpacked(name)
    origin = Origin(path, stream=_stream(stem))
    return _of_elastic(origin, folders, stem) or _of_pods(origin, folders, stem) or _of_names(origin, folders, stem)


def origin_inside(container: Origin, name: str) -> Origin:
    """Gives the origin of a container's member; what isn't printable in its name, which may be hostile, is replaced."""
    name = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name)
    name = name.removeprefix("./")  # as ``tar -C FOLDER .`` writes it
    inner = origin_of(name)
    return replace(
        inner,
        path=f"{container.path}!/{name}",
        rank=_either(inner.rank, container.rank),
        node=inner.node or container.node,
    )


def is_of_one_rank(path: str) -> bool:
    """Tells the name that a launcher gives a rank's own file from one in which somebody speaks of a rank."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return "rank" not in name.lower() or re.fullmatch(ONE_RANK, name, re.IGNORECASE) is not None


def why_not_a_log(name: str) -> str | None:
    """Tells why a file found below a directory isn't read, by its name; None where it may be a log."""
    stem = _unpacked(name).lower()
    if stem == ERROR_FILE:
        return None
    if stem in DUPLICATES:
        return "repeats lines of the workers' own files"
    kind = stem.rpartition(".")[2] if "." in stem else ""
    is_other = kind in OTHER_KINDS or stem.startswith(OTHER_NAMES) or stem.endswith(BESIDE) or ".tfevents." in stem
    return "not a log by its name" if is_other else None


def order(path: str) -> tuple[object, ...]:
    """Sorts paths as people count (rank 2 before rank 10), rotated files oldest first, error files behind the logs."""
    folder, _, name = path.replace("\\", "/").partition(f"!/{INSIDE}")[0].rpartition("/")
    stem = _unpacked(name)
    is_error = stem == ERROR_FILE
    match = re.match(ROTATED, stem)
    if match is None:
        return (_natural(folder), is_error, _natural(stem), 1, 0, name)
    number = digits.number(match["number"].replace("-", "") or "0")
    return (_natural(folder), is_error, _natural(match["base"]), 0, number if number > 9999 else -number, name)


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, digits.number(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", text) if part
    )


def _unpacked(name: str) -> str:
    """Takes the ending of a compressed file off."""
    return name.rpartition(".")[0] if name.lower().endswith(PACKED) else name


def _stream(stem: str) -> str | None:
    lower = stem.lower()
    if "stderr" in lower or lower.endswith(".err"):
        return "stderr"
    return "stdout" if "stdout" in lower else None


def _of_elastic(origin: Origin, folders: list[str], stem: str) -> Origin | None:
    """The layout of torchrun: ``<run>/attempt_<k>/<local rank>/{stdout.log,stderr.log,error.json}``."""
    if len(folders) < 2 or not folders[-2].startswith(ATTEMPT):
        return None
    attempt, local = folders[-2].removeprefix(ATTEMPT), folders[-1]
    if not (attempt.isdecimal() and local.isdecimal()):
        return None
    role = "error_file" if stem == ERROR_FILE else "worker"
    node = _first(NODE, folders[:-2])
    return replace(origin, attempt=digits.number(attempt), local_rank=digits.number(local), role=role, node=node)


def _of_pods(origin: Origin, folders: list[str], stem: str) -> Origin | None:
    """Those of Kubernetes: ``<ns>_<pod>_<uid>/<container>/<restart>.log``, ``<pod>_<ns>_<container>-<id>.log``."""
    restart = stem.partition(".log")[0]
    if len(folders) >= 2 and restart.isdecimal() and (pod := re.match(POD_FOLDER, folders[-2])):
        return replace(origin, node=pod[1], attempt=digits.number(restart))
    if "_" in stem and (pod := re.match(POD_FILE, stem)):
        return replace(origin, node=pod[1])
    return None


def _of_names(origin: Origin, folders: list[str], stem: str) -> Origin:
    """Names that say rank or node: ``rank_3.log``, ``1/rank.3/stdout``, ``node-0.log``, ``node1/rank3.err``."""
    near = [stem, *reversed(folders[-2:])]
    ranks = [
        text
        for text in near
        if "rank" in text.lower() and (text is stem or re.fullmatch(RANK_FOLDER, text, re.IGNORECASE))
    ]
    local = _first(LOCAL_RANK, ranks)
    rank = _first(RANK, [re.sub(OTHER_RANK, "", text, flags=re.IGNORECASE) for text in ranks])
    is_digital = any(character.isdecimal() for character in stem)
    task = re.match(TASK, stem) if is_digital and rank is None else None
    return replace(
        origin,
        rank=None if rank is None else digits.number(rank),
        local_rank=None if local is None else digits.number(local),
        node=(_first(POD, near[:1]) if is_digital else None) or _first(NODE, near),
        task=digits.number(task[1] or task[2]) if task else None,
    )


def _first(pattern: str, texts: list[str]) -> str | None:
    """Gives what the pattern finds in the first text that has it."""
    numbered = (text for text in texts if any(character.isdecimal() for character in text))
    return next((match[1] for text in numbered if (match := re.search(pattern, text, re.IGNORECASE))), None)


def _either(one: int | None, other: int | None) -> int | None:
    return other if one is None else one
