"""Where in the project's own files a failure stands: the user's frame of a traceback, found below the checkout.

A traceback names paths of the machine that ran; the checkout has the same files under another root. Only paths that
exist below the root are named, and never one that leads out of it. Reads no file's contents.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from logsig import digits
from logsig.late import late
from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.model import Cause, Frame

_NOT_OURS = late(r"(?:^|/)(?:site-packages|dist-packages|lib/python\d[\d.]*)/|^<|(?:^|/)torch/")
_FRAME = late(r'\bFile "([^"]{1,1000})", line (\d{1,7})(?:, in (\S+))?')
ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE", "BUILDKITE_BUILD_CHECKOUT_PATH", "BUILD_SOURCESDIRECTORY")
"""Where GitHub, GitLab, Jenkins, Buildkite and Azure check a project out."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of a file, by a path relative to the checkout."""

    path: str
    line: int


def root_of(env: Mapping[str, str]) -> str:
    """Gives the checkout as the CI names it, else the current folder."""
    return next((env[name] for name in ROOTS if env.get(name)), ".")


def spot(cause: Cause, root: str) -> Spot | None:
    """Gives the user's innermost frame that the checkout has: of the traceback, else of the lines that are quoted."""
    return locate(cause.frames or _quoted_frames(cause), root)


def _quoted_frames(cause: Cause) -> list[Frame]:
    """Reads the frames among the quoted lines of the first piece of evidence."""
    from logsig.model import Frame

    lines = [text for each in cause.evidence[:1] for _, text in each.context]
    found = [_FRAME.search(line) for line in lines]
    return [Frame(each[1], digits.number(each[2]), each[3] or "") for each in found if each]


def locate(frames: Sequence[Frame], root: str) -> Spot | None:
    """Looks from the innermost frame outwards."""
    for frame in reversed(frames):
        if not _NOT_OURS.search(frame.path.replace("\\", "/")):
            path = _below(frame.path, root)
            if path:
                return Spot(path, max(frame.line, 1))
    return None


def log_spot(cause: Cause, root: str) -> Spot | None:
    """Gives the first line of evidence, where the log itself lies below the checkout."""
    for evidence in cause.evidence:
        path = relative(evidence.source.path, root)
        if path:
            return Spot(path, evidence.source.line)
    return None


def _below(path: str, root: str) -> str | None:
    """Finds a frame's file below the root: the path itself, or its longest ending that is there."""
    direct = relative(path, root)
    if direct:
        return direct
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        return None
    for at in range(len(parts)):
        ending = "/".join(parts[at:])
        if _is_file_below(root, ending):
            return ending
    return None


def relative(path: str, root: str) -> str | None:
    """Gives an existing path relative to the root, or None where it lies elsewhere."""
    try:
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    except ValueError:  # other drives, NUL bytes
        return None
    inside = inside.replace(os.sep, "/")
    return inside if not inside.startswith("..") and _is_file_below(root, inside) else None


def _is_file_below(root: str, path: str) -> bool:
    try:
        return os.path.isfile(os.path.join(root, path))
    except ValueError:
        return False
