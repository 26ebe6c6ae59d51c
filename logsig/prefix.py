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
from typing import Literal

from logsig import dialects, opening
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
        all_heads = [one.text for one in peeled]
        first = Counter(head[0] for head in all_heads)
        for prefix in self.all:
            rule, opens = prefix.consistent, grammar.first[prefix.name]
            if rule is None or prefix.name in dialect.known:
                continue
            if sum(count for character, count in first.items() if opening.opens(opens, character)) < rule.lines:
                continue
            heads = all_heads
            if prefix.after:
                heads = [
                    one.text for one in peeled if grammar.may_follow(prefix, grammar.state(one.layers, one.fields))
                ]
            if heads:
                labels = _labels(rule, grammar.compiled[prefix.name], heads, is_prefixed)
                if labels:
                    found[prefix.name] = None if rule.numbered else Labels.of(labels)
        return found

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
    rule: Consistency, pattern: re.Pattern[str], heads: Sequence[str], is_prefixed: Callable[[str], bool]
) -> list[str]:
    """The labels of the lines that carry the prefix, where those are enough and as they should be; else nothing."""
    found = {number: match for number, head in enumerate(heads) if (match := pattern.match(head))}
    labels = {number: label_of(match) for number, match in found.items()}
    if len(labels) < rule.lines or _are_rising(list(labels.values())) != rule.numbered:
        return []
    share = len(labels) / len(heads)
    if len(set(labels.values())) < rule.labels and not _is_alone(rule, labels, share):
        return []
    if share >= rule.share or (pattern.groups and share >= LEAST_SHARE and _fill_their_part(rule, labels)):
        return list(labels.values())
    if not pattern.groups:
        return []
    behind = sum(is_prefixed(heads[number][match.end() :]) for number, match in found.items())
    return list(labels.values()) if behind > 0.5 * len(found) else []


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
    digits = [label if label.isdecimal() else re.sub(r"[^0-9]", "", label) for label in labels]
    numbers = [int(label) for label in digits if label]
    if len(numbers) < 8 or len(set(numbers)) < 0.9 * len(numbers):
        return False
    return sum(a < b for a, b in pairwise(numbers)) >= 0.9 * (len(numbers) - 1)
