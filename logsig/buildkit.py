"""BuildKit's last words on a step that failed: between two rules, its last lines over again.

    ------
     > [4/4] RUN torchrun smoke.py:
    4.412 RuntimeError: x
    ------

Where the log shows the step's lines above (``#7 4.412 RuntimeError: x``), these are no second failure and no progress
made after it; a terminal shows only these.
"""

from __future__ import annotations

from logsig.late import late

REPEATED = "buildkit-repeated"
"""The layer of a line that stands in the file a second time."""
ONCE = "buildkit"
"""The layer of a line that doesn't (the prefix of that name)."""
RULE = "------"
_HEAD = late(r" ?> \[[^\]\n]{1,120}\] ")
_CLOCK = late(r"(?:#\d{1,5} )?\d{1,6}\.\d{2,3}(?: |$)")


class Block:
    """Knows which lines of one file stand in such a block."""

    def __init__(self) -> None:
        self._is_ruled = False
        self._is_inside = False

    def __bool__(self) -> bool:
        return self._is_ruled or self._is_inside

    def takes(self, text: str) -> bool:
        """True for a line that the step wrote."""
        if text == RULE:
            self._is_ruled, self._is_inside = not self._is_inside, False
            return False
        if self._is_ruled:
            self._is_ruled, self._is_inside = False, _HEAD.match(text) is not None
            return False
        return self._is_inside


def without_clock(text: str) -> str:
    """What the step wrote, without the seconds since it began."""
    clock = _CLOCK.match(text)
    return text[clock.end() :] if clock else text
