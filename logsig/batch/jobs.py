"""Finds the jobs under the paths a user names: takes paths, gives a ``Plan``; reads no file but archives' lists.

Every file is met once, under its first name. What isn't a log, or can't be read, is counted or named, never an error;
only a path that doesn't exist is.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

from logsig.batch import archives, layout
from logsig.batch.grouping import Found, jobs_of
from logsig.batch.model import Plan, Problem
from logsig.errors import InputError
from logsig.inputs import fault, naming

SPECIAL = (
    (stat.S_ISSOCK, "a socket, not a log"),
    (stat.S_ISFIFO, "a named pipe, not a log"),
    (stat.S_ISBLK, "a device, not a log"),
    (stat.S_ISCHR, "a device, not a log"),
)


class _Seen:
    """What was met so far."""

    def __init__(self) -> None:
        self.files: set[tuple[int, int]] = set()
        self.folders: set[tuple[int, int]] = set()
        self.problems: list[Problem] = []
        self.left_out = 0

    def file(self, state: os.stat_result) -> bool:
        """Tells whether the file is met for the first time."""
        key = (state.st_dev, state.st_ino)
        is_new = key not in self.files
        self.files.add(key)
        return is_new

    def trouble(self, path: str, reason: str) -> None:
        """Remembers what wasn't done."""
        self.problems.append(Problem(path, reason))


def find(paths: Sequence[str], pattern: re.Pattern[str] | None = None) -> Plan:
    """Gives the jobs under all paths, in the order in which people count; ``pattern`` groups before any layout does."""
    seen = _Seen()
    jobs = jobs_of((item for path in paths for item in _under(path, seen)), pattern)
    if pattern is not None and jobs and not any(job.why == layout.PATTERN for job in jobs):
        raise InputError(f"--job-by {pattern.pattern!r} fits no path; one of them is {jobs[0].logs[0].path}")
    jobs.sort(key=lambda job: _counted(job.name))
    return Plan(tuple(jobs), tuple(seen.problems), seen.left_out)


def _counted(name: str) -> str:
    """Gives a text that sorts as people count, smaller than a tuple of parts: numbers by length, then digits."""
    return re.sub(r"0*(\d+)", lambda number: f"{len(number[1]):02d}{number[1]}", name)


def _under(path: str, seen: _Seen) -> Iterator[Found]:
    """Gives the files of one path the user named."""
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.islink(path):
            raise InputError(f"{path}: no such file or directory") from None
        seen.trouble(path, "a symlink to nothing")
        return
    except ValueError as error:  # a NUL in the name
        raise InputError(f"{path!r}: {error}") from None
    except OSError as error:
        seen.trouble(path, fault(error))
        return
    if stat.S_ISDIR(state.st_mode):
        folder = path.rstrip(os.sep) or path
        yield from _below(folder, _top(folder), seen, ())
    else:
        yield from _file(path, "", state, seen)


def _top(folder: str) -> str:
    """Gives the folder below which names count: above one that is itself part of a layout (``session_…/logs``)."""
    parts = folder.split(os.sep)
    for back in (1, 2):
        if len(parts) > back and layout.is_part(parts[-back]):
            return os.sep.join(parts[:-back]) or os.sep
    return folder


def _below(folder: str, top: str, seen: _Seen, above: tuple[tuple[int, int], ...]) -> Iterator[Found]:
    """Gives every file below a folder, once; folders in order of name."""
    try:
        state = os.stat(folder)
        with os.scandir(folder) as found:  # entries themselves would be large: a folder may hold a hundred thousand
            entries = sorted((entry.name, _is_folder(entry)) for entry in found)
    except OSError as error:
        seen.trouble(folder, fault(error))
        return
    key = (state.st_dev, state.st_ino)
    if key in above:
        seen.trouble(folder, "a loop of symlinks")
        return
    if key in seen.folders:
        seen.left_out += 1
        return
    seen.folders.add(key)
    _name(folder, seen)
    for name, is_folder in entries:
        below = name if folder == "." else os.path.join(folder, name)
        if is_folder:
            yield from () if name.startswith(".") else _below(below, top, seen, (*above, key))
        else:
            yield from _entry(below, name, top, seen)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # said when it is looked at
        return False


def _entry(path: str, name: str, top: str, seen: _Seen) -> Iterator[Found]:
    try:
        state = os.stat(path)
    except FileNotFoundError:
        seen.trouble(path, "a symlink to nothing" if os.path.islink(path) else "it is gone")
        return
    except OSError as error:
        seen.trouble(path, fault(error))
        return
    if naming.why_not_a_log(name) is not None and not archives.is_archive(name):
        seen.left_out += 1
        return
    yield from _file(path, top, state, seen)


def _file(path: str, top: str, state: os.stat_result, seen: _Seen) -> Iterator[Found]:
    """Gives a file, or the members of an archive."""
    reason = next((reason for is_kind, reason in SPECIAL if is_kind(state.st_mode)), None)
    if reason is not None:
        seen.trouble(path, reason)
        return
    if not seen.file(state):
        seen.left_out += 1
        return
    _name(path, seen)
    if archives.is_archive(path):
        members, problems, left_out = archives.members(path)
        seen.problems.extend(problems)
        seen.left_out += left_out
        share = state.st_size // max(len(members), 1)
        for member in members:
            yield Found(member, top or os.path.dirname(path), share, state.st_mtime_ns, path)
        return
    yield Found(path, top, state.st_size, state.st_mtime_ns)


def _name(path: str, seen: _Seen) -> None:
    """Names a path that no UTF-8 terminal can show; it is read all the same."""
    try:
        os.path.basename(path).encode()
    except UnicodeEncodeError:
        seen.trouble(path, "its name isn't UTF-8; it was read, and is shown escaped")
