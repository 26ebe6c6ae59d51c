"""Finds the jobs under the paths a user names: takes paths, gives a ``Plan``; reads no file but archives' lists.

Every file is met once, under its first name. What isn't a log, or can't be read, is counted or named, never an error;
only a path that doesn't exist is.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

from logsig.batch import archives
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
    jobs.sort(key=lambda job: naming.order(job.name))
    return Plan(tuple(jobs), tuple(seen.problems), seen.left_out)


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
        top = path.rstrip(os.sep) or path
        yield from _below(top, top, seen, ())
    else:
        yield from _file(path, "", state, seen)


def _below(folder: str, top: str, seen: _Seen, above: tuple[tuple[int, int], ...]) -> Iterator[Found]:
    """Gives every file below a folder, once; folders in order of name."""
    try:
        state = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
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
    for entry in entries:
        yield from _entry(entry, top, seen, (*above, key))


def _entry(entry: os.DirEntry[str], top: str, seen: _Seen, above: tuple[tuple[int, int], ...]) -> Iterator[Found]:
    try:
        if entry.is_dir():
            if not entry.name.startswith("."):
                yield from _below(entry.path, top, seen, above)
            return
        state = entry.stat()
    except FileNotFoundError:
        seen.trouble(entry.path, "a symlink to nothing" if entry.is_symlink() else "it is gone")
        return
    except OSError as error:
        seen.trouble(entry.path, fault(error))
        return
    if naming.why_not_a_log(entry.name) is not None and not archives.is_archive(entry.name):
        seen.left_out += 1
        return
    yield from _file(entry.path, top, state, seen)


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
