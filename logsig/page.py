"""A signature as a page for people, without a log: every fact stands as ``<name>``.

Takes a catalog and an id, gives sections of paragraphs, points and code; the terminal and the encyclopedia
lay them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

import jinja2

from logsig.catalog import Catalog, Entry, Page, RemedyText


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a section."""

    kind: Literal["paragraph", "point", "code", "label"]
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    heading: str
    blocks: tuple[Block, ...]


# ---------------------------------------------------------------- facts nobody knows yet


class Placeholder(jinja2.Undefined):
    """A fact on a page without a log: counts as known, prints its name, survives arithmetic and filters."""

    unsafe_callable = alters_data = False
    """What the sandbox asks before a call."""

    def __str__(self) -> str:
        return f"<{self._undefined_name}>"

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        yield self

    def __len__(self) -> int:
        return 1

    def __hash__(self) -> int:
        return hash(self._undefined_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placeholder) and self._undefined_name == other._undefined_name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Placeholder(name=f"{self._undefined_name}.{name}")

    def __getitem__(self, _key: Any) -> Any:
        return self

    def __call__(self, *_arguments: Any, **_named: Any) -> Any:
        """Answer a function of the analysis or a method of a fact."""
        return self

    def _same(self, *_others: Any) -> Placeholder:
        return self

    def _never(self, _other: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same  # type: ignore[assignment]
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _same  # type: ignore[assignment]
    __neg__ = __pos__ = _same  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _never  # type: ignore[assignment]


def _tolerant(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a filter give a placeholder back unchanged."""
    if getattr(function, "jinja_pass_arg", None) is not None:
        return function
    return lambda value, *rest, **named: value if isinstance(value, Placeholder) else function(value, *rest, **named)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    from logsig.remedy import environment

    env = cast("jinja2.Environment", environment()).overlay(undefined=Placeholder)
    env.filters = {name: _tolerant(function) for name, function in env.filters.items()}
    env.filters["join"] = lambda value, sign="", *_: (
        value if isinstance(value, Placeholder) else sign.join(map(str, value))
    )
    return env


def filled(template: str) -> str:
    """Render a template with a placeholder for every fact."""
    return _environment().from_string(template).render().strip()


# ---------------------------------------------------------------- the page


def sections(catalog: Catalog, identity: str) -> tuple[Section, ...]:
    """Give the page of a signature, the most useful first; what was not written is left out."""
    entry, page = catalog.get(identity), catalog.page(identity)
    made = (
        Section("What happened", (_text(filled(page.summary)), *_paragraphs(page.explanation))),
        Section("Harmless because", _paragraphs(entry.harmless or "")),
        Section(
            "What to do",
            tuple(block for number, remedy in enumerate(page.remedies, 1) for block in _remedy(number, remedy)),
        ),
        Section("Cheapest way to confirm", tuple(Block("point", filled(step)) for step in page.confirm)),
        *_guide(page.guide),
        Section(
            "What is read from the log",
            tuple(Block("point", f"{name}: {words}") for name, words in page.captures.items()),
        ),
        Section("What it looks like", _sample(catalog, identity)),
        Section("Facts about this signature", tuple(_facts(entry, page))),
        Section("References", tuple(Block("point", link) for link in page.references)),
    )
    return tuple(section for section in made if section.blocks)


def _text(text: str) -> Block:
    return Block("paragraph", text)


def _paragraphs(text: str) -> tuple[Block, ...]:
    return tuple(_text(" ".join(part.split())) for part in text.split("\n\n") if part.strip())


def _remedy(number: int, remedy: RemedyText) -> Iterator[Block]:
    yield Block("label", f"{number}. {filled(remedy.title)}")
    if remedy.when:
        yield Block("paragraph", f"If: {remedy.when}")
    for step in remedy.steps:
        text = filled(step)
        if text:
            yield Block("point", text)
    if remedy.code and filled(remedy.code):
        yield Block("code", filled(remedy.code))
    for word in ("cost", "verify", "source"):
        text = getattr(remedy, word)
        if text and filled(text):
            yield Block("paragraph", f"{word.capitalize()}: {filled(text)}")


_GUIDE = {
    "mechanism": "How it comes about",
    "scale": "At 1, 8 and 1,000 GPUs",
    "hardware_or_software": "Hardware or software",
    "prevention": "How to keep it from coming back",
    "alert": "What to alert on",
    "time_to_fix": "How long a fix takes",
    "training_or_inference": "Training or inference",
    "management": "For management",
    "on_call": "For on call",
}


def _guide(guide: Mapping[str, Any]) -> Iterator[Section]:
    for name, heading in _GUIDE.items():
        if name in guide:
            yield Section(heading, _paragraphs(guide[name]))
    resembles: Mapping[str, str] = guide.get("resembles", {})
    yield Section("What it resembles", tuple(Block("point", f"{other}: {how}") for other, how in resembles.items()))


def _sample(catalog: Catalog, identity: str) -> tuple[Block, ...]:
    example = catalog.proof(identity).examples[0]
    return (Block("code", example.log.rstrip("\n")),)


_RETRYABLE = {
    "yes": "a restart may go through",
    "no": "a restart fails again",
    "after-fix": "restart after the fix",
    "other-node": "restart on other nodes",
}


def _facts(entry: Entry, page: Page) -> Iterator[Block]:
    yield Block("point", f"family {entry.family}, role {entry.role}, severity {entry.severity}, since {page.since}")
    if entry.retryable:
        yield Block("point", f"retry: {_RETRYABLE[entry.retryable]}")
    for name, versions in page.versions.items():
        yield Block("point", f"wordings seen in {name} {versions}")
    if page.tags:
        yield Block("point", f"tags: {', '.join(page.tags)}")
    if page.proof:
        yield Block("point", f"proof: {page.proof}")


# ---------------------------------------------------------------- finding a page


def find(catalog: Catalog, message: str) -> tuple[str, ...]:
    """Give the ids that a piece of a message may mean, best first.

    A literal inside the message beats the message inside a literal, that beats the message inside an example, and that
    beats words in common with a title.
    """
    needle = " ".join(message.lower().split())
    scores: dict[str, tuple[int, int]] = {}
    for entry in catalog.signatures.values():
        score = _score(catalog, entry, needle)
        if score is not None:
            scores[entry.id] = score
    best = max((score[0] for score in scores.values()), default=0)
    chosen = [name for name, score in scores.items() if score[0] == best]
    return tuple(sorted(chosen, key=lambda name: (-scores[name][1], name)))


def _score(catalog: Catalog, entry: Entry, needle: str) -> tuple[int, int] | None:
    literals = [literal.lower() for literal in entry.match.literals]
    inside = max((len(literal) for literal in literals if literal in needle), default=0)
    if inside:
        return 4, inside
    if len(needle) >= 4 and any(needle in literal for literal in literals):
        return 3, 0
    if len(needle) >= 8 and any(
        needle in " ".join(sample.log.lower().split()) for sample in catalog.proof(entry.id).examples
    ):
        return 2, 0
    words = {word for word in needle.split() if len(word) >= 3}
    known = set(f"{entry.title} {entry.id.replace('-', ' ')}".lower().replace(",", " ").split())
    common = len(words & known)
    return (1, common) if common and common * 2 >= len(words) else None
