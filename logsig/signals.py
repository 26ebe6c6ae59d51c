"""The signals that ask the program to end, and the exit code that a shell expects of each.

An end is quiet from the first moment to the last: a traceback of an import that Ctrl-C cut is of use to nobody.
Imported before all else.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPT = signal.SIGINT


def heard() -> list[int]:
    """Gives their numbers; not those that somebody else ignores for us (``nohup``)."""
    names = ("SIGINT",) if sys.platform == "win32" else ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def code(number: int) -> int:
    """Gives the exit code of a program that a signal ended: 130, 143, 129."""
    return 128 + number


def end_at_once() -> None:
    """Lets them end the program without a word: while there is nothing to lose."""
    for number in heard():
        signal.signal(number, lambda number, _frame: os._exit(code(number)))


def end_in_order() -> None:
    """Lets them unwind what is under way: Ctrl-C as ``KeyboardInterrupt``, the others as an exit."""
    for number in heard():
        signal.signal(number, signal.default_int_handler if number == INTERRUPT else _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    sys.exit(code(number))
