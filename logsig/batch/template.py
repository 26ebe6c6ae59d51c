"""What stays of a line from run to run: takes text, gives it with all that varies by chance masked.

Times, addresses, ids, hexadecimal numbers and counts become marks; words stay, also those of paths and quoted names.
"""

from __future__ import annotations

import re

LONGEST = 300
"""Characters of a template."""

_MASKS = re.compile(
    r"(?P<time>\b\d{4}-\d\d-\d\d(?:[T _]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"|(?P<id>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}(?:[:<]\d+>?)?|\[[0-9a-fA-F:]{3,45}\](?::\d+)?"
    r"|\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b)"
    r"|(?P<hex>\b0[xX][0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}\b)"
    r"|(?P<word>(?<=[A-Za-z])\d+(?=[A-Za-z]))"
    r"|(?P<many>[\[(]\s*[-+]?\d[\d.eE+-]*(?:,\s*[-+]?\d[\d.eE+-]*)+,?\s*[\])])"
    r"|(?P<number>(?<![\w-])[-+]?\d(?:[\d,_]*\d)?(?:\.\d+)?(?:[eE][-+]?\d+)?%?|\d+)"
)
# Digits within a word (c10d, e4m3) belong to it; those at its end count (GPU3, node17).
_MARKS = {"time": "<time>", "id": "<id>", "address": "<address>", "hex": "<hex>", "many": "[#]", "number": "#"}
_ERRNO = re.compile(r"\[Errno \d+\]")


def template_of(text: str) -> str:
    """Masks what varies; runs of blanks become one."""
    text = " ".join(text[: 4 * LONGEST].split())
    parts = _ERRNO.split(text)
    kept = _ERRNO.findall(text)
    masked = [_MASKS.sub(_mark, part) for part in parts]
    whole = "".join(part + more for part, more in zip(masked, [*kept, ""], strict=True))
    return whole[:LONGEST]


def _mark(found: re.Match[str]) -> str:
    return _MARKS.get(str(found.lastgroup), found.group())
