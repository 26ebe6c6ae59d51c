"""The sandbox: what has no end, or grows without bounds, is stopped early; what an honest template does isn't."""

from __future__ import annotations

import resource
import sys
import time

import pytest
from jinja2 import TemplateError

from logsig.sandbox import Metered, SpentError

BUDGET = 2_000_000
DOUBLED = "{{% set x = {0} %}}" + "{{% set x = {1} %}}" * 40
LONG = "{% set s = '" + "a" * 3000 + "' %}"

ENDLESS = {
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loops over text": LONG + "{% for a in s %}{% for b in s %}{% for c in s %}{% endfor %}{% endfor %}{% endfor %}",
    "loops that choose nothing": LONG + "{% for a in s %}{% for b in s %}{% for c in s if false %}{% endfor %}{% endfor %}{% endfor %}",
    "macros": "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "macros without output": "{% macro m(n) %}{% if n %}{% set _ = m(n-1) %}{% set _ = m(n-1) %}{% endif %}{% endmacro %}{{ m(60) }}",
    "long bodies": "{% set x %}{% for i in range(99999) %}" + "a" * 30000 + "{% endfor %}{% endset %}",
    "long values": LONG + "{% set x %}{% for i in range(99999) %}{{ s }}{% endfor %}{% endset %}",
    "power": "{{ 10**(10**10) > 1 }}",
    "powers in turn": "{% set n = namespace(x=2) %}{% for i in range(999) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "text times": "{{ 'a' * 1000000000 }}",
    "times text": "{{ 1000000000 * 'a' }}",
    "list times": "{{ [1] * 1000000000 }}",
    "format": "{{ '%999999999d' % 1 }}",
    "format of a number": "{{ '%.999999999f' % 1 }}",
    "computed format": "{{ '%*d' % (999999999, 1) }}",
    "format filter": "{{ '%999999999d'|format(1) }}",
    "many formats": LONG + "{{ (('%(a)s' * 3000) % {'a': s}) > s }}",
    "center": "{{ 'a'.center(1000000000) }}",
    "center by a filter": "{{ 'a'|center(1000000000) }}",
    "center by map": "{{ ['a']|map('center', 1000000000)|list }}",
    "center by a block": "{% filter center(1000000000) %}a{% endfilter %}",
    "center when compiled": "{% autoescape 'a'|center(1000000000) %}{% endautoescape %}",
    "ljust": "{{ 'a'.ljust(1000000000) }}",
    "zfill": "{{ 'a'.zfill(1000000000) }}",
    "tabs": "{{ '\t'.expandtabs(1000000000) }}",
    "indent": "{{ 'a'|indent(1000000000, true) }}",
    "json": "{{ {'a': 1}|tojson(indent=1000000000) }}",
    "bytes": "{{ (1).to_bytes(1000000000, 'big') }}",
    "slices": "{{ [3]|slice(1000000000)|list }}",
    "round": "{{ 1|round(1000000000) }}",
    "replace": LONG + "{{ s|replace('a', s) }}",
    "replace by a method": LONG + "{{ s.replace('a', s) }}",
    "join": LONG + "{{ s.join(s) }}",
    "join of what is made on the way": LONG + "{{ ([0] * 3000)|map('default', s, true)|join }}",
    "translate": LONG + "{{ s.translate({97: s}) }}",
    "sum": "{{ ([[1]] * 30000)|sum(start=[]) }}",
    "doubled text": DOUBLED.format("'aaaa'", "x ~ x") + "{{ x }}",
    "doubled sum": DOUBLED.format("'aaaa'", "x + x") + "{{ x }}",
    "doubled print": "{% set x %}aaaa{% endset %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40,
    "doubled list": DOUBLED.format("['aaaa']", "[x, x]") + "{{ x }}",
    "doubled lists compared": DOUBLED.format("['a']", "[x, x]") + DOUBLED.format("['a']", "[x, x]").replace("x", "y") + "{{ x == y }}",
    "doubled key": DOUBLED.format("('aaaa',)", "(x, x)") + "{{ {x: 1} }}",
    "doubled subscript": DOUBLED.format("('aaaa',)", "(x, x)") + "{{ {1: 1}[x] }}",
    "long template": "{{ a }}" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("template", ENDLESS.values(), ids=ENDLESS)
def test_what_has_no_end_is_stopped(template: str) -> None:
    environment = Metered(BUDGET)
    started = time.process_time()
    with pytest.raises(SpentError):
        environment.from_string(template).render()
    assert time.process_time() - started < 5
    if sys.platform == "linux":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20  # KB


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'x'.__class__ }}",
        "{{ 'x'.__class__ is defined }}",
        "{{ '{:9}'.format(1) }}",
        "{{ '{:9}'['format'](1) }}",
        "{{ ('{:9}'|attr('format'))(1) }}",
        "{{ ['{}']|map(attribute='format')|first }}",
        "{{ 'x'.encode('punycode') }}",
        "{{ [].append(1) }}",
        "{{ lipsum(1) }}",
    ],
)
def test_what_is_unsafe_is_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        str(Metered(BUDGET).from_string(template).render())


HONEST = {
    "{% for i in range(1000) %}{{ i }},{% endfor %}": ",".join(map(str, range(1000))) + ",",
    "{{ '%5d|%-8s|%.2f' % (17179869184, 'a', 1.5) }}": "17179869184|a       |1.50",
    "{{ '%d GiB'|format(17179869184 / 2**30) }}": "16 GiB",
    "{{ names|join(', ')|truncate(40) }}": "rank 0, rank 1, rank 2, rank 3, rank...",
    "{{ names|length }} {{ names[:2] }} {{ names[-1] }}": "5000 ['rank 0', 'rank 1'] rank 4999",
    "{{ names|map('replace', 'rank ', 'r')|list|last }}": "r4999",
    "{{ 'a'|center(9) }}{{ 'a\nb'|indent(2) }}": "    a    a\n  b",
    "{{ {'b': [1, 2]}|tojson(indent=2) }}": '{\n  "b": [\n    1,\n    2\n  ]\n}',
    "{{ names|groupby(0)|length }} {{ [3, 1]|sort|first }} {{ [1, 2]|sum }}": "1 1 3",
    "{{ 17179869184 is gt(17179869183) }} {{ 17179869184 is divisibleby(17179869184) }} {{ x|default(17179869184) }}": (
        "True True 17179869184"
    ),
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(17179869184) }}": "<17179869184>",
    "{% for a, b in {'x': 1}.items() %}{{ loop.index }}{{ a ~ b }}{% endfor %}": "1x1",
    "{{ 2**40 }} {{ 7 // 2 }} {{ 7 % 4 }} {{ none is none }} {{ 3 in [3] }}": "1099511627776 3 3 True True",
}


@pytest.mark.parametrize(("template", "text"), HONEST.items(), ids=range(len(HONEST)))
def test_what_is_honest_is_filled(template: str, text: str) -> None:
    names = [f"rank {number}" for number in range(5000)]
    assert Metered(BUDGET).from_string(template).render(names=names) == text


def test_the_purse_is_filled_anew_when_asked() -> None:
    environment = Metered(200_000)
    template = environment.from_string("{% for i in range(900) %}{% endfor %}")
    for _ in range(50):
        environment.renew()
        template.render()
    twice = environment.from_string("{% for i in range(900) %}{% endfor %}" * 60)
    with pytest.raises(SpentError):
        twice.render()
