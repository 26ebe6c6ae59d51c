"""Names a failure the same way each time it happens: the cause and its telling facts, never rank, time or address."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logsig.model import Cause

TELLING = (
    "op", "exception", "module", "key", "argument", "param_names", "param_indices", "function", "assertion", "kernel",
    "library", "symbol", "code", "status", "errno", "shape", "other_shape", "dtype", "other_dtype", "reason", "variant",
)  # fmt: skip
"""Facts that tell one failure of a kind from another and don't vary by chance."""


def fingerprint(cause: Cause, path: str | None = None) -> str:
    """Gives a digest of the signature, its telling facts and the project's file where it stands."""
    facts = {name: cause.facts[name] for name in TELLING if cause.facts.get(name) is not None}
    told = json.dumps([cause.signature, facts, path], sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()
