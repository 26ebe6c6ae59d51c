"""Fills a signature's text without Jinja2: takes the tree of the text and facts, does what Jinja2 would do.

Jinja2 takes as long to import and to compile a few texts as a log of a megabyte takes to be read. ``phrasetree`` makes
the trees, of lists that JSON can hold, when the library is built. Only texts of the project's own have trees: nothing
here bounds what a tree makes, as ``sandbox`` does for the texts of others.

A text is a list of pieces: plain text, or an expression, or ``["if", test, pieces, pieces]``, or ``["set", name,
expression]``. An expression is a list that begins with the name of what it does, a key of ``MEANINGS``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]
Tree = list[Any]


class UnknownFactError(Exception):
    """A text speaks of a fact that this log doesn't tell."""


def _refuse(*_: Any) -> Any:
    raise UnknownFactError


def _false(*_: Any) -> Any:
    return False


def _itself(fact: Any, *_: Any, **__: Any) -> Any:
    return fact


class Unknown:
    """An unknown fact: false in a condition, and the end of a text that would print it."""

    __str__ = __int__ = __float__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = __neg__ = __pos__ = _refuse
    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _false
    __getitem__ = __call__ = _itself

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return hash(Unknown)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


UNKNOWN = Unknown()

# ---------------------------------------------------------------- values in words

MAX_VALUE = 400
"""Characters of a fact inside a sentence; longer ones are cut."""
MOST_PARTS = 24


def shown(value: Any) -> Any:
    """Gives what stands in a sentence for a value; an unknown one ends the sentence."""
    if value is None:
        raise UnknownFactError
    if isinstance(value, (bool, Unknown)):
        return value
    if isinstance(value, (list, tuple)):
        more = f" and {len(value) - MOST_PARTS} more" if len(value) > MOST_PARTS else ""
        return ", ".join(str(part) for part in value[:MOST_PARTS]) + more
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text[:MAX_VALUE] + "…" if len(text) > 20 * MAX_VALUE else text


def gib(value: Any) -> str:
    """Bytes for a person: ``3.91 GiB``, ``20 MiB``."""
    number = float(value)
    for unit in ("B", "KiB", "MiB"):
        if abs(number) < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:.2f} GiB"


def ms(value: Any) -> str:
    """Milliseconds for a person: ``600 s``, ``30 min``."""
    number = float(value) / 1000
    return f"{number / 60:g} min" if number >= 120 and number % 60 == 0 else f"{number:g} s"


def ranks(value: Sequence[int]) -> str:
    """Ranks with their noun: ``rank 3``, ``ranks 1 and 5``."""
    from logsig.verdict import name_ranks

    return name_ranks(list(value)) if value else ""


def short(value: Any, most: int) -> str:
    """A text as a part of a sentence: without its own end, and cut between words where it is long."""
    text = str(value).strip().rstrip(".:;,")
    if len(text) <= most:
        return text
    whole_words = text[: most + 1].rpartition(" ")[0] or text[:most]
    return whole_words.rstrip(".:;, ") + "…"


OWN_FILTERS: Mapping[str, Callable[..., str]] = {"gib": gib, "ms": ms, "ranks": ranks, "short": short}
"""What signatures may use besides Jinja2's own filters."""

# ---------------------------------------------------------------- filling


def filled(tree: Tree, facts: Facts) -> str:
    """Gives the text; raises ``UnknownFactError``, or what Python raises where a fact isn't of the kind expected."""
    parts: list[str] = []
    _fill(tree, facts, parts)
    return "".join(parts)


def _fill(tree: Tree, facts: Facts, parts: list[str]) -> None:
    for piece in tree:
        if isinstance(piece, str):
            parts.append(piece)
        elif piece[0] == "if":
            _fill(piece[2] if value(piece[1], facts) else piece[3], facts, parts)
        elif piece[0] == "set":
            facts = {**facts, piece[1]: value(piece[2], facts)}
        else:
            parts.append(str(shown(value(piece, facts))))


def value(tree: Tree, facts: Facts) -> Any:
    """Gives the value of an expression; raises as ``filled`` does."""
    return MEANINGS[tree[0]](facts, *tree[1:])


def _and(facts: Facts, left: Tree, right: Tree) -> Any:
    return value(left, facts) and value(right, facts)


def _or(facts: Facts, left: Tree, right: Tree) -> Any:
    return value(left, facts) or value(right, facts)


def _compare(facts: Facts, first: Tree, *rest: Sequence[Any]) -> bool:
    left = value(first, facts)
    for name, tree in rest:
        right = value(tree, facts)
        if not COMPARISONS[name](left, right):
            return False
        left = right
    return True


def _filter(facts: Facts, name: str, subject: Tree, *given: Tree) -> Any:
    return FILTERS[name](value(subject, facts), *(value(tree, facts) for tree in given))


def _call(facts: Facts, subject: Tree, method: str, *given: Tree) -> Any:
    text = value(subject, facts)
    values = [value(tree, facts) for tree in given]
    return getattr(text, method)(*values) if isinstance(text, str) else UNKNOWN


def _item(facts: Facts, subject: Tree, key: Tree) -> Any:
    try:
        return value(subject, facts)[value(key, facts)]
    except (TypeError, LookupError):
        return UNKNOWN


def _slice(facts: Facts, subject: Tree, *ends: Tree) -> Any:
    return value(subject, facts)[slice(*(value(end, facts) for end in ends))]


def _join(subject: Any, sign: Any = "") -> str:
    return str(sign).join(map(str, subject))


def _number(subject: Any, default: Any = 0) -> Any:
    try:
        return int(subject)
    except (TypeError, ValueError):
        try:
            return int(float(subject))
        except (TypeError, ValueError, OverflowError):
            return default


def _float(subject: Any, default: Any = 0.0) -> Any:
    try:
        return float(subject)
    except (TypeError, ValueError):
        return default


COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gteq": operator.ge,
    "lt": operator.lt,
    "lteq": operator.le,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}
MATH: Mapping[str, Callable[[Any, Any], Any]] = {
    "Sub": operator.sub,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mul": operator.mul,
    "Mod": operator.mod,
}
FILTERS: Mapping[str, Callable[..., Any]] = {
    **OWN_FILTERS,
    "lower": lambda subject: str(subject).lower(),
    "string": str,
    "capitalize": lambda subject: str(subject).capitalize(),
    "trim": lambda subject, *signs: str(subject).strip(*signs),
    "replace": lambda subject, old, new: str(subject).replace(str(old), str(new)),
    "length": len,
    "join": _join,
    "int": _number,
    "float": _float,
    "abs": abs,
}
TESTS: Mapping[str, Callable[[Any], bool]] = {
    "defined": lambda subject: not isinstance(subject, Unknown),
    "none": lambda subject: subject is None,
    "number": lambda subject: isinstance(subject, (int, float)),
}
METHODS = frozenset(("startswith", "endswith", "split", "lower", "upper", "strip"))
"""Methods of text in trees."""
MEANINGS: Mapping[str, Callable[..., Any]] = {
    "name": lambda facts, name: facts.get(name, UNKNOWN),
    "const": lambda _facts, constant: constant,
    "list": lambda facts, *parts: [value(part, facts) for part in parts],
    "dict": lambda facts, *pairs: {value(key, facts): value(part, facts) for key, part in pairs},
    "tuple": lambda facts, *parts: tuple(value(part, facts) for part in parts),
    "and": _and,
    "or": _or,
    "not": lambda facts, tree: not value(tree, facts),
    "compare": _compare,
    "filter": _filter,
    "is": lambda facts, name, subject: TESTS[name](value(subject, facts)),
    "call": _call,
    "item": _item,
    "slice": _slice,
    "pick": lambda facts, test, one, other: value(one if value(test, facts) else other, facts),
    "math": lambda facts, name, left, right: MATH[name](value(left, facts), value(right, facts)),
    "concat": lambda facts, *parts: "".join(str(value(part, facts)) for part in parts),
    "neg": lambda facts, tree: -value(tree, facts),
}
