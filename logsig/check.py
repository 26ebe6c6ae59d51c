"""Proves that every signature does what it claims, and costs what it may.

Takes a folder of signature files and the whole line (text in, events and diagnosis out), gives every fault of every
file. What a single file can be judged by without running it is ``library``'s; here are the references between files,
templates, samples, the cost of patterns, and the samples' way through the whole line.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
from jinja2 import nodes

from logsig import adversary, library, yamlfile
from logsig import catalog as catalogs
from logsig.catalog import Catalog, Entry, Sample
from logsig.draft import FILL
from logsig.errors import CatalogError, Fault
from logsig.library import File, texts_of
from logsig.model import Diagnosis, Event
from logsig.signature import CAPTURES, CONTEXT, Counterexample, Example, Signature


@dataclass(frozen=True, slots=True)
class Line:
    """The whole line as two functions: what is recognised in a text, and what is concluded from it."""

    match_text: Callable[[str, Catalog], Sequence[Event]]
    analyze_text: Callable[[str, Catalog], Diagnosis]


@dataclass(frozen=True, slots=True)
class Report:
    """What the checker did and found."""

    signatures: int
    samples: int
    faults: tuple[Fault, ...]


def check(target: Path, line: Line | None) -> Report:
    """Check a pack, the library, one family of it, or one file of it; without ``line`` the samples aren't run.

    A part of the library is checked against all of it, a pack against the library and itself.
    """
    root, packs = _surroundings(target)
    there, unread = catalogs.read_files(root)
    files, faults = library.read_all(there, str(root))
    mine = _below(target, root)
    found = [fault for fault in (*unread, *faults) if mine(fault.path)]
    chosen = [file for file in files if mine(file.path)]
    try:
        whole = catalogs.build_catalog([*packs, _pack(files, root)])
    except CatalogError as error:
        return Report(len(chosen), 0, (*found, *error.faults))
    for file in chosen:
        found.extend(library.few(file.path, judge(file, whole)))
    samples = 0
    if line is not None:
        for file in chosen:
            samples += len(file.signature.examples) + len(file.signature.counterexamples)
            found.extend(run_samples(file, whole, line))
    return Report(len(chosen), samples, tuple(found))


def _surroundings(target: Path) -> tuple[Path, list[catalogs.Pack]]:
    """Find the folder to read whole, and the packs that stand beside it."""
    own = catalogs.library_folder().resolve()
    if target.resolve() == own or own in target.resolve().parents:
        return catalogs.library_folder(), []
    if target.is_file():
        folder = target.parent
        return folder.parent if _is_family(folder.name) else folder, _library_packs()
    return target, _library_packs()


def _is_family(name: str) -> bool:
    from logsig.signature import Family

    return name in set(Family)


def _library_packs() -> list[catalogs.Pack]:
    pack, _ = catalogs.load_library()
    return [pack] if pack is not None else []


def _below(target: Path, root: Path) -> Callable[[str], bool]:
    """Tell which paths of faults belong to what was asked for."""
    if target.resolve() == root.resolve():
        return lambda _path: True
    wanted = target.resolve()
    return lambda path: (at := Path(path).resolve()) == wanted or wanted in at.parents


def _pack(files: Iterable[File], root: Path) -> catalogs.Pack:
    return catalogs.parse_pack(library.dump(files, "unsaved"), str(root))


# ---------------------------------------------------------------- judged without running the line


def judge(file: File, whole: Catalog) -> Iterator[Fault]:
    """Find what is wrong in a file as seen beside all others."""
    yield from _judge_marks(file)
    yield from _judge_references(file, whole)
    yield from _judge_templates(file)
    yield from _judge_samples(file)
    yield from _judge_cost(file)


def _judge_marks(file: File) -> Iterator[Fault]:
    """Find what a draft left to be written."""
    for place, text in _texts(file.document.value, ()):
        if text.startswith(f"{FILL}:"):
            yield file.fault(place, f"the mark {FILL}", text.removeprefix(f"{FILL}:").strip())


def _texts(value: Any, place: yamlfile.Path) -> Iterator[tuple[yamlfile.Path, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*place, index))


def _judge_references(file: File, whole: Catalog) -> Iterator[Fault]:
    signature = file.signature
    places: list[tuple[yamlfile.Path, str]] = [
        *((("match", "over", index), name) for index, name in enumerate(signature.match.over)),
        *((("explains", index, "signature"), edge.signature) for index, edge in enumerate(signature.explains)),
        *((("guide", "resembles", name), name) for name in signature.guide.resembles),
    ]
    for place, name in places:
        if name == signature.id:
            yield file.fault(place, f"its own id {name}", "another signature")
        elif name not in whole.signatures:
            yield file.fault(
                place, f"the unknown signature {name}", "the id of a signature", _close(name, whole.signatures)
            )


def _close(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else ""


# ---------------------------------------------------------------- templates


def _judge_templates(file: File) -> Iterator[Fault]:
    from logsig.remedy import environment

    env = environment()
    known = {*CAPTURES, *CONTEXT}
    for place, text, is_expression in texts_of(file.signature):
        source = f"{{% if {text} %}}{{% endif %}}" if is_expression else text
        try:
            tree = env.parse(source)
        except jinja2.TemplateError as error:
            kind = "expression" if is_expression else "template"
            hint = "{{ name }} prints a fact, {% if name %} asks for one"
            yield file.fault(place, f"a bad {kind}: {error}", "Jinja2", hint)
            continue
        unknown = [
            fault for node in tree.find_all((nodes.Filter, nodes.Test)) for fault in _unknown(file, place, node, env)
        ]
        if unknown:
            yield from unknown
            continue
        used = jinja2.meta.find_undeclared_variables(tree)
        for name in sorted(used - known - set(env.globals)):
            hint = _close(name, known) or "facts are listed in CAPTURES and CONTEXT of logsig/signature.py"
            yield file.fault(place, f"the unknown fact {name}", "a capture or a name of the analysis", hint)
        yield from _fails(file, place, source)


def _fails(file: File, place: yamlfile.Path, source: str) -> Iterator[Fault]:
    """Try a template with a placeholder for every fact: it may fail, or want too much, whatever a log tells."""
    from logsig import page, remedy

    remedy.environment().renew()
    try:
        page.rendered(source)
    except remedy.failures() as error:
        yield file.fault(place, f"a template that fails: {error}", "one that any log can fill")


def _unknown(file: File, place: yamlfile.Path, node: Any, env: jinja2.Environment) -> Iterator[Fault]:
    """Refuse a filter or test that doesn't exist."""
    there: Mapping[str, Any] = env.filters if isinstance(node, nodes.Filter) else env.tests
    if node.name not in there:
        found = f"the unknown {type(node).__name__.lower()} {node.name}"
        yield file.fault(place, found, "one that Jinja2 or logsig has", _close(node.name, there))


# ---------------------------------------------------------------- samples, as text

_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "flag": (bool,),
    "bytes": (int,),
    "secs": (int, float),
    "ints": (list,),
    "strs": (list,),
}


def _judge_samples(file: File) -> Iterator[Fault]:
    signature = file.signature
    names: set[str] = set()
    for place, sample in samples_of(signature):
        if sample.name in names:
            yield file.fault((*place, "name"), f"{sample.name!r} a second time", "every sample with a name of its own")
        names.add(sample.name)
        if isinstance(sample, Example):
            yield from _judge_example(file, place, sample)
        elif sample.near_miss and signature.match.literals and not _holds_literal(signature, sample.log):
            yield file.fault(
                (*place, "near_miss"), "a near miss without a literal", f"one of {signature.match.literals}"
            )
        elif sample.near_miss and any(_only_quoted(sample.log, example.log) for example in signature.examples):
            yield file.fault((*place, "near_miss"), "an example in quotes", "a log that differs in meaning")
    if not any(counter.near_miss for counter in signature.counterexamples):
        hint = "a log with a literal of this signature and another meaning; mark it near_miss: true"
        yield file.fault(("counterexamples",), "no near miss", "at least one", hint)


def samples_of(signature: Signature) -> Iterator[tuple[yamlfile.Path, Example | Counterexample]]:
    """List examples and counterexamples with their place in the file."""
    for index, example in enumerate(signature.examples):
        yield ("examples", index), example
    for index, counter in enumerate(signature.counterexamples):
        yield ("counterexamples", index), counter


def _judge_example(file: File, place: yamlfile.Path, example: Example) -> Iterator[Fault]:
    signature = file.signature
    if not signature.match.derived and not _holds_literal(signature, example.log):
        yield file.fault((*place, "log"), "an example without a literal", f"one of {signature.match.literals}")
    last = len(example.log.splitlines())
    for number in example.expect.lines:
        if not 1 <= number <= last:
            yield file.fault((*place, "expect", "lines"), f"line {number}", f"a line from 1 to {last} of this example")
    for name, value in example.expect.captures.items():
        at = (*place, "expect", "captures", name)
        if name not in signature.captures and not signature.match.derived:
            hint = _close(name, signature.captures)
            yield file.fault(at, f"the undeclared capture {name}", "a name under captures", hint)
        elif name in CAPTURES and not _is_kind(value, CAPTURES[name][0]):
            yield file.fault(at, f"{value!r}", f"a value of type {CAPTURES[name][0]}")


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "flag":
        return False
    return isinstance(value, _KINDS[kind])


def _holds_literal(signature: Signature, log: str) -> bool:
    """Tell whether a literal stands in the text, or would once hard wraps are undone."""
    views = (log, log.replace("\n", ""), " ".join(log.split()))
    return any(literal in view for literal in signature.match.literals for view in views)


_QUOTES = str.maketrans("", "", "'\"`\u2018\u2019\u201c\u201d \t\n")


def _only_quoted(counter: str, example: str) -> bool:
    """Tell whether two texts are the same but for quotes and blanks."""
    return counter.translate(_QUOTES) == example.translate(_QUOTES)


# ---------------------------------------------------------------- patterns that cost too much


def _judge_cost(file: File) -> Iterator[Fault]:
    """Try every pattern on texts that nearly match: a pattern that backtracks without bound is refused."""
    logs = [sample.log for _, sample in samples_of(file.signature)]
    for place, text in library.patterns_of(file.signature):
        slow = adversary.slow_text(catalogs.compiled(text), logs, adversary.SECONDS)
        if slow is not None:
            found = f"a pattern that needs more than {adversary.SECONDS} s on {slow}"
            hint = "no nested quantifiers, no .*.*, no \\s*x?\\s*; bound repeats: [^\\n]{0,300}?; begin with a word"
            yield file.fault(place, found, "a pattern whose time grows with the text", hint)


# ---------------------------------------------------------------- samples through the whole line


def run_samples(file: File, whole: Catalog, line: Line) -> Iterator[Fault]:
    """Run every sample of a file through the whole line and say what differs from its claim."""
    entry, proof = whole.get(file.signature.id), whole.proof(file.signature.id)
    for index, example in enumerate(proof.examples):
        place = ("examples", index, "log")
        events, diagnosis = line.match_text(example.log, whole), line.analyze_text(example.log, whole)
        told = example_differences(entry, example, events, diagnosis) or crossfire(entry, events, diagnosis, whole)
        untold = list(_untold_remedies(file, example, diagnosis)) if NO_REMEDY in told else []
        yield from untold
        for found, expected in told:
            if not untold or (found, expected) != NO_REMEDY:
                yield file.fault(place, f"{example.name}: {found}", expected)
    for index, counter in enumerate(proof.counterexamples):
        place = ("counterexamples", index, "log")
        for found, expected in counterexample_differences(entry, counter, whole, line):
            yield file.fault(place, f"{counter.name}: {found}", expected)


Difference = tuple[str, str]
"""What was found, what was expected."""
NO_REMEDY: Difference = ("no remedy whose condition holds", "at least one that fits this log")


def example_differences(
    entry: Entry, example: Sample, events: Sequence[Event], diagnosis: Diagnosis
) -> list[Difference]:
    """Say how what the line makes of an example differs from its ``expect``."""
    own = [event for event in events if event.signature == entry.id]
    if not own:
        if entry.match.derived and entry.id in told_by(diagnosis):
            return _derived_differences(example, diagnosis)
        others = sorted({event.signature for event in events} | told_by(diagnosis))
        return [(", ".join(others) or "no event", f"an event of {entry.id}")]
    differences = _event_differences(example, own)
    if "scope" in example.expect and diagnosis.scope != example.expect["scope"]:
        differences.append((f"scope {diagnosis.scope}", f"scope {example.expect['scope']}"))
    return differences + _answer_differences(entry, diagnosis)


def _answer_differences(entry: Entry, diagnosis: Diagnosis) -> list[Difference]:
    """Say what the answer lacks where this signature is the cause: a sentence, something to do."""
    cause = diagnosis.root_cause
    if cause is None or cause.signature != entry.id or entry.role not in ("initiator", "either"):
        return []
    differences: list[Difference] = []
    if cause.summary == entry.title:
        differences.append(("a summary that speaks of a fact unknown here", "{% if fact %}…{% endif %} around it"))
    if not diagnosis.remedies and entry.severity != "notice":
        differences.append(NO_REMEDY)
    return differences


def _untold_remedies(file: File, example: Sample, diagnosis: Diagnosis) -> Iterator[Fault]:
    """Name the remedies that are left out because each of their steps speaks of a fact that the log doesn't tell."""
    from logsig import remedy

    facts = diagnosis.root_cause.facts if diagnosis.root_cause else {}
    env = remedy.environment()
    env.renew()
    for index, written in enumerate(file.signature.remedies):
        used = jinja2.meta.find_undeclared_variables(env.parse("\n".join(written.steps)))
        missing = sorted(used - set(facts) - set(env.globals))
        if missing and remedy.holds(written.when, facts):
            found = f"no step without a fact that {example.name} doesn't tell: {', '.join(missing)}"
            meant = (near for name in missing if (near := _longer(name) or _close(name, CONTEXT)))
            yield file.fault(("remedies", index), found, "a step that any log can fill", next(meant, ""))


def _longer(name: str) -> str:
    return next((f"did you mean {known}?" for known in CONTEXT if name in known.split("_")), "")


def told_by(diagnosis: Diagnosis) -> set[str]:
    """Collect the ids that a diagnosis names as a cause or consequence."""
    causes = [cause for cause in (diagnosis.root_cause, *diagnosis.other_causes) if cause is not None]
    return {cause.signature for cause in causes} | {item.signature for item in diagnosis.collateral}


def _derived_differences(example: Sample, diagnosis: Diagnosis) -> list[Difference]:
    differences: list[Difference] = []
    wanted, cause = example.expect, diagnosis.root_cause
    if wanted.get("rank") is not None and diagnosis.first_failing_rank != wanted["rank"]:
        differences.append((f"rank {diagnosis.first_failing_rank}", f"rank {wanted['rank']}"))
    if wanted.get("scope") is not None and diagnosis.scope != wanted["scope"]:
        differences.append((f"scope {diagnosis.scope}", f"scope {wanted['scope']}"))
    if cause is not None:
        differences.extend(_capture_differences(wanted.get("captures", {}), [cause.facts]))
    return differences


def _event_differences(example: Sample, own: Sequence[Event]) -> list[Difference]:
    wanted = example.expect
    differences: list[Difference] = []
    if wanted.get("rank") is not None and wanted["rank"] not in {event.rank for event in own}:
        differences.append((f"rank {_listed({event.rank for event in own})}", f"rank {wanted['rank']}"))
    starts = {event.line.source.line for event in own}
    covered = starts | {part.source.line for event in own for part in event.lines}
    lines = set(wanted.get("lines", ()))
    if lines and (not lines & starts or not lines <= covered):
        differences.append((f"evidence on line {_listed(starts)}", f"on line {_listed(lines)}"))
    count = sum(event.count for event in own)
    if wanted.get("count") is not None and count != wanted["count"]:
        differences.append((f"{count} events", f"{wanted['count']}"))
    differences.extend(_capture_differences(wanted.get("captures", {}), [event.facts for event in own]))
    return differences


def _listed(values: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, values)))


def _capture_differences(wanted: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Say which captures no event has, as one event that has them all is enough."""
    best = min(facts, key=lambda given: len(_missing(wanted, given)), default={})
    return [(f"{name} {best.get(name)!r}", repr(wanted[name])) for name in _missing(wanted, best)]


def _missing(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    return [name for name, value in wanted.items() if _plain(given.get(name)) != _plain(value)]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


def counterexample_differences(entry: Entry, counter: Sample, whole: Catalog, line: Line) -> list[Difference]:
    """Say where a counterexample makes its own signature speak; others may."""
    own = [event for event in line.match_text(counter.log, whole) if event.signature == entry.id]
    told = entry.match.derived and entry.id in told_by(line.analyze_text(counter.log, whole))
    if not own and not told:
        return []
    where = f" on line {own[0].line.source.line}" if own else ""
    return [(f"{entry.id} speaks{where}", f"silence, because: {counter.why}")]


# ---------------------------------------------------------------- cross-fire

_STRENGTH = {"notice": 0, "witness": 1, "collateral": 1, "either": 2, "initiator": 3}


def crossfire(entry: Entry, events: Sequence[Event], diagnosis: Diagnosis, whole: Catalog) -> list[Difference]:
    """Say which signatures speak in another's example that neither role nor ``explains`` nor ``over`` allows."""
    differences: list[Difference] = []
    winner = diagnosis.root_cause.signature if diagnosis.root_cause else None
    if winner is not None and winner != entry.id and not _may_win(whole.get(winner), entry):
        differences.append((f"{winner} as the root cause", entry.id))
    if winner is None and entry.role == "initiator":
        differences.append((f"outcome {diagnosis.outcome} without a cause", f"{entry.id} as the root cause"))
    others = sorted({event.signature for event in events} - {entry.id, winner})
    strangers = [other for other in others if not _may_share(whole.get(other), entry)]
    differences.extend((f"{other} besides", f"{entry.id} alone, or explains, or over") for other in strangers)
    return differences


def _may_win(winner: Entry, entry: Entry) -> bool:
    """Tell whether the winner accounts for the example's own signature."""
    if entry.id in {signature for signature, _ in winner.explains}:
        return True
    return entry.role != "notice" and _STRENGTH[winner.role] > _STRENGTH[entry.role]


def _may_share(other: Entry, entry: Entry) -> bool:
    """Tell whether another event in a signature's example is its consequence, its testimony or a general net."""
    linked = {signature for signature, _ in (*entry.explains, *other.explains)}
    if {other.id, entry.id} & (linked | set(entry.match.over) | set(other.match.over)):
        return True
    return (
        other.match.net
        or _STRENGTH[other.role] < _STRENGTH["initiator"]
        or _STRENGTH[entry.role] < _STRENGTH["initiator"]
    )
