"""Diagnosis in, text out: one module per format, found by its file name.

A module of this package that has ``render(diagnosis, options)`` is a format; a trailing ``_v<N>`` of its name is the
version of its contract (``json_v1`` is the format ``json``). Modules without ``render`` are what the formats share.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.model import Diagnosis


@dataclass(frozen=True, slots=True)
class Options:
    """What a report may know of the place where it is shown. The defaults are those of a file or a pipe."""

    width: int = 80
    color: bool = False
    ascii: bool = False
    """The place can't show more than ASCII."""
    links: bool = False
    """The terminal takes hyperlinks (OSC 8)."""
    root: str = "."
    """The checkout: formats that point into a project's own files name them relative to it."""


DEFAULT = Options()

Render = Callable[["Diagnosis", Options], str]


def formats(*names: str) -> dict[str, Render]:
    """Gives the formats of these names as far as they exist, or all of them, in order of name; imports no others."""
    modules = {_format_name(module): module for module in _modules()}
    found = {name: import_module(f"{__name__}.{modules[name]}") for name in names or modules if name in modules}
    return {name: found[name].render for name in sorted(found) if hasattr(found[name], "render")}


def is_shareable(name: str) -> bool:
    """Tells whether a format goes to others, as its module says."""
    for module in _modules():
        if _format_name(module) == name:
            return bool(getattr(import_module(f"{__name__}.{module}"), "SHAREABLE", False))
    return False


def _modules() -> list[str]:
    return [found.name for found in pkgutil.iter_modules(__path__)]


def _format_name(module: str) -> str:
    return re.sub(r"_v\d+$", "", module)
