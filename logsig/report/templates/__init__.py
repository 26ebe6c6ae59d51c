"""The templates of the reports, and the one way to fill them: strict, and without access to anything but a page."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def fill(name: str, **values: Any) -> str:
    """Fills one template; a name it doesn't know is an error, not a blank."""
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(os.path.dirname(__file__)),
        autoescape=_escapes,  # noqa: S701 - by the name of the template
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )


def _escapes(name: str | None) -> bool:
    """Escapes what a browser or an XML reader will read; jinja2's own default misses ``.html.j2``."""
    return name is None or name.removesuffix(".j2").endswith((".html", ".svg", ".xml"))


@cache
def source(name: str) -> str:
    """Gives one of our own files that stand beside the templates, as it is."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
