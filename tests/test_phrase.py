"""Signature text filled without Jinja2 says what Jinja2 would say."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jinja2.meta
import pytest

from logsig import load_catalog, phrase, remedy
from logsig.catalog import Catalog, Page
from logsig.phrasetree import tree_of

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    7,
    -3,
    8192.5,
    10**13,
    "",
    "fc.weight",
    "a.b/c.so",
    "Expired, Size([0]) NCCL",
    "12",
    "9" * 9000,
    [],
    [3],
    list(range(40)),
    ["lm_head.bias", "fc.weight"],
    (1, 2),
    {"static_graph": True, "find_unused_parameters": False},
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def _texts(page: Page) -> Iterator[str]:
    yield page.summary
    yield from page.confirm
    for written in page.remedies:
        yield from (
            text for text in (written.title, *written.steps, written.code, written.cost, written.verify) if text
        )


def _draws(text: str, source: str) -> Iterator[dict[str, Any]]:
    """Gives facts of every kind, right ones and wrong ones, for the names that a text uses."""
    names = sorted(jinja2.meta.find_undeclared_variables(remedy.environment().parse(source)))
    rnd = random.Random(text)
    for _ in range(40 if names else 1):
        yield {name: rnd.choice(VALUES) for name in names if rnd.random() < 0.85}


def test_every_text_of_the_library_needs_no_jinja(catalog: Catalog) -> None:
    pages = [catalog.page(name) for name in catalog.signatures]
    texts = [text for page in pages for text in _texts(page) if "{" in text and text not in page.trees]
    conditions = [one.when for page in pages for one in page.remedies if one.when and one.when not in page.trees]
    assert (texts, conditions) == ([], [])


def test_every_text_reads_as_jinja_would_write_it(catalog: Catalog) -> None:
    filled = 0
    for name in catalog.signatures:
        page = catalog.page(name)
        for text in {text for text in _texts(page) if "{" in text}:
            for facts in _draws(text, text):
                remedy.environment().renew()
                ours = remedy.fill(text, facts, page.trees)
                assert ours == remedy.fill(text, facts), (text, facts)
                filled += ours is not None
    assert filled > 2000


def test_every_condition_holds_when_jinja_says_so(catalog: Catalog) -> None:
    held = 0
    for name in catalog.signatures:
        page = catalog.page(name)
        for condition in {one.when for one in page.remedies if one.when}:
            for facts in _draws(condition, f"{{{{ {condition} }}}}"):
                remedy.environment().renew()
                ours = remedy.holds(condition, facts, page.trees)
                assert ours == remedy.holds(condition, facts), (condition, facts)
                held += ours
    assert held > 1000


@pytest.mark.parametrize(
    "text",
    [
        "{% for one in names %}{{ one }}{% endfor %}",
        "{% macro one() %}{% endmacro %}",
        "{{ range(3) }}",
        "{{ name.__class__ }}",
        "{{ name.upper }}",
        "{{ name['upper'] }}",
        "{{ name.format(1) }}",
        "{{ name.split(sep=',') }}",
        "{{ names|map('upper')|join }}",
        "{{ names|join(',', attribute='a') }}",
        "{{ names|join(*rest) }}",
        "{{ name|default('x') }}",
        "{{ 2 ** 99 }}",
        "{{ 'a' if name }}",
        "{% if name %}{% set a = 1 %}{% endif %}{{ a }}",
        "{% if %}",
    ],
)
def test_what_only_jinja_can_do_is_left_to_it(text: str) -> None:
    assert tree_of(text, remedy.environment()) is None


def test_a_condition_with_more_behind_it_is_none() -> None:
    assert tree_of("name }} {{ other", remedy.environment(), is_condition=True) is None


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("{{ step }} of {{ steps }}", {"step": 3, "steps": 9.5}, "3 of 9.5"),
        ("{{ ranks|ranks }}", {"ranks": [2, 7]}, "ranks 2 and 7"),
        ("{{ size|gib }}, {{ limit|ms }}", {"size": 4198203392, "limit": 600000}, "3.91 GiB, 10 min"),
        ("{% if a %}A{% elif b %}B{% else %}C{% endif %}", {"b": 1}, "B"),
        ("{% if a is defined %}A{% endif %}{% if a is none %}N{% endif %}", {"a": None}, "AN"),
        ("{% set m = {1: 'x'} %}{{ m[code] }}", {"code": 1}, "x"),
        ("{{ names[:2]|join('/') }}", {"names": ["a", "b", "c"]}, "a/b"),
        ("{{ path.split('/')[-1] }}", {"path": "a/b"}, "b"),
        ("{{ 'step ' ~ step if step else 'a while' }}", {}, "a while"),
        ("{% if flags.static_graph %}S{% endif %}", {"flags": {"static_graph": True}}, "S"),
        ("{% if -1 < x - 2 < 3 and 'a' not in name|lower %}in{% endif %}", {"x": 3, "name": "B"}, "in"),
    ],
)
def test_a_tree_fills(text: str, facts: dict[str, Any], expected: str) -> None:
    tree = tree_of(text, remedy.environment())
    assert tree is not None
    assert phrase.filled(tree, facts) == expected


def test_an_unknown_fact_ends_a_text() -> None:
    tree = tree_of("{{ step }}", remedy.environment())
    assert tree is not None
    with pytest.raises(phrase.UnknownFactError):
        phrase.filled(tree, {})


def test_the_terminal_report_is_made_without_jinja(tmp_path: Any) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "train.py", line 9, in <module>\n'
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "79.11 GiB of which 1.00 GiB is free.\n"
    )
    program = (
        "import sys; sys.argv = ['logsig', 'diagnose', sys.argv[1]]\n"
        "from logsig import cli\n"
        "print(cli.run(sys.argv[1:]), 'jinja2' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", program, str(log)], capture_output=True, text=True, check=True)
    assert "Rank 1" in found.stdout
    assert found.stdout.splitlines()[-1] == "0 False"
