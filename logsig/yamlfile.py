"""One YAML file as plain data with line numbers, or its faults.

Takes text, gives dicts, lists and scalars, and the line of every value. Refuses what makes YAML more than data or
other than it looks: tags, anchors, merge keys, several documents, duplicate keys, YAML 1.1's unquoted ``yes``, ``on``,
``010``, ``1:30``, dates. Knows nothing of signatures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from logsig.errors import Fault

MAX_DEPTH = 20

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_INT = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?")
_NUMBER_OF_1_2 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+")
_PLAIN_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_WORDS_OF_1_1 = {"yes", "no", "on", "off", "y", "n", "true", "false", "null"}

Path = tuple[str | int, ...]


class _UnreadableError(Exception):
    """The rest of the file can't be read."""


@dataclass
class Document:
    """What one file says."""

    path: str
    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    """Place of a value (keys and indices from the top) -> 1-based line of its key or item."""
    faults: list[Fault] = field(default_factory=list)

    def line(self, place: Path) -> int | None:
        """Give the line of a place, or of the nearest place around it."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return None


def read(path: str, data: bytes) -> Document:
    """Read a file's bytes; ``Document.faults`` says what is wrong, ``value`` is what could be read."""
    document = Document(path)
    text = _decode(document, data)
    if text is None:
        return document
    try:
        _Reader(document, yaml.parse(text, Loader=_Loader)).read()
    except _UnreadableError:
        document.value = None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        problem = " ".join(part for part in (error.problem, error.context) if part)
        found = f"what YAML can't read ({problem})"
        document.faults.append(Fault(path, line, "yaml", found, "valid YAML", _syntax_hint(text, line)))
        document.value = None
    except yaml.YAMLError as error:
        document.faults.append(Fault(path, None, "yaml", " ".join(str(error).split()), "valid YAML"))
        document.value = None
    return document


def _decode(document: Document, data: bytes) -> str | None:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{data[error.start]:02x}"
        document.faults.append(Fault(document.path, line, "yaml", found, "UTF-8 text"))
        return None


_QUOTES = {
    "'": "inside '…' write '' for an apostrophe",
    '"': 'inside "…" write \\" for a quote and \\\\ for a backslash',
}


def _syntax_hint(text: str, line: int | None) -> str:
    lines = text.split("\n")
    told = lines[line - 1] if line is not None and line <= len(lines) else ""
    if "\t" in told:
        return "indent with blanks, not tabs"
    value = re.match(r"[\s-]*(?:\w+:\s+)?(['\"]).*\1.*\1", told)
    return _QUOTES[value[1]] if value else "quote a value that holds ': ', '#', or begins with one of { [ * & ! % @ `"


class _Reader:
    """Turns the parser's events into data; recursion is bounded by ``MAX_DEPTH``."""

    def __init__(self, document: Document, events: Iterator[Any]) -> None:
        self.document = document
        self.events = events

    def read(self) -> None:
        next(self.events)  # start of the stream
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            self._fault(1, "yaml", "an empty file", "a mapping")
            raise _UnreadableError
        self.document.value = self._value(next(self.events), (), 1)
        next(self.events)  # end of the document
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            self._fault(event.start_mark.line + 1, "yaml", "a second document", "one document per file")

    def _value(self, event: Any, place: Path, depth: int) -> Any:
        line = event.start_mark.line + 1
        self.document.lines.setdefault(place, line)
        if isinstance(event, yaml.AliasEvent):
            self._fault(line, _name(place), f"the alias *{event.anchor}", "the value itself", "write it out")
            return None
        if event.anchor is not None:
            self._fault(
                line, _name(place), f"the anchor &{event.anchor}", "no anchors", "quote a value that begins with &"
            )
        if event.tag is not None and event.tag != "!":
            self._fault(line, _name(place), f"the tag {event.tag}", "plain data", "quote a value that begins with !")
        if depth > MAX_DEPTH:
            self._fault(line, _name(place), f"more than {MAX_DEPTH} levels", "flat data")
            raise _UnreadableError
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(place, depth)
        return self._scalar(event, place)

    def _mapping(self, place: Path, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            key = self._key(event, place, line)
            inner = (*place, key)
            if key in mapping:
                found = f"{key!r} a second time (first on line {self.document.lines[inner]})"
                self._fault(line, _name(inner), found, "every key once", "keep one of the two")
                self._value(next(self.events), (*place, key, "again"), depth + 1)
                continue
            self.document.lines[inner] = line
            mapping[key] = self._value(next(self.events), inner, depth + 1)
        return mapping

    def _key(self, event: Any, place: Path, line: int) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._fault(
                line, _name(place), "a key that is no word", "a word as key", "quote a value that begins with { or ["
            )
            raise _UnreadableError
        if event.value == "<<" and event.implicit[0]:
            self._fault(line, _name(place), "the merge key <<", "no merge keys", "write the values out")
            return str(event.value)
        key = self._scalar(event, (*place, event.value))
        if not isinstance(key, str):
            self._fault(line, _name((*place, event.value)), f"the key {event.value}", "a word as key", "quote it")
        return str(event.value)

    def _sequence(self, place: Path, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*place, len(items)), depth + 1))
        return items

    def _scalar(self, event: Any, place: Path) -> Any:
        value: str = event.value
        if not event.implicit[0]:
            return value
        if value in _PLAIN_WORDS:
            return _PLAIN_WORDS[value]
        if _INT.fullmatch(value):
            return int(value) if len(value) < 40 else value
        if _FLOAT.fullmatch(value):
            return float(value)
        if value.lower() in _WORDS_OF_1_1 or _is_surprise(value):
            line = event.start_mark.line + 1
            hint = f"quote it if text is meant: '{value}'"
            self._fault(
                line, _name(place), f"{value} without quotes", "a value that every YAML reader reads alike", hint
            )
        return value

    def _fault(self, line: int, name: str, found: str, expected: str, hint: str = "") -> None:
        self.document.faults.append(Fault(self.document.path, line, name, found, expected, hint))


def _is_surprise(value: str) -> bool:
    """Tell whether some YAML reader would take this plain text for a number, a date or a merge."""
    resolvers = yaml.resolver.Resolver.yaml_implicit_resolvers.get(value[0], ())
    return any(pattern.match(value) for _, pattern in resolvers) or bool(_NUMBER_OF_1_2.fullmatch(value))


def _name(place: Path) -> str:
    """Write a place as a person would: ``remedies[0].title``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "yaml"


name_of = _name
