"""What terminals are told beside the text, taken out: colours, cursor movements, titles, carriage returns."""

from __future__ import annotations

from itertools import pairwise

from logsig.late import late

_ESCAPES = late(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, erase
    r"|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # titles, hyperlinks
    r"|\x1b[P_^X](?!bk;t=)[^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # strings for the terminal
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b(?!_bk;t=)[0-Z\\^-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"  # the same colours in one byte
    r"|[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]"
    r"|.\x08"
)
_DIRTY = late(r"[\x00-\x08\x0e-\x1f\x7f\x9b]")
_BUILDKITE = late(r"^\x1b_bk;t=\d+\x07")
_MOVING = late(r"[\d.:,%/|\[\]<>?=#█▏▎▍▌▋▊▉━╸╺─░▒▓\s-]+|(?:[kMGT]?(?:it|B|s)/(?:s|it))")


def without_escapes(text: str) -> str:
    """Without control characters; tabs stay, and Buildkite's time mark in front."""
    if text.isprintable() or not _DIRTY.search(text):
        return text
    mark = _BUILDKITE.match(text)
    head = mark.group() if mark else ""
    return head + _ESCAPES.sub("", text[len(head) :])


def last_states(text: str) -> list[str]:
    """What a line overwritten by carriage returns shows: of a progress bar its last state, of all else everything."""
    if "\r" not in text:
        return [text]
    pieces = [piece for piece in text.split("\r") if piece.strip()]
    kept = [a for a, b in pairwise(pieces) if not _same_bar(a, b)]
    return (kept + pieces[-1:]) or [""]


def _same_bar(old: str, new: str) -> bool:
    """True where ``new`` is a later state of the bar ``old``: equal but for figures and bar signs."""
    return _MOVING.sub("", old) == _MOVING.sub("", new)
