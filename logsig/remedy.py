"""Fills a signature's text with the facts of this log: summary, remedies, confirmation.

Facts are data, never templates: the text is rendered in Jinja2's sandbox, and a step whose fact is unknown is left out.
A remedy whose condition doesn't hold isn't given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from logsig.catalog import Catalog, RemedyText
from logsig.model import Remedy

MAX_VALUE = 400
"""Characters of a fact inside a sentence; longer ones are cut."""
BUDGET = 2_000_000
"""Units of work (``sandbox``) for what one signature says of one job: far above what the longest facts take."""


class _UnknownFactError(Exception):
    """A step speaks of a fact that this log doesn't tell."""


@lru_cache(maxsize=1)
def environment() -> Any:
    """The sandbox in which all signature text is rendered; shared, holds no facts."""
    from logsig.sandbox import Metered

    made = Metered(BUDGET, _shown, undefined=_unknown(), autoescape=False, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(gib=_gib, ranks=_ranks, ms=_ms)
    return made


@lru_cache(maxsize=1)
def failures() -> tuple[type[Exception], ...]:
    """What a template may fail of: its own faults, and facts of another kind or size than it expects."""
    from jinja2 import TemplateError

    return (
        _UnknownFactError,
        TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    )


def _refuse(*_: Any) -> Any:
    """What an unknown fact does where its value would count."""
    raise _UnknownFactError


def _false(*_: Any) -> Any:
    return False


def _itself(fact: Any, *_: Any, **__: Any) -> Any:
    return fact


def _unknown() -> Any:
    """The class of unknown facts; made here because Jinja2 is slow to import."""
    from jinja2 import Undefined

    class Unknown(Undefined):
        """An unknown fact: false in a condition, and the end of a step that would print it."""

        __str__ = __int__ = __float__ = _refuse
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _refuse
        __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _false
        __getitem__ = __call__ = _itself

        def __iter__(self) -> Any:
            return iter(())

        def __len__(self) -> int:
            return 0

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return self

    return Unknown


def _shown(value: Any) -> Any:
    if value is None:
        raise _UnknownFactError
    if isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value[:24]) + (f" and {len(value) - 24} more" if len(value) > 24 else "")
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value) if type(value).__name__ != "Unknown" else value
    return text[:MAX_VALUE] + "…" if isinstance(text, str) and len(text) > 20 * MAX_VALUE else text


def _gib(value: Any) -> str:
    """Bytes for a person: ``3.91 GiB``, ``20 MiB``."""
    number = float(value)
    for unit in ("B", "KiB", "MiB"):
        if abs(number) < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:.2f} GiB"


def _ms(value: Any) -> str:
    """Milliseconds for a person: ``600 s``, ``30 min``."""
    number = float(value) / 1000
    return f"{number / 60:g} min" if number >= 120 and number % 60 == 0 else f"{number:g} s"


def _ranks(value: Sequence[int]) -> str:
    from logsig.verdict import list_ranks

    return list_ranks(list(value)) if value else ""


def fill(text: str, facts: Mapping[str, Any]) -> str | None:
    """Renders one text; none where it speaks of an unknown fact or its template is wrong."""
    if "{" not in text:
        return text.strip()
    try:
        filled = str(_compiled(text).render(**facts))
    except failures():  # a pack's template may be wrong; the report must stand
        return None
    return (filled if "\n" in text else re.sub(r"[ \t]{2,}(?=\S)", " ", filled)).strip()


@lru_cache(maxsize=2048)
def _compiled(text: str) -> Any:
    return environment().from_string(text)


@lru_cache(maxsize=2048)
def _condition(text: str) -> Any:
    return environment().compile_expression(text, undefined_to_none=False)


def holds(condition: str | None, facts: Mapping[str, Any]) -> bool:
    """True where the condition is absent or true of the facts; unknown facts count as false."""
    if condition is None:
        return True
    try:
        return bool(_condition(condition)(**facts))
    except failures():  # an unknown fact inside arithmetic or a comparison: the condition isn't shown to hold
        return False


def remedies(catalog: Catalog, signature: str, facts: Mapping[str, Any]) -> tuple[Remedy, ...]:
    """Gives the remedies whose condition holds, best first, filled."""
    environment().renew()
    found = (_filled(text, facts) for text in catalog.page(signature).remedies if holds(text.when, facts))
    return tuple(remedy for remedy in found if remedy is not None)


def _filled(text: RemedyText, facts: Mapping[str, Any]) -> Remedy | None:
    title = fill(text.title, facts)
    steps = tuple(step for raw in text.steps if (step := fill(raw, facts)))
    if title is None or not steps:
        return None
    cost = fill(text.cost, facts) if text.cost else None
    if cost and text.source and text.source not in cost:
        cost = f"{cost} (source: {text.source})"
    code = fill(text.code, facts) if text.code else None
    return Remedy(title, steps, code, cost, fill(text.verify, facts) if text.verify else None, text.when)


def summary(catalog: Catalog, signature: str, facts: Mapping[str, Any]) -> str:
    """Gives the one sentence of a signature, filled; the title where it can't be."""
    environment().renew()
    return fill(catalog.page(signature).summary, facts) or catalog.get(signature).title


def confirmations(catalog: Catalog, signature: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Gives the cheapest ways to confirm, filled."""
    environment().renew()
    return tuple(step for raw in catalog.page(signature).confirm if (step := fill(raw, facts)))
