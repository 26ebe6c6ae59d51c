"""Makes blocks ahead in a thread: takes an iterator, gives the same, so that two cores work for one process.

Reading, unpacking and searching all let other threads run; only counting newlines doesn't.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

from logsig.blocks import Block

BUFFERS = 3
"""One is looked at, one is ready, one is being filled."""
ALONE = 2
"""Blocks made without a thread: most inputs have no more."""

Item = Block | BaseException | None


def ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Gives the same blocks, or the same exception; they must have ``BUFFERS``. The thread ends with the iterator."""
    for _ in range(ALONE):
        block = next(blocks, None)
        if block is None:
            return
        yield block
    ready: queue.Queue[Item] = queue.Queue(BUFFERS - 2)
    is_over = threading.Event()
    thread = threading.Thread(target=_fetch, args=(blocks, ready, is_over), daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_over.set()
        while thread.is_alive():
            _empty(ready)
            thread.join(0.01)


def _fetch(blocks: Iterator[Block], ready: queue.Queue[Item], is_over: threading.Event) -> None:
    try:
        for block in blocks:
            ready.put(block)
            if is_over.is_set():
                return
    except BaseException as error:  # noqa: BLE001  (raised again where the block was wanted)
        ready.put(error)
    ready.put(None)


def _empty(ready: queue.Queue[Item]) -> None:
    while not ready.empty():
        ready.get_nowait()
