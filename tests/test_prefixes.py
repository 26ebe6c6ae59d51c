"""Every prefix file proves itself: its examples peel as it says, its counterexamples don't; and the check can fail."""

from __future__ import annotations

import pytest

from logsig import dialects, prefixcheck
from logsig.prefix import Prefixes

PREFIXES = Prefixes(dialects.read())


@pytest.mark.parametrize("prefix", PREFIXES.all, ids=lambda prefix: prefix.name)
def test_file_proves_itself(prefix):
    assert [str(fault) for fault in prefixcheck.prove(prefix, PREFIXES)] == []


@pytest.mark.parametrize("prefix", PREFIXES.all, ids=lambda prefix: prefix.name)
def test_examples_need_their_prefix(prefix):
    without = Prefixes(tuple(other for other in PREFIXES.all if other.name != prefix.name))
    assert any(".line" in fault.field for fault in prefixcheck.prove(prefix, without))


FILE = """\
name: mine
emitter: somebody
pattern: '<<(?P<rank>\\d+)>> '
examples:
  - line: '<<3>> x'
    fields: {rank: 3}
    text: x
counterexamples:
  - line: '<3> x'
    why: one sign
"""


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("", "", None),
        ("rank: 3", "rank: 4", "examples.0.fields"),
        ("text: x", "text: other", "examples.0.text"),
        ("'<<3>> x'", "'<3>> x'", "examples.0.line"),
        ("'<3> x'", "'<<3>> x'", "counterexamples.0"),
        ("    why: one sign\n", "", "counterexamples.0.why"),
        ("name: mine", "name: yours", "name"),
    ],
)
def test_check_of_a_users_folder(tmp_path, old, new, field):
    (tmp_path / "mine.yaml").write_text(FILE.replace(old, new) if old else FILE, encoding="utf-8")
    found = [fault.field for fault in prefixcheck.check(str(tmp_path))]
    assert field in found if field else found == []
