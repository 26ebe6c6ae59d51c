"""Numbers that texts print: digits to a number, however many they are."""

from __future__ import annotations

LONGEST = 30
"""Digits that count; no rank, size or line number has so many."""


def number(digits: str | bytes) -> int:
    """Gives what decimal digits spell, such as ``isdecimal`` accepts; of more than any count has, what the first do.

    Python refuses to convert thousands of them.
    """
    return int(digits[:LONGEST])
