"""A folder of signature files, validated and turned into the line form that ``catalog`` loads.

Takes files as bytes, gives lines of JSON and every fault of every file. The only importer of pydantic on the way of a
signature; runs at build time, for packs not yet cached, and in the checker. What needs patterns run is ``check``'s.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any

import pydantic
import regex

from logsig import yamlfile
from logsig.catalog import FORMAT, compiled, duplicate_fault
from logsig.errors import Fault
from logsig.phrasetree import tree_of
from logsig.remedy import environment
from logsig.signature import CAPTURES, Signature

MAX_FAULTS = 50
"""Faults told of one file."""


@dataclass(frozen=True, slots=True)
class File:
    """One signature file that could be read, with the lines of its values."""

    path: str
    """As the user can open it."""
    relative: str
    signature: Signature
    document: yamlfile.Document

    def fault(self, place: yamlfile.Path, found: str, expected: str, hint: str = "") -> Fault:
        """Say what is wrong at a place of this file."""
        return Fault(self.path, self.document.line(place), yamlfile.name_of(place), found, expected, hint)


def build(
    files: Mapping[str, bytes], root: str, digest: str, *, is_ours: bool = False
) -> tuple[bytes, tuple[Fault, ...]]:
    """Give the line form of all files without fault, and the faults of the others.

    Only the texts of the project's own library are filled without Jinja2, whose sandbox guards against all others.
    """
    good, faults = read_all(files, root)
    return dump(good, digest, is_ours), faults


def read_all(files: Mapping[str, bytes], root: str) -> tuple[tuple[File, ...], tuple[Fault, ...]]:
    """Read and validate every file; a file with a fault isn't among the good ones."""
    good: dict[str, File] = {}
    faults: list[Fault] = []
    for relative, data in files.items():
        path = f"{root}/{relative}"
        file, found = read_file(path, relative, data)
        faults.extend(found)
        if file is None:
            continue
        first = good.get(file.signature.id)
        if first is not None:
            faults.append(duplicate_fault(file.signature.id, path, first.path))
        elif not found:
            good[file.signature.id] = file
    return tuple(good.values()), tuple(faults)


def read_file(path: str, relative: str, data: bytes) -> tuple[File | None, tuple[Fault, ...]]:
    """Read one file: strict YAML, then the schema, then what can be judged within the file without running it."""
    document = yamlfile.read(path, data)
    faults = document.faults
    if document.value is None:
        return None, few(path, faults)
    try:
        signature = Signature.model_validate(document.value)
    except pydantic.ValidationError as error:
        told = {(fault.line, fault.field) for fault in faults}
        schema = (_schema_fault(document, dict(problem)) for problem in error.errors(include_url=False))
        more = (fault for fault in schema if (fault.line, fault.field) not in told)
        return None, few(path, chain(faults, more))
    file = File(path, relative, signature, document)
    return file, few(path, chain(faults, _judge(file)))


def few(path: str, faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Give the first faults of a file; of too many, which somebody else's file may have, no more are looked for."""
    found = tuple(islice(faults, MAX_FAULTS + 1))
    if len(found) <= MAX_FAULTS:
        return found
    return (*found[:MAX_FAULTS], Fault(path, None, "file", "more faults than these", "none", "mend these first"))


# ---------------------------------------------------------------- schema faults in words


def _schema_fault(document: yamlfile.Document, problem: dict[str, Any]) -> Fault:
    """Turn one pydantic error into place, found, expected and hint."""
    place = _place(document.value, problem["loc"])
    name = yamlfile.name_of(place)
    kind = problem["type"]
    line = document.line(place)
    if kind == "missing":
        return Fault(document.path, line, name, "nothing", "this field", _missing_hint(str(place[-1])))
    if kind == "extra_forbidden":
        known = _known_keys(place)
        close = difflib.get_close_matches(str(place[-1]), known, 1)
        hint = f"did you mean {close[0]}?" if close else ""
        return Fault(document.path, line, name, f"the unknown key {place[-1]}", f"one of {', '.join(known)}", hint)
    found = _shorten(problem.get("input"))
    expected = _expected(kind, problem)
    return Fault(document.path, line, name, found, expected, _value_hint(kind, problem, place))


def _place(value: Any, loc: tuple[str | int, ...]) -> yamlfile.Path:
    """Keep of pydantic's location what exists in the file (it adds names of types tried), and a missing last field."""
    place: list[str | int] = []
    for index, part in enumerate(loc):
        inside = _step(value, part)
        if inside is _NOTHING:
            if index == len(loc) - 1 and isinstance(value, dict) and part != "[key]":
                place.append(part)
            continue
        place.append(part)
        value = inside
    return tuple(place)


_NOTHING = object()


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part, _NOTHING)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return _NOTHING


_MISSING_HINTS = {
    "examples": "a raw log that must match, with its prefixes",
    "counterexamples": "a raw log that must not match, and why",
    "schema": "begin the file with: schema: 1",
    "since": "the logsig version that brings it, in quotes",
    "why": "say in a few words what differs from the real thing",
}


def _missing_hint(name: str) -> str:
    return _MISSING_HINTS.get(name, "")


def _known_keys(place: yamlfile.Path) -> list[str]:
    """Give the keys that the model has where ``place`` stands."""
    model: Any = Signature
    for part in place[:-1]:
        if isinstance(part, str) and isinstance(model, type) and issubclass(model, pydantic.BaseModel):
            model = _inner_model(model, part)
    if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
        return []
    return [info.alias or name for name, info in model.model_fields.items()]


def _inner_model(model: type[pydantic.BaseModel], key: str) -> Any:
    for name, info in model.model_fields.items():
        if key in (name, info.alias):
            kinds = [info.annotation, *getattr(info.annotation, "__args__", ())]
            return next(
                (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)), None
            )
    return None


def _expected(kind: str, problem: dict[str, Any]) -> str:
    context = problem.get("ctx", {})
    words = {
        "string_type": "text",
        "enum": f"one of {context.get('expected', '')}",
        "literal_error": f"{context.get('expected', '')}",
        "string_pattern_mismatch": f"text of the form {context.get('pattern', '')}",
        "string_too_short": f"at least {context.get('min_length', '')} characters",
        "string_too_long": f"at most {context.get('max_length', '')} characters",
        "too_short": f"at least {context.get('min_length', '')} items",
        "too_long": f"at most {context.get('max_length', '')} items",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
        "greater_than_equal": f"at least {context.get('ge', '')}",
        "less_than_equal": f"at most {context.get('le', '')}",
    }
    return words.get(kind) or str(problem["msg"])


def _value_hint(kind: str, problem: dict[str, Any], place: yamlfile.Path) -> str:
    value = problem.get("input")
    if kind == "string_type" and isinstance(value, (int, float, bool)):
        return "put it in quotes"
    if kind == "string_type" and isinstance(value, dict):
        return "put it in quotes: it holds ': ' or begins with {"
    if kind == "string_type" and isinstance(value, list):
        return "put it in quotes: it begins with ["
    if kind in ("enum", "literal_error") and isinstance(value, str):
        allowed = re.findall(r"'([^']*)'", str(problem.get("ctx", {}).get("expected", "")))
        close = difflib.get_close_matches(value, allowed, 1)
        return f"did you mean {close[0]}?" if close else ""
    if kind == "string_too_short" and "literals" in place:
        return "a shorter literal fires everywhere; take more of the message"
    return ""


def _shorten(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


# ---------------------------------------------------------------- judged within one file

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def _judge(file: File) -> Iterable[Fault]:
    """Find what the schema can't say but needs no log: names, groups, captures, notices, versions."""
    yield from _judge_name(file)
    yield from _judge_match(file)
    yield from _judge_captures(file)
    yield from _judge_rest(file)


def _judge_name(file: File) -> Iterable[Fault]:
    path, signature = PurePosixPath(file.relative), file.signature
    if signature.id != path.stem:
        yield file.fault(("id",), repr(signature.id), repr(path.stem), "the id is the file's name without .yaml")
    if path.suffix != ".yaml":
        yield file.fault((), f"a file named *{path.suffix}", "a file named *.yaml", "rename it")
    folder = path.parent.name
    if folder and signature.family != folder:
        yield file.fault(("family",), repr(str(signature.family)), repr(folder), "the family is the name of the folder")


def _judge_match(file: File) -> Iterable[Fault]:
    match = file.signature.match
    if not match.literals and not match.derived:
        hint = "a piece of the message that stands in every wording"
        yield file.fault(("match",), "no literals", "at least one literal, or derived", hint)
    for index, literal in enumerate(match.literals):
        place = ("match", "literals", index)
        if literal in match.literals[:index]:
            yield file.fault(place, f"{literal!r} a second time", "every literal once")
        if "\n" in literal:
            yield file.fault(
                place, "a literal with a newline", "a piece of one line", "continuation lines belong to the pattern"
            )


def patterns_of(signature: Signature) -> list[tuple[yamlfile.Path, str]]:
    """List every pattern of a signature with its place in the file."""
    match = signature.match
    single = match.pattern
    found: list[tuple[yamlfile.Path, str]] = [(("match", "pattern"), single)] if isinstance(single, str) else []
    lists = {"follow": match.follow, "frames": match.frames, "before": match.before, "unless": match.unless}
    if isinstance(single, list):
        lists = {"pattern": single, **lists}
    for name, patterns in lists.items():
        found.extend((("match", name, index), pattern) for index, pattern in enumerate(patterns))
    return found


def _judge_captures(file: File) -> Iterable[Fault]:
    declared, groups = file.signature.captures, set()
    broken = False
    for place, pattern in patterns_of(file.signature):
        try:
            names = set(compiled(pattern).groupindex)
        except (regex.error, RecursionError) as error:
            broken = True
            why = "nested too deeply" if isinstance(error, RecursionError) else error
            yield file.fault(place, f"a pattern that doesn't compile: {why}", "a pattern of the regex module")
            continue
        if place[1] == "unless":
            for name in sorted(names):
                yield file.fault(place, f"the group {name}", "no captures in unless", "use (?:…)")
            continue
        groups |= names
        for name in sorted(names - set(declared)):
            yield file.fault(
                place,
                f"the undeclared group {name}",
                "every named group under captures",
                f"add captures: {{{name}: …}}",
            )
    for name in declared:
        if name not in CAPTURES:
            close = difflib.get_close_matches(name, CAPTURES, 1)
            hint = f"did you mean {close[0]}?" if close else "the closed list is CAPTURES in logsig/signature.py"
            yield file.fault(("captures", name), f"the unknown capture {name}", "a name of the closed list", hint)
        elif name not in groups and not broken and not file.signature.match.derived:
            yield file.fault(
                ("captures", name), f"{name} in no pattern", f"a group (?P<{name}>…)", "remove the line or capture it"
            )


def _judge_rest(file: File) -> Iterable[Fault]:
    signature = file.signature
    is_notice = signature.role == "notice"
    if is_notice and signature.harmless is None:
        yield file.fault(("harmless",), "nothing", "why it is harmless", "role notice needs it")
    if not is_notice and signature.harmless is not None:
        yield file.fault(("harmless",), f"role {signature.role}", "harmless for notices only")
    if is_notice and signature.severity != "notice":
        yield file.fault(("severity",), f"role notice with severity {signature.severity}", "severity notice")
    if not _VERSION.fullmatch(signature.since):
        yield file.fault(("since",), repr(signature.since), "a version such as '0.1.0'")
    for index, link in enumerate(signature.references):
        if not re.fullmatch(r"https?://[\w.-]+(:\d+)?(/\S*)?", link):
            yield file.fault(("references", index), repr(link), "an http(s) address")


# ---------------------------------------------------------------- the line form


def dump(files: Iterable[File], digest: str, is_ours: bool = False) -> bytes:
    """Write the line form: header, machine halves, pages, proofs."""
    ordered = sorted(files, key=lambda file: file.signature.id)
    header = {"format": FORMAT, "digest": digest, "count": len(ordered)}
    lines = [header, [_machine_half(file) for file in ordered]]
    lines.extend(_page(file.signature) | {"trees": _trees(file.signature) if is_ours else {}} for file in ordered)
    lines.extend(_proof(file.signature) for file in ordered)
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()


def _machine_half(file: File) -> dict[str, Any]:
    signature = file.signature
    match = signature.match.model_dump(mode="json", exclude_defaults=True)
    if isinstance(match.get("pattern"), str):
        match["pattern"] = [match["pattern"]]
    return {
        "id": signature.id,
        "title": signature.title,
        "family": str(signature.family),
        "role": str(signature.role),
        "severity": str(signature.severity),
        "points_at": str(signature.points_at or ("speaker" if signature.role == "initiator" else "other")),
        "retryable": signature.retryable,
        "match": match,
        "captures": {name: CAPTURES[name][0] for name in signature.captures},
        "explains": [[edge.signature, str(edge.reach)] for edge in signature.explains],
        "harmless": signature.harmless,
        "path": file.relative,
    }


def _page(signature: Signature) -> dict[str, Any]:
    fields = {
        "since",
        "versions",
        "tags",
        "summary",
        "explanation",
        "captures",
        "remedies",
        "confirm",
        "references",
        "proof",
    }
    page = signature.model_dump(mode="json", include=fields)
    page["guide"] = signature.guide.model_dump(mode="json", exclude_defaults=True)
    return page


def texts_of(signature: Signature) -> Iterator[tuple[yamlfile.Path, str, bool]]:
    """List every text that is filled with facts: place, text, and whether it is a condition."""
    yield ("summary",), signature.summary, False
    for index, step in enumerate(signature.confirm):
        yield ("confirm", index), step, False
    for index, remedy in enumerate(signature.remedies):
        place = ("remedies", index)
        if remedy.when is not None:
            yield (*place, "when"), remedy.when, True
        for at, step in enumerate(remedy.steps):
            yield (*place, "steps", at), step, False
        for name in ("title", "code", "cost", "verify"):
            text = getattr(remedy, name)
            if text is not None:
                yield (*place, name), text, False


def _trees(signature: Signature) -> dict[str, Any]:
    """Make the trees of all texts that a run can fill without Jinja2."""
    env = environment()
    found = {
        text: tree_of(text, env, is_condition=is_condition)
        for _place, text, is_condition in texts_of(signature)
        if is_condition or "{" in text
    }
    return {text: tree for text, tree in found.items() if tree is not None}


def _proof(signature: Signature) -> dict[str, Any]:
    examples = [
        {**example.model_dump(mode="json", exclude={"expect"}), "expect": example.expect.model_dump(exclude_unset=True)}
        for example in signature.examples
    ]
    counterexamples = [
        {**counter.model_dump(mode="json"), "source": "synthetic"} for counter in signature.counterexamples
    ]
    return {"examples": examples, "counterexamples": counterexamples}


# ---------------------------------------------------------------- JSON Schema


def schema_text() -> str:
    """Write the JSON Schema of a signature file, as committed under ``docs/``."""
    schema = Signature.model_json_schema(by_alias=True)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "logsig signature"}
    schema["properties"]["captures"]["propertyNames"] = {"enum": list(CAPTURES)}
    return json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=False) + "\n"
