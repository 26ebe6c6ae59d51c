"""Build hook: the wheel carries signatures and prefixes as files and as the JSON files that are loaded at start.

An editable install has neither: a checkout reads its own ``signatures/``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes ``logsig/_library`` into the wheel; a faulty signature stops the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the files of the wheel are collected."""
        if version == "editable":
            return
        signatures = Path(self.root, "signatures")
        self.folder = tempfile.TemporaryDirectory()
        for name, data in zip(("library.jsonl", "prefixes.json"), self._build(signatures), strict=True):
            built = Path(self.folder.name, name)
            built.write_bytes(data)
            build_data["force_include"][str(built)] = f"logsig/_library/{name}"
        build_data["force_include"][str(signatures)] = "logsig/_library/signatures"

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact: str) -> None:
        """Called by hatchling when the wheel is written."""
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def _build(self, signatures: Path) -> tuple[bytes, bytes]:
        sys.path.insert(0, self.root)
        try:
            from logsig import catalog, dialects, errors, library

            files, unread = catalog.read_files(signatures)
            data, faults = library.build(files, "signatures", catalog.pack_digest(files), is_ours=True)
            prefixes = dialects.build()
        finally:
            sys.path.remove(self.root)
        if unread or faults:
            raise errors.CatalogError((*unread, *faults))
        return data, prefixes
