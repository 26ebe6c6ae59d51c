"""One pass over all inputs: takes paths and literals, gives the excerpts in which something may matter.

    scan(paths, engine, *, max_bytes=None, jobs=None, stdin=None) -> model.Scan

``paths``: what the user named; ``-`` is stdin. ``engine``: an ``Engine``, or the literals themselves (a sequence of
str). ``max_bytes``: bytes read of each input at most. ``jobs``: processes at most (None: one per core). ``stdin``: the
stream that ``-`` reads (default: descriptor 0); whoever keeps or echoes it wraps it. A path that doesn't exist raises
``InputError``; all else that goes wrong is a sentence in ``doubts``, and ``unreadable`` says that something was lost.

It knows bytes, newlines and literals; no prefixes, no signatures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from logsig.engine import Engine, make_engine
from logsig.inputs import Desk, Place, Skipped, Stream, loss_of_all, place_of, spread
from logsig.inputs.naming import order
from logsig.model import Scan
from logsig.skim import Search, Skimmed, skim_all
from logsig.windows import Limits

NAMED = 3


def scan(
    paths: Sequence[str],
    engine: Engine | Sequence[str],
    *,
    max_bytes: int | None = None,
    jobs: int | None = None,
    stdin: Stream | None = None,
) -> Scan:
    """Reads all inputs once and keeps the excerpts around literals, the heads and the tails."""
    searcher = make_engine(engine) if isinstance(engine, Sequence) else engine
    desk = Desk(stdin)
    groups = [list(spread([place])) for place in [place_of(path, desk) for path in paths]]
    places = [item for group in groups for item in group if isinstance(item, Place)]
    results = skim_all(places, Search(searcher, Limits.shared(len(places)), max_bytes), jobs)
    found: list[Skimmed | Skipped] = []
    for group in groups:
        parts: list[Skimmed | Skipped] = []
        for item in group:
            parts += [item] if isinstance(item, Skipped) else _members(next(results))
        left_out = [part for part in parts if isinstance(part, Skipped)]
        found += parts if len(left_out) < len(parts) else loss_of_all(left_out)
    return together(found, searcher)


def _members(found: list[Skimmed | Skipped]) -> list[Skimmed | Skipped]:
    """Puts the members of an archive in order, and calls what lies beside workers' files the agent's console."""
    if len(found) < 2:
        return found
    elastic = any(isinstance(item, Skimmed) and item.origin.role == "worker" for item in found)
    found = [
        _as_agent(item) if elastic and isinstance(item, Skimmed) and item.origin.role is None else item
        for item in found
    ]
    return sorted(found, key=lambda item: order(item.origin.path) if isinstance(item, Skimmed) else ())


def _as_agent(item: Skimmed) -> Skimmed:
    origin = replace(item.origin, role="agent")
    return item._replace(origin=origin, excerpts=tuple(replace(excerpt, origin=origin) for excerpt in item.excerpts))


def together(found: Sequence[Skimmed | Skipped], engine: Engine) -> Scan:
    """Puts all inputs into one answer, in the order in which they were named."""
    read = [item for item in found if isinstance(item, Skimmed)]
    hits: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for item in read:
        sizes[item.origin.path] = sizes.get(item.origin.path, 0) + item.size
        for literal, count in item.counts.items():
            hits[engine.literals[literal]] = hits.get(engine.literals[literal], 0) + count
    return Scan(
        excerpts=tuple(excerpt for item in read for excerpt in item.excerpts),
        origins=tuple(item.origin for item in read),
        sizes=sizes,
        hits=dict(sorted(hits.items())),
        doubts=(*_doubts(found), *_repeats(read, engine)),
        unreadable=any(item.unreadable for item in found),
    )


def _doubts(found: Sequence[Skimmed | Skipped]) -> Iterator[str]:
    for item in found:
        if isinstance(item, Skipped):
            yield f"{item.path}: {item.reason}"
        else:
            yield from item.doubts


def _repeats(read: list[Skimmed], engine: Engine) -> Iterator[str]:
    """Says in one sentence how many messages were counted but not read, and which most."""
    left: dict[int, int] = {}
    for item in read:
        for literal, count in item.left_out.items():
            left[literal] = left.get(literal, 0) + count
    if not left:
        return
    most = min(left, key=lambda literal: (-left[literal], engine.literals[literal]))
    names = [item.origin.path for item in read if item.left_out]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    where = ", ".join(names[:NAMED]) + more
    yield f"{where}: {sum(left.values()):,} repeats of messages ({engine.literals[most]!r} most) were counted, not read"
