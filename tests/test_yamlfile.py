"""Strict YAML: data with line numbers, or faults that say where and how to mend them."""

from __future__ import annotations

import pytest

from logsig import yamlfile


def told(text: str | bytes) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    return [str(fault) for fault in yamlfile.read("x.yaml", data).faults]


def test_plain_data_keeps_its_types() -> None:
    document = yamlfile.read("x.yaml", b"a: 1\nb: [-2, 1.5, true, null, ~, 'yes', 0.1.0]\nc: {d: ''}\n")
    assert document.faults == []
    assert document.value == {"a": 1, "b": [-2, 1.5, True, None, None, "yes", "0.1.0"], "c": {"d": ""}}


def test_every_value_knows_its_line() -> None:
    document = yamlfile.read("x.yaml", b"a: 1\nb:\n  - c: 2\n  - d: |\n      text\n")
    assert document.lines[("b", 1, "d")] == 4
    assert document.line(("b", 0, "missing")) == 3


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "N",
        "True",
        "FALSE",
        "Null",
        "010",
        "0x1F",
        "1_000",
        "1:30",
        "2024-01-01",
        "1e3",
        ".inf",
    ],
)
def test_a_word_that_readers_take_differently_is_refused(word: str) -> None:
    assert told(f"a: {word}\n") == [
        f"x.yaml:1: a: found {word} without quotes, expected a value that every YAML reader reads alike "
        f"(hint: quote it if text is meant: '{word}')"
    ]


def test_a_duplicate_key_names_both_lines() -> None:
    assert told("a: 1\nb: 2\na: 3\n") == [
        "x.yaml:3: a: found 'a' a second time (first on line 1), expected every key once (hint: keep one of the two)"
    ]


def test_an_anchor_and_its_alias_are_refused() -> None:
    assert told("a: &x [1]\nb: *x\n") == [
        "x.yaml:1: a: found the anchor &x, expected no anchors (hint: quote a value that begins with &)",
        "x.yaml:2: b: found the alias *x, expected the value itself (hint: write it out)",
    ]


def test_a_bomb_is_refused_without_unfolding_it() -> None:
    levels = "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9))
    faults = told("a: &a [lol]\n" + levels)
    assert len(faults) == 10 + 81
    assert "found the alias *a" in faults[2]


def test_deep_nesting_is_refused() -> None:
    assert told("[" * 500 + "]" * 500) == [
        "x.yaml:1: " + "[0]" * 20 + ": found more than 20 levels, expected flat data"
    ]


def test_a_tag_is_refused() -> None:
    assert told("a: !!python/object/apply:os.system [id]\n") == [
        "x.yaml:1: a: found the tag tag:yaml.org,2002:python/object/apply:os.system, expected plain data "
        "(hint: quote a value that begins with !)"
    ]


def test_a_merge_key_is_refused() -> None:
    assert told("a:\n  <<: {b: 1}\n") == [
        "x.yaml:2: a: found the merge key <<, expected no merge keys (hint: write the values out)"
    ]


def test_a_key_that_is_no_word_is_refused() -> None:
    assert told("1: a\n") == ["x.yaml:1: 1: found the key 1, expected a word as key (hint: quote it)"]
    assert told("? [a]\n: b\n") == [
        "x.yaml:1: yaml: found a key that is no word, expected a word as key (hint: quote a value that begins with { or [)"
    ]


def test_a_second_document_is_refused() -> None:
    assert told("a: 1\n---\nb: 2\n") == ["x.yaml:2: yaml: found a second document, expected one document per file"]


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    assert told(text) == ["x.yaml:1: yaml: found an empty file, expected a mapping"]


def test_a_syntax_error_names_its_line() -> None:
    (fault,) = told("a: 1\nb: [1, 2\nc: 3\n")
    assert fault.startswith("x.yaml:3: yaml: found ")


def test_a_tab_is_explained() -> None:
    (fault,) = told("a:\n\tb: 1\n")
    assert fault.endswith("(hint: indent with blanks, not tabs)")


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    assert told(b"a: 1\nb: \xff\n") == ["x.yaml:2: yaml: found the byte 0xff, expected UTF-8 text"]


def test_control_characters_are_refused() -> None:
    (fault,) = told(b"a: \x00\n")
    assert fault.startswith("x.yaml")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("title: 'it can't be'", "inside '…' write '' for an apostrophe"),
        ('title: "a "b" c"', 'inside "…" write \\" for a quote and \\\\ for a backslash'),
        ("title: it is: bad", "quote a value that holds"),
    ],
)
def test_a_quote_in_a_quoted_text_is_told_as_such(line, hint):
    fault = yamlfile.read("x", f"schema: 1\n{line}\n".encode()).faults[0]
    assert (fault.line, fault.found.startswith("what YAML can't read (")) == (2, True)
    assert fault.hint.startswith(hint)
