"""The cores that this process may use, and how work gets onto another one at once.

Where a thread or a child is born it shares the core with its parent until the scheduler sees its load, which on some
machines takes as long as all of a short task.
"""

from __future__ import annotations

import os
from contextlib import suppress


def cores() -> int:
    """Gives the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def move_on(steps: int) -> None:
    """Moves the thread that calls so many cores on; the scheduler may move it again. Does nothing where it can't."""
    with suppress(OSError, AttributeError, ValueError, IndexError):  # no /proc, no such call, other cores allowed
        allowed = os.sched_getaffinity(0)
        in_order = sorted(allowed)
        with open("/proc/thread-self/stat", "rb") as file:
            ours = int(file.read().rpartition(b")")[2].split()[36])  # proc(5): "processor", the 39th field
        os.sched_setaffinity(0, {in_order[(in_order.index(ours) + steps) % len(in_order)]})
        os.sched_setaffinity(0, allowed)
