"""logsig reads the log of a failed distributed training job: which rank failed first, why, and what to do.

    from logsig import diagnose, load_catalog
    found = diagnose(["train.log"])
    print(found.first_failing_rank, found.root_cause.signature)

Everything heavy is imported when first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, BinaryIO

from logsig._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from logsig.catalog import Catalog
    from logsig.model import Diagnosis, Event, Excerpt, Scan

__all__ = ["__version__", "analyze", "analyze_text", "diagnose", "load_catalog", "match_text"]


def load_catalog(extra: Sequence[Path] = (), lenient: bool = False) -> Catalog:
    """Loads the library and further packs of signatures; raises ``CatalogError`` with every fault of every file."""
    from logsig import catalog

    return catalog.load_catalog(extra, lenient)


def diagnose(paths: Sequence[str | PathLike[str]], catalog: Catalog | None = None) -> Diagnosis:
    """Diagnoses one job from its logs (files, per-rank files, a torchrun ``--log-dir`` tree); raises ``InputError``."""
    return analyze([fspath(path) for path in paths], catalog or load_catalog())


def analyze(
    paths: Sequence[str],
    catalog: Catalog,
    *,
    stdin: BinaryIO | None = None,
    jobs: int | None = None,
    max_bytes: int | None = None,
) -> Diagnosis:
    """The whole line: paths to diagnosis. One pass over the bytes; objects only for what may matter."""
    from logsig.scan import scan

    def prepare() -> None:
        """Imports and builds what comes next."""
        import regex  # noqa: F401

        from logsig import diagnosis, prefix, understand  # noqa: F401

        prefix.load_prefixes().peeler()

    catalog.prepare(prepare)
    seen = scan(paths, catalog.scan_engine(), stdin=stdin, jobs=jobs, max_bytes=max_bytes)
    return conclude(seen, catalog)


def conclude(seen: Scan, catalog: Catalog) -> Diagnosis:
    """From the excerpts of a scan to the diagnosis."""
    from dataclasses import replace

    from logsig import diagnosis
    from logsig.understand import understand

    files = tuple(dict.fromkeys(origin.path for origin in seen.origins))
    understood = understand(seen.excerpts, catalog, files, seen.doubts)
    return replace(diagnosis.diagnose(understood.job, catalog), unreadable=seen.unreadable)


def _excerpt(text: str) -> Excerpt:
    from logsig.model import Excerpt, Origin

    return Excerpt(Origin("<text>"), 1, 0, text.encode("utf-8", "surrogatepass"), "head")


def analyze_text(text: str, catalog: Catalog) -> Diagnosis:
    """Diagnoses a log given as text; its path is ``<text>``."""
    from types import MappingProxyType

    from logsig.model import Scan

    excerpt = _excerpt(text)
    return conclude(
        Scan(
            (excerpt,),
            (excerpt.origin,),
            MappingProxyType({"<text>": len(excerpt.data)}),
            MappingProxyType({}),
            (),
            False,
        ),
        catalog,
    )


def match_text(text: str, catalog: Catalog) -> tuple[Event, ...]:
    """Gives every event of a text, before any conclusion: what the signatures say of it."""
    from logsig.understand import understand

    understood = understand((_excerpt(text),), catalog, ("<text>",))
    return tuple(event for attempt in understood.job.attempts for event in attempt.events)
