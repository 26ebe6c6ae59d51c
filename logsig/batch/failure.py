"""What makes two failures the same: takes a cause, or the masked line of an unknown failure, gives a fingerprint.

The cause and its telling facts count; rank, time, address, pid, sequence number and all other numbers of chance don't.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from logsig.batch.template import template_of
from logsig.catalog import Catalog
from logsig.model import Cause
from logsig.report.fingerprint import TELLING

ALSO_TELLING = ("path", "inner_exception", "inner_message", "param_name", "detail", "last_error")
"""Facts that tell one failure from another once their numbers are masked."""
OF_AN_END = ("signal", "exitcode")
"""Facts that tell something only where nothing but the end is known."""
OF_A_NET = ("exception",)
"""Facts that a signature of its own already says: its exception has other names in other versions."""
EXACT = (
    *("param_indices", "param_names", "param_name", "code", "errno", "exitcode", "status", "op", "signal"),
    *("function", "symbol", "dtype", "other_dtype", "exception", "inner_exception"),
)
"""Facts whose numbers are names."""
LENGTH = 12


def telling_facts(cause: Cause, catalog: Catalog) -> dict[str, Any]:
    """Gives the facts that tell this failure from others of its signature, masked."""
    entry = catalog.signatures.get(cause.signature)
    also = (*ALSO_TELLING, *OF_AN_END) if entry is not None and entry.role == "witness" else ALSO_TELLING
    told = TELLING if entry is None or entry.match.net else [name for name in TELLING if name not in OF_A_NET]
    facts = {name: _masked(name, cause.facts[name]) for name in (*told, *also) if _is_told(cause, name)}
    if entry is not None and entry.match.net and isinstance(cause.facts.get("message"), str):
        facts["message"] = template_of(cause.facts["message"].split("\n")[0])
    return facts


def _is_told(cause: Cause, name: str) -> bool:
    return cause.facts.get(name) not in (None, "", (), [])


def _masked(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return value if name in EXACT else template_of(value)
    if isinstance(value, list | tuple):
        return [_masked(name, item) for item in value]
    return value


def fingerprint(signature: str, facts: Mapping[str, Any]) -> str:
    """Names a failure the same way each time it happens."""
    told = json.dumps([signature, dict(facts)], sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:LENGTH]


def fingerprint_of_template(template: str) -> str:
    """Names an unknown failure by its masked line."""
    return fingerprint("", {"line": template})
