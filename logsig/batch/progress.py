"""A line on stderr that shows how far a scan is; nothing where stderr is no terminal."""

from __future__ import annotations

import os
import time
from typing import TextIO

EVERY = 0.2
BAR = 24


class Progress:
    """One line that is written over again and again."""

    def __init__(self, stream: TextIO, jobs: int, size: int) -> None:
        self._stream = stream
        self._is_shown = _is_terminal(stream)
        self._jobs = jobs
        self._size = size
        self._began = self._last = time.monotonic()
        self._first: tuple[int, int] | None = None
        self._width = 0

    def show(self, jobs: int, size: int, failures: int) -> None:
        """Shows how much is done, at most a few times a second."""
        if not self._is_shown:
            return
        now = time.monotonic()
        if self._first is None:
            self._first = (jobs, size)  # what the store remembered took no time
        if now - self._last < EVERY and jobs < self._jobs:
            return
        self._last = now
        self._write(self.line(jobs, size, failures, now - self._began))

    def line(self, jobs: int, size: int, failures: int, seconds: float) -> str:
        """Gives the text: a bar, jobs, bytes, rate, time left."""
        first_jobs, first_size = self._first or (0, 0)
        share = size / self._size if self._size else jobs / self._jobs if self._jobs else 1.0
        filled = round(BAR * min(share, 1.0))
        parts = [
            f"[{'#' * filled}{'.' * (BAR - filled)}]",
            f"{jobs:,}/{self._jobs:,} jobs",
            f"{_size(size)} of {_size(self._size)}",
        ]
        done = size - first_size if self._size > first_size else jobs - first_jobs
        left = self._size - size if self._size > first_size else self._jobs - jobs
        if seconds > 1 and done > 0:
            parts += [f"{(jobs - first_jobs) / seconds:,.0f} jobs/s", f"{_time(left * seconds / done)} left"]
        parts.append(f"{failures:,} failure{'' if failures == 1 else 's'}")
        return "  ".join(parts)

    def clear(self) -> None:
        """Takes the line away, so that others can write."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            columns = 80
        text = text[: max(columns - 1, 20)]
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
