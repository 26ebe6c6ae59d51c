"""Packs of signatures that installed distributions bring: found by their metadata, read as data, never imported.

A distribution names a package in the entry-point group ``logsig.signatures``; the package's ``signatures/`` folder is
the pack. Takes ``sys.path``, gives folders and faults. ``LOGSIG_PACKS=off`` leaves them out.

Without ``importlib.metadata``, which is slow to import: a distribution has a folder ``*.dist-info`` beside its
packages, with ``entry_points.txt`` in it. What a folder of ``sys.path`` holds is remembered in the
user's cache until the folder changes, as installing and removing does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from logsig.errors import Fault
from logsig.late import late
from logsig.record import dataclass

GROUP = "logsig.signatures"
SWITCH = "LOGSIG_PACKS"
FOLDER = "signatures"
FORMAT = 1
_PACKAGE = late(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

Named = tuple[str, str, str]
"""(path of ``entry_points.txt``, name of the entry point, what it names)."""
Known = dict[str, tuple[int, tuple[Named, ...]]]
"""Folder of ``sys.path`` -> when it last changed, and what it names."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The packs of this environment."""

    folders: tuple[Path, ...]
    faults: tuple[Fault, ...] = ()


def find(path: Sequence[str] | None = None, cache: Path | None = None) -> Installed:
    """Give the packs that the distributions on ``sys.path`` bring, in order of name."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "no"):
        return Installed(())
    folders: dict[Path, None] = {}
    faults: list[Fault] = []
    for named in sorted(_named(_folders(sys.path if path is None else path), cache), key=lambda named: named[1:]):
        found = _resolve(named)
        if isinstance(found, Fault):
            faults.append(found)
        else:
            folders.setdefault(found)
    return Installed(tuple(folders), tuple(faults))


def _folders(path: Iterable[str]) -> Iterator[str]:
    """Leave out the current folder, where no distribution is installed, and what isn't a folder."""
    seen: set[str] = set()
    for folder in path:
        if folder and folder not in seen and os.path.isdir(folder) and not os.path.samefile(folder, "."):
            seen.add(folder)
            yield folder


# ---------------------------------------------------------------- who names a package


def _named(folders: Iterable[str], cache: Path | None) -> Iterator[Named]:
    """Give every entry of the group, from the cache where the folder hasn't changed."""
    known, now = _recall(cache), Known()
    for folder in folders:
        changed = os.stat(folder).st_mtime_ns
        old = known.get(folder)
        now[folder] = old if old is not None and old[0] == changed else (changed, tuple(_scan(folder)))
        yield from now[folder][1]
    if cache is not None and not now.items() <= known.items():
        _remember(cache, {**known, **now})


def _scan(folder: str) -> Iterator[Named]:
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".dist-info")]
    except OSError:
        return
    for name in sorted(names):
        path = os.path.join(folder, name, "entry_points.txt")
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError:
            continue
        if GROUP.encode() in text:
            yield from ((path, entry, value) for entry, value in entries_of(text.decode("utf-8", "replace")))


def entries_of(text: str) -> Iterator[tuple[str, str]]:
    """Read the entries of our group out of an ``entry_points.txt``."""
    ours = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            ours = line == f"[{GROUP}]"
        elif ours and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _recall(cache: Path | None) -> Known:
    """Read the cache; one that is missing, old or broken is empty."""
    try:
        kept: Any = json.loads(cache.read_bytes()) if cache is not None else {"format": None}
        if kept["format"] != FORMAT:
            return {}
        return {
            folder: (int(changed), tuple((str(path), str(name), str(value)) for path, name, value in entries))
            for folder, (changed, entries) in kept["folders"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _remember(cache: Path, folders: Known) -> None:
    """Write the cache in one step; one that can't be written is done without."""
    beside = cache.with_name(f"{cache.name}.{os.getpid()}")
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps({"format": FORMAT, "folders": folders}), encoding="utf-8")
        os.replace(beside, cache)
    except OSError:
        return


# ---------------------------------------------------------------- where the package is


def _resolve(named: Named) -> Path | Fault:
    """Find the package's folder without importing it; a package inside another one is looked for by its path."""
    path, entry, value = named
    if not _PACKAGE.fullmatch(value):
        return Fault(path, None, entry, repr(value), "the name of a package", f"{entry} = your_package")
    top, *inner = value.split(".")
    for place in _places(top):
        folder = Path(place, *inner, FOLDER)
        if folder.is_dir():
            return folder
    hint = f"the package needs a folder {FOLDER}/ with the files in it; {SWITCH}=off leaves all such packs out"
    return Fault(path, None, entry, f"no {value.replace('.', '/')}/{FOLDER}", "a folder of signature files", hint)


def _places(top: str) -> Sequence[str]:
    from importlib.util import find_spec  # asks the finders, editable installs too; a top-level name imports nothing

    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return ()
    return tuple(spec.submodule_search_locations or ()) if spec is not None else ()
