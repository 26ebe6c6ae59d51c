"""A user's own template over the JSON's fields (``--template FILE``): Jinja2 in a sandbox, strict about names.

The template is the user's, the log is not: captured text arrives as harmless data and is never taken for a template.
A file named ``*.html``, ``*.xml`` or ``*.svg`` (with or without ``.j2``) is escaped as such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from logsig.errors import TemplateError

if TYPE_CHECKING:
    from jinja2 import TemplateSyntaxError

    from logsig.model import Diagnosis


def load(path: str) -> Callable[[Diagnosis], str]:
    """Reads and compiles the template; faults name the file and its line."""
    from jinja2 import StrictUndefined, TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        autoescape=path.removesuffix(".j2").lower().endswith((".html", ".htm", ".xml", ".svg")),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    try:
        template = environment.from_string(_read(path))
    except TemplateSyntaxError as error:
        raise TemplateError(_fault(path, error)) from error

    def render(diagnosis: Diagnosis) -> str:
        from jinja2 import TemplateError as JinjaError

        from logsig.report import inert
        from logsig.report.json_v1 import document

        try:
            return template.render(**document(inert.clean(diagnosis)))
        except (JinjaError, TypeError, ValueError, ArithmeticError, LookupError, MemoryError) as error:
            raise TemplateError(f"{_where(path, error)}: {error} (the names are those of --format json)") from error

    return render


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise TemplateError(f"{path}: the template can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"{path}: the template isn't UTF-8 (byte {error.start})") from error


def _fault(path: str, error: TemplateSyntaxError) -> str:
    return f"{path}:{error.lineno}: {error.message}"


def _where(path: str, error: BaseException) -> str:
    """Finds the template's line in the traceback of a fault at rendering."""
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return f"{path}:{lines[-1]}" if lines else path
