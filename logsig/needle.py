"""What every match of a pattern holds: the longest plain text that its source asks for.

A text without it needs no search, and a pattern that no text needs isn't compiled. Errs only to the side of less: an
empty needle stands in every text.
"""

from __future__ import annotations

from logsig.late import late

SHORTEST = 3
_OPEN = r"\((?:\?(?:P?<\w+>|<?[=!]|[\w-]*:|.))?"
_TOKEN = late(rf"\\(?s:.)|\[\^?\]?(?:\\.|[^\]\\])*\]|\{{\d*,?\d*\}}|{_OPEN}|(?s:.)")
_UNCLEAR = late(r"\(\?[\w-]+\)|\[\[|\[:|\\[^\W_dDsSwWbBAZnrtfv]")
"""Flags for the whole pattern, classes within classes, and escapes that are more than one character or class."""
_TAKEN = late(r"\((?:\?(?:P?<\w+>|s?:))?")
"""How a group begins of which a match holds what it asks for."""
_QUANTIFIERS = "*+?{"


def needle(pattern: str) -> str:
    """Gives it, or nothing where the pattern has alternatives or is of a kind not looked into."""
    if _UNCLEAR.search(pattern):
        return ""
    groups: list[list[str] | None] = [[""]]
    """Plain runs of each group that is open; None where they don't count."""
    parts = _TOKEN.findall(pattern)
    for part, following in zip(parts, [*parts[1:], " "], strict=True):
        runs = groups[-1]
        if part[0] == "(":
            groups.append([""] if _TAKEN.fullmatch(part) else None)
            if runs is not None:
                runs.append("")
        elif part == ")":
            inner = groups.pop()
            if not groups:
                return ""
            if groups[-1] is not None:
                groups[-1] += [*(inner if inner and following[0] not in "*?{" else ()), ""]
        elif part in ("|", "{"):
            groups[-1] = None
        elif runs is not None:
            _add(runs, part)
    return max((run for run in groups[0] or () if len(run) >= SHORTEST), key=len, default="")


def _add(runs: list[str], part: str) -> None:
    """Goes on with the last run, or begins another; a character with a quantifier is none for sure."""
    if part[0] in _QUANTIFIERS:
        runs[-1] = runs[-1][:-1]
        runs.append("")
    elif (part not in (".", "^", "$") and len(part) == 1) or (part[0] == "\\" and not part[1].isalnum()):
        runs[-1] += part[-1]
    else:
        runs.append("")
