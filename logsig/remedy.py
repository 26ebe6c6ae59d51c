"""Fills a signature's text with the facts of this log: summary, remedies, confirmation.

Facts are data, never templates: the text is rendered in Jinja2's sandbox, and a step whose fact is unknown is left out.
A remedy whose condition doesn't hold isn't given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from logsig import phrase
from logsig.catalog import Page, RemedyText
from logsig.model import Remedy

BUDGET = 2_000_000
"""Units of work (``sandbox``) for what one signature says of one job: far above what the longest facts take."""


Trees = Mapping[str, phrase.Tree]
"""Text as written -> its tree, of those that need no Jinja2."""
NO_TREES: Trees = {}


@lru_cache(maxsize=1)
def environment() -> Any:
    """The sandbox in which all signature text is rendered; shared, holds no facts."""
    from jinja2 import Undefined

    from logsig.sandbox import Metered

    class Unknown(phrase.Unknown, Undefined):
        """An unknown fact, as Jinja2 wants it."""

    made = Metered(BUDGET, phrase.shown, undefined=Unknown, autoescape=False, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(phrase.OWN_FILTERS)
    return made


FAILURES = (
    phrase.UnknownFactError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a text may fail of: a fact that nobody knows, or is of another kind or size than expected."""


def failures(by_jinja: bool = True) -> tuple[type[Exception], ...]:
    """Adds what Jinja2 may say of a template's own faults."""
    if not by_jinja:
        return FAILURES
    from jinja2 import TemplateError

    return (*FAILURES, TemplateError)


def fill(text: str, facts: Mapping[str, Any], trees: Trees = NO_TREES) -> str | None:
    """Renders one text; none where it speaks of an unknown fact or its template is wrong."""
    if "{" not in text:
        return text.strip()
    tree = trees.get(text)
    try:
        filled = phrase.filled(tree, facts) if tree is not None else str(_compiled(text).render(**facts))
    except failures(tree is None):  # a pack's template may be wrong; the report must stand
        return None
    return (filled if "\n" in text else re.sub(r"[ \t]{2,}(?=\S)", " ", filled)).strip()


@lru_cache(maxsize=2048)
def _compiled(text: str) -> Any:
    return environment().from_string(text)


@lru_cache(maxsize=2048)
def _condition(text: str) -> Any:
    return environment().compile_expression(text, undefined_to_none=False)


def holds(condition: str | None, facts: Mapping[str, Any], trees: Trees = NO_TREES) -> bool:
    """True where the condition is absent or true of the facts; unknown facts count as false."""
    if condition is None:
        return True
    tree = trees.get(condition)
    try:
        return bool(phrase.value(tree, facts) if tree is not None else _condition(condition)(**facts))
    except failures(tree is None):  # an unknown fact in arithmetic or a comparison: it isn't shown to hold
        return False


def remedies(page: Page, facts: Mapping[str, Any]) -> tuple[Remedy, ...]:
    """Gives the remedies whose condition holds, best first, filled."""
    _renew()
    found = (_filled(text, facts, page.trees) for text in page.remedies if holds(text.when, facts, page.trees))
    return tuple(remedy for remedy in found if remedy is not None)


def _filled(text: RemedyText, facts: Mapping[str, Any], trees: Trees) -> Remedy | None:
    title = fill(text.title, facts, trees)
    steps = tuple(step for raw in text.steps if (step := fill(raw, facts, trees)))
    if title is None or not steps:
        return None
    cost, code, verify = (fill(raw, facts, trees) if raw else None for raw in (text.cost, text.code, text.verify))
    if cost and text.source and text.source not in cost:
        cost = f"{cost} (source: {text.source})"
    return Remedy(title, steps, code, cost, verify, text.when)


def summary(page: Page, facts: Mapping[str, Any]) -> str | None:
    """Gives the one sentence of a signature, filled; none where it can't be."""
    _renew()
    return fill(page.summary, facts, page.trees)


def confirmations(page: Page, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Gives the cheapest ways to confirm, filled."""
    _renew()
    return tuple(step for raw in page.confirm if (step := fill(raw, facts, page.trees)))


def _renew() -> None:
    """Lets the texts that are Jinja2's cost anew."""
    if environment.cache_info().currsize:  # else there were none
        environment().renew()
