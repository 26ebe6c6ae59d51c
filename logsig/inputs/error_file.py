"""torchelastic's ``error.json``: the traceback inside, as ordinary text; its lines are counted within the traceback.

Written in the worker by ``torch.distributed.elastic.multiprocessing.errors.record``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from logsig.inputs import DamagedError, Item, Leaf, Place, Skipped, fault
from logsig.inputs.naming import ERROR_FILE, INSIDE

PRIORITY = 40
START = rb'\s*\{\s*"message"\s*:\s*(\{\s*"message"\s*:)?'
MOST = 16 << 20


def accepts(place: Place) -> bool:
    """By its first keys; the simple form, which any JSON log may have, only under its own name."""
    match = re.match(START, place.head) if b'"message"' in place.head else None
    return match is not None and (match[1] is not None or place.path.rsplit("/", 1)[-1] == ERROR_FILE)


def read(place: Place) -> Iterator[Item]:
    """Gives the traceback, or the message where there is none; a file that is no whole JSON is given as it is."""
    import json

    raw, problem = _all(place)
    try:
        text = _traceback(json.loads(raw))
    except (ValueError, RecursionError):
        text = None
    origin = place.origin
    if text is None:
        yield Skipped(place.path, problem or "not a whole error file; read as text")
        yield Leaf(replace(origin, role="error_file"), stream=_Bytes(raw))
        return
    yield Leaf(
        replace(origin, path=f"{origin.path}!/{INSIDE}", role="error_file"),
        stream=_Bytes(text.encode("utf-8", "replace")),
    )


def _all(place: Place) -> tuple[bytes, str | None]:
    """Reads the file whole, up to a bound."""
    parts: list[bytes] = []
    size = 0
    stream = place.open()
    try:
        while size < MOST and (part := stream.read(1 << 20)):
            parts.append(part)
            size += len(part)
    except (OSError, EOFError, DamagedError) as error:
        return b"".join(parts), fault(error)
    return b"".join(parts), None


def _traceback(content: Any) -> str | None:
    message = content.get("message") if isinstance(content, dict) else None
    if isinstance(message, str):
        return message + "\n"
    if not isinstance(message, dict) or not isinstance(message.get("message"), str):
        return None
    extra = message.get("extraInfo")
    stack = extra.get(INSIDE) if isinstance(extra, dict) else None
    text = stack if isinstance(stack, str) and stack.strip() else message["message"]
    return text if text.endswith("\n") else text + "\n"


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int, /) -> bytes:
        given, self._data = self._data[:size], self._data[size:]
        return given
