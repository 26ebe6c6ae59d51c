"""Proves the prefix files: their form, and that each example peels as it says and no counterexample does.

Takes a folder, gives faults; the same service for the shipped files and for a user's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from logsig import dialects, lines
from logsig.dialects import Example, Prefix
from logsig.errors import Fault
from logsig.model import Excerpt, LogLine, Origin
from logsig.prefix import Prefixes

FACTS = ("rank", "local_rank", "node", "node_rank", "task", "pid", "device", "attempt", "stream", "level")


def check(folder: str = dialects.FOLDER) -> tuple[Fault, ...]:
    """Everything wrong with the prefix files of a folder."""
    found, faults = dialects.check(folder)
    prefixes = Prefixes(found)
    return (*faults, *(fault for prefix in found for fault in prove(prefix, prefixes, folder)))


def prove(prefix: Prefix, prefixes: Prefixes, folder: str = dialects.FOLDER) -> Iterator[Fault]:
    """What the examples of one prefix claim and the reading of them doesn't bear out."""
    path = os.path.join(folder, f"{prefix.name}.yaml")
    for number, example in enumerate(prefix.examples):
        for field, found, expected in _differences(prefix, example, read(example.log, prefixes)[-1]):
            yield Fault(path, None, f"examples.{number}.{field}", repr(found), repr(expected))
    for number, example in enumerate(prefix.counterexamples):
        peeled = [line.raw for line in read(example.log, prefixes) if prefix.name in line.layers]
        if peeled:
            yield Fault(path, None, f"counterexamples.{number}", f"{peeled[0]!r}, peeled", "a line left as it is")
        if not example.why:
            yield Fault(path, None, f"counterexamples.{number}.why", "nothing", "what differs, in a few words")


def read(log: str, prefixes: Prefixes) -> tuple[LogLine, ...]:
    """The lines of a snippet, as a file of its own."""
    data = log if log.endswith("\n") else f"{log}\n"
    return lines.read([Excerpt(Origin("<example>"), 1, 0, data.encode(), "head")], prefixes).lines


def facts(line: LogLine) -> dict[str, object]:
    """What a line says of its writer."""
    found = {name: value for name in FACTS if (value := getattr(line, name)) is not None}
    return found | ({"time": line.stamp.text} if line.stamp else {})


def _differences(prefix: Prefix, example: Example, last: LogLine) -> Iterator[tuple[str, object, object]]:
    expected = {key: value for key, value in example.fields.items() if key != "repeated"}
    if prefix.name not in last.layers:
        yield "line", last.layers, prefix.name
    if facts(last) != expected:
        yield "fields", facts(last), expected
    if last.text != example.text:
        yield "text", last.text, example.text
