"""The faults a person can cause and mend: one class per boundary. ``cli`` turns them into one line and an exit code."""

from __future__ import annotations

from logsig.record import dataclass


class LogsigError(Exception):
    """Base of every error that is shown to the user as one line; exit code 2 unless a subclass says otherwise."""

    exit_code = 2

    @property
    def lines(self) -> tuple[str, ...]:
        """What is said, a line each; a newline within one comes from a name."""
        return (str(self),)


class InputError(LogsigError):
    """A path that doesn't exist, or holds nothing to read."""


class TemplateError(LogsigError):
    """A template given by the user can't be read or rendered."""


class OutputError(LogsigError):
    """A report couldn't be written where it was asked for."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a signature or prefix file: where, what was found, what was expected, one hint."""

    path: str
    line: int | None
    field: str
    found: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        tail = f" (hint: {self.hint})" if self.hint else ""
        return f"{where}: {self.field}: found {self.found}, expected {self.expected}{tail}"


class CatalogError(LogsigError):
    """Faults in signature or prefix files: all of them, not the first."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """One for each fault."""
        return tuple(map(str, self.faults))
