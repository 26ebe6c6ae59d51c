"""What the place of a file says about its lines: takes paths, gives ``Origin``; knows the layouts of launchers.

Only the name itself and the few folders that a layout prescribes count: ``/home/rank1/train.log`` says nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace

from logsig.model import Origin

RANK = re.compile(r"(?<![a-z])(?:global[_.-]?)?rank[_.=-]?(\d{1,6})(?!\d)", re.IGNORECASE)
LOCAL_RANK = re.compile(r"local[_.-]?rank[_.=-]?(\d{1,4})(?!\d)", re.IGNORECASE)
OTHER_RANK = re.compile(r"(?:local|node|group|role)[_.-]?rank[_.=-]?\d+", re.IGNORECASE)
NODE = re.compile(r"(?<![a-z])((?:node|host)[_-]?(?:rank[_-]?)?\d+|ip(?:-\d{1,3}){4})(?![a-z0-9])", re.IGNORECASE)
POD = re.compile(r"^([a-z0-9][a-z0-9.-]*-(?:master|worker|node|leader)-\d+(?:-\d+)?(?:-[a-z0-9]{5})?)(?:\.|$)")
STREAM = re.compile(r"(?:^|[._-])(stdout|stderr)(?:[._-]|$)|\.(err)(?:\.\w+)?$", re.IGNORECASE)
SLURM_TASK = re.compile(r"^(?:slurm|[\w.-]+?)[-_]\d{3,}[_-](\d{1,6})\.(?:out|log|err)$")
ATTEMPT = re.compile(r"^attempt_(\d{1,6})$")
POD_FOLDER = re.compile(r"^[a-z0-9.-]+_([a-z0-9.-]+)_[0-9a-f-]{8,}$")
POD_FILE = re.compile(r"^([a-z0-9][a-z0-9.-]*)_[a-z0-9.-]+_[a-z0-9.-]+-[0-9a-f]{64}\.log")
RESTART = re.compile(r"^(\d{1,4})\.log")
ERROR_FILE = "error.json"
INSIDE = "py_callstack"
"""What of an error file is read."""

NOT_LOGS = re.compile(
    r"\.(?:ptl?|pth|ckpt|safetensors|bin|np[yz]|pkl|pickle|h5|hdf5|parquet|arrow|feather|onnx|model|lock|pid|so|o|a|whl|pyc?|pyi|ipynb"
    r"|ya?ml|json|toml|cfg|ini|conf|csv|tsv|md|rst|html?|css|js|xml|png|jpe?g|gif|svg|webp|pdf|mp4|wav|sh|sbatch|slurm|sock|db|sqlite3?"
    r"|distcp|metadata|nsys-rep|qdrep|prof|trace|tfevents[\w.-]*|cpp|cu|cuh|h|hpp|c|proto|patch|diff)$"
    r"|^(?:requirements|constraints|readme|license|notice|cmakelists|version)[\w.-]*(?:\.txt)?$|\.tfevents\.|^\.",
    re.IGNORECASE,
)
PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4|z)$", re.IGNORECASE)
DUPLICATE = re.compile(r"^filtered_std(?:out|err)\.log$")
ROTATED = re.compile(r"^(?P<base>.+?\.(?:log|out|err|txt))[.-](?P<number>\d[\d-]*)$")


def origin_of(path: str, below: str = "") -> Origin:
    """Reads the path; ``below`` is the directory the user named, whose own name and parents don't count."""
    parts = path[len(below) :].replace("\\", "/").strip("/").split("/")
    name, folders = parts[-1], parts[:-1]
    stem = PACKED.sub("", name)
    origin = Origin(path, stream=_stream(stem))
    return _of_elastic(origin, folders, stem) or _of_pods(origin, folders, stem) or _of_names(origin, folders, stem)


def origin_inside(container: Origin, name: str) -> Origin:
    """Gives the origin of a container's member."""
    inner = origin_of(name)
    return replace(
        inner,
        path=f"{container.path}!/{name}",
        rank=_either(inner.rank, container.rank),
        node=inner.node or container.node,
    )


def why_not_a_log(name: str) -> str | None:
    """Tells why a file found below a directory isn't read, by its name; None where it may be a log."""
    stem = PACKED.sub("", name)
    if stem == ERROR_FILE:
        return None
    if DUPLICATE.match(stem):
        return "repeats lines of the workers' own files"
    return "not a log by its name" if NOT_LOGS.search(stem) else None


def order(path: str) -> tuple[object, ...]:
    """Sorts paths as people count (rank 2 before rank 10), rotated files oldest first, error files behind the logs."""
    folder, _, name = path.replace("\\", "/").partition(f"!/{INSIDE}")[0].rpartition("/")
    stem = PACKED.sub("", name)
    is_error = stem == ERROR_FILE
    match = ROTATED.match(stem)
    if match is None:
        return (_natural(folder), is_error, _natural(stem), 1, 0, name)
    number = int(match["number"].replace("-", "") or 0)
    return (_natural(folder), is_error, _natural(match["base"]), 0, number if number > 9999 else -number, name)


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part)


def _stream(stem: str) -> str | None:
    match = STREAM.search(stem)
    if match is None:
        return None
    return "stderr" if match[2] else match[1].lower()


def _of_elastic(origin: Origin, folders: list[str], stem: str) -> Origin | None:
    """The layout of torchrun: ``<run>/attempt_<k>/<local rank>/{stdout.log,stderr.log,error.json}``."""
    if len(folders) < 2 or not (attempt := ATTEMPT.match(folders[-2])) or not folders[-1].isdigit():
        return None
    role = "error_file" if stem == ERROR_FILE else "worker"
    node = _first(NODE, folders[:-2])
    return replace(origin, attempt=int(attempt[1]), local_rank=int(folders[-1]), role=role, node=node)


def _of_pods(origin: Origin, folders: list[str], stem: str) -> Origin | None:
    """Those of Kubernetes: ``<ns>_<pod>_<uid>/<container>/<restart>.log``, ``<pod>_<ns>_<container>-<id>.log``."""
    if len(folders) >= 2 and (pod := POD_FOLDER.match(folders[-2])) and (restart := RESTART.match(stem)):
        return replace(origin, node=pod[1], attempt=int(restart[1]))
    if match := POD_FILE.match(stem):
        return replace(origin, node=match[1])
    return None


def _of_names(origin: Origin, folders: list[str], stem: str) -> Origin:
    """Names that say rank or node: ``rank_3.log``, ``1/rank.3/stdout``, ``node-0.log``, ``node1/rank3.err``."""
    near = [stem, *reversed(folders[-2:])]
    local = _first(LOCAL_RANK, near)
    rank = _first(RANK, [OTHER_RANK.sub("", text) for text in near])
    task = SLURM_TASK.match(stem)
    return replace(
        origin,
        rank=None if rank is None else int(rank),
        local_rank=None if local is None else int(local),
        node=_first(POD, near[:1]) or _first(NODE, near),
        task=int(task[1]) if task and rank is None else None,
    )


def _first(pattern: re.Pattern[str], texts: list[str]) -> str | None:
    return next((match[1] for text in texts if (match := pattern.search(text))), None)


def _either(one: int | None, other: int | None) -> int | None:
    return other if one is None else one
