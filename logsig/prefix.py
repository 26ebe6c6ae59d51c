"""What stands before a message: launcher labels, ranks, clocks, collectors.

One YAML file under ``prefixes/`` describes one dialect (``dialects``). ``Prefixes`` holds them all and settles, from
some lines of a file, what only a file as a whole can tell: is ``3: `` a task label or an item of a list? The ``Peeler``
it then gives does the work, line by line (``peeling``). Knows no signatures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Literal, cast

from logsig import dialects, digits, opening
from logsig.dialects import Consistency, Prefix
from logsig.grammar import Grammar
from logsig.late import late
from logsig.peeling import Dialect, Labels, Peeled, Peeler, label_of
from logsig.record import dataclass

_LAUNCHERS_OWN = late(
    r"(?:srun|slurmstepd[\w.-]*|mpirun|mpiexec|prterun|salloc|sbatch|pdsh@[\w.-]+|clush(?!: \d+/\d+)|parallel): "
)
"""A launcher labels its tasks' lines, not its own."""


LEAST_SHARE = 0.1
"""Of all lines, that must carry a weak prefix, where those between the first and the last carry it throughout."""


@dataclass(frozen=True)
class Prefixes:
    """All dialects, in the order in which they are tried."""

    all: tuple[Prefix, ...]

    @cached_property
    def grammar(self) -> Grammar:
        """Their patterns, compiled."""
        return Grammar(self.all)

    @cached_property
    def _plain(self) -> Peeler:
        return Peeler(self.grammar, Dialect())

    def peeler(self, dialect: Dialect | None = None) -> Peeler:
        """The peeler for files of this dialect."""
        return Peeler(self.grammar, dialect) if dialect and dialect.known else self._plain

    def decide(self, lines: Sequence[str], plain: Callable[[str], Peeled] | None = None) -> Dialect:
        """Which weak dialects a file speaks, from a sample of its lines; in rounds, as weak ones may nest.

        ``plain`` peels without any weak one, where the caller wants to remember what it gave.
        """
        dialect = Dialect()
        for _ in range(3):
            peel = plain if plain and not dialect.known else self.peeler(dialect).peel_whole
            peeled = [one for line in lines if (one := peel(line)).text and not one.text.isspace()]
            heads = [one for one in peeled if not _LAUNCHERS_OWN.match(one.text)]
            more = self._shown(heads, dialect, lambda text: bool(peel(text).layers))  # noqa: B023 (called at once)
            if not more:
                break
            dialect = replace(dialect, known={**dialect.known, **more})
            if "tee-template" in more:
                dialect = replace(dialect, label=self._meaning_of_label(dialect, lines))
        return dialect

    def _shown(
        self, peeled: Sequence[Peeled], dialect: Dialect, is_prefixed: Callable[[str], bool]
    ) -> dict[str, Labels | None]:
        """Weak dialects that the lines show next, with their labels."""
        grammar = self.grammar
        found: dict[str, Labels | None] = {}
        texts = [one.text for one in peeled]
        first = Counter(text[0] for text in texts)
        weak = [prefix for prefix in self.all if prefix.consistent is not None and prefix.name not in dialect.known]
        asked = [prefix for prefix in weak if self._may_be_shown(prefix, first)]
        fits = grammar.any_of(asked)
        fitting = [fits(text) for text in texts]
        for prefix in asked:
            rule = cast("Consistency", prefix.consistent)
            if prefix.after:
                states = (grammar.state(one.layers, one.fields) for one in peeled)
                heads = [number for number, state in enumerate(states) if grammar.may_follow(prefix, state)]
            else:
                heads = list(range(len(texts)))
            match = grammar.compiled[prefix.name].match
            carry = {
                place: one
                for place, number in enumerate(heads)
                if fitting[number] and (one := match(texts[number])) is not None
            }
            labels = _labels(rule, carry, len(heads), is_prefixed)
            if labels:
                found[prefix.name] = None if rule.numbered else Labels.of(labels)
        return found

    def _may_be_shown(self, prefix: Prefix, first: Mapping[str, int]) -> bool:
        """True where enough lines begin with a character that the prefix can begin with."""
        opens, rule = self.grammar.first[prefix.name], prefix.consistent
        return rule is not None and rule.lines <= sum(
            count for character, count in first.items() if opening.opens(opens, character)
        )

    def _meaning_of_label(self, dialect: Dialect, lines: Sequence[str]) -> Literal["rank", "local_rank"]:
        """``[trainer 3]:`` shows a global rank unless torch's own rank stands behind it and differs."""
        peel = self.peeler(dialect).peel_whole
        fields: Mapping[str, int]
        for fields in (peel(line).fields for line in lines):
            if fields.get("label", fields.get("rank")) != fields.get("rank"):
                return "local_rank"
        return "rank"


@cache
def load_prefixes() -> Prefixes:
    """The dialects that come with the package."""
    return Prefixes(dialects.shipped())


def _labels(
    rule: Consistency, found: Mapping[int, re.Match[str]], count: int, is_prefixed: Callable[[str], bool]
) -> list[str]:
    """The labels of the lines that carry the prefix, where those are enough of all and as they should be; else nothing.

    ``found``: place among the lines -> its match; ``count``: how many lines there are.
    """
    labels = {number: label_of(match) for number, match in found.items()}
    if len(labels) < rule.lines:
        return []
    if not _tells_time_only(next(iter(found.values()))) and _are_rising(list(labels.values())) != rule.numbered:
        return []
    share = len(labels) / count
    if len(set(labels.values())) < rule.labels and not _is_alone(rule, labels, share):
        return []
    has_groups = any(match.re.groups for match in found.values())
    if share >= rule.share or (has_groups and share >= LEAST_SHARE and _fill_their_part(rule, labels)):
        return list(labels.values())
    if not has_groups:
        return []
    behind = sum(is_prefixed(match.string[match.end() :]) for match in found.values())
    return list(labels.values()) if behind > 0.5 * len(found) else []


def _tells_time_only(match: re.Match[str]) -> bool:
    """True for a clock, which rises as line numbers do."""
    names = match.re.groupindex
    return bool(names) and all(name.startswith("time") for name in names)


def _is_alone(rule: Consistency, labels: Mapping[int, str], share: float) -> bool:
    """True where one writer's label stands on nearly all lines, or on a long part without gaps, half of the file."""
    if rule.alone is None or share >= rule.alone:
        return rule.alone is not None
    part = max(labels) - min(labels) + 1
    return share >= 0.5 and len(labels) >= max(8, rule.alone * part)


def _fill_their_part(rule: Consistency, labels: Mapping[int, str]) -> bool:
    """True where nearly all lines from the first to the last carry a label, the same labels again and again.

    Before and behind stands what the launcher itself says.
    """
    part = max(labels) - min(labels) + 1
    return len(labels) >= max(rule.share, 0.8) * part and len(labels) >= 3 * len(set(labels.values()))


def _are_rising(labels: Sequence[str]) -> bool:
    """True for line numbers: nearly all rise, and nearly none comes twice."""
    found = [label if label.isdecimal() else re.sub(r"[^0-9]", "", label) for label in labels]
    numbers = [digits.number(label) for label in found if label]
    if len(numbers) < 8 or len(set(numbers)) < 0.9 * len(numbers):
        return False
    return sum(a < b for a, b in pairwise(numbers)) >= 0.9 * (len(numbers) - 1)
