"""The library as a static site: a page per signature, an index by family. Asks for nothing outside of its folder.

Takes a catalog and what recognises a text; gives file names and their HTML. What a page says is ``page``'s; here are
the order for a reader, the links between signatures, the wordings in which a failure is found, and the drawings. A
field that nobody wrote is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from logsig import buckets
from logsig._version import __version__
from logsig.catalog import Catalog, Entry, Page, Sample
from logsig.model import Event
from logsig.page import RETRYABLE, Section, sections, summary
from logsig.report import inert, templates
from logsig.report.html import digest, prose, raw

Recognise = Callable[[str, Catalog], Sequence[Event]]

MAX_LINE = 400
ORDER = (
    "what",
    "mechanism",
    "scale",
    "hardware_or_software",
    "confirm",
    "remedies",
    "prevention",
    "alert",
    "resembles",
    "harmless",
    "time_to_fix",
    "training_or_inference",
    "captures",
    "facts",
    "references",
)
"""The sections of a page, in the order in which questions are asked; management and on call stand above them."""
FAMILIES = {
    "ddp": "Distributed data parallel",
    "autograd": "Autograd",
    "nccl": "NCCL and collectives",
    "gloo": "Gloo",
    "rendezvous": "Rendezvous and stores",
    "launcher": "Launchers",
    "cuda": "CUDA",
    "gpu": "GPU hardware",
    "host": "Host and operating system",
    "data": "Data",
    "scheduler": "Schedulers",
    "health": "Training health",
    "checkpoint": "Checkpoints",
    "python": "Python",
    "framework": "Frameworks",
    "notice": "Harmless messages",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """One way in which the failure is printed."""

    versions: str
    line: str
    """What to search for: the message without its prefixes."""
    log: str


@dataclass(frozen=True, slots=True)
class Link:
    """Another page."""

    id: str
    title: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page, ready to be laid out."""

    id: str
    title: str
    family: str
    family_title: str
    tags: tuple[str, ...]
    readers: tuple[tuple[str, str], ...]
    wordings: tuple[Wording, ...]
    literals: tuple[str, ...]
    sections: tuple[Section, ...]
    known: tuple[str, ...]
    """Ids that have a page, so that a mention becomes a link."""
    causes: tuple[Link, ...]
    effects: tuple[Link, ...]
    likenesses: tuple[Link, ...]
    """Pages that tell themselves apart from this one."""
    before: Link | None
    after: Link | None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the index."""

    id: str
    title: str
    role: str
    says: str
    """A piece of the message, to recognise it by."""
    words: str
    literals: str


def build(catalog: Catalog, recognise: Recognise) -> Iterator[tuple[str, str]]:
    """Give every file of the site: its name and its text."""
    order = [entry.id for name in _families(catalog) for entry in _members(catalog, name)]
    links = _Links(catalog)
    yield "index.html", _index(catalog)
    for at, identity in enumerate(order):
        leaf = _leaf(catalog, identity, recognise, links, (order[at - 1 : at] if at else [], order[at + 1 : at + 2]))
        yield f"{identity}.html", _page(leaf, catalog.page(identity).guide.get("picture"))


def _families(catalog: Catalog) -> list[str]:
    """Give the families that have members: those of the field in their order, a pack's own behind."""
    present = {entry.family for entry in catalog.signatures.values()}
    return [name for name in FAMILIES if name in present] + sorted(present - set(FAMILIES))


def _members(catalog: Catalog, family: str) -> list[Entry]:
    return [entry for entry in catalog.signatures.values() if entry.family == family]


# ---------------------------------------------------------------- one page


class _Links:
    """Who names whom, seen from the other side."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.explained_by: dict[str, list[tuple[str, str]]] = {}
        self.resembled_by: dict[str, list[tuple[str, str]]] = {}
        for entry in catalog.signatures.values():
            for other, reach in entry.explains:
                self.explained_by.setdefault(other, []).append((entry.id, _REACH[reach]))
            for other, how in catalog.page(entry.id).guide.get("resembles", {}).items():
                self.resembled_by.setdefault(other, []).append((entry.id, how))

    def link(self, identity: str, note: str = "") -> Link:
        """Give the link to a page."""
        return Link(identity, self.catalog.get(identity).title, note)


_REACH = {"same-rank": "on the same rank", "other-ranks": "on other ranks", "job": "anywhere in the job"}


def _leaf(
    catalog: Catalog,
    identity: str,
    recognise: Recognise,
    links: _Links,
    neighbours: tuple[Sequence[str], Sequence[str]],
) -> Leaf:
    entry, page = catalog.get(identity), catalog.page(identity)
    found = {section.name: section for section in sections(catalog, identity, variants=True)}
    if page.explanation.strip():  # the summary stands above, as the engineer's line
        found["what"] = replace(found["what"], blocks=found["what"].blocks[1:])
    known = catalog.signatures
    own = page.guide.get("resembles", {})
    before, after = (next(map(links.link, names), None) for names in neighbours)
    return Leaf(
        identity,
        entry.title,
        entry.family,
        FAMILIES.get(entry.family, entry.family),
        _tags(entry),
        tuple(_readers(page)),
        tuple(_wordings(catalog, identity, recognise)),
        entry.match.literals,
        tuple(found[name] for name in ORDER if name in found),
        tuple(known),
        tuple(links.link(name, note) for name, note in links.explained_by.get(identity, ())),
        tuple(links.link(name, _REACH[reach]) for name, reach in entry.explains if name in known),
        tuple(links.link(name, how) for name, how in links.resembled_by.get(identity, ()) if name not in own),
        before,
        after,
    )


_ROLES = {
    "initiator": "can start a failure",
    "collateral": "follows another rank's failure",
    "either": "follows another failure unless nothing else explains it",
    "witness": "testimony about a failure",
    "notice": "harmless",
}


def _tags(entry: Entry) -> tuple[str, ...]:
    retry = (f"retry: {RETRYABLE[entry.retryable]}",) if entry.retryable and entry.role != "notice" else ()
    return (_ROLES[entry.role], *([] if entry.role == "notice" else [entry.severity]), *retry)


def _readers(page: Page) -> Iterator[tuple[str, str]]:
    """Give a line each for management, on call, and the engineer."""
    for name, reader in (("management", "Management"), ("on_call", "On call")):
        if name in page.guide:
            yield reader, page.guide[name]
    yield "Engineer", summary(page)


def _wordings(catalog: Catalog, identity: str, recognise: Recognise) -> Iterator[Wording]:
    """Give the message of each example, as it is found once prefixes are peeled; equal ones once."""
    told: set[str] = set()
    for sample in catalog.proof(identity).examples:
        line = _searchable(sample, identity, catalog, recognise)
        if (line or sample.log) not in told:
            told.add(line or sample.log)
            yield Wording(sample.wording or "", line, sample.log.rstrip("\n"))


def _searchable(sample: Sample, identity: str, catalog: Catalog, recognise: Recognise) -> str:
    events = [event for event in recognise(sample.log, catalog) if event.signature == identity]
    if not events:
        return ""
    text = events[0].line.text.strip()
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 1] + "…"


def _page(leaf: Leaf, scene: str | None) -> str:
    return _document("encyclopedia-page.html.j2", page=leaf, drawing=_drawing(scene))


def _drawing(scene: str | None) -> str | None:
    """Give the SVG, which the template has escaped already."""
    return raw(templates.fill("buckets.svg.j2", picture=buckets.picture(scene))) if scene else None


# ---------------------------------------------------------------- the index


def _index(catalog: Catalog) -> str:
    families = [
        (name, FAMILIES.get(name, name), [_row(catalog, entry) for entry in _members(catalog, name)])
        for name in _families(catalog)
    ]
    script = templates.source("encyclopedia.js")
    return _document(
        "encyclopedia-index.html.j2",
        families=families,
        count=len(catalog.signatures),
        script=raw(script),
        script_digest=digest(script),
        digest_of_library=catalog.digest,
    )


def _row(catalog: Catalog, entry: Entry) -> Row:
    tags = catalog.page(entry.id).tags
    words = " ".join((entry.id, entry.id.replace("-", " "), entry.title, entry.family, *tags, *entry.match.literals))
    literals = "\n".join(entry.match.literals).lower()
    says = next(iter(entry.match.literals), "")
    return Row(entry.id, entry.title, _ROLES[entry.role], says, words.lower(), literals)


# ---------------------------------------------------------------- documents


def _document(template: str, **values: object) -> str:
    style = templates.source("encyclopedia.css")
    shown: Mapping[str, object] = {
        "style": raw(style),
        "style_digest": digest(style),
        "version": __version__,
        "prose": prose,
        **values,
    }
    return inert.document(inert.block(templates.fill(template, **shown)))  # a private pack's text may be hostile
