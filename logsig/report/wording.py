"""Numbers, ranks and values as a person would say them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def count(number: int, thing: str) -> str:
    """Says how many: ``1 rank``, ``4,096 ranks``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def ranges(numbers: Iterable[int]) -> str:
    """Folds numbers: ``0-3,7,12-15``."""
    parts: list[str] = []
    for first, last in _runs(sorted(set(numbers))):
        separate = [str(first), str(last)] if last == first + 1 else [f"{first}-{last}"]
        parts += [str(first)] if first == last else separate
    return ",".join(parts)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def ranks_phrase(numbers: Sequence[int], most: int = 6) -> str:
    """Names ranks: ``rank 3``, ``ranks 0, 2 and 5``, ``ranks 0-2, 4-511 and 1 more range``."""
    parts = ranges(numbers).split(",")
    if len(parts) > most:
        left = len(parts) - most
        parts = [*parts[:most], f"{left} more"]
    return f"rank{'' if len(set(numbers)) == 1 else 's'} {join(parts)}"


def cut(text: str, most: int) -> str:
    """Cuts a text at so many characters, with a mark where something was cut."""
    return text if len(text) <= most else text[: most - 1] + "…"


def join(parts: Sequence[str]) -> str:
    """Joins words: ``a``, ``a and b``, ``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def value(found: Any) -> str:
    """Shows a captured fact: lists by commas, truth as yes or no."""
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, list | tuple):
        return ", ".join(value(each) for each in found)
    return str(found)


_FACT_NAMES = {
    "op": "collective",
    "seq": "sequence number",
    "pg": "process group",
    "numel": "elements",
    "numel_in": "elements in",
    "numel_out": "elements out",
    "hca": "adapter",
    "pid": "process",
    "pci": "PCI address",
    "uuid": "GPU",
    "errno": "errno",
    "param_names": "parameters",
    "param_indices": "parameter indices",
    "param_name": "parameter",
    "param_index": "parameter index",
    "timeout_ms": "limit",
    "timeout_s": "limit",
    "elapsed_ms": "waited",
    "tried_bytes": "tried to allocate",
    "exitcode": "exit code",
    "vendor_err": "vendor error",
    "find_unused_on": "find_unused_parameters is on",
    "static_graph_on": "static graph is on",
    "debug_names": "the message lists names",
}
_UNIT_ENDINGS = ("_bytes", "_ms", "_s")


def fact_name(name: str) -> str:
    """Says the standard name of a fact in words: the unit goes, it is shown with the value."""
    for ending in _UNIT_ENDINGS:
        if name not in _FACT_NAMES and name.endswith(ending):
            name = name.removesuffix(ending)
    return _FACT_NAMES.get(name, name.replace("_", " "))


def fact(name: str, found: Any) -> str:
    """Shows a fact in the unit that its name carries: bytes as GiB, milliseconds as minutes."""
    if name.endswith("_bytes") and isinstance(found, int):
        return size(found)
    if name.endswith("_ms") and isinstance(found, int | float):
        return duration(found / 1000)
    if name.endswith("_s") and isinstance(found, int | float) and not isinstance(found, bool):
        return duration(found)
    return value(found)


def size(number: int) -> str:
    """Shows bytes: ``3.91 GiB``."""
    amount = float(number)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} TiB"


def duration(seconds: float) -> str:
    """Shows a time span: ``6 s``, ``10 min``, ``1 h 30 min``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h" + (f" {minutes} min" if minutes else "")
