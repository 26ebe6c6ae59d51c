"""What the place where a report appears can show: colour, hyperlinks, more than ASCII, how many columns.

Takes the environment and a stream; gives ``report.Options``. Precedence of colour: ``--color``, FORCE_COLOR and
CLICOLOR_FORCE, NO_COLOR, TERM=dumb, a CI that renders colours, a terminal.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TextIO

from logsig.report import Options

WIDEST = 120
NARROWEST = 50
CI_WITH_COLOR = ("GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE")
LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby")
LINKING_TERMS = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour")
FIRST_VTE_WITH_LINKS = 5000


def look(stream: TextIO, color: str = "auto", env: Mapping[str, str] = os.environ, root: str = ".") -> Options:
    """Looks at a stream and the environment."""
    terminal = _is_terminal(stream)
    wants_color = {"always": True, "never": False}.get(color, wants_color_by_itself(terminal, env))
    return Options(
        width=columns(terminal, env),
        color=wants_color,
        ascii=not _takes_unicode(stream),
        links=terminal and wants_color and takes_links(env),
        root=root,
    )


def wants_color_by_itself(terminal: bool, env: Mapping[str, str]) -> bool:
    """Decides on colour where the command line leaves it open."""
    if env.get("FORCE_COLOR") or env.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return env.get("FORCE_COLOR") not in ("0", "false")
    if env.get("NO_COLOR") or env.get("TERM") == "dumb":
        return False
    return terminal or any(env.get(name) for name in CI_WITH_COLOR)


def takes_links(env: Mapping[str, str]) -> bool:
    """Tells a terminal that is known to take OSC 8 hyperlinks; an unknown one gets none."""
    if env.get("FORCE_HYPERLINK", "") != "":
        return env["FORCE_HYPERLINK"] not in ("0", "false")
    if env.get("TERM_PROGRAM") in LINKING_PROGRAMS or env.get("WT_SESSION") or env.get("KONSOLE_VERSION"):
        return True
    vte = env.get("VTE_VERSION", "")
    if vte.isdigit() and int(vte) >= FIRST_VTE_WITH_LINKS:
        return True
    return any(name in env.get("TERM", "") for name in LINKING_TERMS)


def columns(terminal: bool, env: Mapping[str, str]) -> int:
    """Gives the columns to fill: of the terminal, or 80 where there is none."""
    if terminal or env.get("COLUMNS", "").isdigit():
        return max(NARROWEST, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))
    return 80


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no stdout, or a closed one
        return False


def _takes_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").startswith(("utf", "cp65001"))
