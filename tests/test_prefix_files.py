"""Faulty prefix files are refused with file, line, field, what was found and expected: all faults, not the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from logsig import dialects
from logsig.errors import CatalogError

GOOD = """\
name: mine
emitter: somebody
pattern: '<(?P<rank>\\d+)> '
examples:
  - line: '<3> x'
    fields: {rank: 3}
    text: x
counterexamples:
  - line: '3> x'
    why: no opening sign
"""


def faults(tmp_path: Path, text: str, name: str = "mine") -> list[tuple[str, int | None]]:
    (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return [(fault.field, fault.line) for fault in dialects.check(str(tmp_path))[1]]


def test_good_file_is_read(tmp_path):
    assert faults(tmp_path, GOOD) == []
    (prefix,), _ = dialects.check(str(tmp_path))
    assert (prefix.name, prefix.examples[0].fields) == ("mine", {"rank": 3})


@pytest.mark.parametrize(
    ("old", "new", "field", "line"),
    [
        ("name: mine", "name: other", "name", 1),
        ("emitter: somebody\n", "", "emitter", None),
        ("(?P<rank>", "(?P<rang>", "pattern", 3),
        ("(?P<rank>\\d+)", "(\\d+)", "pattern", 3),
        ("'<(?P<rank>\\d+)> '", "'<(?P<rank>\\d+> '", "pattern", 3),
        ("'<(?P<rank>\\d+)> '", "'(?:<(?P<rank>\\d+)>)?'", "pattern", 3),
        ("(?P<rank>\\d+)", "(?P<rank>[0-7]+)", "pattern", 3),
        ("pattern:", "patern:", "patern", 3),
        ("\nexamples:", "\ntime_format: moon\nexamples:", "time_format", 4),
        ("\nexamples:", "\nglue: {literal: [x]}\nexamples:", "glue.literal", 4),
        ("\nexamples:", "\npriority: high\nexamples:", "priority", 4),
        ("    why: no opening sign\n", "    because: no opening sign\n", "counterexamples.0.because", 10),
        ("counterexamples:\n  - line: '3> x'\n    why: no opening sign\n", "", "counterexamples", None),
    ],
)
def test_fault(tmp_path, old, new, field, line):
    assert old in GOOD
    found = dict(faults(tmp_path, GOOD.replace(old, new)))
    assert field in found
    if line is not None:
        assert found[field] == line


def test_all_faults_of_all_files_at_once(tmp_path):
    faults(tmp_path, GOOD.replace("rank", "rang"), "mine")
    faults(tmp_path, "name: [", "broken")
    with pytest.raises(CatalogError) as raised:
        dialects.read(str(tmp_path))
    assert {Path(fault.path).name for fault in raised.value.faults} == {"mine.yaml", "broken.yaml"}
    assert "Traceback" not in str(raised.value)


def test_the_half_that_is_read_at_start_is_the_whole_but_for_examples():
    whole = {prefix.name: prefix for prefix in dialects.read()}
    for half in dialects.shipped():
        full = whole[half.name]
        assert (half.pattern, half.json, half.glue, half.consistent) == (
            full.pattern,
            full.json,
            full.glue,
            full.consistent,
        )
        assert full.examples
        assert not half.examples
