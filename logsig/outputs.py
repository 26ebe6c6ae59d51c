"""Writes a finished report where it was asked for, and what is said beside it. Knows files, mounts and step summaries.

Knows no format.

A regular file is replaced in one step, so that a reader never sees half a report. What can't be replaced (a mounted
termination log, a device, a pipe, a file with several names) is written in place. GitHub's step summary is appended to.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import BinaryIO

from logsig.errors import OutputError

SUMMARY_LIMIT = 1024 * 1024
"""GitHub drops a step's summary whole beyond this many bytes."""


def write_stdout(text: str) -> None:
    """Prints a report as it is; characters that stdout's encoding lacks are shown as escapes."""
    stream = sys.stdout
    if stream is None:
        raise OutputError("stdout is closed; -o FILE writes the report elsewhere")
    encoding = stream.encoding or "utf-8"
    stream.flush()
    if hasattr(stream, "buffer"):
        _write_all(stream.buffer, text.encode(encoding, "backslashreplace"))
    else:
        stream.write(text)


def _write_all(stream: BinaryIO, data: bytes) -> None:
    """Writes to the end, also into a pipe that the other side has made one that doesn't wait."""
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError):
        stream.write(data)
        stream.flush()
        return
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def write_raw(text: str) -> None:
    """Prints a log or a file as it is, which only a pipe or a file may take: on a terminal it is made harmless."""
    from logsig.report import inert

    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    write_stdout(inert.document(inert.block(text)) if is_terminal else text)


def write_line(text: str) -> None:
    """Prints one line, harmless whatever names it holds."""
    from logsig.report import inert

    write_stdout(inert.document(inert.line(text)) + "\n")


def say(*messages: str) -> None:
    """Says something beside the report, on stderr: a line each, harmless whatever names it holds."""
    import click

    from logsig.report import inert

    with suppress(OSError):  # a terminal that has gone away
        click.echo(inert.document("logsig: " + "\n".join(map(inert.line, messages))), err=True)


def write_file(path: str, text: str, env: Mapping[str, str] = os.environ) -> None:
    """Writes a report to a file as UTF-8; a fault is an ``OutputError`` that names the file."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        if _is_summary(path, env):
            _append(path, data)
        elif not _can_replace(path) or not _replace(os.path.realpath(path), data):
            _write_in_place(path, data)
    except OSError as error:
        raise OutputError(f"{path}: the report wasn't written: {error.strerror or error}") from error


def spare_inputs(inputs: Iterable[str], targets: Iterable[str | None]) -> None:
    """Refuses, before anything is read, a target that is one of the logs: the log would be lost (``OutputError``).

    ``-`` is stdin among the inputs and stdout among the targets, which replaces nothing. Only regular files are asked:
    a terminal or a pipe may well be both.
    """
    logs = {found for found in map(_identity, inputs) if found}
    for target in targets:
        if target and target != "-" and _identity(target) in logs:
            raise OutputError(f"{target}: is a log to be read, and the report would replace it; name another file")


def refuse_twice(targets: Iterable[str | None], env: Mapping[str, str] = os.environ) -> None:
    """Refuses, before anything is read, two reports in one file: the second would replace the first."""
    seen: set[str] = set()
    for target in targets:
        if not target or target == "-" or _is_summary(target, env) or not _replaces(target):
            continue
        place = os.path.realpath(target)
        if place in seen:
            raise OutputError(f"{target}: two reports would be written there; name another file for one of them")
        seen.add(place)


def _replaces(path: str) -> bool:
    """Tells a file, or a free name, from a device or a pipe, which takes one report after the other."""
    return not os.path.exists(path) or os.path.isfile(path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.fstat(0) if path == "-" else os.stat(path)
    except (OSError, ValueError):  # missing, closed, or no path at all: said where it is opened
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def is_appended_to(path: str, env: Mapping[str, str] = os.environ) -> bool:
    """Tells a file in which reports pile up instead of replacing one another."""
    return _is_summary(path, env)


def _is_summary(path: str, env: Mapping[str, str]) -> bool:
    summary = env.get("GITHUB_STEP_SUMMARY")
    return bool(summary) and os.path.realpath(path) == os.path.realpath(summary or "")


def _append(path: str, data: bytes) -> None:
    there = os.path.getsize(path) if os.path.exists(path) else 0
    if there + len(data) > SUMMARY_LIMIT:
        raise OutputError(f"{path}: the report wasn't added: the step summary would pass GitHub's limit of 1 MiB")
    with open(path, "ab") as file:
        file.write(data)


def _can_replace(path: str) -> bool:
    """Tells a path that is free, or a regular file with one name."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _replace(path: str, data: bytes) -> bool:
    """Writes beside the file and renames; False where the place allows neither (a mount, a locked folder)."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except PermissionError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if os.path.exists(path):
            os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
        return _rename(beside, path)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def _rename(beside: str, path: str) -> bool:
    try:
        os.replace(beside, path)
    except OSError as error:
        if error.errno in (errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES):
            return False
        raise
    return True


def _write_in_place(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
