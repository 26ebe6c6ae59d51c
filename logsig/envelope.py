"""JSON objects that carry one log line each: container files, journals, structured loggers.

Takes a line that begins with ``{``, gives the message and the facts beside it by the keys of the dialects' files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from logsig.dialects import Envelope, Prefix

PROGRESS = ("global_step", "step", "iteration", "iter", "batch")
"""Keys under which structured loggers write how far the training is."""


class Opened(NamedTuple):
    """What one object holds."""

    prefix: Prefix
    message: str
    """With further texts (a traceback kept under a key of its own) behind it, line by line."""
    facts: Mapping[str, str | float]
    part: str | None
    """``P`` where the message goes on in the next object, ``F`` where it ends, None where objects are whole lines."""


def open_line(text: str, prefixes: Sequence[Prefix]) -> Opened | None:
    """Open the object with the first dialect that knows it; None where there is none, or no message in it."""
    if not text.rstrip().endswith("}"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    for prefix in prefixes:
        if prefix.json is not None and (opened := _open(prefix, prefix.json, data)):
            return opened
    return None


def _open(prefix: Prefix, envelope: Envelope, data: Mapping[str, Any]) -> Opened | None:
    if any(key not in data for key in envelope.require):
        return None
    if envelope.any and not any(key in data for key in envelope.any):
        return None
    texts = (_words(_value(data, key)) for key in envelope.keys["message"])
    message = next((words for words in texts if words is not None), None)
    if message is None:
        return None
    part = None
    if envelope.parts:
        part = "F" if message.endswith("\n") else "P"
    further = [words for key in envelope.keys.get("extra", ()) if (words := _words(data.get(key)))]
    if not envelope.parts:
        message = _with_progress(message, data)
    text = "\n".join([message.removesuffix("\n"), *(words.removesuffix("\n") for words in further)])
    return Opened(prefix, text, dict(_facts(envelope, data)), part)


def _with_progress(message: str, data: Mapping[str, Any]) -> str:
    """Structured loggers keep the step beside the message: it belongs to what the line says."""
    for key in PROGRESS:
        step = data.get(key)
        if isinstance(step, int) and not isinstance(step, bool) and str(step) not in message:
            return f"{message} {key}={step}"
    return message


def _facts(envelope: Envelope, data: Mapping[str, Any]) -> list[tuple[str, str | float]]:
    found: list[tuple[str, str | float]] = []
    for fact, keys in envelope.keys.items():
        if fact in ("message", "extra"):
            continue
        value = next((one for key in keys if (one := _value(data, key)) is not None), None)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            found.append((fact, value))
    return found


def _value(data: Mapping[str, Any], key: str) -> Any:
    """What stands under a key, or under a dotted path of keys where no key is called so."""
    if key in data or "." not in key:
        return data.get(key)
    outer, _, rest = key.partition(".")
    inner = data.get(outer)
    return _value(inner, rest) if isinstance(inner, dict) else None


def _words(value: Any) -> str | None:
    """A text: a string, the bytes of one that isn't UTF-8 (as the journal writes it), or a list of strings."""
    if isinstance(value, list) and value:
        if all(isinstance(item, int) and 0 <= item < 256 for item in value):
            return bytes(value).decode("utf-8", "replace")
        if all(isinstance(item, str) for item in value):
            return "\n".join(item.removesuffix("\n") for item in value)
    return value if isinstance(value, str) else None
