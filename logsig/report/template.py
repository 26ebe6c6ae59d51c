"""A user's own template over the JSON's fields (``--template FILE``): Jinja2 in a sandbox, strict about names.

The template is the user's, the log is not: captured text arrives as harmless data and is never taken for a template.
A file named ``*.html``, ``*.xml`` or ``*.svg`` (with or without ``.j2``) is escaped as such. Whatever a template does,
its fault is a ``TemplateError`` that names the file and, where it is known, the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from logsig.errors import TemplateError

if TYPE_CHECKING:
    from logsig.model import Diagnosis

BUDGET = 10_000_000
"""Units of work (``sandbox``) for one report: a few seconds, and some ten megabytes of text."""


def load(path: str) -> Callable[[Diagnosis], str]:
    """Reads and compiles the template; faults name the file and its line."""
    source = _read(path)
    with _faults_of(path):
        from jinja2 import StrictUndefined

        from logsig.sandbox import Metered

        environment = Metered(
            BUDGET,
            autoescape=path.removesuffix(".j2").lower().endswith((".html", ".htm", ".xml", ".svg")),
            undefined=StrictUndefined,
            keep_trailing_newline=True,
        )
        template = environment.from_string(source)

    def render(diagnosis: Diagnosis) -> str:
        from logsig.report import inert
        from logsig.report.json_v1 import document

        fields = document(inert.clean(diagnosis))
        environment.renew()
        with _faults_of(path):
            return str(template.render(**fields))

    return render


def _read(path: str) -> str:
    from logsig import smallfile

    try:
        return smallfile.read(path, takes_streams=True).decode().replace("\r\n", "\n")
    except OSError as error:
        raise TemplateError(f"{path}: the template can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"{path}: the template isn't UTF-8 (byte {error.start})") from error


@contextmanager
def _faults_of(path: str) -> Iterator[None]:
    """Turns whatever a template raises into a fault that a person can mend."""
    try:
        yield
    except Exception as error:  # a template may fail in any way: it is a program
        line = _line_of(error)
        raise TemplateError(f"{path}:{line}: {_said(error)}" if line else f"{path}: {_said(error)}") from error


def _line_of(error: BaseException) -> int | None:
    """Finds the template's line: said by the fault, or in the traceback, where the parser or the compiler stood."""
    import traceback

    from jinja2 import TemplateSyntaxError, nodes
    from jinja2.parser import Parser

    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        parser, node = frame.f_locals.get("self"), frame.f_locals.get("node")
        if frame.f_code.co_filename == "<template>":
            found = line
        elif isinstance(parser, Parser):
            found = parser.stream.current.lineno
        elif isinstance(node, nodes.Node):
            found = node.lineno or found
    return found


def _said(error: BaseException) -> str:
    """Says what went wrong, and how to go on where that is known."""
    from jinja2 import UndefinedError

    if isinstance(error, RecursionError):
        return "nested too deeply (hint: no macro that calls itself without end, fewer brackets)"
    if isinstance(error, MemoryError):
        return "needs too much memory"
    if isinstance(error, UndefinedError):
        return f"{error} (the names are those of --format json)"
    return str(error).partition("; use sys.")[0] or type(error).__name__
