"""Entries of ``journalctl -o export`` as the JSON lines that ``journalctl -o json`` would have written.

An entry is a block of ``KEY=value`` lines; a value that isn't plain text stands behind ``KEY``, a newline, its length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from logsig.late import late

_START = late(rb"(?:^|\n)(?:__CURSOR|__REALTIME_TIMESTAMP)=")
_KEY = late(rb"[A-Z_][A-Z0-9_]*")
_NEEDED = frozenset({"MESSAGE", "__REALTIME_TIMESTAMP", "_HOSTNAME", "_PID", "SYSLOG_PID", "PRIORITY"})


def is_export(data: bytes) -> bool:
    """True where the data looks like the journal's export format."""
    return b"\nMESSAGE" in data and _START.search(data, 0, 8192) is not None


def entries(data: bytes, first_line: int) -> Iterator[tuple[int, str, str]]:
    """(line where the message stands, JSON of the entry, message) of each entry, also of one that was cut in front."""
    entry: dict[str, str] = {}
    row, pos, place = first_line, 0, first_line
    while pos < len(data):
        end = data.find(b"\n", pos)
        end = len(data) if end < 0 else end
        line = data[pos:end]
        key, equals, value = line.partition(b"=")
        if not line:
            yield from _entry(entry, place)
            entry = {}
        elif _KEY.fullmatch(key):
            after = end
            if not equals:
                value, after = _binary(data, end + 1)
            if key == b"MESSAGE":
                place = row
            entry[key.decode()] = value.decode("utf-8", "replace")
            row += data.count(b"\n", end, after)
            end = after
        row += 1
        pos = end + 1
    yield from _entry(entry, place)


def _binary(data: bytes, pos: int) -> tuple[bytes, int]:
    """(value, position of the newline behind it)."""
    size = int.from_bytes(data[pos : pos + 8], "little")
    end = min(pos + 8 + size, len(data))
    return data[pos + 8 : end], end


def _entry(entry: dict[str, str], place: int) -> Iterator[tuple[int, str, str]]:
    if "MESSAGE" in entry:
        yield place, json.dumps({key: value for key, value in entry.items() if key in _NEEDED}), entry["MESSAGE"]
