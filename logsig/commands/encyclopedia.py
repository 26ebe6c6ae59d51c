"""``logsig encyclopedia``: the library as a static site."""

from __future__ import annotations

import os
from pathlib import Path

import click

from logsig.options import SIGNATURES


@click.command()
@click.argument("folder", type=click.Path(file_okay=False), metavar="DIR")
@SIGNATURES
def command(folder: str, extra: tuple[Path, ...]) -> None:
    """Write an encyclopedia of all failures to DIR: HTML, a page each, an index with a search.

    The pages ask for nothing outside of DIR and open from disk. Files of an earlier run are replaced.
    """
    import logsig
    from logsig import encyclopedia, outputs
    from logsig.errors import OutputError

    catalog = logsig.load_catalog(extra)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from error
    count = 0
    for name, text in encyclopedia.build(catalog, logsig.match_text):
        outputs.write_file(os.path.join(folder, name), text)
        count += 1
    outputs.write_line(f"{count} pages; open {os.path.join(folder, 'index.html')}")
