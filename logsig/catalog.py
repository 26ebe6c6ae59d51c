"""The library of signatures in memory: what the matcher needs at once, what a report needs only when asked.

Takes the library's folder (and further packs), gives one immutable ``Catalog``. Three sources, the same records:
the wheel's ``_library/library.jsonl`` (made at build time), a user's cache of a YAML folder, the YAML files themselves
(read and validated by ``library``, the only one that imports pydantic). Refuses to know logs, and how records match.

The file form, one JSON value per line: a header, the machine halves of all signatures, then per signature its page
(what a person reads), then per signature its proof (examples). Pages and proofs stay bytes until somebody asks.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from logsig import cache
from logsig.errors import CatalogError, Fault
from logsig.model import Retryable
from logsig.needle import needle
from logsig.record import dataclass

if TYPE_CHECKING:
    import regex

    from logsig.engine import Engine

MAX_FILES = 5000
MAX_PACK = 32 << 20
"""Files of one pack, and bytes in all of them; a folder with more isn't one."""
FORMAT = 2
"""Rises whenever the line form of ``library.jsonl`` changes: an older file is ignored."""

PACKAGE = Path(__file__).parent
BUILT = PACKAGE / "_library" / "library.jsonl"


# ---------------------------------------------------------------- records


@dataclass(frozen=True, slots=True)
class Match:
    """How a message is recognised; the fields are explained in ``signature.Match``."""

    literals: tuple[str, ...] = ()
    pattern: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()
    follow_lines: int = 20
    frames: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    before_lines: int = 20
    unless: tuple[str, ...] = ()
    where: str = "error"
    derived: tuple[str, ...] = ()
    net: bool = False
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """The machine half of a signature: all that finding and judging a failure needs."""

    id: str
    title: str
    family: str
    role: str
    severity: str
    points_at: str
    """``speaker``, ``other`` or ``nobody``: whom it accuses."""
    retryable: Retryable | None
    match: Match
    captures: Mapping[str, str]
    """Capture name -> type (``int``, ``strs``, ``bytes`` …; see ``signature.CAPTURES``)."""
    explains: tuple[tuple[str, str], ...]
    """(signature id, reach)."""
    harmless: str | None
    path: str
    """The YAML file, relative to its pack."""


@dataclass(frozen=True, slots=True)
class RemedyText:
    """One remedy as written: Jinja2 over facts, not yet filled."""

    title: str
    when: str | None
    steps: tuple[str, ...]
    code: str | None
    cost: str | None
    verify: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """The human half of a signature."""

    since: str
    versions: Mapping[str, str]
    tags: tuple[str, ...]
    summary: str
    explanation: str
    captures: Mapping[str, str]
    """Capture name -> what it is in this signature's words."""
    remedies: tuple[RemedyText, ...]
    confirm: tuple[str, ...]
    guide: Mapping[str, Any]
    """Only the fields that were written; ``resembles`` is a mapping."""
    references: tuple[str, ...]
    proof: str | None
    trees: Mapping[str, Any]
    """Text or condition as written -> its tree (``phrase``), of those that need no Jinja2."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An example or counterexample, as raw log text."""

    name: str
    log: str
    source: str
    wording: str | None = None
    why: str | None = None
    near_miss: bool = False
    expect: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a signature claims about itself."""

    examples: tuple[Sample, ...]
    counterexamples: tuple[Sample, ...]


class Pattern:
    """A pattern of a signature, compiled when a text holds what every match of it holds."""

    __slots__ = ("_needle", "_source")

    def __init__(self, source: str) -> None:
        self._source = source
        self._needle = needle(source)

    def search(self, text: str, timeout: float | None = None) -> regex.Match[str] | None:
        """Give the first match; ``TimeoutError`` after so many seconds."""
        return compiled(self._source).search(text, timeout=timeout) if self._needle in text else None

    def finditer(self, text: str, timeout: float | None = None) -> Iterator[regex.Match[str]]:
        """Give all matches; ``TimeoutError`` after so many seconds."""
        return iter(compiled(self._source).finditer(text, timeout=timeout) if self._needle in text else ())


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one signature."""

    pattern: tuple[Pattern, ...]
    follow: tuple[Pattern, ...]
    frames: tuple[Pattern, ...]
    before: tuple[Pattern, ...]
    unless: tuple[Pattern, ...]


# ---------------------------------------------------------------- one pack


@dataclass(frozen=True, slots=True)
class Pack:
    """One folder of signatures, its pages and proofs still as JSON bytes."""

    digest: str
    entries: tuple[Entry, ...]
    pages: tuple[bytes, ...]
    proofs: tuple[bytes, ...]
    root: str
    """Where its YAML files stand, for messages."""


def parse_pack(data: bytes, root: str) -> Pack:
    """Read the line form; raises ``ValueError`` or ``KeyError`` where it isn't ours or isn't whole."""
    lines = data.split(b"\n")
    header = json.loads(lines[0])
    count = header["count"]
    if header["format"] != FORMAT or len(lines) != 2 + 2 * count + 1:
        raise ValueError("not a library of this format")
    entries = tuple(_entry(raw) for raw in json.loads(lines[1]))
    if len(entries) != count:
        raise ValueError("the library's count is wrong")
    return Pack(header["digest"], entries, tuple(lines[2 : 2 + count]), tuple(lines[2 + count : 2 + 2 * count]), root)


def _entry(raw: dict[str, Any]) -> Entry:
    match: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in raw.pop("match").items()
    }
    explains = tuple((signature, reach) for signature, reach in raw.pop("explains"))
    return Entry(match=Match(**match), explains=explains, **raw)


def _page(data: bytes) -> Page:
    raw = json.loads(data)
    remedies = tuple(RemedyText(**{**remedy, "steps": tuple(remedy["steps"])}) for remedy in raw.pop("remedies"))
    lists: dict[str, Any] = {key: tuple(raw.pop(key)) for key in ("tags", "confirm", "references")}
    return Page(remedies=remedies, **lists, **raw)


def _proof(data: bytes) -> Proof:
    raw = json.loads(data)
    return Proof(
        tuple(Sample(**sample) for sample in raw["examples"]),
        tuple(Sample(**sample) for sample in raw["counterexamples"]),
    )


# ---------------------------------------------------------------- the catalog


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """All signatures of this run; immutable, holds no state of any job."""

    signatures: Mapping[str, Entry]
    """In order of id."""
    literals: tuple[bytes, ...]
    """Every literal of every signature, each once. The first ``len(scan_literals)`` are those of ``scan_literals``."""
    scan_literals: tuple[bytes, ...]
    """Literals to look for in all bytes: notices are consulted on candidate messages only."""
    by_literal: tuple[tuple[str, ...], ...]
    """Signature ids per index of ``literals``, in order of id."""
    derived: Mapping[str, tuple[str, ...]]
    """Finding of the analysis -> ids that stand for it."""
    digest: str
    doubts: tuple[Fault, ...] = ()
    """With ``lenient``: what was wrong with the files that were left out."""
    _packs: tuple[Pack, ...] = field(default=(), repr=False)
    _place: Mapping[str, tuple[Pack, int]] = field(default_factory=dict, repr=False)
    _compiled: dict[str, Patterns] = field(default_factory=dict, repr=False)
    _pages: dict[str, Page] = field(default_factory=dict, repr=False)
    _engines: list[Engine] = field(default_factory=list, repr=False)

    def get(self, signature: str) -> Entry:
        """Give the entry of an id; ``KeyError`` for an unknown one."""
        return self.signatures[signature]

    def patterns(self, signature: str) -> Patterns:
        """Prepare the patterns of an id, once."""
        known = self._compiled.get(signature)
        if known is None:
            known = self._compiled[signature] = patterns_of(self.signatures[signature].match)
        return known

    def prepare(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Build both engines, once; ``meanwhile`` is called in any case, while another core compiles if it can."""
        if self._engines:
            meanwhile()
            return
        from logsig.engine import Both, make_engines

        texts = [literal.decode() for literal in self.literals]
        count = len(self.scan_literals)
        scanning, rest = make_engines((texts[:count], texts[count:]), meanwhile)
        self._engines.extend((scanning, Both(scanning, rest)))

    def scan_engine(self) -> Engine:
        """Give the engine that finds ``scan_literals``."""
        self.prepare()
        return self._engines[0]

    def engine(self) -> Engine:
        """Give the engine that finds all literals in cleaned text: those of the scan, and the others."""
        self.prepare()
        return self._engines[1]

    def page(self, signature: str) -> Page:
        """Read the human half of an id."""
        if signature not in self._pages:
            pack, index = self._place[signature]
            self._pages[signature] = _page(pack.pages[index])
        return self._pages[signature]

    def proof(self, signature: str) -> Proof:
        """Read examples and counterexamples of an id."""
        pack, index = self._place[signature]
        return _proof(pack.proofs[index])

    def file(self, signature: str) -> str:
        """Name the YAML file of an id, as the user can open it."""
        pack, _ = self._place[signature]
        return os.path.join(pack.root, self.signatures[signature].path)


@functools.cache
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile with ``regex``, once; a bad pattern raises ``regex.error``, which the checker reports with its place."""
    import regex

    return regex.compile(pattern, cache_pattern=False)


def patterns_of(match: Match) -> Patterns:
    """Prepare all patterns of a signature."""
    groups = (match.pattern, match.follow, match.frames, match.before, match.unless)
    return Patterns(*(tuple(map(Pattern, group)) for group in groups))


def build_catalog(packs: Sequence[Pack], faults: tuple[Fault, ...] = ()) -> Catalog:
    """Join packs into one catalog; a duplicate id is a fault naming both files."""
    place: dict[str, tuple[Pack, int]] = {}
    duplicates: list[Fault] = []
    for pack in packs:
        for index, entry in enumerate(pack.entries):
            if entry.id in place:
                other, at = place[entry.id]
                first = os.path.join(other.root, other.entries[at].path)
                duplicates.append(duplicate_fault(entry.id, os.path.join(pack.root, entry.path), first))
            else:
                place[entry.id] = (pack, index)
    if duplicates:
        raise CatalogError(faults + tuple(duplicates))
    signatures = {name: place[name][0].entries[place[name][1]] for name in sorted(place)}
    literals, scanned = _index_literals(signatures.values())
    return Catalog(
        signatures=MappingProxyType(signatures),
        literals=tuple(literal.encode() for literal in literals),
        scan_literals=tuple(literal.encode() for literal in list(literals)[:scanned]),
        by_literal=tuple(tuple(ids) for ids in literals.values()),
        derived=MappingProxyType(_index_derived(signatures.values())),
        digest=_joint_digest(packs),
        doubts=faults,
        _packs=tuple(packs),
        _place=MappingProxyType(place),
    )


def duplicate_fault(signature: str, second: str, first: str) -> Fault:
    """Word the fault of two files with one id."""
    return Fault(second, None, "id", f"{signature!r}, also defined by {first}", "an id of its own", "rename one file")


def _index_literals(entries: Iterable[Entry]) -> tuple[dict[str, list[str]], int]:
    """Map literal to ids, those to be scanned for first; give their number too."""
    users: dict[str, list[str]] = {}
    scanned: set[str] = set()
    for entry in entries:
        for literal in entry.match.literals:
            users.setdefault(literal, []).append(entry.id)
        if entry.role != "notice":
            scanned.update(entry.match.literals)
    ordered = sorted(users, key=lambda literal: (literal not in scanned, literal))
    return {literal: users[literal] for literal in ordered}, len(scanned)


def _index_derived(entries: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
    derived: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        for finding in entry.match.derived:
            derived[finding] = (*derived.get(finding, ()), entry.id)
    return derived


def _joint_digest(packs: Sequence[Pack]) -> str:
    if len(packs) == 1:
        return packs[0].digest
    return cache.digest_of(pack.digest.encode() for pack in packs)


# ---------------------------------------------------------------- loading


def load_catalog(extra: Sequence[Path] = (), lenient: bool = False) -> Catalog:
    """Load the library, installed packs and further ones; every fault of every file is raised in one ``CatalogError``.

    With ``lenient`` the files without fault are loaded and the faults stand in ``Catalog.doubts``.
    """
    from logsig import installed

    brought = installed.find(cache=cache.folder() / "packs.json")
    folders = {os.path.realpath(folder): Path(folder) for folder in (*brought.folders, *extra)}
    packs: list[Pack] = []
    faults = list(brought.faults)
    for pack, found in (load_library(), *map(load_folder, folders.values())):
        faults.extend(found)
        if pack is not None:
            packs.append(pack)
    if faults and not lenient:
        raise CatalogError(tuple(faults))
    return build_catalog(packs, tuple(faults))


Loaded = tuple[Pack | None, tuple[Fault, ...]]


def library_folder() -> Path:
    """Where the YAML files of the library stand: inside the wheel, else beside the package in a checkout."""
    shipped = BUILT.parent / "signatures"
    return shipped if shipped.is_dir() else PACKAGE.parent / "signatures"


def load_library() -> Loaded:
    """Load the library: the wheel's JSON where there is one, else the checkout's YAML files."""
    try:
        data = BUILT.read_bytes()
    except OSError:
        return load_folder(library_folder(), is_ours=True)
    return parse_pack(data, str(BUILT.parent / "signatures")), ()


def load_folder(folder: Path, *, is_ours: bool = False) -> Loaded:
    """Load one folder of YAML files, from the user's cache where that holds exactly these bytes."""
    if not folder.is_dir():
        return None, (Fault(str(folder), None, "pack", "no such folder", "a folder of signature files"),)
    files, unread = read_files(folder)
    digest = pack_digest(files)
    key = _cache_key(digest, is_ours)
    cached = _cached(folder, key)
    if cached is not None:
        return cached, unread
    from logsig import library

    data, faults = library.build(files, str(folder), digest, is_ours=is_ours)
    if not faults:
        cache.store(cache.file_of(folder), key, data)
    return parse_pack(data, str(folder)), (*unread, *faults)


def read_files(folder: Path) -> tuple[dict[str, bytes], tuple[Fault, ...]]:
    """Read every ``*.yaml`` below a folder: path relative to it -> bytes, in order of path; and what can't be read."""
    from logsig import smallfile

    found: dict[str, bytes] = {}
    faults: list[Fault] = []
    size = 0
    for count, path in enumerate(_yaml_files(folder), 1):
        try:
            data = smallfile.read(path)
        except OSError as error:
            data, expected = b"", f"a file of at most {smallfile.MAX_BYTES} bytes"
            faults.append(Fault(str(path), None, "file", (error.strerror or str(error)).lower(), expected))
        else:
            found[path.relative_to(folder).as_posix()] = data
        size += len(data)
        if count > MAX_FILES or size > MAX_PACK:
            most = f"at most {MAX_FILES} files and {MAX_PACK} bytes"
            faults.append(Fault(str(folder), None, "pack", f"{count} files, {size} bytes and more", most))
            return {}, tuple(faults)
    return dict(sorted(found.items())), tuple(faults)


def _yaml_files(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith((".yaml", ".yml")) and not name.startswith("."):
                yield Path(base, name)


def pack_digest(files: Mapping[str, bytes]) -> str:
    """Hash the files of a pack: names and contents."""
    return cache.digest_of(part for path, data in files.items() for part in (path.encode(), data))


def _cache_key(digest: str, is_ours: bool) -> str:
    """Hash all that the cached records depend on: the files, whose they are, and the code that reads them."""
    modules = ("signature.py", "library.py", "yamlfile.py", "catalog.py", "phrasetree.py", "phrase.py")
    return cache.digest_of(
        [digest.encode(), b"ours" if is_ours else b"", *((PACKAGE / module).read_bytes() for module in modules)]
    )


def _cached(folder: Path, key: str) -> Pack | None:
    """Give the cached pack if it was made from exactly these files by this code and is whole; else nothing."""
    data = cache.recall(cache.file_of(folder), key)
    try:
        return None if data is None else parse_pack(data, str(folder))
    except (ValueError, KeyError, TypeError, IndexError):
        return None
