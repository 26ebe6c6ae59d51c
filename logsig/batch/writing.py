"""Writes the report of a scan where it was asked for, piece by piece: takes pieces of text or bytes, gives a file.

A regular file is replaced in one step when all of it is there, so that a full disk leaves the old one whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from logsig.errors import OutputError


def write_file(path: str, pieces: Iterable[str | bytes]) -> None:
    """Writes all pieces; a fault is an ``OutputError`` that names the file."""
    beside = f"{path}.{os.getpid()}.part" if _is_replaceable(path) else path
    try:
        try:
            with open(beside, "wb") as file:
                file.writelines(map(_bytes, pieces))
            if beside != path:
                os.replace(beside, path)
        finally:
            if beside != path and os.path.lexists(beside):
                os.unlink(beside)
    except OSError as error:
        raise OutputError(f"{path}: the report wasn't written: {error.strerror or error}") from error


def _is_replaceable(path: str) -> bool:
    """Tells a path that is free, or a regular file with one name."""
    try:
        found = os.stat(path)
    except OSError:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not os.path.islink(path)


def _bytes(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace")
