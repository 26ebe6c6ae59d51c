"""What this user's runs keep for the next: files of JSON, each sealed by the digest of all that it was made from.

A cache that is damaged, stale or unwritable is done without; two processes at once are safe. Never a pickle, never
native code: what lies in a folder that others may write is data.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def digest_of(parts: Iterable[bytes]) -> str:
    """Hash parts so that no two lists of parts give the same bytes."""
    import hashlib

    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.hexdigest()


def folder() -> Path:
    """Where this user's caches stand by convention of the platform."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "logsig"


def file_of(source: Path) -> Path:
    """Where the cache of a folder of files stands."""
    return folder() / f"{digest_of([os.fsencode(source.resolve())])}.jsonl"


def recall(path: Path, key: str) -> bytes | None:
    """Give what ``store`` kept under this key, if it is whole; else nothing."""
    try:
        seal, _, data = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return data if seal == _seal(key, data).encode() else None


def _seal(key: str, data: bytes) -> str:
    return digest_of([key.encode(), data])


def store(target: Path, key: str, data: bytes) -> None:
    """Replace the cache in one step; a cache that can't be written is done without."""
    import tempfile

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(_seal(key, data).encode() + b"\n" + data)
            os.replace(name, target)
        except OSError:
            os.unlink(name)
    except OSError:
        return
