"""Finding many literals in one pass over bytes: takes literals, gives where each ends, knows nothing of lines or logs.

Two engines stand behind the same small interface and give identical findings: ``engine_hyperscan`` where its wheel
exists, ``engine_python`` everywhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from logsig.cores import cores, move_on

Buffer = bytes | bytearray | memoryview
Hit = tuple[int, int]
"""(index of the literal, offset just behind it)."""
MARKS = frozenset("\\\"'<>&\t\r\n\x1b")
"""What JSON, ``repr`` or XML write otherwise."""


class Engine(Protocol):
    """Finds every occurrence of every literal, overlapping ones included, ordered by end offset, then index."""

    name: str
    literals: tuple[str, ...]
    is_native: bool
    """Lets other threads run while it searches."""
    longest: int
    """Length in bytes of the longest spelling: how far a literal can reach over a cut."""

    def find(self, data: Buffer) -> list[Hit]:
        """Gives every hit in ``data``."""


class Both:
    """Two engines as one: the second's literals come behind the first's."""

    def __init__(self, first: Engine, second: Engine) -> None:
        self._first, self._second = first, second
        self.name = first.name
        self.literals = first.literals + second.literals
        self.is_native = first.is_native and second.is_native
        self.longest = max(first.longest, second.longest)

    def find(self, data: Buffer) -> list[Hit]:
        """Gives every hit of both in ``data``."""
        behind = len(self._first.literals)
        return ordered([*self._first.find(data), *((behind + at, end) for at, end in self._second.find(data))])


def make_engine(literals: Sequence[str], prefer: str | None = None) -> Engine:
    """Builds the fastest engine that is installed; ``prefer`` names one (``hyperscan`` or ``python``)."""
    if prefer != "python":
        try:
            from logsig.engine_hyperscan import HyperscanEngine

            return HyperscanEngine(literals)
        except ImportError:
            if prefer == "hyperscan":
                raise
    from logsig.engine_python import PythonEngine

    return PythonEngine(literals)


def make_engines(groups: Sequence[Sequence[str]], meanwhile: Callable[[], None]) -> list[Engine]:
    """Builds the fastest engine for each group of literals; ``meanwhile`` runs beside it where there are two cores."""
    made: list[Engine] = []

    def make() -> None:
        move_on(1)
        with suppress(Exception):  # met again where it can be told
            made.extend(map(make_engine, groups))

    if cores() > 1:
        thread = threading.Thread(target=make, daemon=True)
        thread.start()  # hyperscan lets other threads run while it compiles
        meanwhile()
        thread.join()
    else:
        meanwhile()
    return made if len(made) == len(groups) else list(map(make_engine, groups))


def spellings(literal: str) -> tuple[bytes, ...]:
    """Gives the literal in UTF-8, and as it stands inside JSON, a Python ``repr`` and XML where that differs."""
    if literal.isascii() and MARKS.isdisjoint(literal):
        return (literal.encode(),)
    import json

    xml = literal.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    forms = [
        literal,
        json.dumps(literal)[1:-1],
        json.dumps(literal, ensure_ascii=False)[1:-1],
        literal.replace("\\", "\\\\").replace("'", "\\'"),
        xml,
        xml.replace('"', "&quot;").replace("'", "&#x27;"),
        literal.replace('"', '\\"').replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    ]
    return tuple(dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in forms))


def spelled(literals: Sequence[str]) -> tuple[list[bytes], list[int]]:
    """Gives all spellings of all literals, and beside each the index of its literal."""
    patterns: list[bytes] = []
    owners: list[int] = []
    for index, literal in enumerate(literals):
        if not literal or "\0" in literal:
            raise ValueError(f"literal {index} is empty or contains NUL: {literal!r}")
        forms = spellings(literal)
        patterns += forms
        owners += [index] * len(forms)
    return patterns, owners


def ordered(hits: list[Hit]) -> list[Hit]:
    """Puts hits into the order that the interface promises, each once."""
    return sorted(set(hits), key=lambda hit: (hit[1], hit[0]))
