"""A signature as a page for people, without a log: every fact stands as ``<name>``.

Takes a catalog and an id, gives sections of paragraphs, points and code; the terminal and the encyclopedia
lay them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

import jinja2

from logsig.catalog import Catalog, Entry, Page, RemedyText
from logsig.conditions import in_words
from logsig.record import dataclass
from logsig.signature import CAPTURES


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a section."""

    kind: Literal["paragraph", "point", "code", "label", "variant"]
    """``variant`` begins what is different in one framework."""
    text: str
    about: str = ""
    """What a point speaks of: another signature, a fact."""

    @property
    def line(self) -> str:
        """Gives the text with what it speaks of."""
        return f"{self.about}: {self.text}" if self.about else self.text


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    name: str
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
    env.filters["ranks"] = lambda value: f"ranks {value}"
    env.filters["join"] = lambda value, sign="", *_: (
        value if isinstance(value, Placeholder) else sign.join(map(str, value))
    )
    return env


class _NoFlags(dict[str, bool]):
    """Settings of a run, none of which is on."""

    def __missing__(self, _name: str) -> bool:
        return False


_PLAIN: Mapping[str, Any] = {
    **{name: False for name, (kind, _) in CAPTURES.items() if kind == "flag"},
    "framework": None,
    "launcher": None,
    "flags": _NoFlags(),
}
"""What a page takes for known: plain PyTorch, no setting changed."""


def filled(template: str, **known: Any) -> str:
    """Render a template with a placeholder for every fact that isn't known; one that fails is shown as written."""
    from logsig.remedy import failures

    if "{" not in template:
        return template.strip()
    try:
        return rendered(template, **known)
    except failures():
        return template.strip()


def rendered(template: str, **known: Any) -> str:
    """Do the same, but let a template fail: with any of ``remedy.failures``."""
    return _compiled(template).render({**_PLAIN, **known}).strip()


def _renew() -> None:
    """Let the templates of another page work anew."""
    from logsig.remedy import environment

    environment().renew()


@lru_cache(maxsize=4096)
def _compiled(template: str) -> jinja2.Template:
    return _environment().from_string(template)


# ---------------------------------------------------------------- the page


def sections(catalog: Catalog, identity: str, *, variants: bool = False) -> tuple[Section, ...]:
    """Give the page of a signature, the most useful first; what was not written is left out.

    With ``variants`` each remedy shows what is different in the frameworks it knows.
    """
    entry, page = catalog.get(identity), catalog.page(identity)
    _renew()
    remedies = (_remedy(number, remedy, page, variants) for number, remedy in enumerate(page.remedies, 1))
    made = (
        Section("what", "What happened", (_text(summary(page)), *_paragraphs(page.explanation))),
        Section("harmless", "Harmless because", _paragraphs(entry.harmless or "")),
        Section("remedies", "What to do", tuple(block for remedy in remedies for block in remedy)),
        Section("confirm", "Cheapest way to confirm", tuple(Block("point", filled(step)) for step in page.confirm)),
        *_guide(page.guide),
        Section("captures", "What is read from the log", _points(page.captures)),
        Section("sample", "What it looks like", _sample(catalog, identity)),
        Section("facts", "Facts about this signature", tuple(_facts(entry, page))),
        Section("references", "References", tuple(Block("point", link) for link in page.references)),
    )
    return tuple(section for section in made if section.blocks)


def summary(page: Page) -> str:
    """Give the one sentence of a signature as it reads when a log tells no facts."""
    from logsig.remedy import fill

    _renew()
    return fill(page.summary, {}) or filled(page.summary)


def _points(pairs: Mapping[str, str]) -> tuple[Block, ...]:
    return tuple(Block("point", text, about) for about, text in pairs.items())


def _text(text: str) -> Block:
    return Block("paragraph", text)


def _paragraphs(text: str) -> tuple[Block, ...]:
    return tuple(_text(" ".join(part.split())) for part in text.split("\n\n") if part.strip())


FRAMEWORKS = {
    "transformers": "Transformers",
    "accelerate": "Accelerate",
    "lightning": "Lightning",
    "deepspeed": "DeepSpeed",
    "fsdp": "FSDP",
    "megatron": "Megatron",
    "mmengine": "MMEngine",
    "ray": "Ray",
    "torchtitan": "TorchTitan",
    "nemo": "NeMo",
    "vllm": "vLLM",
}


def _remedy(number: int, remedy: RemedyText, page: Page, variants: bool) -> Iterator[Block]:
    known = _in_framework(_only_framework(remedy))
    yield Block("label", f"{number}. {filled(remedy.title, **known)}")
    if remedy.when:
        yield Block("paragraph", f"If {in_words(remedy.when, page.captures)}.")
    plain = tuple(_acts(remedy, known))
    yield from plain
    if variants and not known:
        yield from _variants(remedy, plain)
    for word in ("cost", "verify", "source"):
        text = getattr(remedy, word)
        if text and filled(text, **known):
            yield Block("paragraph", f"{word.capitalize()}: {filled(text, **known)}")


def _acts(remedy: RemedyText, known: Mapping[str, Any]) -> Iterator[Block]:
    """Give the steps and the code."""
    for step in remedy.steps:
        text = filled(step, **known)
        if text:
            yield Block("point", text)
    if remedy.code and filled(remedy.code, **known):
        yield Block("code", filled(remedy.code, **known))


def _variants(remedy: RemedyText, plain: tuple[Block, ...]) -> Iterator[Block]:
    """Give what is different in each framework that the remedy knows."""
    for framework, name in FRAMEWORKS.items():
        blocks = [block for block in _acts(remedy, _in_framework(framework)) if block not in plain]
        if blocks:
            yield Block("variant", f"With {name}")
            yield from blocks


def _in_framework(framework: str | None) -> dict[str, Any]:
    return {"framework": framework, "lightning": framework == "lightning"} if framework else {}


def _only_framework(remedy: RemedyText) -> str | None:
    """Name the framework without which the remedy never fits."""
    found = re.search(r"\bframework == '(\w+)'", remedy.when or "")
    return found[1] if found and not re.search(r"\bor\b|!=|\bnot\b", remedy.when or "") else None


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
            yield Section(name, heading, _paragraphs(guide[name]))
    yield Section("resembles", "What it resembles", _points(guide.get("resembles", {})))


def _sample(catalog: Catalog, identity: str) -> tuple[Block, ...]:
    example = catalog.proof(identity).examples[0]
    return (Block("code", example.log.rstrip("\n")),)


RETRYABLE = {
    "yes": "a restart may go through",
    "no": "a restart fails again",
    "after-fix": "restart after the fix",
    "other-node": "restart on other nodes",
}


def _facts(entry: Entry, page: Page) -> Iterator[Block]:
    yield Block("point", f"family {entry.family}, role {entry.role}, severity {entry.severity}, since {page.since}")
    if entry.retryable:
        yield Block("point", f"retry: {RETRYABLE[entry.retryable]}")
    for name, versions in page.versions.items():
        yield Block("point", f"wordings seen in {name} {versions}")
    if page.tags:
        yield Block("point", f"tags: {', '.join(page.tags)}")
    if page.proof:
        yield Block("point", f"proof: {page.proof}")


# ---------------------------------------------------------------- finding a page


def find(catalog: Catalog, message: str) -> tuple[str, ...]:
    """Give the ids that a piece of a message may mean, best first.

    A long literal that is most of the message decides. Else those count alike whose literals or examples hold the
    message, or whose title and id have all its words; and only where there are none, literals and words in part.
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
    if inside >= LONG and inside > 0.7 * len(needle):
        return 3, inside
    words = {word.strip(".:") for word in needle.split() if len(word) >= 3} - _COMMON
    known = set(f"{entry.title} {entry.id.replace('-', ' ')}".lower().replace(",", " ").split())
    common = len(words & known)
    if (
        (inside and inside > 0.7 * len(needle))
        or (len(needle) >= 4 and any(needle in literal for literal in literals))
        or (len(needle) >= 8 and any(needle in _flat(sample.log) for sample in catalog.proof(entry.id).examples))
        or (len(words) > 1 and common == len(words))
    ):
        return 2, common
    if inside:
        return 1, inside
    return (1, common) if common and common * 2 >= len(words) else None


def _flat(log: str) -> str:
    return " ".join(log.lower().split())


LONG = 20
"""Characters of a literal that no two messages share by chance."""
_COMMON = frozenset("all and any are but can for from had has have not nothing one the this was were with".split())  # noqa: SIM905
"""Words that stand in titles of any kind."""
