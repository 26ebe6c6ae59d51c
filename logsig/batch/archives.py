"""Archives as folders of logs: lists the members of a tar or zip, packed or not, without unpacking anything to disk."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.batch.model import Problem
from logsig.inputs import DamagedError, Desk, Item, Place, Skipped, fault, modules, place_of

ENDINGS = (
    ".tar",
    ".tgz",
    ".tbz2",
    ".txz",
    ".tzst",
    ".tar.gz",
    ".tar.bz2",
    ".tar.xz",
    ".tar.zst",
    ".tar.lz4",
    ".zip",
)
INSIDE = "!/"


def is_archive(path: str) -> bool:
    """Tells by the name; an archive under another name is read as one job."""
    return path.lower().endswith(ENDINGS)


def members(path: str) -> tuple[list[str], list[Problem], int]:
    """Gives the paths of the members that may be logs, what went wrong, and how many others there are."""
    found: list[str] = []
    problems: list[Problem] = []
    left_out = 0
    place = place_of(path, Desk())
    try:
        for item in _walk(place):
            if isinstance(item, Skipped):
                left_out += not item.unreadable
                problems += [Problem(item.path, item.reason)] if item.unreadable else []
            elif INSIDE in item.origin.path:
                found.append(member_of(item.origin.path))
            else:
                found.append(path)
                if place.head:
                    problems.append(Problem(path, "no archive, in spite of its name; it was read as a log"))
    except (OSError, EOFError, DamagedError) as error:
        problems.append(Problem(path, fault(error)))
    finally:
        place.close()
    return list(dict.fromkeys(found)), problems, left_out


def _walk(place: Place) -> Iterator[Item]:
    """Follows the place down to the archive's members, and no further."""
    module = next(module for module in modules() if module.accepts(place))
    for item in module.read(place):
        if isinstance(item, Place) and INSIDE not in item.path:
            yield from _walk(item)
        else:
            yield item


def member_of(path: str) -> str:
    """Gives the member of the outermost archive that a path inside it belongs to."""
    archive, sign, rest = path.partition(INSIDE)
    return archive + sign + rest.partition(INSIDE)[0]
