"""What stands before a message: launcher labels, ranks, clocks, collectors. Peeled in layers, outermost first.

One YAML file under ``prefixes/`` describes one dialect: a pattern anchored where the previous layer ended, whose named groups are
the facts it carries. ``Prefixes`` holds them all; ``Prefixes.decide`` looks at some lines of a file and settles what only a file
as a whole can tell (is ``3: `` a task label or a list item?); the ``Peeler`` it returns does the work, line by line.
Knows no files of logs and no signatures.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import unescape
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from logsig.errors import CatalogError, Fault
from logsig.model import Stamp

MAX_LAYERS = 12
"""Deeper nesting than any real log has; a bound for hostile lines."""

LEVELS = {
    **dict.fromkeys(("DEBUG", "TRACE", "NOTSET", "VERBOSE", "V", "D", "10", "7"), "D"),
    **dict.fromkeys(("INFO", "SUCCESS", "NOTICE", "I", "20", "6", "5"), "I"),
    **dict.fromkeys(("WARNING", "WARN", "W", "30", "4"), "W"),
    **dict.fromkeys(("ERROR", "ERR", "E", "40", "3"), "E"),
    **dict.fromkeys(("CRITICAL", "FATAL", "PANIC", "EMERG", "ALERT", "CRIT", "C", "F", "50", "2", "1", "0"), "F"),
}
STREAMS = {"stdout": "stdout", "stderr": "stderr", "O": "stdout", "E": "stderr", "stddiag": "stderr"}

PARTS = {"P": "P", "F": "F", " ": "B", "": "B", "+": "P"}
"""Pieces of a cut line: ``P`` and more follows, ``F`` and it ends, ``B`` and it begins (and ends where the next begins)."""

NUMBERS = frozenset({"rank", "local_rank", "node_rank", "task", "pid", "device", "attempt", "repeated", "label", "nth"})
WORDS = frozenset({"node", "pod", "part", "stream", "level", "time"})
GROUPS = NUMBERS | WORDS
"""What a pattern may name; a digit behind the name (``rank2``) is another place for the same fact."""


# ---------------------------------------------------------------- one dialect


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
    numbered: bool = False
    """True for line numbers: the labels must rise line by line (otherwise they must not)."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A JSON object per line: under which keys it keeps what."""

    require: tuple[str, ...]
    any: tuple[str, ...]
    """One of these at least, where any is listed."""
    keys: Mapping[str, tuple[str, ...]]
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
    place: Literal["start", "end"] = "start"
    consistent: Consistency | None = None
    after: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()
    collector: bool = False
    """Written by who collects the output (container runtime, CI), not by the process: its clock is the collector's."""
    json: Envelope | None = None
    unescape: bool = False
    """The text behind it is XML text (``&lt;``, ``&#010;``)."""
    priority: int = 50
    """Lower is tried first where several could match."""
    examples: tuple[Example, ...] = ()
    counterexamples: tuple[Example, ...] = ()


class Peeled(NamedTuple):
    """A line without its prefixes: ``text`` is what remains, ``start`` where it began in the line given."""

    text: str
    start: int
    layers: tuple[str, ...]
    fields: dict[str, Any]


NOTHING_PEELED = Peeled("", 0, (), {})


# ---------------------------------------------------------------- reading the files

_KEYS = frozenset(
    "name emitter pattern time_format glue place consistent after not_after collector json unescape priority examples counterexamples".split()
)
_ENVELOPE_KEYS = frozenset("message extra time level rank local_rank node node_rank pid stream task pod attempt".split())


def load_prefixes(directory: Path | None = None) -> Prefixes:
    """All dialects: those shipped, and those of ``directory`` (which win where a name is the same)."""
    found: dict[str, Prefix] = {}
    faults: list[Fault] = []
    for name, text in _files(directory):
        prefix = parse_prefix(name, text, faults)
        if prefix is not None:
            found[prefix.name] = prefix
    if faults:
        raise CatalogError(tuple(faults))
    return Prefixes(tuple(sorted(found.values(), key=lambda p: (p.priority, p.name))))


def _files(directory: Path | None) -> Iterator[tuple[str, str]]:
    shipped = resources.files("logsig").joinpath("prefixes")
    for entry in sorted(shipped.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".yaml"):
            yield f"prefixes/{entry.name}", entry.read_text("utf-8")
    if directory is not None:
        for path in sorted(directory.glob("*.yaml")):
            yield str(path), path.read_text("utf-8")


def parse_prefix(path: str, text: str, faults: list[Fault]) -> Prefix | None:
    """One file as a ``Prefix``; everything wrong in it is added to ``faults``."""
    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        faults.append(Fault(path, mark.line + 1 if mark else None, "file", str(error).splitlines()[0], "YAML"))
        return None
    before = len(faults)
    if not isinstance(data, dict):
        faults.append(Fault(path, None, "file", type(data).__name__, "a mapping"))
        return None
    lines = text.splitlines()

    def fault(where: str, found: object, expected: str, hint: str = "") -> None:
        row = next((i for i, line in enumerate(lines, 1) if line.startswith(f"{where.split('.')[0]}:")), None)
        faults.append(Fault(path, row, where, repr(found), expected, hint))

    for key in data.keys() - _KEYS:
        fault(str(key), key, "one of " + ", ".join(sorted(_KEYS)))
    stem = path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".yaml")
    if data.get("name") != stem:
        fault("name", data.get("name"), f"the file's name, {stem!r}")
    if ("pattern" in data) == ("json" in data):
        fault("pattern", "both or neither", "either `pattern` or `json`")
    if data.get("pattern"):
        _check_pattern(data["pattern"], fault)
    if not data.get("examples") or not data.get("counterexamples"):
        fault("examples", None, "at least one example and one counterexample")
    if len(faults) > before:
        return None
    return _prefix(data)


def _check_pattern(pattern: str, fault: Callable[..., None]) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        fault("pattern", pattern, "a regular expression", str(error))
        return
    for group in compiled.groupindex:
        if _field_of(group) not in GROUPS:
            fault("pattern", group, "a group among " + ", ".join(sorted(GROUPS)))
    if compiled.groups != len(compiled.groupindex):
        fault("pattern", pattern, "named groups or (?: … ) only")


def _prefix(data: Mapping[str, Any]) -> Prefix:
    glue = data.get("glue", {})
    envelope = data.get("json")
    return Prefix(
        name=data["name"],
        emitter=data["emitter"],
        pattern=data.get("pattern"),
        time_format=data.get("time_format", "iso"),
        glue=tuple(glue.get("literals", ())),
        glue_kind=glue.get("kind", "strong"),
        place=data.get("place", "start"),
        consistent=Consistency(**data["consistent"]) if "consistent" in data else None,
        after=tuple(data.get("after", ())),
        not_after=tuple(data.get("not_after", ())),
        collector=data.get("collector", False),
        json=_envelope(envelope) if envelope else None,
        unescape=data.get("unescape", False),
        priority=data.get("priority", 50),
        examples=tuple(_example(item) for item in data["examples"]),
        counterexamples=tuple(_example(item) for item in data["counterexamples"]),
    )


def _envelope(data: Mapping[str, Any]) -> Envelope:
    keys = {key: tuple(value) for key, value in data.items() if key in _ENVELOPE_KEYS}
    return Envelope(tuple(data.get("require", ())), tuple(data.get("any", ())), keys, data.get("parts", False))


def _example(item: Mapping[str, Any]) -> Example:
    log = item["log"] if "log" in item else item["line"]
    return Example(log, item.get("fields", {}), item.get("text"), item.get("why", ""))


def _field_of(group: str) -> str:
    return group.rstrip("0123456789").rstrip("_")


# ---------------------------------------------------------------- all dialects


@dataclass(frozen=True)
class Prefixes:
    """All dialects, in the order in which they are tried."""

    all: tuple[Prefix, ...]

    @cached_property
    def weak(self) -> tuple[Prefix, ...]:
        """Those that count only where a file shows them throughout."""
        return tuple(prefix for prefix in self.all if prefix.consistent)

    @cached_property
    def _plain(self) -> Peeler:
        return Peeler(self.all, Dialect())

    def peeler(self, dialect: Dialect | None = None) -> Peeler:
        """The peeler for files of this dialect."""
        if dialect is None or not dialect.spoken:
            return self._plain
        return Peeler(self.all, dialect)

    def decide(self, lines: Sequence[str]) -> Dialect:
        """Which weak dialects a file speaks, from a sample of its lines; in rounds, as weak ones may nest."""
        dialect = Dialect()
        for _ in range(3):
            peel = self.peeler(dialect).peel
            texts = [text for line in lines if (text := peel(line).text) and not text.isspace()]
            heads = [text for text in texts if not _LAUNCHERS_OWN.match(text)]
            first = Counter(text[0] for text in heads)
            shown = {p.name: _labels_shown(p, heads, first) for p in self.weak if p.name not in dialect.spoken and heads}
            more = {name: Labels.of(labels) for name, labels in shown.items() if labels}
            if not more:
                break
            spoken = dialect.spoken | frozenset(more)
            dialect = Dialect(spoken, dialect.label, {**dialect.known, **more})
            if "tee-template" in more:
                dialect = replace(dialect, label=self._meaning_of_label(dialect, lines))
        return dialect

    def _meaning_of_label(self, dialect: Dialect, lines: Sequence[str]) -> Literal["rank", "local_rank"]:
        """``[trainer 3]:`` shows a global rank unless torch's own rank stands behind it and differs."""
        for line in lines:
            fields = self.peeler(dialect).peel(line).fields
            if fields.get("label", fields.get("rank")) != fields.get("rank"):
                return "local_rank"
        return "rank"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What was settled for a whole file."""

    spoken: frozenset[str] = frozenset()
    """Weak dialects it shows throughout."""
    label: Literal["rank", "local_rank"] = "rank"
    """What the number of a custom tee template means."""
    known: Mapping[str, Labels] = field(default_factory=dict, compare=False)
    """By weak dialect, the labels it uses here."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels a weak dialect was seen with: how they look, and how large their numbers can be."""

    forms: frozenset[str]
    largest: int

    @classmethod
    def of(cls, labels: Iterable[str]) -> Labels:
        """From labels seen; the largest number is taken generously, as only a sample was looked at."""
        seen = Counter(labels)
        often = [label for label, count in seen.items() if count > 1] or list(seen)
        numbers = [int(label) for label in often if label.isdigit()]
        return cls(frozenset(_form(label) for label in often), 16 * (max(numbers, default=0) + 1))

    def admit(self, label: str) -> bool:
        """True where the label is of the kind seen."""
        return _form(label) in self.forms and not (label.isdigit() and int(label) > self.largest)


def _form(label: str) -> str:
    return re.sub(r"\d+", "0", label)


_LAUNCHERS_OWN = re.compile(r"(?:srun|slurmstepd[\w.-]*|mpirun|prterun|salloc|sbatch): ")
"""A launcher labels its tasks' lines, not its own."""


def _labels_shown(prefix: Prefix, heads: Sequence[str], first: Mapping[str, int]) -> list[str]:
    """The labels of the lines that carry the prefix next, where those are enough and as they should be; else nothing."""
    rule = prefix.consistent
    assert rule is not None and prefix.pattern is not None
    opening = _first_characters(prefix)
    if opening is not _ANY and sum(count for character, count in first.items() if character in opening) < rule.share * len(heads):
        return []
    matches = [m for m in map(_compiled(prefix.pattern).match, heads) if m]
    share = len(matches) / len(heads)
    if not matches or share < rule.share:
        return []
    labels = [_label(m) for m in matches]
    if _rising(labels) != rule.numbered:
        return []
    enough = len(set(labels)) >= rule.labels or (rule.alone is not None and share >= rule.alone)
    return labels if enough else []


def _label(match: re.Match[str], groups: Iterable[tuple[str, int]] | None = None) -> str:
    """Who the line says it is from: the first fact it carries, else the whole prefix."""
    values = match.groups() if groups is None else [match[index] for _, index in groups]
    return next((value for value in values if value), match.group())


def _rising(labels: Sequence[str]) -> bool:
    """True for line numbers: nearly all rise, and nearly none comes twice."""
    digits = [re.sub(r"[^0-9]", "", label) for label in labels]
    numbers = [int(label) for label in digits if label]
    if len(numbers) < 8 or len(set(numbers)) < 0.9 * len(numbers):
        return False
    return sum(a < b for a, b in zip(numbers, numbers[1:], strict=False)) >= 0.9 * (len(numbers) - 1)


_COMPILED: dict[str, re.Pattern[str]] = {}


def _compiled(pattern: str) -> re.Pattern[str]:
    if pattern not in _COMPILED:
        _COMPILED[pattern] = re.compile(pattern)
    return _COMPILED[pattern]


# ---------------------------------------------------------------- peeling


class _Hit(NamedTuple):
    """What to do where one alternative has matched."""

    prefix: Prefix
    layer: tuple[str]
    groups: tuple[tuple[str, int], ...]
    """(fact, group number) …"""
    bits: int
    """What the prefix by itself adds to the state."""


class _Alternatives:
    """Several patterns as one: which one matched, and its groups."""

    def __init__(self, prefixes: Sequence[Prefix], bits: Mapping[str, int]) -> None:
        parts: list[str] = []
        self.by_index: dict[int, _Hit] = {}
        index = 1
        for number, prefix in enumerate(prefixes):
            assert prefix.pattern is not None
            names = re.compile(prefix.pattern).groupindex
            parts.append("(" + re.sub(r"\(\?P<(\w+)>", rf"(?P<\1__{number}>", prefix.pattern) + ")")
            groups = tuple((_field_of(name), index + at) for name, at in names.items())
            self.by_index[index] = _Hit(prefix, (prefix.name,), groups, bits.get(prefix.name, 0))
            index += 1 + len(names)
        self.match = re.compile("|".join(parts)).match


class Peeler:
    """Peels lines of one dialect. Holds no state of the log, only compiled patterns."""

    def __init__(self, prefixes: Sequence[Prefix], dialect: Dialect) -> None:
        usable = [p for p in prefixes if p.consistent is None or p.name in dialect.spoken]
        self.dialect = dialect
        self._at_start = [p for p in usable if p.pattern and p.place == "start"]
        self._at_end = [(p, _compiled(p.pattern)) for p in usable if p.pattern and p.place == "end"]
        self._envelopes = [p for p in usable if p.json]
        self._glue = [(p, _compiled(p.pattern)) for p in usable if p.pattern and p.glue]
        self._glue_literals = tuple({literal for p, _ in self._glue for literal in p.glue})
        tags = {tag for p in usable for tag in (*p.after, *p.not_after)}
        self._bits = {tag: 1 << i for i, tag in enumerate(sorted(tags))}
        self._table: dict[tuple[int, str], _Alternatives | None] = {}
        self._compiled: dict[tuple[str, ...], _Alternatives] = {}

    def peel(self, line: str, outer: Peeled = NOTHING_PEELED, limit: int = MAX_LAYERS) -> Peeled:
        """Take off the prefixes at the start of ``line``, at most ``limit``; ``outer`` is what was known before it."""
        text, pos = line, 0
        layers = outer.layers
        fields = dict(outer.fields)
        state = self._state(outer) if fields else 0
        length = len(text)
        known = self.dialect.known
        while pos < length and len(layers) < limit:
            character = text[pos]
            if character == "{":
                opened = self._open(text[pos:], fields)
                if opened is None:
                    break
                prefix, text = opened
                pos, length = 0, len(text)
                layers = (*layers, prefix.name)
                if "\n" in text or ("part" in fields and "part" not in outer.fields):
                    break
                state = self._state(Peeled(text, 0, layers, fields))
                continue
            try:
                alternatives = self._table[state, character]
            except KeyError:
                alternatives = self._alternatives(state, character)
            if alternatives is None:
                break
            match = alternatives.match(text, pos)
            if match is None:
                break
            prefix, layer, groups, bits = alternatives.by_index[match.lastindex or 0]
            if known and prefix.name in known and not known[prefix.name].admit(_label(match, groups)):
                break
            layers += layer
            state |= bits
            for name, index in groups:
                value = match[index]
                if value is not None:
                    self._set(fields, prefix, name, value)
                    state |= self._bits.get(name, 0)
            end = match.end()
            if end == pos:
                break
            pos = end
            if "part" in fields and "part" not in outer.fields:
                break
            if prefix.unescape:
                text, pos = _xml_text(text[pos:]), 0
                length = len(text)
        rest = text[pos:] if pos else text
        if rest and rest[-1] in "]).0123456789":
            rest, layers = self._without_tail(rest, layers, fields)
        return Peeled(rest, pos, layers, fields)

    def _without_tail(self, text: str, layers: tuple[str, ...], fields: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
        for prefix, pattern in self._at_end:
            if prefix.after and not any(tag in layers for tag in prefix.after):
                continue
            if found := pattern.search(text, max(0, len(text) - 500)):
                for key, value in found.groupdict().items():
                    if value is not None:
                        self._set(fields, prefix, _field_of(key), value)
                text, layers = text[: found.start()], (*layers, prefix.name)
        return text, layers

    def may_be_glued(self, text: str) -> bool:
        """A quick look: False where no other writer's text can begin inside ``text``."""
        for literal in self._glue_literals:  # noqa: SIM110 (a generator costs five times as much here)
            if literal in text:
                return True
        return False

    def glued(self, text: str) -> Iterator[int]:
        """Positions inside ``text`` where another writer's text begins."""
        pos = 1
        while pos < len(text):
            starts = [m.start() for p, pattern in self._glue if (m := self._find_glue(p, pattern, text, pos))]
            if not starts:
                return
            at = min(starts)
            yield at
            pos = at + max(1, len(text) - at - len(self.peel(text[at:]).text))

    def _find_glue(self, prefix: Prefix, pattern: re.Pattern[str], text: str, pos: int) -> re.Match[str] | None:
        if not any(text.find(literal, pos) >= 0 for literal in prefix.glue):
            return None
        return next((m for m in pattern.finditer(text, pos) if self._is_glue(prefix, text, m)), None)

    def _is_glue(self, prefix: Prefix, text: str, match: re.Match[str]) -> bool:
        before = text[match.start() - 1]
        if before in "\"'`([{<=\\/":
            return False
        if not before.isspace():
            return prefix.glue_kind == "strong" or before.isalnum() or before in "]).!%"
        rest = text[match.end() :]
        if prefix.glue_kind == "label":
            return _same_beginning(text, rest)
        return rest.startswith("Traceback (most recent") or bool(self.peel(rest).layers)

    def _set(self, fields: dict[str, Any], prefix: Prefix, name: str, value: str) -> None:
        if name in NUMBERS:
            self._set_number(fields, name, int(value))
        elif name == "time":
            stamp = Stamp(value, prefix.time_format)
            fields["stamp"] = stamp
            if prefix.collector:
                fields.setdefault("arrival", stamp)
        elif name == "level":
            fields["level"] = LEVELS.get(value.upper())
        elif name == "stream":
            fields["stream"] = STREAMS.get(value, value)
        elif name == "part":
            fields["part"] = PARTS[value]
        elif name == "pod":
            fields.setdefault("node", value)
            if (index := node_rank_of_pod(value)) is not None:
                fields["node_rank"] = index
        elif name == "node":
            fields.setdefault("node", value)
        else:
            fields[name] = value

    def _set_number(self, fields: dict[str, Any], name: str, number: int) -> None:
        if name == "label":
            fields["label"] = number
            fields[self.dialect.label] = number
        elif name == "nth":
            fields["node_rank"] = number - 1
        else:
            fields[name] = number

    def _open(self, text: str, fields: dict[str, Any]) -> tuple[Prefix, str] | None:
        """The message of a JSON line, its facts added to ``fields``."""
        if not text.rstrip().endswith("}"):
            return None
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return None
        for prefix in self._envelopes:
            message = self._message(prefix, data, fields)
            if message is not None:
                return prefix, message
        return None

    def _message(self, prefix: Prefix, data: Any, fields: dict[str, Any]) -> str | None:
        envelope = prefix.json
        assert envelope is not None
        if not isinstance(data, dict) or any(key not in data for key in envelope.require):
            return None
        if envelope.any and not any(key in data for key in envelope.any):
            return None
        message = next((found for key in envelope.keys["message"] if (found := _words(data.get(key))) is not None), None)
        if message is None:
            return None
        for name, keys in envelope.keys.items():
            value = next((data[key] for key in keys if data.get(key) is not None), None)
            if name not in ("message", "extra") and isinstance(value, str | int | float) and not isinstance(value, bool):
                self._set_json(fields, prefix, name, value)
        if envelope.parts:
            fields["part"] = "F" if message.endswith("\n") else "P"
        extra = [data[key] for key in envelope.keys.get("extra", ()) if isinstance(data.get(key), str)]
        return "\n".join([message.removesuffix("\n"), *extra])

    def _set_json(self, fields: dict[str, Any], prefix: Prefix, name: str, value: str | float) -> None:
        if name == "time":
            stamp = Stamp(str(value), prefix.time_format if isinstance(value, str) else "epoch")
            fields["stamp"] = stamp
            if prefix.collector:
                fields.setdefault("arrival", stamp)
        elif name not in NUMBERS:
            self._set(fields, prefix, name, str(value))
        elif str(value).isascii() and str(value).isdigit():
            self._set_number(fields, name, int(value))

    def _state(self, outer: Peeled) -> int:
        state = 0
        for tag, bit in self._bits.items():
            if tag in outer.layers or tag in outer.fields or (tag == "time" and "stamp" in outer.fields):
                state |= bit
        return state

    def _alternatives(self, state: int, character: str) -> _Alternatives | None:
        key = (state, character)
        try:
            return self._table[key]
        except KeyError:
            pass
        usable = [p for p in self._at_start if self._may_follow(p, state) and _opens(_first_characters(p), character)]
        names = tuple(p.name for p in usable)
        if names and names not in self._compiled:
            self._compiled[names] = _Alternatives(usable, self._bits)
        if len(self._table) < 20_000:
            self._table[key] = self._compiled.get(names)
        return self._compiled.get(names)

    def _may_follow(self, prefix: Prefix, state: int) -> bool:
        if prefix.after and not any(self._bits[tag] & state for tag in prefix.after):
            return False
        return not any(self._bits[tag] & state for tag in prefix.not_after)


def _words(value: Any) -> str | None:
    """A message as text: a string, or the bytes of one that isn't UTF-8 (as the journal writes them)."""
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def _same_beginning(text: str, rest: str) -> bool:
    """True for ``step=2 … [rank 1] step=2 …``: what follows the label begins as the line does."""
    first, second = re.match(r"[A-Za-z]+", text), re.match(r"[A-Za-z]+", rest)
    return bool(first and second and first.group() == second.group())


def _xml_text(text: str) -> str:
    return unescape(re.sub(r"</\w+>$", "", text.rstrip())).removesuffix("\n")


# ---------------------------------------------------------------- pods

_MASTER = re.compile(r"-(?:master|launcher|head|chief)-0(?:-[a-z0-9]{5})?$")
_WORKER = re.compile(r"-worker-(\d+)(?:-[a-z0-9]{5})?$")
_JOBSET = re.compile(r"-(\d+)-(\d+)-[a-z0-9]{5}$")


def node_rank_of_pod(pod: str) -> int | None:
    """Index of the node a training operator gives this pod; None where the name tells nothing."""
    if _MASTER.search(pod):
        return 0
    if match := _WORKER.search(pod):
        return int(match[1]) + 1
    if match := _JOBSET.search(pod):
        return int(match[1]) + int(match[2])
    return None


# ---------------------------------------------------------------- first characters

_FIRST: dict[str, frozenset[str]] = {}


def _first_characters(prefix: Prefix) -> frozenset[str]:
    pattern = prefix.pattern or ""
    if pattern not in _FIRST:
        _FIRST[pattern] = first_characters(pattern)
    return _FIRST[pattern]


_ANY: frozenset[str] = frozenset({"any"})
_CLASSES = {"d": frozenset("0123456789"), "s": frozenset(" \t\r\n\f\v"), "w": _ANY, "S": _ANY, "D": _ANY, "W": _ANY}


def _opens(first: frozenset[str], character: str) -> bool:
    return first is _ANY or character in first


def first_characters(pattern: str) -> frozenset[str]:
    """Characters a match of ``pattern`` can begin with, or ``_ANY``. Errs only to the side of more."""
    try:
        found, empty, _ = _first_of_alternatives(pattern, 0)
    except (IndexError, KeyError):
        return _ANY
    return _ANY if empty or found is _ANY else found


def _first_of_alternatives(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    """(characters, may be empty, position behind) of everything up to the closing parenthesis."""
    found: frozenset[str] = frozenset()
    empty_any = False
    open_end = True
    while True:
        if pos >= len(pattern) or pattern[pos] in "|)":
            empty_any |= open_end
            if pos >= len(pattern) or pattern[pos] == ")":
                return found, empty_any, pos
            open_end, pos = True, pos + 1
            continue
        first, empty, pos = _first_of_atom(pattern, pos)
        quantifier = re.compile(r"[*+?]|\{\d*,?\d*\}").match(pattern, pos)
        if quantifier:
            empty |= quantifier.group() in "*?" or quantifier.group().startswith(("{0", "{,"))
            pos = quantifier.end() + (pattern[quantifier.end() : quantifier.end() + 1] in ("?", "+"))
        if open_end:
            found = _ANY if found is _ANY or first is _ANY else found | first
            open_end = empty


def _first_of_atom(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    character = pattern[pos]
    if character == "(":
        look = re.compile(r"\(\?(?:=|!|<=|<!)").match(pattern, pos)
        head = look or re.compile(r"\((?:\?(?::|P<\w+>|>))?").match(pattern, pos)
        assert head is not None
        found, empty, end = _first_of_alternatives(pattern, head.end())
        return (frozenset(), True, end + 1) if look else (found, empty, end + 1)
    if character == "[":
        return _first_of_class(pattern, pos)
    if character == "\\":
        escaped = pattern[pos + 1]
        if escaped == "x":
            return frozenset(chr(int(pattern[pos + 2 : pos + 4], 16))), False, pos + 4
        if escaped == "u":
            return frozenset(chr(int(pattern[pos + 2 : pos + 6], 16))), False, pos + 6
        if escaped in "bBAZ":
            return frozenset(), True, pos + 2
        if escaped.isalpha():
            return _CLASSES.get(escaped, frozenset("\t") if escaped == "t" else _ANY), False, pos + 2
        return frozenset(escaped), False, pos + 2
    if character in "^$":
        return frozenset(), True, pos + 1
    return (_ANY if character == "." else frozenset(character)), False, pos + 1


def _first_of_class(pattern: str, pos: int) -> tuple[frozenset[str], bool, int]:
    end = pos + 1 + (pattern[pos + 1] == "^")
    end += pattern[end] == "]"
    while pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    compiled = re.compile(pattern[pos : end + 1])
    listed = frozenset(c for c in map(chr, range(128)) if compiled.match(c))
    wide = pattern[pos + 1] == "^" or "\\w" in pattern[pos:end] or "\\S" in pattern[pos:end] or not pattern[pos:end].isascii()
    return (_ANY if wide else listed), False, end + 1

