"""Which prefixes can stand where: all dialects' patterns, compiled as far as they are needed.

At each place of a line only the patterns that can begin with the next character, and may follow the layers before, are
tried; those together are ``Alternatives``. Shared by the peelers of all files (``peeling``); holds nothing of a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from logsig import opening
from logsig.dialects import NUMBERS, Prefix, fact_of
from logsig.late import late
from logsig.progress import SHAPES, shape_of

NEAR = 1000
"""Characters looked at behind a place where text may be glued on, or of a line that is remembered by its shape."""
PLAIN_NUMBERS = NUMBERS - {"label", "nth"}
"""Facts whose text becomes a number and nothing else."""


class Hit(NamedTuple):
    """What to do where one alternative has matched."""

    prefix: Prefix
    layer: tuple[str]
    groups: tuple[tuple[str, int, bool, int], ...]
    """(fact, group number, a plain number?, what it adds to the state) …"""
    bits: int
    """What the prefix by its name adds to the state."""


def _first_of(prefix: Prefix) -> frozenset[str]:
    return opening.first_characters(prefix.pattern or "") if prefix.first is None else prefix.first


_GROUP = late(r"\(\?P<(\w+)>")


MISSES = 5000
"""Tries in vain after which it pays to compile all alternatives into one pattern."""


class Alternatives:
    """Several patterns tried as one: gives the match of the first that matches, and what it means."""

    def __init__(self, prefixes: Sequence[Prefix], grammar: Grammar) -> None:
        self._prefixes = prefixes
        self._bits = grammar.bits
        self._misses = 0
        self._each = [(grammar.compiled[prefix.name], self._hit(prefix, 0)) for prefix in prefixes]
        self.find: Callable[[str, int], tuple[re.Match[str], Hit] | None] = self._one_by_one

    def _one_by_one(self, text: str, pos: int) -> tuple[re.Match[str], Hit] | None:
        for number, (pattern, hit) in enumerate(self._each):
            if (found := pattern.match(text, pos)) is not None:
                self._misses += number
                return found, hit
        self._misses += len(self._each)
        if self._misses > MISSES:
            self.find = self._joined()
        return None

    def _joined(self) -> Callable[[str, int], tuple[re.Match[str], Hit] | None]:
        """One pattern of all: most of its time goes into its making, so few files are worth it."""
        parts: list[str] = []
        by_index: dict[int | None, Hit] = {}
        index = 1
        for number, prefix in enumerate(self._prefixes):
            pattern = prefix.pattern or ""
            parts.append("(" + _GROUP.sub(rf"(?P<\1__{number}>", pattern) + ")")
            by_index[index] = self._hit(prefix, index)
            index += 1 + len(_GROUP.findall(pattern))
        match = re.compile("|".join(parts)).match

        def find(text: str, pos: int) -> tuple[re.Match[str], Hit] | None:
            found = match(text, pos)
            return None if found is None else (found, by_index[found.lastindex])

        return find

    def _hit(self, prefix: Prefix, index: int) -> Hit:
        """What a match of this prefix means where its groups are those behind ``index``."""
        bits = self._bits
        names = _GROUP.findall(prefix.pattern or "")
        facts = [(fact_of(name), index + at) for at, name in enumerate(names, 1)]
        groups = tuple((fact, at, fact in PLAIN_NUMBERS, bits.get(fact, 0)) for fact, at in facts)
        return Hit(prefix, (prefix.name,), groups, bits.get(prefix.name, 0))


Table = dict[tuple[int, str], Alternatives | None]


def _any_of(patterns: Sequence[re.Pattern[str]]) -> Callable[[str], bool]:
    known: dict[bytes, bool] = {}

    def fits(text: str) -> bool:
        shape = shape_of(text)
        found = known.get(shape)
        if found is None:
            found = any(pattern.match(text) for pattern in patterns)
            if len(known) < SHAPES and len(text) <= NEAR:
                known[shape] = found
        return found

    return fits


class Grammar:
    """All dialects compiled, as far as they were needed; shared by the peelers of all files."""

    def __init__(self, prefixes: Sequence[Prefix]) -> None:
        self.prefixes = prefixes
        self.envelopes = [prefix for prefix in prefixes if prefix.json]
        self.compiled = {prefix.name: late(prefix.pattern) for prefix in prefixes if prefix.pattern}
        self.first = {prefix.name: _first_of(prefix) for prefix in prefixes}
        tags = {tag for prefix in prefixes for tag in (*prefix.after, *prefix.not_after)}
        self.bits = {tag: 1 << number for number, tag in enumerate(sorted(tags))}
        self._masks = {prefix.name: (self._mask(prefix.after), self._mask(prefix.not_after)) for prefix in prefixes}
        self._joined: dict[tuple[str, ...], Alternatives] = {}
        self._tables: dict[frozenset[str], Table] = {}
        self._any: dict[tuple[str, ...], Callable[[str], bool]] = {}
        self._states: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}

    def _mask(self, tags: Sequence[str]) -> int:
        return sum(self.bits[tag] for tag in dict.fromkeys(tags))

    def table(self, usable: Sequence[Prefix]) -> Table:
        """What was found out so far of the patterns to try, for files that use these dialects."""
        return self._tables.setdefault(frozenset(prefix.name for prefix in usable), {})

    def alternatives(self, usable: Sequence[Prefix], state: int, character: str) -> Alternatives | None:
        """The patterns that can follow this state and begin with this character, as one."""
        at_start = (prefix for prefix in usable if prefix.pattern and prefix.place == "start")
        fitting = (prefix for prefix in at_start if opening.opens(self.first[prefix.name], character))
        chosen = [prefix for prefix in fitting if self.may_follow(prefix, state)]
        names = tuple(prefix.name for prefix in chosen)
        if names and names not in self._joined:
            self._joined[names] = Alternatives(chosen, self)
        return self._joined.get(names)

    def any_of(self, prefixes: Sequence[Prefix]) -> Callable[[str], bool]:
        """What tells whether one of these matches; of lines of one shape only one is tried."""
        names = tuple(prefix.name for prefix in prefixes)
        if names not in self._any:
            self._any[names] = _any_of([self.compiled[name] for name in names])
        return self._any[names]

    def state(self, layers: tuple[str, ...], fields: Mapping[str, Any]) -> int:
        """What came before, as far as any prefix asks for it."""
        told = layers, tuple(fields)
        state = self._states.get(told)
        if state is None:
            state = self._states[told] = self._state(layers, fields)
        return state

    def _state(self, layers: tuple[str, ...], fields: Mapping[str, Any]) -> int:
        state = 0
        for tag, bit in self.bits.items():
            if tag in layers or tag in fields or (tag == "time" and "stamp" in fields):
                state |= bit
        return state

    def may_follow(self, prefix: Prefix, state: int) -> bool:
        """True where the prefix can stand behind what came before."""
        behind, never = self._masks[prefix.name]
        return (not behind or bool(behind & state)) and not never & state
