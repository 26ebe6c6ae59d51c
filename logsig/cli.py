"""The command line: finds commands by file name, turns errors into one line and an exit code.

Knows nothing of logs. Imports nothing but click until a command is chosen, so that ``--version`` answers at once.
"""

from __future__ import annotations

import gc
import os
import pkgutil
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from logsig import commands, signals

USAGE = 2
DEFAULT = "diagnose"


class Commands(click.Group):
    """One module of ``logsig.commands`` per command; a first word that names none is a log for ``diagnose``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Lists the modules by file name, without importing them."""
        return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the one module that is asked for."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"logsig.commands.{cmd_name.replace('-', '_')}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts ``diagnose`` in front where the first word is neither a command nor the group's own option."""
        if not args or not self._is_own(ctx, args[0]):
            self._refuse_slip(ctx, args[:1])
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a reader that went away (``| head``) is a quiet end."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _leave_stdout()
            return 0

    def _is_own(self, ctx: click.Context, word: str) -> bool:
        return word in ("--version", "--help", "-h") or word in self.list_commands(ctx)

    def _refuse_slip(self, ctx: click.Context, words: list[str]) -> None:
        """Refuses a first word that is no file but nearly a command, instead of calling it a missing log."""
        for word in words:
            if word.startswith("-") or os.path.lexists(word):
                return
            import difflib

            near = difflib.get_close_matches(word, self.list_commands(ctx), n=1, cutoff=0.75)
            if near:
                raise click.UsageError(f"no such command or file: {word!r}; did you mean '{near[0]}'?", ctx)


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from logsig._version import __version__

        click.echo(f"logsig {__version__}")
        ctx.exit()


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    options_metavar="",
    subcommand_metavar="[LOG]... | COMMAND [ARGS]...",
    epilog="Without a command logsig diagnoses: 'logsig train.log' and 'torchrun ... 2>&1 | logsig' "
    "say which rank failed first, why, and what to do. 'logsig diagnose --help' lists the options.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Read the log of a failed distributed training job: which rank failed first, why, and what to do."""


def main() -> NoReturn:
    """The console script."""
    gc.set_threshold(200_000, 20, 50)  # nearly all that a run makes lives to its end
    signals.end_in_order()
    code = run(sys.argv[1:])
    code = _flush() or code
    signals.end_at_once()
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Ends the process without freeing object by object, which takes a tenth of a short run.

    A trace or a coverage run needs the orderly end.
    """
    if sys.gettrace() is None and sys.getprofile() is None:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def _flush() -> int:
    """Gives stdout what is still held back; a reader that went away, or no stdout at all, is no fault."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, AttributeError):
        _leave_stdout()
    except OSError as error:
        _leave_stdout()
        return _explain(error)
    return 0


def run(args: list[str]) -> int:
    """Runs one command line and gives its exit code, as the README lists them."""
    try:
        result = cli.main(args=args, prog_name="logsig", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return signals.code(signals.INTERRUPT)
    except click.UsageError as error:
        return _complain(error.format_message(), hint=_help_hint(error.ctx))
    except click.ClickException as error:
        return _complain(error.format_message())
    except Exception as error:  # noqa: BLE001 - the boundary: a person gets one line, not a traceback
        return _explain(error)
    return result if isinstance(result, int) else 0


def _help_hint(ctx: click.Context | None) -> str:
    return f"'{ctx.command_path} --help' shows what is possible" if ctx else ""


def _complain(*messages: str, hint: str = "", code: int = USAGE) -> int:
    """Says what is wrong on stderr, each in one line, and how to go on in another."""
    from logsig.outputs import say

    say(*messages, *([f"hint: {hint}"] if hint else []))
    return code


def _explain(error: Exception) -> int:
    """Turns an error of ours into its line and code, and a fault of the program into a line that says so."""
    from logsig.errors import LogsigError

    if isinstance(error, LogsigError):
        return _complain(*error.lines, code=error.exit_code)
    if isinstance(error, OSError) and error.strerror:
        return _complain(f"{error.filename or 'the output'}: {error.strerror}")
    if os.environ.get("LOGSIG_DEBUG"):
        raise error
    kind = type(error).__name__
    hint = "LOGSIG_DEBUG=1 shows where; please report it with the log"
    return _complain(f"internal fault: {kind}: {error}", hint=hint)


def _leave_stdout() -> None:
    """Points stdout at nothing, so that the last flush at exit is quiet."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
