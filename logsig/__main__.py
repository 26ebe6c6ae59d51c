"""``python -m logsig``, and the console script."""

from __future__ import annotations

from typing import NoReturn

from logsig import signals


def main() -> NoReturn:
    """Begins with the signals, so that Ctrl-C is quiet also while the rest is imported."""
    signals.end_at_once()
    from logsig import cli

    cli.main()


if __name__ == "__main__":
    main()
