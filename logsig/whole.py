"""The whole log, line by line, each with its rank: the parser by itself, for ``split`` and ``show``.

Takes paths, gives every line in file order; memory doesn't grow with the log. Who is who (local ranks, launcher tasks,
pids) is learnt in a first pass over what may matter; a stream is kept in a temporary file, because it is read twice.
Knows no signatures and draws no conclusion.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, BinaryIO

from logsig import lines
from logsig.blocks import StreamSource, cut
from logsig.errors import InputError
from logsig.inputs import Desk, Leaf, Place, Skipped, leaves, loss_of_all, place_of, spread
from logsig.model import Excerpt, LogLine, Source
from logsig.skim import open_leaf

if TYPE_CHECKING:
    from logsig.identity import Identity

STDIN = "-"
_LEARN_FROM = ["rank", "Rank", "pid", "Init COMPLETE", "local_rank", "exitcode"]
"""Literals around which lines say who is who."""


class Whole:
    """The lines of all inputs; what could not be read is said in ``doubts`` once they have been iterated."""

    def __init__(self, paths: Sequence[str], names: dict[str, str]) -> None:
        self._paths = paths
        self._names = names
        self.doubts: list[str] = []
        self.unreadable = False
        self.files: list[str] = []

    def __iter__(self) -> Iterator[tuple[int | None, LogLine]]:
        """Gives (global rank or None, line)."""
        identity = _learn(self._paths)
        for leaf in self.leaves():
            self.files.append(self._name(leaf.origin.path))
            for number, data in self.blocks(leaf):
                for line in lines.read([Excerpt(leaf.origin, number, 0, data, "head")]).lines:
                    yield identity.rank_of(line), self._renamed(line)

    def leaves(self) -> Iterator[Leaf]:
        """Opens the inputs one after the other."""
        desk = Desk()
        for place in [place_of(path, desk) for path in self._paths]:
            left_out: list[Skipped] = []
            has_log = False
            for item in spread([place]):
                for leaf in leaves(item) if isinstance(item, Place) else [item]:
                    if isinstance(leaf, Skipped):
                        left_out.append(leaf)
                    else:
                        has_log = True
                        yield leaf
            for leaf in left_out if has_log else loss_of_all(left_out):
                self._doubt(f"{self._name(leaf.path)}: {leaf.reason}", is_loss=leaf.unreadable)

    def blocks(self, leaf: Leaf) -> Iterator[tuple[int, bytes]]:
        """Gives an input in blocks of whole lines, each with the number of its first line."""
        number = 1
        with open_leaf(leaf) if leaf.stream is None else nullcontext(leaf.stream) as stream:
            source = StreamSource(stream)
            for block in cut(source, 0):
                data = block.text()
                yield number, data
                number += data.count(b"\n")
        if source.fault is not None:
            self._doubt(f"{self._name(leaf.origin.path)}: unreadable from line {number} on: {source.fault}")

    def _renamed(self, line: LogLine) -> LogLine:
        from dataclasses import replace

        name = self._name(line.source.path)
        return line if name == line.source.path else replace(line, source=Source(name, line.source.line))

    def _name(self, path: str) -> str:
        return self._names.get(path, path)

    def _doubt(self, text: str, *, is_loss: bool = True) -> None:
        self.doubts.append(text)
        self.unreadable = self.unreadable or is_loss


@contextmanager
def read(paths: Sequence[str], stdin: BinaryIO | None = None) -> Iterator[Whole]:
    """Opens all inputs; ``-`` is stdin."""
    if STDIN not in paths:
        yield Whole(paths, {})
        return
    with tempfile.TemporaryDirectory(prefix="logsig-") as folder:
        kept = os.path.join(folder, "stdin")
        _keep(stdin, kept)
        yield Whole([kept if path == STDIN else path for path in paths], {kept: "<stdin>"})


def blocks(paths: Sequence[str], doubts: list[str]) -> Iterator[bytes]:
    """Gives the bytes of all inputs, unpacked, in blocks of whole lines; what was lost is added to ``doubts``."""
    log = Whole(paths, {})
    for leaf in log.leaves():
        yield from (data for _, data in log.blocks(leaf))
    doubts += log.doubts


def nodes(paths: Sequence[str]) -> tuple[str, ...]:
    """Gives the names of the nodes that the lines mention as their writers."""
    from logsig.scan import scan

    seen = lines.read(scan(paths, _LEARN_FROM).excerpts).lines
    return tuple(dict.fromkeys(line.node for line in seen if line.node))


def _keep(stdin: BinaryIO | None, path: str) -> None:
    if stdin is None:
        raise InputError("-: stdin is closed")
    with open(path, "wb") as file:
        shutil.copyfileobj(stdin, file)


def _learn(paths: Sequence[str]) -> Identity:
    """Learns who is who from the lines that say so."""
    from logsig.facts import read_notes
    from logsig.identity import Identity
    from logsig.scan import scan
    from logsig.witness import read_tables

    seen = lines.read(scan(paths, _LEARN_FROM).excerpts).lines
    return Identity(seen, read_notes(seen), read_tables(seen))
