"""The roots of many failures: found by kind and rank as if each were held against each."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import logsig
from logsig import causes
from logsig.model import Event, LogLine, Source


def _event(rnd: random.Random, signature: str, role: str) -> Event:
    line = LogLine(Source("f", 1), "", "")
    return Event(
        signature,
        role,
        line,
        "",
        rank=rnd.choice([None, 0, 1, 2]),
        node=rnd.choice([None, "a", "b"]),
        time=rnd.choice([None, *(rnd.random() * 6 for _ in range(4))]),
        order=rnd.randrange(12),
        derived=rnd.random() < 0.15,
    )


def test_the_roots_are_those_that_no_other_candidate_explains() -> None:
    catalog = logsig.load_catalog()
    rnd = random.Random(3)
    failures = [name for name, entry in catalog.signatures.items() if entry.role in ("initiator", "either")]
    explaining = [name for name in failures if catalog.get(name).explains]
    outside = [name for name in failures if catalog.get(name).points_at == "nobody"]
    explained = 0
    for _ in range(1500):
        names = [*rnd.sample(failures, rnd.randint(1, 4)), rnd.choice(explaining), rnd.choice(outside)]
        names += [name for name, _ in catalog.get(names[-2]).explains][:2]
        events = [_event(rnd, name, catalog.get(name).role) for name in rnd.choices(names, k=rnd.randint(1, 9))]
        events.sort(key=lambda event: (event.order, event.signature))
        stories: Any = SimpleNamespace(ranks={}, nobody=events)
        standing = [
            event
            for event in events
            if not any(other is not event and causes.explains(other, event, catalog) for other in events)
        ]
        explained += len(events) - len(standing)
        found = causes.roots(stories, catalog)
        assert [id(event) for event in found] == [id(event) for event in standing or events[:1]]
    assert explained > 500
