"""Whose job a file belongs to, by its place: takes a path below a folder, gives the key of the job and why.

Knows the layouts of torchrun, Slurm, Kubernetes, Ray, W&B, SageMaker, Azure, rotated sets, a file per rank or node,
and pairs of stdout and stderr. Reads no file, and looks at one path at a time; ``grouping`` looks at them together.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from logsig import digits
from logsig.inputs import naming

ALONE = "a file by itself"
ELASTIC = "a torchrun --log-dir run"
CONSOLE = "the launcher's console beside its run"
SLURM = "Slurm's files of one job id"
TASKS = "Slurm's files of one job id, a file per task"
ARRAY = "one element of a Slurm array"
PODS = "the pods of one job in a tree like /var/log/pods"
RAY = "the logs of a Ray session"
WANDB = "a W&B run"
SAGEMAKER = "the streams of a SageMaker job"
AZURE = "the processes of an Azure Machine Learning job"
ROTATED = "a rotated log, oldest first"
PAIR = "stdout and stderr of one name"
RANKS = "a file per rank or node"
PATTERN = "--job-by"


class Key(NamedTuple):
    """What files of one job have in common."""

    kind: str
    name: str
    """A name that a person recognises: a path below the folder."""
    why: str
    number: int | None = None
    """Slurm's number behind the job id, of a task or of an array's element; the rank in a file's name."""


class Parts(NamedTuple):
    """A path below the folder the user named."""

    folders: tuple[str, ...]
    name: str
    base: str
    """The name without the endings of compression and rotation."""
    is_rotated: bool


def parts_of(relative: str) -> Parts:
    """Takes a relative path apart."""
    *folders, name = relative.replace("\\", "/").replace("!/", "/").split("/")
    stem = name.rpartition(".")[0] if name.lower().endswith(naming.PACKED) else name
    rotated = _rotated().match(stem)
    return Parts(tuple(folders), name, rotated["base"] if rotated else stem, rotated is not None)


def key_of(parts: Parts) -> Key:
    """Gives the job of a file: the first layout that knows the place."""
    for layout in (_elastic, _pods, _containers, _ray, _wandb, _sagemaker, _azure, _slurm, _ranks):
        key = layout(parts)
        if key is not None:
            return key
    return key_of_file(parts)


def key_by(pattern: re.Pattern[str], relative: str, path: str) -> Key | None:
    """Gives the job by the user's own pattern: its group ``job``, else its first group, else all it matched.

    It is looked for below the folder the user named; it may begin above, as people write the path that they see.
    """
    above = len(path) - len(relative)
    found = pattern.search(relative.replace("\\", "/")) or next(
        (match for match in pattern.finditer(path.replace("\\", "/")) if match.end() > above), None
    )
    if found is None:
        return None
    name = found["job"] if "job" in pattern.groupindex else found[1] if pattern.groups else found[0]
    return Key("pattern", name or found[0], PATTERN)


def _path(*names: str) -> str:
    return "/".join(name for name in names if name)


# ---------------------------------------------------------------- layouts that folders tell


def _elastic(parts: Parts) -> Key | None:
    """``<run>/attempt_<k>/<local rank>/stderr.log``."""
    folders = parts.folders
    if len(folders) < 2 or not folders[-2].startswith(naming.ATTEMPT) or not folders[-1].isdecimal():
        return None
    return Key("torchrun", _path(*folders[:-2]), ELASTIC)


_POD = re.compile(r"(?P<space>[a-z0-9.-]+)_(?P<pod>[a-z0-9.-]+)_[0-9a-f-]{8,}")
_POD_FILE = re.compile(r"(?P<pod>[a-z0-9][a-z0-9.-]*)_(?P<space>[a-z0-9.-]+)_[a-z0-9.-]+-[0-9a-f]{64}\.log")
_REPLICA = re.compile(
    r"-(?:master|worker|launcher|chief|leader|head|ps|evaluator|node|server|replica)-\d{1,5}(?:-\d{1,5})*(?:-[a-z0-9]{5})?$"
    r"|-\d{1,5}-\d{1,5}-[a-z0-9]{5}$"
    r"|-\d{1,5}-[a-z0-9]{5}$"
    r"|-(?:launcher|head)-[a-z0-9]{5}$"
)
"""Ends of pod names: PyTorchJob, MPIJob, JobSet and TrainJob, indexed Job, KubeRay."""


def _pods(parts: Parts) -> Key | None:
    """``<namespace>_<pod>_<uid>/<container>/<restart>.log``."""
    if len(parts.folders) < 2 or not parts.base.partition(".log")[0].isdecimal():
        return None
    found = _POD.fullmatch(parts.folders[-2])
    if found is None:
        return None
    return Key("pods", _path(*parts.folders[:-2], found["space"], _REPLICA.sub("", found["pod"])), PODS)


def _containers(parts: Parts) -> Key | None:
    """``/var/log/containers``: ``<pod>_<namespace>_<container>-<id>.log``."""
    found = _POD_FILE.match(parts.base) if "_" in parts.base else None
    if found is None:
        return None
    return Key("pods", _path(*parts.folders, found["space"], _REPLICA.sub("", found["pod"])), PODS)


_SESSION = re.compile(r"session_(?:\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d+_\d+|latest)")


def _ray(parts: Parts) -> Key | None:
    """``session_<date>_<time>_<us>_<pid>/logs/…``, the same name on every node of a cluster."""
    for folder in parts.folders:
        if _SESSION.fullmatch(folder):
            return Key("ray", folder, RAY)
    return None


_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-\w+")


def _wandb(parts: Parts) -> Key | None:
    """``wandb/run-<date>_<time>-<id>/files/output.log``."""
    for at, folder in enumerate(parts.folders):
        if _RUN.fullmatch(folder):
            return Key("wandb", _path(*parts.folders[: at + 1]), WANDB)
    return None


_ALGO = re.compile(r"(?:(?P<job>.+?)[-_])?algo-\d{1,4}(?:-\d{9,})?(?:[._-].*)?")


def _sagemaker(parts: Parts) -> Key | None:
    """``<job>/algo-1-<epoch>``, as a folder, a file, or with the slash turned into a dash by an export."""
    near = [*parts.folders[-2:], parts.base]
    for back, name in zip(range(len(near) - 1, -1, -1), near, strict=True):
        found = _ALGO.fullmatch(name)
        if found:
            above = parts.folders[: len(parts.folders) - back]
            return Key("sagemaker", _path(*above, found["job"] or ""), SAGEMAKER)
    return None


# ---------------------------------------------------------------- layouts that names tell

_SLURM = re.compile(
    r"(?P<name>slurm|[A-Za-z][\w.+=-]*?)?(?:(?<=[A-Za-z0-9])[-_.])?(?P<id>\d{3,10})"
    r"(?:(?P<sign>[_.-])(?P<task>\d{1,6}))?(?:[_.-](?P<node>[a-z][a-z0-9-]*))?\.(?P<kind>out|err|log|stdout|stderr)"
)
_DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_STREAMS = ("out", "err", "stdout", "stderr")


def _azure(parts: Parts) -> Key | None:
    """``user_logs/std_log_process_00.txt``, a file per process."""
    if re.fullmatch(r"std_log_process_\d{1,6}\.txt", parts.base) is None:
        return None
    return Key("azure", _path(*parts.folders), AZURE)


def _slurm(parts: Parts) -> Key | None:
    """``slurm-%j.out``, ``%x-%j.err``, ``%j_%t.out``, ``%j_%n``, ``%j-%N``, ``%A_%a``; the id alone tells the job."""
    found = _SLURM.fullmatch(parts.base)
    if found is None or not _is_job_id(found):
        return None
    name = found["name"] or ""
    folders = parts.folders
    if folders and folders[-1].lower() in _STREAMS:  # logs/out/4711.out beside logs/err/4711.err
        folders = folders[:-1]
    shown = _path(*folders, f"{name}-{found['id']}" if name else found["id"])
    return Key("slurm", shown, SLURM, None if found["task"] is None else digits.number(found["task"]))


def _is_job_id(found: re.Match[str]) -> bool:
    """Tells a job id from a date, a step or a counter: Slurm's own endings, or enough digits."""
    if _DATE.fullmatch(found["id"]):
        return False
    is_slurm = found["name"] == "slurm"
    is_log = found["kind"] == "log"
    if found["task"] is not None and not is_slurm and found["sign"] != "_" and (is_log or found["sign"] == "."):
        return False
    return is_slurm or not is_log or (len(found["id"]) >= 4 and not found["id"].startswith("0"))


_NUMBERED = re.compile(rf"{naming.LOCAL_RANK}|{naming.OTHER_RANK}|{naming.RANK}|{naming.NODE}", re.IGNORECASE)
_FOLDER = re.compile(rf"{naming.RANK_FOLDER}|{naming.NODE}", re.IGNORECASE)


def _ranks(parts: Parts) -> Key | None:
    """``rank_3.log``, ``run7.rank3.err``, ``node-0/rank1/stdout``, ``trainer-worker-2.log``: the number taken out."""
    base = parts.base.lower()
    if not any(map(str.isdecimal, base)) and not any(map(_FOLDER.fullmatch, parts.folders[-2:])):
        return None
    pod = re.match(naming.POD, base)
    if pod is not None:
        return Key("ranks", _path(*parts.folders, _REPLICA.sub("", pod[1])), RANKS)
    folders = list(parts.folders)
    while folders and _FOLDER.fullmatch(folders[-1]):
        folders.pop()
    inside = parts.folders[len(folders) :]
    found = _NUMBERED.search(parts.base)
    if found is None and not inside:
        return None
    if any("rank" in folder.lower() for folder in inside):  # all that lies in a rank's folder is the rank's
        return Key("ranks", _path(*folders), RANKS)
    name = _without_stream(_NUMBERED.sub("*", parts.base))
    number = (
        next((digits.number(group) for group in found.groups()[:2] if group), None) if found and not inside else None
    )
    return Key("ranks", _path(*folders, name), RANKS, number)


def is_part(folder: str) -> bool:
    """Tells a folder that only together with what lies above it says whose files it holds."""
    patterns = (_SESSION, _RUN, _POD, _ATTEMPT)
    return any(pattern.fullmatch(folder) for pattern in patterns)


_ATTEMPT = re.compile(rf"{naming.ATTEMPT}\d+")


def is_node(folder: str) -> bool:
    """Tells a folder that is called as a node and no more."""
    return re.fullmatch(naming.NODE, folder, re.IGNORECASE) is not None


_STREAM = re.compile(r"(?:^|[._-])(?:stdout|stderr|out|err|log|txt)(?=[._-]|$)", re.IGNORECASE)


def _without_stream(name: str) -> str:
    """Takes ``.out``, ``.err``, ``.stdout.log`` off."""
    return _STREAM.sub("", name).lstrip("._-")


def key_of_file(parts: Parts) -> Key:
    """One file; with its rotated predecessors, and with the other stream under the same name."""
    is_stream = re.search(r"(?:^|[._-])(?:out|err|stdout|stderr)(?:[._-]|$)", parts.base, re.IGNORECASE)
    if is_stream:
        return Key("file", _path(*parts.folders, _without_stream(parts.base) or parts.base), PAIR)
    return Key("file", _path(*parts.folders, parts.base), ROTATED if parts.is_rotated else ALONE)


_COMPILED: list[re.Pattern[str]] = []


def _rotated() -> re.Pattern[str]:
    if not _COMPILED:
        _COMPILED.append(re.compile(naming.ROTATED))
    return _COMPILED[0]
