"""Files that people write (signatures, prefixes, templates), read with a limit that is asked before, not after.

Takes a path, gives bytes or an ``OSError`` that says why not; a FIFO or a device that a stranger left there is neither
waited for nor read to its end.
"""

from __future__ import annotations

import errno
import os
import stat

MAX_BYTES = 1 << 20


def read(path: str | os.PathLike[str], *, takes_streams: bool = False) -> bytes:
    """Gives a file's bytes; with ``takes_streams`` also what a pipe or a device has, up to the same limit."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | (0 if takes_streams else getattr(os, "O_NONBLOCK", 0))
    with open(os.open(path, flags), "rb") as file:
        if not takes_streams and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no regular file", os.fspath(path))
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"more than {MAX_BYTES} bytes", os.fspath(path))
    return data
