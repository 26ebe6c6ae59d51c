"""``logsig mask``: a log with its secrets replaced, and its identities where asked, line for line as it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from logsig.options import LOG, require_log

if TYPE_CHECKING:
    from logsig.engine import Engine
    from logsig.mask import Masker, What

UNREADABLE = 3


@click.command()
@click.argument("paths", nargs=-1, type=LOG, metavar="[LOG]...")
@click.option("--all", "everything", is_flag=True, help="Also hosts, addresses, users, GPUs and pods, as <host-1>.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write there instead of printing.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], *, everything: bool, output: str | None) -> None:
    """Print a log with secrets replaced by placeholders.

    Tokens of known providers, keys and passwords by the names they are assigned to, credentials and signatures in
    addresses, and e-mail addresses are recognised by their form. What has no known form stays: read the result
    before you share it.
    """
    from logsig import outputs
    from logsig.mask import Masker

    require_log(ctx, paths)
    outputs.spare_inputs(paths or ("-",), [output])
    what: What = "all" if everything else "secrets"
    masker = Masker(what, _names(paths) if everything else {})
    doubts: list[str] = []
    texts = _masked(paths or ("-",), masker, doubts)
    if output:
        outputs.write_file(output, "".join(texts))
    else:
        for text in texts:
            outputs.write_raw(text)
    for said in (*doubts, masker.said() or "Nothing of a known form was found to mask."):
        outputs.say(said)
    ctx.exit(UNREADABLE if doubts else 0)


def _names(paths: tuple[str, ...]) -> dict[str, str]:
    """Learns the names of the nodes, where the log can be read twice."""
    from logsig.mask import names_in

    if not paths or "-" in paths:
        return {}
    from logsig import whole

    return names_in(whole.nodes(paths))


def _masked(paths: tuple[str, ...], masker: Masker, doubts: list[str]) -> Iterator[str]:
    """Gives the log in blocks of whole lines; only lines that may hold something are looked at closely."""
    from logsig import whole
    from logsig.engine import make_engine
    from logsig.mask import triggers

    engine = make_engine(triggers(masker.what))
    for data in whole.blocks(paths, doubts):
        yield _block(data, masker, engine)


def _block(data: bytes, masker: Masker, engine: Engine) -> str:
    if masker.in_key or b"-----BEGIN" in data:
        return _text(masker.text(data.decode("utf-8", "surrogateescape")))
    out, at = [], 0
    for _, end in engine.find(data):
        if end <= at:
            continue
        start = data.rfind(b"\n", at, end - 1) + 1 or at
        stop = data.find(b"\n", end - 1) + 1 or len(data)
        out.append(data[at:start].decode("utf-8", "surrogateescape"))
        out.append(masker.text(data[start:stop].decode("utf-8", "surrogateescape")))
        at = stop
    out.append(data[at:].decode("utf-8", "surrogateescape"))
    return _text("".join(out))


def _text(text: str) -> str:
    """Shows bytes that are no UTF-8 as they are, where stdout takes them."""
    return text if sys.stdout is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
