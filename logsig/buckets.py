"""DDP's reducer drawn: buckets, the parameters in them, and the steps that lead to the error.

Takes the name of a scene (``signature.Picture``), gives positions and texts for an SVG. Tones say the same as the marks
and words beside them: nothing is told by colour alone.
"""

from __future__ import annotations

from logsig.record import dataclass
from logsig.signature import Picture as Scene_

WIDTH = 760
MARGIN = 4
GAP = 22
CHIP = 28
HEAD = 36
FOOT = 34
STEP_HIGH = 76
LINE = 17


@dataclass(frozen=True, slots=True)
class Chip:
    """A parameter in its bucket."""

    name: str
    mark: str
    tone: str
    y: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket on the canvas."""

    name: str
    size: str
    says: str
    tone: str
    chips: tuple[Chip, ...]
    x: float
    y: float
    wide: float
    high: float


@dataclass(frozen=True, slots=True)
class Step:
    """A box of the strip below: what happens one after the other."""

    lines: tuple[str, ...]
    tone: str
    x: float
    y: float
    wide: float
    high: float


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole drawing."""

    title: str
    text: str
    width: float
    height: float
    gap: float
    buckets: tuple[Bucket, ...]
    steps: tuple[Step, ...]


# ---------------------------------------------------------------- what is drawn

READY = ("ready", "good")
DONE = "all ready: all-reduce started"


@dataclass(frozen=True, slots=True)
class _Scene:
    title: str
    text: str
    buckets: tuple[tuple[str, str, tuple[tuple[str, tuple[str, str]], ...]], ...]
    """Per bucket: what it says, its tone, its parameters with mark and tone."""
    steps: tuple[tuple[str, str], ...]
    """Text (lines) and tone."""


def _all_ready(*names: str) -> tuple[tuple[str, tuple[str, str]], ...]:
    return tuple((name, READY) for name in names)


_FIRST = (DONE, "good", _all_ready("head.bias", "head.weight"))
_MIDDLE = (DONE, "good", _all_ready("blocks.1.weight", "blocks.1.bias"))
_LAST = (DONE, "good", _all_ready("blocks.0.weight", "embed.weight"))

_SCENES: dict[str, _Scene] = {
    Scene_.BUCKETS_UNFINISHED: _Scene(
        "A parameter without gradient keeps its bucket open",
        "Three buckets. In the first every parameter is ready and its all-reduce has started. In the second "
        "aux.weight got no gradient, so its all-reduce never starts. The third is ready, but buckets start in order: "
        "it waits. The next forward finds the reduction unfinished and raises.",
        (
            _FIRST,
            (
                "1 of 2 missing: never starts",
                "bad",
                (("blocks.1.weight", READY), ("aux.weight", ("no gradient", "bad"))),
            ),
            ("ready, but waits its turn", "plain", _all_ready("blocks.0.weight", "embed.weight")),
        ),
        (
            ("backward\neach hook marks its\nparameter ready", "plain"),
            ("full buckets, in order\nstart their all-reduce;\none stays open", "plain"),
            ("optimizer step\nnobody notices: the\nloss looks as always", "plain"),
            ("next forward\n“Expected to have\nfinished reduction …”", "bad"),
        ),
    ),
    Scene_.BUCKETS_TWICE: _Scene(
        "A parameter is marked ready a second time",
        "Three buckets. blocks.1.weight was ready and its bucket already all-reduced when its hook fires again in the "
        "same iteration: a second reduction would mix finished and unfinished gradients, so the reducer raises.",
        (
            _FIRST,
            ("all-reduced already", "bad", (("blocks.1.weight", ("ready, ready", "bad")), ("blocks.1.bias", READY))),
            (
                "waits for its gradients",
                "plain",
                (("blocks.0.weight", ("…", "plain")), ("embed.weight", ("…", "plain"))),
            ),
        ),
        (
            ("forward\na block checkpointed,\nor a weight shared", "plain"),
            ("backward\nthe hook fires:\nmarked ready", "plain"),
            ("a further backward\nthe same hook\nfires again", "plain"),
            ("in that backward\n“marked as ready\ntwice”, “only once”", "bad"),
        ),
    ),
    Scene_.BUCKETS_UNARMED: _Scene(
        "A backward comes when the reducer isn't armed",
        "Three buckets, all reduced: the first backward has been finalised and the reducer is disarmed until the "
        "next forward. A further backward makes hooks fire on a disarmed reducer, and an internal assertion fails.",
        (_FIRST, _MIDDLE, _LAST),
        (
            ("synced forward\narms the reducer for\none backward", "plain"),
            ("backward 1\nfills every bucket,\nfinalises, disarms", "good"),
            ("backward 2\na hook fires on a\ndisarmed reducer", "bad"),
            ("in that backward\n“INTERNAL ASSERT\nFAILED” reducer.cpp", "bad"),
        ),
    ),
    Scene_.BUCKETS_CHANGED: _Scene(
        "The parameters in use are not those that the static graph recorded",
        "Three buckets as the first iteration recorded them: aux.weight was idle then. In a later iteration its hook "
        "fires, which contradicts the record, and the reducer raises.",
        (
            _FIRST,
            (
                "contradicts the record",
                "bad",
                (("blocks.1.weight", READY), ("aux.weight", ("idle, but fires", "bad"))),
            ),
            _LAST,
        ),
        (
            ("iteration 1\nrecords which hooks\nfire, how often", "plain"),
            ("iterations 2 …\nstart each all-reduce\nby that record", "plain"),
            ("iteration n\na branch or schedule\nuses others", "plain"),
            ("then, or next forward\n“training graph has\nchanged …”", "bad"),
        ),
    ),
    Scene_.BUCKETS_SEARCHED: _Scene(
        "The search for unused parameters, and what it costs",
        "Three buckets. With find_unused_parameters the reducer walks the autograd graph after every forward and marks "
        "what it doesn't reach as ready, so that no bucket waits. Here it reached every parameter.",
        (_FIRST, _MIDDLE, _LAST),
        (
            ("forward\nas always", "plain"),
            ("the search\nwalks the graph\nfrom the outputs", "plain"),
            ("what isn't reached\nis marked ready at\nonce: here, nothing", "plain"),
            ("backward\nwould have finished\nwithout the search", "good"),
        ),
    ),
}
_SIZES = ("1 MB, reduced first", "25 MB", "25 MB")


def picture(scene: str) -> Picture:
    """Lay out a scene: three buckets in the order in which backward fills them, and a strip of four steps below."""
    drawn = _SCENES[scene]
    wide = (WIDTH - 2 * MARGIN - 2 * GAP) / 3
    high = HEAD + FOOT + CHIP * max(len(chips) for _, _, chips in drawn.buckets)
    buckets = tuple(
        Bucket(
            f"bucket {index}",
            _SIZES[index],
            says,
            tone,
            tuple(Chip(name, mark, of, HEAD + CHIP * at) for at, (name, (mark, of)) in enumerate(chips)),
            round(MARGIN + index * (wide + GAP), 1),
            MARGIN,
            round(wide, 1),
            high,
        )
        for index, (says, tone, chips) in enumerate(drawn.buckets)
    )
    top = MARGIN + high + GAP
    return Picture(drawn.title, drawn.text, WIDTH, top + STEP_HIGH + MARGIN, GAP, buckets, _strip(drawn, top))


def _strip(drawn: _Scene, top: float) -> tuple[Step, ...]:
    wide = (WIDTH - 2 * MARGIN - (len(drawn.steps) - 1) * GAP) / len(drawn.steps)
    return tuple(
        Step(tuple(text.split("\n")), tone, round(MARGIN + index * (wide + GAP), 1), top, round(wide, 1), STEP_HIGH)
        for index, (text, tone) in enumerate(drawn.steps)
    )
