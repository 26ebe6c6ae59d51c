"""The literal engine in pure Python, built on what log lines are like: few shapes, many numbers.

A buffer is reduced to its distinct lines without digits. A few short anchors that together lie in every literal (its
digits taken out too) are looked for there by ``bytes.find``; only the literals that may be present are then looked for
in the buffer itself. Anchors are chosen for a sample of the log at hand and chosen again when the log changes. All
these choices change the speed, never the findings.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from logsig.engine import Buffer, Hit, ordered, spelled

DIGITS = b"0123456789"
SAMPLE = 3 << 13
SIZES = (3, 4, 5)
"""Lengths of anchors: shorter ones lie in more literals, longer ones in fewer places of a log."""
PASS = 0.7
"""Milliseconds to look for one anchor in a megabyte that doesn't contain it."""
VISIT = 0.0004
"""Milliseconds to look at one occurrence."""
PATIENCE = 1.5
"""How much dearer than foreseen the visits may become before the anchors are chosen again."""
WORTH = 0.6
"""Part of a buffer that its distinct lines may make up if finding them is to pay."""
REST = 8
"""Buffers for which distinct lines are not looked for after they didn't pay."""

Place = tuple[bytes, int, int]
"""(literal without digits, where the anchor stands in it, its number)"""


class PythonEngine:
    """Finds literals at some hundred megabytes a second in ordinary logs, some tens in the worst."""

    name = "python"
    is_native = False

    def __init__(self, literals: Sequence[str]) -> None:
        self.literals = tuple(literals)
        self._patterns, self._owners = spelled(self.literals)
        self.longest = max(map(len, self._patterns), default=1)
        bare = [pattern.translate(None, DIGITS) for pattern in self._patterns]
        self._anchored = {
            number: text for number, text in enumerate(bare) if len(text) >= SIZES[0] and b"\n" not in text
        }
        self._always = [number for number in range(len(bare)) if number not in self._anchored]
        self._anchors: dict[bytes, list[Place]] = {}
        self._foreseen = 0.0
        self._visits = self._seen = self._choices = self._resting = 0

    def find(self, data: Buffer) -> list[Hit]:
        """Gives every hit in ``data``."""
        text = data if isinstance(data, bytes) else bytes(data)
        found: list[Hit] = []
        for number in sorted(self._candidates(self._reduce(text)).union(self._always)):
            pattern, owner = self._patterns[number], self._owners[number]
            found.extend((owner, at + len(pattern)) for at in _occurrences(text, pattern))
        return ordered(found)

    def _reduce(self, text: bytes) -> bytes:
        """Gives the lines of ``text`` without digits, each once where that saves work, in any order."""
        bare = text.translate(None, DIGITS)
        if self._resting:
            self._resting -= 1
            return bare
        distinct = b"\n".join(set(bare.split(b"\n")))
        if len(distinct) > WORTH * len(bare):
            self._resting = REST
        return distinct

    def _candidates(self, text: bytes) -> set[int]:
        """Gives the numbers of the patterns that ``text``, which has no digits, holds."""
        if not self._anchors or self._is_dear():
            self._choose(_sample(text))
        present: set[int] = set()
        for anchor, places in self._anchors.items():
            for at in _occurrences(text, anchor):
                self._visits += 1
                for pattern, offset, number in places:
                    if at >= offset and text.startswith(pattern, at - offset):
                        present.add(number)
        self._seen += len(text)
        return present

    def _is_dear(self) -> bool:
        """Tells whether the log has changed so that the anchors stand in it too often; ever less readily."""
        foreseen: float = (self._foreseen + PASS * len(self._anchors)) * self._seen / (1 << 20)
        return self._visits * VISIT > PATIENCE * (1 << self._choices) * (foreseen + 1)

    def _choose(self, sample: bytes) -> None:
        """Covers all patterns greedily: each round takes the piece that covers most for its price in this sample."""
        pieces: dict[bytes, set[int]] = defaultdict(set)
        for number, pattern in self._anchored.items():
            for piece in _pieces(pattern):
                pieces[piece].add(number)
        noise = _count(sample)
        scale = VISIT * (1 << 20) / max(len(sample), 1 << 10)
        price = {piece: PASS + scale * noise[piece] for piece in pieces}
        queue = [(-len(covered) / price[piece], piece) for piece, covered in pieces.items()]
        heapq.heapify(queue)
        chosen: dict[bytes, list[Place]] = {}
        uncovered = set(self._anchored)
        while uncovered:
            rating, anchor = heapq.heappop(queue)
            covered = pieces[anchor] & uncovered
            worth = -len(covered) / price[anchor]
            if covered and worth > rating:  # others took a part since: rated again
                heapq.heappush(queue, (worth, anchor))
            elif covered:
                chosen[anchor] = [(self._anchored[n], self._anchored[n].index(anchor), n) for n in sorted(covered)]
                uncovered -= covered
        self._anchors = chosen
        self._foreseen = sum(scale * noise[anchor] for anchor in chosen)
        self._visits = self._seen = 0
        self._choices += 1


def _pieces(pattern: bytes) -> set[bytes]:
    """Gives all parts of ``pattern`` that may serve as its anchor."""
    return {pattern[start : start + size] for size in SIZES for start in range(len(pattern) - size + 1)}


def _count(sample: bytes) -> Counter[bytes]:
    """Counts every piece of the sample that has the length of an anchor."""
    return Counter(sample[start : start + size] for size in SIZES for start in range(len(sample) - size + 1))


def _occurrences(text: bytes, piece: bytes) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


def _sample(text: bytes) -> bytes:
    """Takes a part from the start, the middle and the end."""
    third = SAMPLE // 3
    middle = len(text) // 2
    return text if len(text) <= SAMPLE else b"\n".join((text[:third], text[middle : middle + third], text[-third:]))
