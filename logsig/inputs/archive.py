"""What tar and zip have in common: which members are read, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterator

from logsig.inputs import Place, Skipped
from logsig.inputs.naming import why_not_a_log

MEMBERS = 100_000
"""Members of one archive; more are built to harm."""
NAMED = 5


class LeftOut:
    """Members that aren't logs by their names."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._logs = 0

    def takes(self, name: str) -> bool:
        """Tells whether the member is a log, and remembers it if not."""
        base = name.rsplit("/", 1)[-1]
        if base and why_not_a_log(base) is None:
            self._logs += 1
            return True
        self._names.append(name)
        return False

    def said(self, place: Place) -> Iterator[Skipped]:
        """Gives the sentence about what was left out."""
        more = f" and {len(self._names) - NAMED} more" if len(self._names) > NAMED else ""
        names = ", ".join(self._names[:NAMED]) + more
        if not self._logs:
            yield Skipped(place.path, f"an archive without logs{'; left out: ' + names if names else '; it is empty'}")
        elif names:
            yield Skipped(place.path, f"left out {names} (not logs by their names)", unreadable=False)
