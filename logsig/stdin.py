"""A log that comes through a pipe: waited for aloud, kept and passed through where asked, read to its end on Ctrl-C.

``Stdin`` is a raw binary stream over a file descriptor; whoever reads it needs to know nothing of the rest.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import BinaryIO, Self

from logsig import signals

SILENCE = 2.0
"""Seconds without a first byte after which the user is told that we wait."""
GRACE = 10.0
"""Seconds that a log may still take after SIGTERM: its writer got the signal too and has last words."""

Say = Callable[[str], None]


def is_fed(descriptor: int = 0) -> bool:
    """Tells whether stdin is a pipe, a socket or a file: something that brings a log without being asked."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:  # started with stdin closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


class _Enough(Exception):  # noqa: N818 - a signal, no error
    """Raised by the second signal's handler inside a read."""


class Stdin(io.RawIOBase):
    """The bytes of a descriptor until their end, or until a signal says that it is enough."""

    def __init__(self, say: Say, descriptor: int = 0, copies: tuple[Copy, ...] = ()) -> None:
        self._say = say
        self._descriptor = descriptor
        self._copies = copies
        self._heard = False
        self._waited = 0.0
        self._reading = False
        self._ended = False

    def readable(self) -> bool:
        """Tells the buffer around it that it may read."""
        return True

    def fileno(self) -> int:
        """Gives the descriptor."""
        return self._descriptor

    def readinto(self, buffer: object) -> int:
        """Reads what is there, at least a byte unless the log has ended."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            self._reading = True
            data = b"" if self._ended else self._read(len(view))
        except _Enough:
            data = b""
        finally:
            self._reading = False
        view[: len(data)] = data
        for copy in self._copies if data else ():
            copy.write(data)
        return len(data)

    def is_ready(self, seconds: float) -> bool:
        """Waits at most so long; tells whether a read would give something, or the end, at once."""
        if not self._heard and self._waited >= SILENCE:
            self._say_waiting()
        self._waited += seconds
        try:
            return self._ended or bool(select.select([self._descriptor], [], [], seconds)[0])
        except (OSError, ValueError):  # what can't be polled is simply read
            return True

    def end(self) -> None:
        """Takes the log as ended, also from a signal's handler."""
        self._ended = True
        if self._reading:
            raise _Enough

    def _read(self, size: int) -> bytes:
        if not self._heard and not self._wait():
            self._say_waiting()
        self._heard = True
        return os.read(self._descriptor, size)

    def _say_waiting(self) -> None:
        self._heard = True
        self._say("waiting for a log on stdin: no byte yet (Ctrl-D ends it, 'logsig --help' shows other ways)")

    def _wait(self) -> bool:
        try:
            return bool(select.select([self._descriptor], [], [], SILENCE)[0])
        except (OSError, ValueError):  # what can't be polled is simply read
            return True


class Copy:
    """Passes what comes on to a file or a stream; one that fails is left, said once, and loses nothing else."""

    def __init__(self, name: str, target: BinaryIO, say: Say) -> None:
        self.is_mid_line = False
        """What was passed on last isn't the end of a line."""
        self._name = name
        self._target: BinaryIO | None = target
        self._say = say

    def write(self, data: bytes) -> None:
        """Passes bytes on, unless the target has failed before."""
        if self._target is None:
            return
        try:
            self._target.write(data)
            self._target.flush()
            self.is_mid_line = not data.endswith(b"\n")
        except OSError as error:
            self._target = None
            if error.errno != errno.EPIPE:
                self._say(f"{self._name}: {error.strerror}; the rest of the log isn't copied there")


class Patience:
    """While a log is read from stdin: the first Ctrl-C lets it end, the second stops at once; others give it 10 s.

    Ctrl-C reaches the job as well as its reader, and what the job says last is what explains it.
    """

    def __init__(self, stdin: Stdin, say: Say) -> None:
        self.code: int | None = None
        """The exit code once a signal came."""
        self._stdin = stdin
        self._say = say
        self._before: list[tuple[int, object]] = []

    def __enter__(self) -> Self:
        ends = signals.heard()
        wanted = [(number, self._interrupt if number == signals.INTERRUPT else self._terminate) for number in ends]
        if sys.platform != "win32":
            wanted.append((signal.SIGALRM, self._time_is_up))
        self._before = [(number, signal.signal(number, handler)) for number, handler in wanted]
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before:
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.code is not None:
            raise KeyboardInterrupt
        self.code = signals.code(signals.INTERRUPT)
        self._say("interrupted: reading the log to its end, then the diagnosis (Ctrl-C again stops at once)")

    def _terminate(self, number: int, _frame: FrameType | None) -> None:
        if self.code is not None:
            sys.exit(signals.code(number))
        self.code = signals.code(number)
        self._say(f"terminated: reading the log for {GRACE:.0f} more seconds, then the diagnosis")
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def _time_is_up(self, _number: int, _frame: FrameType | None) -> None:
        self._stdin.end()


class Calls:
    """While a log is followed: the first signal to end asks for the diagnosis so far, the second stops at once.

    They reach a job whose output is piped here as well: its last words are still read, for ``grace`` seconds.
    """

    def __init__(self, say: Say, grace: float = 0.0) -> None:
        self.code: int | None = None
        """The exit code once a signal came."""
        self._say = say
        self._grace = grace
        self._since = 0.0
        self._before: list[tuple[int, object]] = []

    def __enter__(self) -> Self:
        self._before = [(number, signal.signal(number, self._come)) for number in signals.heard()]
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)  # type: ignore[arg-type]

    def are_done(self) -> bool:
        """Tells whether a signal came, and the job has had its time for last words."""
        return self.code is not None and time.monotonic() - self._since >= self._grace

    def _come(self, number: int, _frame: FrameType | None) -> None:
        code = signals.code(number)
        if self.code is not None:
            sys.exit(code)
        self.code, self._since = code, time.monotonic()
        if self._grace:
            self._say(
                f"reading the log for {self._grace:.0f} more seconds, then the diagnosis; once more stops at once"
            )
