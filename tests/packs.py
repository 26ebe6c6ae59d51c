"""A small pack of signatures for tests, made in a folder from one text and replacements."""

from __future__ import annotations

from pathlib import Path

from logsig.catalog import Catalog, build_catalog, load_folder

GOOD = """\
schema: 1
id: cat-on-keyboard
title: A cat walked over the keyboard
family: host
role: initiator
severity: fatal
since: 0.1.0
versions: {cat: '>=1'}
tags: [animals]
summary: "A cat stopped {% if rank is number %}rank {{ rank }}{% else %}the job{% endif %}."
explanation: |
  Keys were pressed that nobody pressed.
match:
  literals: ['cat on keyboard']
  pattern: 'cat on keyboard: key (?P<key>\\w{1,20})'
captures:
  key: the key it stood on
remedies:
  - title: Close the door
    when: key
    steps: ["Take the cat off {{ key }}."]
    verify: The door is closed.
confirm: ["Look at the keyboard."]
guide:
  mechanism: Warm things attract cats.
references: ["https://example.org/cats"]
retryable: after-fix
examples:
  - name: one-cat
    log: |
      [rank3]: RuntimeError: cat on keyboard: key Q
    expect: {rank: 3, lines: [1], captures: {key: Q}}
counterexamples:
  - name: cat-beside
    why: it lies beside it
    near_miss: true
    log: |
      no cat on keyboard today
"""


def edited(*changes: tuple[str, str]) -> str:
    """Give the good file with texts replaced; a text that isn't there is a mistake of the test."""
    text = GOOD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def write(folder: Path, text: str = GOOD, path: str = "host/cat-on-keyboard.yaml") -> Path:
    """Write one file of a pack; give the pack's folder."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return folder


def catalog_of(folder: Path) -> Catalog:
    """Load a pack alone, without the library."""
    pack, faults = load_folder(folder)
    assert pack is not None
    assert faults == ()
    return build_catalog([pack])
