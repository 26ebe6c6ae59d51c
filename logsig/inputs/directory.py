"""A directory of one job's logs: torchrun's ``--log-dir`` tree, a file per rank or node, Kubernetes' pod folders.

Files that aren't logs by name are left out; loops of symlinks end; a file met under a second name is read once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from logsig.inputs import Desk, Item, Place, Skipped, fault
from logsig.inputs.naming import order, origin_of, why_not_a_log

PRIORITY = 0
NAMED = 5
"""Files left out that are named in one sentence."""


def accepts(place: Place) -> bool:
    """By what it is on disk."""
    return place.is_directory


def read(place: Place) -> Iterator[Item]:
    """Gives the logs below the directory in the order in which people count, then what was left out."""
    folder = place.disk or place.path
    left_out: list[str] = []
    twice = 0
    found: list[str] = []
    for item in _walk(folder, place.desk):
        if isinstance(item, Skipped):
            yield item
        elif (reason := why_not_a_log(os.path.basename(item))) is not None:
            left_out.append(f"{os.path.relpath(item, folder)} ({reason})")
        elif place.desk.knows(item):
            twice += 1
        else:
            found.append(item)
    found.sort(key=order)
    origins = [origin_of(path, folder) for path in found]
    elastic = any(origin.role == "worker" for origin in origins)
    for path, origin in zip(found, origins, strict=True):
        yield Place(
            place.desk,
            replace(origin, role="agent") if elastic and origin.role is None else origin,
            path,
            is_named=False,
        )
    if not found and not twice:
        rest = f"; left out: {_some(left_out)}" if left_out else "; it is empty"
        yield Skipped(place.path, f"a directory without logs{rest}")
    elif left_out:
        yield Skipped(place.path, f"left out {_some(left_out)}", unreadable=False)


def _walk(folder: str, desk: Desk) -> Iterator[str | Skipped]:
    """Gives every file below ``folder``, once."""
    if desk.knows(folder):
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(folder, fault(error))
        return
    for entry in entries:
        try:
            if entry.is_dir():
                yield from () if entry.name.startswith(".") else _walk(entry.path, desk)
            elif entry.is_file():
                yield entry.path
        except OSError as error:
            yield Skipped(entry.path, fault(error))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
