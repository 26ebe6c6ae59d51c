"""Puts files into jobs: takes files with their places, gives jobs, each with what made it one.

``layout`` says of one file whose it is; here the files of a key are looked at together, where only that tells: tasks
or an array, ranks or experiments with numbers, torchrun's trees of several nodes, a console beside its run.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from logsig import digits
from logsig.batch import layout
from logsig.batch.layout import Key, Parts
from logsig.batch.model import Job, Log
from logsig.inputs import naming

PEEK = 32 << 10
"""Bytes of a Slurm file that are looked at to tell a task from an array's element."""
PEEKED_AT = 4
APART = 600
"""Seconds between the starts of two nodes' agents; further apart they are two runs under one id."""


class Found(NamedTuple):
    """A file that may be a log."""

    path: str
    below: str
    """The folder the user named; empty for a file named itself."""
    size: int
    changed: int
    archive: str | None = None

    @property
    def relative(self) -> str:
        """The path below the folder the user named; of a file named itself the path as it is."""
        if not self.below or self.below == ".":
            return self.path
        return self.path[len(self.below) :].lstrip(os.sep)


Scope = tuple[str, str, str]
"""What the user named, the archive, and a folder below."""


class _Placed(NamedTuple):
    """A file and the key of its job."""

    found: Found
    parts: Parts
    key: Key


Bundle = list[_Placed]
Named = tuple[str, str, Bundle]
"""A job before it is made: name below the folder, why, files."""


def jobs_of(files: Iterable[Found], pattern: re.Pattern[str] | None = None) -> list[Job]:
    """Gives the jobs of all files. Most are one file each, so that one costs a text and a place in a dictionary."""
    alike: dict[str, Found | list[Found]] = {}
    for found in files:
        name = _bundle_name(found, _place(found, pattern).key)
        before = alike.setdefault(name, found)
        if isinstance(before, list):
            before.append(found)
        elif before is not found:
            alike[name] = [before, found]
    kinds: dict[str, list[Bundle]] = defaultdict(list)
    singles: dict[Scope, list[Found]] = defaultdict(list)
    for name, found_ones in alike.items():
        kind = name.partition("\0")[0]
        if isinstance(found_ones, list) or kind not in PLAIN or (kind == "slurm" and _has_number(found_ones)):
            several = found_ones if isinstance(found_ones, list) else [found_ones]
            kinds[kind].append([_place(each, pattern) for each in several])
        else:
            singles[_folder_of(found_ones)].append(found_ones)
    alike.clear()
    named = [each for kind, bundles in kinds.items() for each in _settled(kind, bundles)]
    named = _with_consoles(named, singles)
    jobs = [_as_job(each) for each in named]
    jobs += [_single(each) for found_ones in singles.values() for each in found_ones]
    return _unique(jobs)


PLAIN = ("file", "slurm")
"""Kinds whose single files need no second look."""


def _place(found: Found, pattern: re.Pattern[str] | None) -> _Placed:
    parts = layout.parts_of(found.relative)
    key = layout.key_by(pattern, found.relative, found.path) if pattern is not None else None
    return _Placed(found, parts, key or layout.key_of(parts))


def _bundle_name(found: Found, key: Key) -> str:
    scope = "" if key.kind == "ray" else found.below  # a session has one name on all nodes
    return f"{key.kind}\0{scope}\0{found.archive or ''}\0{key.name}"


def _has_number(found: Found) -> bool:
    """Tells a Slurm file that may be an array's element."""
    return re.search(r"\d[_-]\d+\.", os.path.basename(found.path)) is not None


def _folder_of(found: Found) -> Scope:
    return found.below, found.archive or "", os.path.dirname(found.relative.replace("!/", "/"))


def _single(found: Found) -> Job:
    return Job(
        name=found.path,
        logs=(Log(found.path, found.size, found.changed),),
        why=layout.ALONE,
        below=found.below,
        archive=found.archive,
        named=not found.below,
    )


def _settled(kind: str, bundles: list[Bundle]) -> Iterator[Named]:
    """Looks at the files of each key together."""
    if kind == "torchrun":
        yield from _runs(bundles)
        return
    dissolved: dict[tuple[str, str], Bundle] = defaultdict(list)
    for bundle in bundles:
        if kind == "slurm":
            yield from _slurm(bundle)
        elif kind == "ranks" and not _are_ranks(bundle):
            for placed in bundle:
                key = layout.key_of_file(placed.parts)
                dissolved[placed.found.below, key.name].append(placed._replace(key=key))
        else:
            yield bundle[0].key.name, _why(bundle), bundle
    for bundle in dissolved.values():
        yield bundle[0].key.name, _why(bundle), bundle


def _why(bundle: Bundle) -> str:
    reasons = {placed.key.why for placed in bundle}
    return next((reason for reason in (layout.ROTATED, layout.PAIR) if reason in reasons), bundle[0].key.why)


# ---------------------------------------------------------------- ranks, tasks, arrays


def _are_ranks(bundle: Bundle) -> bool:
    """Tells ranks, which are counted from 0, from experiments with a number (``rank_8``, ``rank_16`` of adapters)."""
    numbers = {placed.key.number for placed in bundle if placed.key.number is not None}
    return not numbers or (max(numbers) < 2 * len(numbers) and len(bundle) > 1)


def _slurm(bundle: Bundle) -> Iterator[Named]:
    """Files of one job id: one job, unless the number behind it is that of an array's element."""
    key = bundle[0].key
    numbers = sorted({placed.key.number for placed in bundle if placed.key.number is not None})
    if not numbers:
        yield key.name, layout.SLURM, bundle
        return
    if not _is_array(bundle, numbers):
        yield key.name, layout.TASKS, bundle
        return
    for number in numbers:
        yield f"{key.name}_{number}", layout.ARRAY, [placed for placed in bundle if placed.key.number == number]


def _is_array(bundle: Bundle, numbers: Sequence[int]) -> bool:
    """Tells an array by its files: each element has a rank 0 of its own; without a word in them, by the names.

    ``slurm-%A_%a.out`` is Slurm's own name for an array; ``%j_%t`` counts its tasks from 0.
    """
    if any(placed.key.number is None for placed in bundle):  # the job's own file lies beside its tasks
        return False
    if any(len(_number_text(placed)) > 1 and _number_text(placed).startswith("0") for placed in bundle):
        return False  # %4t
    later = [placed for placed in bundle if placed.key.number != 0]
    ranks = [_first_ranks(placed.found) for placed in later[:PEEKED_AT]]
    if any(ranks):
        return any(0 in found for found in ranks)
    is_slurms_own = bundle[0].parts.base.startswith("slurm")
    return is_slurms_own or len(numbers) == 1 or numbers != list(range(len(numbers)))


def _number_text(placed: _Placed) -> str:
    numbers: list[str] = re.findall(r"\d+", placed.parts.base)
    return numbers[-1]


_RANK_TOLD = re.compile(rb"(?:\[|\b)rank[ :=_]{0,2}(\d{1,6})\b", re.IGNORECASE)


def _first_ranks(found: Found) -> set[int]:
    """Gives the ranks that the start of a file speaks of."""
    if found.archive is not None:
        return set()
    try:
        with open(found.path, "rb") as file:
            head = file.read(PEEK)
    except OSError:
        return set()
    return {digits.number(number) for number in _RANK_TOLD.findall(head)}


# ---------------------------------------------------------------- torchrun

_RUN_NAME = re.compile(r"(?P<id>.+)_[a-z0-9_]{8}")
_CHOSEN = re.compile(r"(?!none$)(?![0-9a-f]{8}-[0-9a-f]{4}-).+")
"""An id that somebody chose; without one it is ``none``, or a UUID."""


def _runs(bundles: list[Bundle]) -> Iterator[Named]:
    """Runs, those of several nodes together: under folders of nodes, or under one chosen id at about one time."""
    joined: dict[tuple[str, str, str, str], list[Bundle]] = defaultdict(list)
    for bundle in bundles:
        joined[_run_key(bundle, bundles)].append(bundle)
    for (_below, _archive, name, _), several in joined.items():
        yield name, layout.ELASTIC, [placed for bundle in several for placed in bundle]


def _run_key(bundle: Bundle, bundles: list[Bundle]) -> tuple[str, str, str, str]:
    first = bundle[0]
    name = first.key.name
    scope = (first.found.below, first.found.archive or "")
    folder, _, run = name.rpartition("/")
    above, _, node = folder.rpartition("/")
    if layout.is_node(node) and _is_only_run(folder, scope, bundles):
        return (*scope, above or node, "nodes")
    told = _RUN_NAME.fullmatch(run)
    if told and _CHOSEN.fullmatch(told["id"]):
        return (*scope, f"{folder}/{told['id']}" if folder else told["id"], _epoch(bundle, told["id"], bundles))
    return (*scope, name, "")


def _is_only_run(folder: str, scope: tuple[str, str], bundles: list[Bundle]) -> bool:
    return (
        sum(
            each[0].key.name.rpartition("/")[0] == folder
            and (each[0].found.below, each[0].found.archive or "") == scope
            for each in bundles
        )
        == 1
    )


def _epoch(bundle: Bundle, identity: str, bundles: list[Bundle]) -> str:
    """Names the run among runs under one id: by the first of those that began at about the same time."""
    folder = bundle[0].key.name.rpartition("/")[0]
    start = _start(bundle)
    siblings = [
        each
        for each in bundles
        if each[0].found.below == bundle[0].found.below
        and each[0].key.name.rpartition("/")[0] == folder
        and (told := _RUN_NAME.fullmatch(each[0].key.name.rpartition("/")[2])) is not None
        and told["id"] == identity
    ]
    near = [each[0].key.name for each in siblings if abs(_start(each) - start) <= APART]
    return min([*near, bundle[0].key.name])


def _start(bundle: Bundle) -> float:
    """When the first attempt's folder got its ranks; the oldest change of a file where there is no folder."""
    first = bundle[0].found
    try:
        attempt = os.path.dirname(os.path.dirname(first.path))
        return os.stat(attempt).st_mtime if first.archive is None else 0.0
    except OSError:
        return min(placed.found.changed for placed in bundle) / 1e9


def _with_consoles(named: list[Named], singles: dict[Scope, list[Found]]) -> list[Named]:
    """Adds the launcher's console to its run: the only other job right in a log folder that holds one run."""
    runs: dict[Scope, list[Named]] = defaultdict(list)
    beside: dict[Scope, list[Named]] = defaultdict(list)
    for each in named:
        placed = each[2][0]
        folders = {one.parts.folders for one in each[2]}
        if each[1] == layout.ELASTIC:
            runs[_scope(placed, _log_folder(folders))].append(each)
        elif placed.key.kind in PLAIN and len(folders) == 1:
            beside[_scope(placed, placed.parts.folders)].append(each)
    taken: set[int] = set()
    for place, found in runs.items():
        consoles, alone = beside[place], singles.get(place, [])
        if len(found) != 1 or len(consoles) + len(alone) != 1:
            continue
        if consoles:
            found[0][2].extend(consoles[0][2])
            taken.add(id(consoles[0]))
        else:
            found[0][2].append(_place(singles.pop(place)[0], None))
    return [each for each in named if id(each) not in taken]


def _scope(placed: _Placed, folders: tuple[str, ...]) -> Scope:
    return placed.found.below, placed.found.archive or "", "/".join(folders)


def _log_folder(folders: set[tuple[str, ...]]) -> tuple[str, ...]:
    """Gives the ``--log-dir`` of a run, or of the runs of several nodes."""
    runs = {each[:-2] for each in folders}
    if len(runs) == 1:
        return next(iter(runs))[:-1]
    first, last = min(runs), max(runs)
    same = [one for one, other in zip(first, last, strict=False) if one == other]
    return first[: len(same)]


# ---------------------------------------------------------------- jobs


def _as_job(named: Named) -> Job:
    """Makes a job of its files, in the order in which they are to be read."""
    name, why, bundle = named
    found = sorted((placed.found for placed in bundle), key=lambda each: naming.order(each.path))
    first = found[0]
    return Job(
        name=first.path if len(found) == 1 else _shown(first, name),
        logs=tuple(Log(each.path, each.size, each.changed) for each in found),
        why=layout.ALONE if len(found) == 1 and why in _OF_SEVERAL else why,
        below=first.below,
        archive=first.archive,
        named=not first.below,
    )


_OF_SEVERAL = (layout.ROTATED, layout.PAIR, layout.RANKS, layout.SLURM, layout.TASKS)


def _shown(found: Found, name: str) -> str:
    """Gives the job's name as a path from where the user stands."""
    if found.archive is not None:
        inside = os.path.relpath(found.archive, found.below) if found.below else os.path.basename(found.archive)
        return f"{found.archive}!/{name.removeprefix(inside).lstrip('/')}"
    if name.startswith("session_"):
        return found.path[: found.path.find(name) + len(name)]
    if not found.below or found.below == ".":
        return f"/{name}" if found.path.startswith("/") else name
    return os.path.join(found.below, name) if name else found.below


def _unique(jobs: list[Job]) -> list[Job]:
    """Numbers jobs whose names would be equal."""
    from dataclasses import replace

    counts: dict[str, int] = defaultdict(int)
    for at, job in enumerate(jobs):
        counts[job.name] += 1
        if counts[job.name] > 1:
            jobs[at] = replace(job, name=f"{job.name} ({counts[job.name]})")
    return jobs
