"""The files under ``prefixes/``: one launcher, logger or collector each, found by name.

Takes YAML, gives frozen ``Prefix`` records. Of a shipped file only the machine half counts at start, everything above
``examples:``, and that as JSON: the wheel's ``_library/prefixes.json``, or a checkout's from the user's cache.
``check`` reads all of it and says all that is wrong. How prefixes are applied is ``prefix``'s business.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from logsig import clocks, opening
from logsig.errors import CatalogError, Fault
from logsig.record import dataclass

PACKAGE = Path(__file__).parent
FOLDER = os.path.join(PACKAGE, "prefixes")
BUILT = PACKAGE / "_library" / "prefixes.json"

NUMBERS = frozenset({"rank", "local_rank", "node_rank", "task", "pid", "device", "attempt", "repeated", "label", "nth"})
"""Facts that are numbers. ``label`` is a rank or a local rank, as the file as a whole tells; ``nth`` a node, from 1."""
WORDS = frozenset({"node", "pod", "part", "stream", "level", "time"})
GROUPS = NUMBERS | WORDS
"""What a pattern may name. A digit behind the name (``rank2``) is another place for the same fact."""

_Kinds = dict[str, type]

_KEYS: _Kinds = {
    "name": str,
    "emitter": str,
    "pattern": str,
    "json": dict,
    "time_format": str,
    "glue": dict,
    "place": str,
    "needs": str,
    "consistent": dict,
    "after": list,
    "not_after": list,
    "collector": bool,
    "unescape": bool,
    "priority": int,
    "examples": list,
    "counterexamples": list,
}
_GLUE: _Kinds = {"literals": list, "kind": str}
_CONSISTENT: _Kinds = {"share": float, "labels": int, "alone": float, "lines": int, "numbered": bool}
_JSON: _Kinds = {"parts": bool} | dict.fromkeys(("require", "any", "message", "extra", *sorted(GROUPS)), list)
_EXAMPLE: _Kinds = {"line": str, "log": str, "fields": dict, "text": str, "why": str}


# ---------------------------------------------------------------- records


@dataclass(frozen=True, slots=True)
class Example:
    """A log snippet and what peeling its last line must give."""

    log: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Consistency:
    """A weak dialect counts only where a file shows it throughout."""

    share: float
    """Least share of the file's lines that carry it."""
    labels: int = 1
    """Least number of different labels …"""
    alone: float | None = None
    """… or this share with a single label."""
    lines: int = 2
    """Least number of lines that carry it."""
    numbered: bool = False
    """True for line numbers: the labels must rise line by line (otherwise they must not)."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A JSON object per line: under which keys it keeps what."""

    require: tuple[str, ...]
    """All of these must be there …"""
    any: tuple[str, ...]
    """… and one of these, where any is listed."""
    keys: Mapping[str, tuple[str, ...]]
    """Fact -> keys, the first one present counts."""
    parts: bool = False
    """A message without a final newline goes on in the next object."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """One dialect, as its file describes it."""

    name: str
    emitter: str
    pattern: str | None = None
    time_format: str = "iso"
    glue: tuple[str, ...] = ()
    """Literals that betray it in mid-line, where it then begins another writer's text."""
    glue_kind: Literal["strong", "label"] = "strong"
    """``label``: what a script writes itself, so that a sentence may quote it; more care in mid-line."""
    place: Literal["start", "end"] = "start"
    needs: str = ""
    """A literal without which a pattern for the end of lines can't match: it spares a search of most lines."""
    consistent: Consistency | None = None
    after: tuple[str, ...] = ()
    """Facts or prefixes of which one must have come before."""
    not_after: tuple[str, ...] = ()
    collector: bool = False
    """Written by who collects the output (container runtime, CI), not by the process: its clock is the collector's."""
    json: Envelope | None = None
    first: frozenset[str] | None = None
    """What ``opening.first_characters`` says of the pattern, where that was asked when the JSON was made."""
    unescape: bool = False
    """The text behind it is XML text (``&lt;``, ``&#010;``)."""
    priority: int = 50
    """Lower is tried first where several could match."""
    examples: tuple[Example, ...] = ()
    counterexamples: tuple[Example, ...] = ()


# ---------------------------------------------------------------- reading


def shipped() -> tuple[Prefix, ...]:
    """All dialects of the package, in the order in which they are tried, without their examples.

    Where a file is faulty, raises ``CatalogError`` with everything that is wrong in any of them.
    """
    try:
        data = BUILT.read_bytes()
    except OSError:
        data = _of_checkout()
    return _in_order([_record(raw) for raw in json.loads(data)])


def _of_checkout() -> bytes:
    """The JSON form of the files beside this module, from the user's cache where that was made from exactly these."""
    from logsig import cache, catalog

    files = {name: text.encode() for name, text in _files(FOLDER)}
    code = ((PACKAGE / module).read_bytes() for module in ("dialects.py", "opening.py"))
    key = cache.digest_of([catalog.pack_digest(files).encode(), *code])
    place = cache.file_of(Path(FOLDER))
    data = cache.recall(place, key)
    if data is None:
        data = build()
        cache.store(place, key, data)
    return data


def build() -> bytes:
    """The machine halves of the shipped files as one JSON list; raises ``CatalogError`` where one is faulty."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    halves = (text.partition("\nexamples:")[0] for _, text in _files(FOLDER))
    try:
        found = [yaml.load(half, Loader=loader) for half in halves]  # noqa: S506 (a safe loader)
        for raw in found:
            _record(raw)
            first = opening.first_characters(raw.get("pattern", ""))
            raw["first"] = None if first is opening.ANY else "".join(sorted(first))
    except (yaml.YAMLError, KeyError, TypeError):
        read(FOLDER)
        raise
    return json.dumps(found).encode()


def read(folder: str = FOLDER) -> tuple[Prefix, ...]:
    """All dialects of a folder with their examples; raises ``CatalogError`` with everything that is wrong."""
    found, faults = check(folder)
    if faults:
        raise CatalogError(faults)
    return found


def check(folder: str = FOLDER) -> tuple[tuple[Prefix, ...], tuple[Fault, ...]]:
    """The dialects of a folder that are as they should be, and every fault of the others."""
    found: list[Prefix] = []
    faults: list[Fault] = []
    for path, text in _files(folder):
        new = list(_faults(path, text))
        faults += new
        if not new:
            found.append(_record(_plain(text)))
    return _in_order(found), tuple(faults)


def _plain(text: str) -> Mapping[str, Any]:
    import yaml

    data: Mapping[str, Any] = yaml.safe_load(text)
    return data


def _files(folder: str) -> Iterator[tuple[str, str]]:
    from logsig import smallfile

    for name in sorted(os.listdir(folder)):
        if name.endswith(".yaml"):
            path = os.path.join(folder, name)
            yield path, smallfile.read(path).decode()


def _in_order(found: list[Prefix]) -> tuple[Prefix, ...]:
    return tuple(sorted(found, key=lambda prefix: (prefix.priority, prefix.name)))


def _record(data: Mapping[str, Any]) -> Prefix:
    glue = data.get("glue", {})
    return Prefix(
        name=data["name"],
        emitter=data["emitter"],
        pattern=data.get("pattern"),
        time_format=data.get("time_format", "iso"),
        glue=tuple(glue.get("literals", ())),
        glue_kind=glue.get("kind", "strong"),
        place=data.get("place", "start"),
        needs=data.get("needs", ""),
        consistent=Consistency(**data["consistent"]) if "consistent" in data else None,
        after=tuple(data.get("after", ())),
        not_after=tuple(data.get("not_after", ())),
        collector=data.get("collector", False),
        json=_envelope(data["json"]) if "json" in data else None,
        first=_first(data) if "first" in data else None,
        unescape=data.get("unescape", False),
        priority=data.get("priority", 50),
        examples=tuple(map(_example, data.get("examples", ()))),
        counterexamples=tuple(map(_example, data.get("counterexamples", ()))),
    )


def _first(data: Mapping[str, Any]) -> frozenset[str]:
    return opening.ANY if data["first"] is None else frozenset(data["first"])


def _envelope(data: Mapping[str, Any]) -> Envelope:
    keys = {key: tuple(value) for key, value in data.items() if key not in ("require", "any", "parts")}
    return Envelope(tuple(data.get("require", ())), tuple(data.get("any", ())), keys, data.get("parts", False))


def _example(item: Mapping[str, Any]) -> Example:
    log = item["log"] if "log" in item else item["line"]
    return Example(log, item.get("fields", {}), item.get("text"), item.get("why", ""))


def fact_of(group: str) -> str:
    """The fact a group of a pattern stands for: ``rank2`` is a ``rank``."""
    return group.rstrip("0123456789")


# ---------------------------------------------------------------- checking


def _faults(path: str, text: str) -> Iterator[Fault]:
    """Everything wrong in one file."""
    from logsig import yamlfile

    document = yamlfile.read(path, text.encode())
    if document.faults or not isinstance(document.value, dict):
        yield from document.faults or [Fault(path, 1, "file", "no mapping", "keys and values")]
        return
    data: Mapping[str, Any] = document.value

    def fault(place: str, found: object, expected: str, hint: str = "") -> Fault:
        steps = tuple(int(step) if step.isdigit() else step for step in place.split("."))
        return Fault(path, document.line(steps), place, repr(found), expected, hint)

    yield from (fault(*found) for found in _wrong_keys(data))
    name = os.path.basename(path).removesuffix(".yaml")
    if data.get("name") != name:
        yield fault("name", data.get("name"), f"the file's name, {name!r}")
    for key in ("emitter", "examples", "counterexamples"):
        if not data.get(key):
            yield fault(key, data.get(key), "a value", "every prefix says who writes it and proves itself")
    if ("pattern" in data) == ("json" in data):
        yield fault("pattern", data.get("pattern"), "either `pattern` or `json`, not both")
    if data.get("time_format", "iso") not in clocks.FORMATS:
        yield fault("time_format", data["time_format"], "one of " + ", ".join(sorted(clocks.FORMATS)))
    if isinstance(data.get("pattern"), str):
        yield from (fault("pattern", *found) for found in _wrong_pattern(data["pattern"]))
    if "\nexamples:" not in text.partition("\ncounterexamples:")[0]:
        yield fault("examples", None, "to come first of the two, and behind everything else")


def _wrong_keys(data: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """(place, found, expected) of unknown keys and values of the wrong type, in depth."""
    parts: list[tuple[str, Any, _Kinds]]
    parts = [("", data, _KEYS), ("glue.", data.get("glue"), _GLUE), ("json.", data.get("json"), _JSON)]
    parts.append(("consistent.", data.get("consistent"), _CONSISTENT))
    for which in ("examples", "counterexamples"):
        items = data.get(which)
        parts += [(f"{which}.{i}.", item, _EXAMPLE) for i, item in enumerate(items if isinstance(items, list) else ())]
    for place, mapping, known in parts:
        for key, value in mapping.items() if isinstance(mapping, dict) else ():
            if key not in known:
                yield f"{place}{key}", key, "one of " + ", ".join(sorted(known))
            elif not isinstance(value, known[key]) and not (known[key] is float and isinstance(value, int)):
                yield f"{place}{key}", value, known[key].__name__


_ANY_DIGIT = r"\{\d*,?\d*\}|\?P<\w+>|0-9|\\x[0-9a-fA-F]{2}"
"""What of a pattern has digits in it, and asks for none."""


def _wrong_pattern(pattern: str) -> Iterator[tuple[object, str, str]]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        yield pattern, "a regular expression", str(error)
        return
    if re.search(r"[0-9]", re.sub(_ANY_DIGIT, "", pattern)):
        yield pattern, "digits as \\d only", "lines that differ in digits only are peeled alike"
    for group in compiled.groupindex:
        if fact_of(group) not in GROUPS:
            yield group, "a group among " + ", ".join(sorted(GROUPS)), "a digit behind the name is allowed"
    if compiled.groups != len(compiled.groupindex):
        yield pattern, "named groups or (?: … ) only", "the groups of all prefixes are counted together"
    if compiled.match(""):
        yield pattern, "a pattern that needs at least one character", ""
