"""Regular expressions that are compiled when first used: a run needs few of those that the modules name."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Late:
    """Stands for a pattern; becomes its methods one by one, as they are asked for."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def late(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Gives what can be used as the compiled pattern; a faulty one is an error at its first use."""
    return cast("re.Pattern[AnyStr]", _Late(source, flags))
